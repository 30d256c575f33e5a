"""What one AWSMachine wants: image, subnet, groups, volumes. A pure decision over spec, Machine, cluster and facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.engine.journal import Entry, RecordState
from freehold.engine.resources import NodeKey, Observed, Part, State
from freehold.engine.secret_values import GZIP, reference
from freehold.providers.aws.machine.adapter import AWSMachineAdapter
from freehold.providers.aws.machine.bootstrap import BootstrapPlan, BootstrapSecret
from freehold.providers.aws.machine.desired import WantedMachine, build_desired
from freehold.providers.aws.machine.facts import (
    Filter,
    ImageById,
    ImageByName,
    ImageByParameter,
    MachineFacts,
    MachineGroup,
    MachineQuestions,
    MachineSubnet,
    ResourceSelection,
)
from freehold.providers.aws.machine.keys import INSTANCE
from freehold.providers.aws.machine.machine_plan import MachinePlan
from freehold.providers.aws.machine.questions import ask_image, questions_of
from freehold.providers.aws.machine.recorded import InstanceStanding, RecordedInstance, read_recorded
from freehold.providers.aws.machine.types.spec import AWSMachineSpec
from freehold.providers.objects.adapter import UndecidedSpec, parse_or_refuse
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer
from harness.aws_machine import (
    ARN,
    GROUPS,
    IMAGE,
    OTHER_PRIVATE,
    OWNER,
    PODS,
    PRIVATE,
    PUBLIC,
    SUBNETS,
    VPC,
    ZONES,
    SaidFacts,
    desired_of,
    facts,
    machine,
    on_record,
    owner_machine,
    planned,
    stored_cluster,
    view_of,
)

Json = dict[str, Any]


def plan_of(*args: Any, **more: Any) -> MachinePlan:
    found = planned(*args, **more)
    assert isinstance(found, MachinePlan), found
    return found


def spec_of(**spec: Any) -> AWSMachineSpec:
    found = parse_or_refuse(AWSMachineSpec, machine(**spec))
    assert isinstance(found, AWSMachineSpec)
    return found


def request_of(plan: MachinePlan, known: dict[NodeKey, Observed] | None = None) -> Json:
    return dict(build_desired(plan).graph.nodes[INSTANCE].request(known or {}))


def test_a_worker_is_in_the_first_private_subnet_with_the_clusters_groups() -> None:
    assert request_of(plan_of()) == {
        "name": "m1",
        "image_id": IMAGE,
        "instance_type": "m5.large",
        "subnet_id": PRIVATE,
        "key_name": "default",
        "metadata": {
            "http_endpoint": "enabled", "http_tokens": "optional", "hop_limit": 1, "instance_metadata_tags": "disabled",
        },
        "security_groups": sorted([GROUPS["node"], GROUPS["lb"]]),
    }  # fmt: skip


def test_a_control_plane_machine_is_in_its_own_group_too_and_behind_the_load_balancers() -> None:
    plan = plan_of(owner=owner_machine(control_plane=True))
    node = build_desired(plan).graph.nodes[INSTANCE]
    assert plan.security_groups == tuple(sorted(GROUPS.values()))
    assert node.parts({}) == {Part("registration", ARN)}
    assert build_desired(plan_of(owner=owner_machine())).graph.nodes[INSTANCE].parts({}) == frozenset()


PLACES: dict[str, tuple[Json, Json, MachineFacts, str]] = {
    "in the failure domain": ({}, {"failureDomain": ZONES[1]}, facts(), OTHER_PRIVATE),
    "a public one": ({"publicIP": True}, {}, facts(), PUBLIC),
    "a private one, said so": ({"publicIP": False}, {}, facts(), PRIVATE),
    "the one that is named": (
        {"subnet": {"id": OTHER_PRIVATE}}, {}, facts(chosen=Answer((SUBNETS[1],))), OTHER_PRIVATE,
    ),
    "one that is named and public": ({"subnet": {"id": PUBLIC}}, {}, facts(chosen=Answer((SUBNETS[2],))), PUBLIC),
    "of those that fit, the first in the failure domain": (
        {"subnet": {"filters": [{"name": "tag:a", "values": ["b"]}]}}, {"failureDomain": ZONES[1]},
        facts(chosen=Answer(SUBNETS)), OTHER_PRIVATE,
    ),
    "of those that fit, a public one with an address": (
        {"subnet": {"filters": [{"name": "tag:a", "values": ["b"]}]}, "publicIP": True}, {},
        facts(chosen=Answer(SUBNETS)), PUBLIC,
    ),
    "the next zone without capacity in the first": ({}, {}, facts(full=frozenset({ZONES[0]})), OTHER_PRIVATE),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "owner", "known", "subnet"), PLACES.values(), ids=PLACES.keys())
def test_the_subnet(spec: Json, owner: Json, known: MachineFacts, subnet: str) -> None:
    assert plan_of(machine(**spec), known, owner_machine(**owner)).subnet_id == subnet


FULL: dict[str, tuple[Json, Json, MachineFacts]] = {
    "everywhere": ({}, {}, facts(full=frozenset(ZONES))),
    "in the failure domain": ({}, {"failureDomain": ZONES[0]}, facts(full=frozenset({ZONES[0]}))),
    "in the subnet that is named": (
        {"subnet": {"id": PRIVATE}}, {}, facts(full=frozenset({ZONES[0]}), chosen=Answer((SUBNETS[0],))),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "owner", "known"), FULL.values(), ids=FULL.keys())
def test_without_capacity_it_waits_and_looks_slowly(spec: Json, owner: Json, known: MachineFacts) -> None:
    found = planned(machine(**spec), known, owner_machine(**owner))
    assert isinstance(found, UndecidedSpec) and found.after == 300.0
    assert "no capacity for m5.large in us-east-1a" in found.missing["spec.instanceType"].message


IMAGES: dict[str, tuple[Json, Json, str, object]] = {
    "by id": ({"ami": {"id": IMAGE}}, {}, "", ImageById(IMAGE)),
    "upstream's": (
        {"ami": None}, {}, "v1.33.1", ImageByName("819546954734", "capa-ami-ubuntu-24.04-?1.33.1-*"),
    ),
    "by the cluster's lookup": (
        {"ami": None},
        {"imageLookupOrg": "1", "imageLookupBaseOS": "flatcar", "imageLookupFormat": "x-{{.BaseOS}}-{{.K8sVersion}}"},
        "1.33.1", ImageByName("1", "x-flatcar-1.33.1"),
    ),
    "by the machine's lookup over the cluster's": (
        {"ami": None, "imageLookupOrg": "2", "imageLookupFormat": "y-{{ .K8sVersion }}"},
        {"imageLookupOrg": "1", "imageLookupFormat": "x"},
        "v1.33.1", ImageByName("2", "y-1.33.1"),
    ),
    "Amazon's for EKS": (
        {"ami": {"eksLookupType": "AmazonLinux2023"}}, {}, "v1.33.1",
        ImageByParameter(
            "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/{architecture}/standard/recommended/image_id"
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "cluster", "version", "asked"), IMAGES.values(), ids=IMAGES.keys())
def test_the_question_for_the_image(spec: Json, cluster: Json, version: str, asked: object) -> None:
    assert ask_image(spec_of(**spec), view_of(stored_cluster(**cluster)), version) == asked


def test_what_is_open_is_asked_once_and_of_a_living_instance_only_its_groups() -> None:
    spec = spec_of(
        additionalSecurityGroups=[{"id": "sg-9"}, {"filters": [{"name": "tag:a", "values": ["b"]}]}, {"id": "sg-9"}],
        securityGroupOverrides={"node": "sg-8", "controlplane": "sg-7"},
    )
    groups = (ResourceSelection("sg-9"), ResourceSelection("", (Filter("tag:a", ("b",)),)), ResourceSelection("sg-8"))
    fresh = questions_of(spec, view_of(), "", RecordedInstance())
    assert fresh == MachineQuestions(ImageById(IMAGE), "m5.large", VPC, None, groups)
    living = questions_of(spec, view_of(), "", RecordedInstance(InstanceStanding.OURS, "i-1"))
    assert living == MachineQuestions(groups=groups)
    assert questions_of(spec, view_of(), "", RecordedInstance(InstanceStanding.GIVEN, "i-1")) == MachineQuestions()


def test_groups_are_overridden_and_added_and_of_the_clusters_vpc() -> None:
    chosen = ResourceSelection("", (Filter("tag:a", ("b",)),))
    said = {
        ResourceSelection("sg-8"): (MachineGroup("sg-8", VPC),),
        ResourceSelection("sg-9"): (MachineGroup("sg-9", VPC),),
        chosen: (MachineGroup("sg-5", VPC), MachineGroup("sg-6", "vpc-other")),
    }
    spec = {
        "securityGroupOverrides": {"node": "sg-8"},
        "additionalSecurityGroups": [{"id": "sg-9"}, {"filters": [{"name": "tag:a", "values": ["b"]}]}],
    }
    plan = plan_of(machine(**spec), facts(groups=Answer(said)))
    assert plan.security_groups == tuple(sorted(["sg-8", "sg-9", "sg-5", GROUPS["lb"]]))


@pytest.mark.parametrize(
    ("spec", "cluster", "key"),
    [
        ({}, {}, "default"),
        ({}, {"sshKeyName": "theirs"}, "theirs"),
        ({"sshKeyName": "mine"}, {"sshKeyName": "theirs"}, "mine"),
        ({"sshKeyName": ""}, {"sshKeyName": "theirs"}, ""),
        ({}, {"sshKeyName": ""}, ""),
    ],
)
def test_the_key_is_the_specs_else_the_clusters(spec: Json, cluster: Json, key: str) -> None:
    assert plan_of(machine(**spec), view=view_of(stored_cluster(**cluster))).key_name == key


OPTIONS: dict[str, tuple[Json, str, object]] = {
    "a profile": ({"iamInstanceProfile": "nodes"}, "profile", "nodes"),
    "a public address": ({"publicIP": False}, "associate_public_ip_address", False),
    "a root volume": (
        {"rootVolume": {"size": 20, "type": "gp3", "throughput": 200, "iops": 4000, "deviceName": "/dev/xvdz"}},
        "root_volume",
        {"device": "/dev/sda1", "size": 20, "type": "gp3", "iops": 4000, "throughput": 200,
         "delete_on_termination": True},
    ),
    "a key encrypts": (
        {"rootVolume": {"size": 8, "encryptionKey": "k"}}, "root_volume",
        {"device": "/dev/sda1", "size": 8, "encrypted": True, "kms_key": "k", "delete_on_termination": True},
    ),
    "another volume": (
        {"nonRootVolumes": [{"deviceName": "/dev/sdb", "size": 9, "encrypted": False}]}, "volumes",
        [{"device": "/dev/sdb", "size": 9, "encrypted": False, "delete_on_termination": True}],
    ),
    "spot by its options": ({"spotMarketOptions": {"maxPrice": "0.05"}}, "spot", {"max_price": "0.05"}),
    "spot by the market": ({"marketType": "Spot"}, "spot", {"max_price": ""}),
    "tenancy": ({"tenancy": "dedicated"}, "tenancy", "dedicated"),
    "a placement group": ({"placementGroupName": "g"}, "placement_group", "g"),
    "a partition": ({"placementGroupName": "g", "placementGroupPartition": 3}, "partition", 3),
    "names": (
        {"privateDnsName": {"hostnameType": "resource-name", "enableResourceNameDnsARecord": False}}, "hostname",
        {"type": "resource-name", "a_record": False},
    ),
    "metadata": (
        {"instanceMetadataOptions":
            {"httpTokens": "required", "httpPutResponseHopLimit": 2, "httpProtocolIpv6": "enabled"}},
        "metadata",
        {"http_endpoint": "enabled", "http_tokens": "required", "hop_limit": 2, "instance_metadata_tags": "disabled",
         "http_protocol_ipv6": "enabled"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "attribute", "value"), OPTIONS.values(), ids=OPTIONS.keys())
def test_an_option_is_in_the_request(spec: Json, attribute: str, value: object) -> None:
    assert request_of(plan_of(machine(**spec)))[attribute] == value


@pytest.mark.parametrize(("said", "ipv6"), [(None, True), ("enabled", True), ("disabled", False)])
def test_ipv6_follows_the_subnet(said: str | None, ipv6: bool) -> None:
    dual = (MachineSubnet(PRIVATE, VPC, ZONES[0], ipv6=True),)
    request = request_of(plan_of(machine(assignPrimaryIPv6=said), facts(subnets=Answer(dual))))
    assert (request.get("ipv6", False), request.get("primary_ipv6", False)) == (ipv6, ipv6)
    assert "ipv6" not in request_of(plan_of(machine()))


def test_tags_are_the_clusters_with_the_machines_over_them() -> None:
    cluster = stored_cluster(additionalTags={"team": "a", "cost": "1"})
    plan = plan_of(machine(additionalTags={"team": "b"}), view=view_of(cluster), owner=owner_machine())
    assert plan.tags == (("cost", "1"), ("team", "b"))
    assert build_desired(plan).graph.nodes[INSTANCE].tags == {
        "Name=m1",
        "MachineName=default/m1-owner",
        "kubernetes.io/cluster/demo=owned",
        "sigs.k8s.io/cluster-api-provider-aws/cluster/demo=owned",
        "sigs.k8s.io/cluster-api-provider-aws/role=node",
    }


def test_a_name_of_the_users_wins_and_a_long_machine_is_not_in_a_tag() -> None:
    raw = machine(additionalTags={"Name": "mine"})
    owner = owner_machine(control_plane=True)
    owner["metadata"]["name"] = "m" * 253
    raw["metadata"]["name"] = "n" * 253
    tags = build_desired(plan_of(raw, owner=owner)).graph.nodes[INSTANCE].tags
    assert not [each for each in tags if each.startswith(("Name=", "MachineName="))]
    assert "sigs.k8s.io/cluster-api-provider-aws/role=control-plane" in tags
    raw["spec"]["additionalTags"] = {}
    assert f"Name={'n' * 253}" in build_desired(plan_of(raw)).graph.nodes[INSTANCE].tags


# --- what is chosen stays chosen -----------------------------------------------------------------

THERE = Observed(
    "i-0123456789abcdef0", "m1", State.READY,
    attributes={"image_id": "ami-old", "subnet_id": PODS, "key_name": "old", "security_groups": []},
)  # fmt: skip


def test_a_living_instance_keeps_what_it_was_made_with_and_follows_its_groups() -> None:
    kept = {"profile": "old", "user_data": {"$secret": "boot/value", "digest": "x"}}
    plan = plan_of(
        machine(iamInstanceProfile="new", sshKeyName="new"),
        MachineFacts(),
        record=on_record(request=kept),
    )
    assert request_of(plan, {INSTANCE: THERE}) == {
        "name": "m1",
        "image_id": "ami-old",
        "instance_type": "m5.large",
        "subnet_id": PODS,
        "key_name": "old",
        "profile": "old",
        "user_data": {"$secret": "boot/value"},
        "security_groups": sorted([GROUPS["node"], GROUPS["lb"]]),
    }


def test_an_open_create_asks_for_the_same_again() -> None:
    """Facts that changed meanwhile must not make another request of it."""
    sent = {"name": "m1", "image_id": "ami-7", "instance_type": "m5.large", "subnet_id": OTHER_PRIVATE, "key_name": ""}
    plan = plan_of(machine(), MachineFacts(), record={INSTANCE: Entry(RecordState.INTENDED, request=sent)})
    assert {**request_of(plan), "security_groups": []} == {**sent, "security_groups": []}


@pytest.mark.parametrize(
    ("provider_id", "record", "standing"),
    [
        ("", {}, InstanceStanding.NONE),
        ("", {INSTANCE: Entry(RecordState.INTENDED)}, InstanceStanding.OPEN),
        ("aws:///a/i-1", on_record("i-1"), InstanceStanding.OURS),
        ("aws:///a/i-2", on_record("i-1"), InstanceStanding.OURS),
        ("aws:///a/i-1", {}, InstanceStanding.GIVEN),
        ("aws:///a/i-1", {INSTANCE: Entry(RecordState.GIVEN, "i-1")}, InstanceStanding.GIVEN),
        ("aws:///a/i-1", {INSTANCE: Entry(RecordState.VACANT, gone="i-1")}, InstanceStanding.GONE),
        ("", {INSTANCE: Entry(RecordState.VACANT, attempt=2)}, InstanceStanding.NONE),
    ],
)
def test_only_a_record_makes_an_instance_ours(provider_id: str, record: Any, standing: InstanceStanding) -> None:
    assert read_recorded(provider_id, record).standing is standing


def test_an_instance_that_is_given_is_used_as_it_is() -> None:
    plan = plan_of(machine(providerID="aws:///us-east-1a/i-0123456789abcdef0"), MachineFacts())
    found = build_desired(plan)
    node = found.graph.nodes[INSTANCE]
    assert node.given is not None and node.given({}) == "i-0123456789abcdef0"
    assert (node.tags, node.given_tags, found.user_tags) == (frozenset(), frozenset(), ())


def test_one_that_has_gone_is_not_made_again() -> None:
    plan = plan_of(machine(), MachineFacts(), record={INSTANCE: Entry(RecordState.VACANT, gone="i-1")})
    assert plan.gone and build_desired(plan).graph.nodes == {}


def test_a_cluster_that_is_being_deleted_gets_no_new_instance_and_keeps_its_own() -> None:
    view = replace(view_of(), deleting=True)
    found = planned(view=view)
    assert isinstance(found, UndecidedSpec) and "is being deleted" in found.missing["its cluster"].message
    assert isinstance(planned(view=view, known=MachineFacts(), record=on_record()), MachinePlan)


def test_a_group_that_the_cluster_does_not_have_yet_is_waited_for() -> None:
    view = replace(view_of(), groups={"node": "sg-1"})
    found = planned(view=view)
    assert isinstance(found, UndecidedSpec) and "no security group lb" in found.missing["its cluster"].message


@pytest.mark.parametrize("question", ["image", "type", "subnets", "chosen", "groups"])
def test_what_the_cloud_did_not_answer_is_waited_for(question: str) -> None:
    assert isinstance(planned(known=facts(**{question: NOT_ASKED})), UndecidedSpec)


def test_bootstrap_secrets_come_before_the_instance() -> None:
    boot = BootstrapPlan("script", (BootstrapSecret("0", {"name": "aws.cluster.x-k8s.io/u-0", "value": "x"}),))
    graph = build_desired(plan_of(), boot).graph
    assert graph.order == (NodeKey("bootstrap-secret", "0"), INSTANCE)
    assert graph.nodes[INSTANCE].request({})["user_data"] == "script"


def test_the_adapter_names_the_bootstrap_secret_of_a_new_instance_alone() -> None:
    raw = machine(cloudInit={"insecureSkipSecretsManager": True})
    found = desired_of(raw, bootstrap="#cloud-config")
    assert isinstance(found, WantedMachine)
    assert found.graph.nodes[INSTANCE].request({})["user_data"] == reference("boot/value", form=GZIP)
    living = desired_of(raw, bootstrap="#cloud-config", record=on_record())
    assert isinstance(living, WantedMachine)
    assert "user_data" not in living.graph.nodes[INSTANCE].request({INSTANCE: THERE})


def test_a_delete_asks_nothing_of_the_cluster_or_of_aws() -> None:
    raw = machine(instanceType=None)
    raw["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z"
    found = desired_of(raw, MachineFacts(), cluster={"metadata": {"name": "broken"}})
    assert isinstance(found, WantedMachine) and found.graph.nodes == {}


def test_a_lost_machine_is_rebuilt_with_what_cannot_change() -> None:
    found = AWSMachineAdapter(SaidFacts(facts())).rebuild_spec(OWNER, [(INSTANCE, THERE)])
    shown = {"instanceType": "", "ami": {"id": "ami-old"}, "subnet": {"id": PODS}, "sshKeyName": "old"}
    assert found == shown, "providerID is filled in again"
