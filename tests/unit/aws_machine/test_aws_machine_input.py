"""What is wrong in an AWSMachine is named with its field and the way out, at apply time or before anything is made."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from freehold.providers.aws.machine.desired import WantedMachine
from freehold.providers.aws.machine.facts import Image, InstanceType, MachineFacts, MachineGroup, MachineSubnet
from freehold.providers.objects.adapter import RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import Answer, NotThere
from freehold_apiserver.custom import CustomStrategy
from harness.aws_machine import (
    FOREIGN,
    IMAGE,
    PODS,
    PRIVATE,
    SUBNETS,
    VPC,
    desired_of,
    facts,
    group,
    machine,
    on_record,
    owner_machine,
    stored_cluster,
)
from harness.rows import over_rows
from harness.schemas import crd_of

Json = dict[str, Any]
ARM = Answer(Image(IMAGE, "arm64", "/dev/sda1", 8))
BIG = Answer(Image(IMAGE, "x86_64", "/dev/sda1", 30))

BAD: dict[str, tuple[Json, Json, MachineFacts, str, str]] = {
    "an image that is not there": ({}, {}, facts(image=NotThere()), "spec.ami.id", f"there is no image {IMAGE}"),
    "an image of another architecture": ({}, {}, facts(image=ARM), "spec.ami.id", "is for arm64, and m5.large has x86"),
    "an image that nothing fits": (
        {"ami": None}, {}, facts(image=NotThere()), "spec.ami.id",
        "no image fits 'capa-ami-ubuntu-24.04-?1.33.1-*' of account 819546954734, for the architecture of m5.large",
    ),
    "no version to look an image up by": (
        {"ami": None}, {"version": ""}, facts(), "spec.ami.id", "there is no Machine with a version; give the id",
    ),
    "a version that is none": ({"ami": None}, {"version": "new"}, facts(), "spec.ami.id", "spec.version 'new' is none"),
    "a format with another field": (
        {"ami": None, "imageLookupFormat": "a-{{.Region}}"}, {}, facts(), "spec.imageLookupFormat", "{{.Region}}",
    ),
    "a format with code": (
        {"ami": None, "imageLookupFormat": "{{if .BaseOS}}a{{end}}"}, {}, facts(), "spec.imageLookupFormat",
        "no plain template",
    ),
    "an id that is none": ({"ami": {"id": "ubuntu"}}, {}, facts(), "spec.ami.id", "'ubuntu' is not the id of an image"),
    "a type that is not there": ({}, {}, facts(type=NotThere()), "spec.instanceType", "no type 'm5.large'"),
    "no type": ({"instanceType": None}, {}, facts(), "spec.instanceType", "is required"),
    "a root volume that is too small": (
        {"rootVolume": {"size": 20}}, {}, facts(image=BIG), "spec.rootVolume.size", "at least 30 GiB",
    ),
    "io1 without iops": ({"rootVolume": {"size": 8, "type": "io1"}}, {}, facts(), "spec.rootVolume.iops", "needs iops"),
    "throughput of gp2": (
        {"nonRootVolumes": [{"size": 8, "type": "gp2", "throughput": 1, "deviceName": "/dev/sdb"}]}, {}, facts(),
        "spec.nonRootVolumes[0].throughput", "only a volume of type gp3",
    ),
    "a volume without device": (
        {"nonRootVolumes": [{"size": 8}]}, {}, facts(), "spec.nonRootVolumes[0].deviceName", "/dev/sdb",
    ),
    "a subnet of another VPC": (
        {"subnet": {"id": FOREIGN}}, {}, facts(chosen=Answer((MachineSubnet(FOREIGN, "vpc-other", "us-east-1a"),))),
        "spec.subnet.id", f"{FOREIGN} (of vpc-other) is not in the cluster's VPC {VPC}",
    ),
    "a subnet that is not there": (
        {"subnet": {"id": FOREIGN}}, {}, facts(chosen=Answer(())), "spec.subnet.id", "there is no such subnet",
    ),
    "filters that nothing fits": (
        {"subnet": {"filters": [{"name": "tag:a", "values": ["b"]}]}}, {}, facts(chosen=Answer(())),
        "spec.subnet.filters", "none fits",
    ),
    "a subnet for pods": (
        {"subnet": {"id": PODS}}, {}, facts(chosen=Answer((SUBNETS[3],))), "spec.subnet.id", "is for machines",
    ),
    "a private subnet for a public address": (
        {"subnet": {"id": PRIVATE}, "publicIP": True}, {}, facts(chosen=Answer((SUBNETS[0],))), "spec.subnet.id",
        "no public one, as publicIP needs",
    ),
    "a subnet of another failure domain": (
        {"subnet": {"id": PRIVATE}}, {"failureDomain": "us-east-1b"}, facts(chosen=Answer((SUBNETS[0],))),
        "spec.subnet.id", "in us-east-1b, the Machine's spec.failureDomain",
    ),
    "a failure domain without a subnet": (
        {}, {"failureDomain": "us-east-1f"}, facts(), "spec.subnet",
        "no private subnet for machines in us-east-1f, the Machine's spec.failureDomain; choose another failure domain",
    ),
    "no public subnet": (
        {"publicIP": True}, {}, facts(subnets=Answer(SUBNETS[:2])), "spec.publicIP", "has no public subnet",
    ),
    "a group that is not there": (
        {"additionalSecurityGroups": [{"id": "sg-9"}]}, {}, facts(groups=Answer({group("sg-9"): ()})),
        "spec.additionalSecurityGroups[0]", "there is no security group sg-9",
    ),
    "a group of another VPC": (
        {"securityGroupOverrides": {"node": "sg-9"}}, {},
        facts(groups=Answer({group("sg-9"): (MachineGroup("sg-9", "vpc-other"),)})),
        "spec.securityGroupOverrides[node]", "sg-9 is of vpc-other",
    ),
    "a group by id and by filters": (
        {"additionalSecurityGroups": [{"id": "sg-9", "filters": [{"name": "a", "values": ["b"]}]}]}, {},
        facts(groups=Answer({})), "spec.additionalSecurityGroups[0].id", "not both",
    ),
    "a price that is none": (
        {"spotMarketOptions": {"maxPrice": "cheap"}}, {}, facts(), "spec.spotMarketOptions.maxPrice", "'cheap' is not",
    ),
    "spot on demand": (
        {"marketType": "OnDemand", "spotMarketOptions": {}}, {}, facts(), "spec.marketType", "write marketType Spot",
    ),
    "a capacity block": ({"marketType": "CapacityBlock"}, {}, facts(), "spec.marketType", "are not served"),
    "a partition of no group": (
        {"placementGroupPartition": 2}, {}, facts(), "spec.placementGroupPartition", "give placementGroupName",
    ),
    "a dedicated host": ({"hostID": "h-0123456789abcdef0"}, {}, facts(), "spec.hostID", "are not served"),
    "a host by tenancy": ({"tenancy": "host"}, {}, facts(), "spec.tenancy", "write default or dedicated"),
    "affinity to a host": ({"hostAffinity": "host"}, {}, facts(), "spec.hostAffinity", "write default"),
    "EFA": ({"networkInterfaceType": "efa"}, {}, facts(), "spec.networkInterfaceType", "write interface"),
    "own interfaces": ({"networkInterfaces": ["eni-1"]}, {}, facts(), "spec.networkInterfaces", "not served"),
    "a reservation": ({"capacityReservationId": "cr-1"}, {}, facts(), "spec.capacityReservationId", "not served"),
    "the processor": ({"cpuOptions": {"nestedVirtualization": "enabled"}}, {}, facts(), "spec.cpuOptions", "served"),
    "a pool of addresses": (
        {"elasticIpPool": {"publicIpv4Pool": "ipv4pool-ec2-1", "publicIpv4PoolFallbackOrder": "none"}}, {}, facts(),
        "spec.elasticIpPool", "not served",
    ),
    "Ignition": ({"ignition": {"version": "3.4"}}, {}, facts(), "spec.ignition", "is not served; use an image"),
    "the parameter store": (
        {"cloudInit": {"secureSecretsBackend": "ssm-parameter-store"}}, {}, facts(),
        "spec.cloudInit.secureSecretsBackend", "write secrets-manager",
    ),
    "tags in the metadata": (
        {"instanceMetadataOptions": {"instanceMetadataTags": "enabled"}}, {}, facts(),
        "spec.instanceMetadataOptions.instanceMetadataTags", "write disabled",
    ),
    "an instance alone": ({"instanceID": "i-0123456789abcdef0"}, {}, facts(), "spec.instanceID", "providerID"),
    "an id of another cloud": (
        {"providerID": "gce://a/b"}, {}, facts(), "spec.providerID", "'gce://a/b' is not the id of an instance",
    ),
    "two instances": (
        {"providerID": "aws:///us-east-1a/i-0123456789abcdef0", "instanceID": "i-0123456789abcdef1"}, {}, facts(),
        "spec.instanceID", "remove one",
    ),
    "a tag of ours": (
        {"additionalTags": {"freehold.dev/owner": "x"}}, {}, facts(), "spec.additionalTags[freehold.dev/owner]", "are",
    ),
    "a tag of upstream's": (
        {"additionalTags": {"sigs.k8s.io/cluster-api-provider-aws/role": "x"}}, {}, facts(),
        "spec.additionalTags[sigs.k8s.io/cluster-api-provider-aws/role]", "say whose a resource is",
    ),
    "a tag of another cluster": (
        {"additionalTags": {"kubernetes.io/cluster/b": "owned"}}, {}, facts(),
        "spec.additionalTags[kubernetes.io/cluster/b]", "another cluster owns the instance",
    ),
}  # fmt: skip


@over_rows(("spec", "owner", "known", "field", "said"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_by_name(spec: Json, owner: Json, known: MachineFacts, field: str, said: str) -> None:
    found = desired_of(machine(**spec), known, owner_machine(**owner))
    assert isinstance(found, RefusedSpec), found
    assert [each.field for each in found.problems] == [field]
    assert said in found.problems[0].message


def test_tags_count_with_the_clusters() -> None:
    cluster = stored_cluster(additionalTags={f"c{n}": "" for n in range(30)})
    found = desired_of(machine(additionalTags={f"m{n}": "" for n in range(11)}), cluster=cluster)
    assert isinstance(found, RefusedSpec)
    assert [each.field for each in found.problems] == ["spec.additionalTags"] and "41" in found.problems[0].message
    own = {f"c{n}": "mine" for n in range(30)}
    assert isinstance(desired_of(machine(additionalTags=own), cluster=cluster), WantedMachine)


@pytest.mark.parametrize("changed", [{"image": NotThere()}, {"type": NotThere()}, {"subnets": NotThere()}])
def test_a_living_machine_is_not_asked_what_it_was_made_of(changed: Json) -> None:
    found = desired_of(machine(ami=None), replace(facts(), **changed), record=on_record())
    assert isinstance(found, WantedMachine)


def test_an_instance_of_ours_is_not_another_one() -> None:
    found = desired_of(machine(providerID="aws:///us-east-1a/i-0123456789abcdef1"), record=on_record())
    assert isinstance(found, RefusedSpec)
    assert found.problems[0].field == "spec.providerID" and "i-0123456789abcdef0" in found.problems[0].message


def test_an_instance_that_is_given_is_said_so() -> None:
    found = desired_of(machine(providerID="aws:///us-east-1a/i-0123456789abcdef0"), MachineFacts())
    assert isinstance(found, WantedMachine)
    (note,) = found.notes
    assert note.field == "spec.providerID" and "never terminated" in note.message


def test_what_is_not_acted_on_is_noted() -> None:
    spec = {"rootVolume": {"size": 8, "deviceName": "/dev/xvda"}, "cloudInit": {"secretCount": 1, "secretPrefix": "p"}}
    found = desired_of(machine(**spec))
    assert isinstance(found, WantedMachine)
    noted = [note.field for note in found.notes]
    assert noted == ["spec.rootVolume.deviceName", "spec.cloudInit.secretCount", "spec.cloudInit.secretPrefix"]


def test_a_type_of_two_architectures_runs_images_of_both() -> None:
    both = Answer(InstanceType("m5.large", ("x86_64", "arm64")))
    assert isinstance(desired_of(machine(), facts(type=both, image=ARM)), WantedMachine)


def test_a_cluster_that_is_not_known_is_waited_for() -> None:
    found = desired_of(machine(), cluster={"metadata": {"name": "x", "annotations": {"freehold.dev/journal": "{"}}})
    assert isinstance(found, UndecidedSpec) and "cannot be read" in found.missing["its cluster"].message


# --- at apply time -------------------------------------------------------------------------------


def strategy_of(kind: str) -> CustomStrategy:
    version = crd_of(kind)["spec"]["versions"][0]
    return CustomStrategy(version["schema"]["openAPIV3Schema"], has_status="subresources" in version)


@pytest.fixture(scope="module")
def machines() -> CustomStrategy:
    return strategy_of("AWSMachine")


def refusals(strategy: CustomStrategy, new: Json, old: Json | None = None) -> list[str]:
    given = [copy.deepcopy(each) for each in (new, old) if each is not None]
    for each in given:
        strategy.decode(each)
    return [str(each) for each in strategy.validate(given[0], given[1] if old is not None else None)]


AT_ONCE = (
    "io1 without iops", "throughput of gp2", "a volume without device", "a group by id and by filters",
    "a price that is none", "spot on demand", "a partition of no group", "an id that is none", "no type",
    "an id of another cloud", "a tag of ours",
)  # fmt: skip


@pytest.mark.parametrize("name", AT_ONCE)
def test_the_schema_refuses_what_it_can_know(machines: CustomStrategy, name: str) -> None:
    spec, _, _, field, _ = BAD[name]
    assert any(field.partition("[freehold")[0] in each for each in refusals(machines, machine(**spec)))


def test_a_machine_that_is_right_is_accepted(machines: CustomStrategy) -> None:
    assert refusals(machines, machine(rootVolume={"size": 8}, cloudInit={"insecureSkipSecretsManager": True})) == []


HAS = {"providerID": "aws:///us-east-1a/i-0123456789abcdef0", "instanceID": "i-0123456789abcdef0"}
KEPT: dict[str, tuple[Json, Json]] = {
    "instanceType": ({}, {"instanceType": "m5.xlarge"}),
    "ami": ({}, {"ami": {"id": "ami-0123456789abcdef1"}}),
    "iamInstanceProfile": ({}, {"iamInstanceProfile": "x"}),
    "sshKeyName": ({"sshKeyName": "a"}, {"sshKeyName": None}),
    "rootVolume": ({"rootVolume": {"size": 8}}, {"rootVolume": {"size": 9}}),
    "nonRootVolumes": ({}, {"nonRootVolumes": [{"size": 8, "deviceName": "/dev/sdb"}]}),
    "subnet": ({"subnet": {"id": PRIVATE}}, {"subnet": {"id": PODS}}),
    "publicIP": ({"publicIP": True}, {"publicIP": False}),
    "instanceMetadataOptions": ({}, {"instanceMetadataOptions": {"httpTokens": "required"}}),
    "cloudInit.insecureSkipSecretsManager": ({}, {"cloudInit": {"insecureSkipSecretsManager": True}}),
}


@pytest.mark.parametrize(("field", "edit"), KEPT.items(), ids=KEPT.keys())
def test_what_an_instance_was_made_with_cannot_change(
    machines: CustomStrategy, field: str, edit: tuple[Json, Json]
) -> None:
    before, after = edit
    old, new = machine(**before, **HAS), machine(**{**before, **HAS, **after})
    (said,) = refusals(machines, new, old)
    assert (said.startswith(f"spec.{field}: ") and "cannot change" in said) or "another machine" in said
    assert refusals(machines, machine(**{**before, **after}), machine(**before)) == []


MUTABLE: tuple[Json, ...] = (
    {"additionalTags": {"a": "b"}},
    {"additionalSecurityGroups": [{"id": "sg-9"}]},
    {"cloudInit": {"secureSecretsBackend": "secrets-manager"}},
)


@pytest.mark.parametrize("after", MUTABLE)
def test_tags_and_groups_can_change(machines: CustomStrategy, after: Json) -> None:
    assert refusals(machines, machine(**HAS, **after), machine(**HAS)) == []


def test_a_machine_that_was_ready_is_no_other_instance(machines: CustomStrategy) -> None:
    old = {**machine(**HAS), "status": {"ready": True}}
    other = {**machine(**{**HAS, "providerID": "aws:///us-east-1a/i-0123456789abcdef1"}), "status": {"ready": True}}
    assert [each for each in refusals(machines, other, old) if each.startswith("spec.providerID: ")]
    assert refusals(machines, {**machine(), "status": {"ready": True}}, old) == []
    assert refusals(machines, {**other, "status": {}}, {**old, "status": {}}) == []


def template(kind: str, spec: Json, **metadata: Any) -> Json:
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": "t", "namespace": "default"},
        "spec": {"template": {"metadata": metadata, "spec": spec}},
    }


def test_a_template_of_machines_names_no_instance_and_can_be_changed_in_a_dry_run() -> None:
    strategy = strategy_of("AWSMachineTemplate")
    spec = machine()["spec"]
    (said,) = refusals(strategy, template("AWSMachineTemplate", {**spec, **HAS}))
    assert said.startswith("spec.template.spec: ") and "one instance" in said
    old, new = (
        template("AWSMachineTemplate", spec),
        template("AWSMachineTemplate", {**spec, "instanceType": "m5.xlarge"}),
    )
    assert refusals(strategy, old) == [] and refusals(strategy, new, old) == []


def test_a_template_of_clusters_cannot_change() -> None:
    strategy = strategy_of("AWSClusterTemplate")
    old, new = (template("AWSClusterTemplate", {"region": each}) for each in ("us-east-1", "us-west-2"))
    assert refusals(strategy, old) == [] and refusals(strategy, old, old) == []
    (said,) = refusals(strategy, new, old)
    assert "cannot change" in said
