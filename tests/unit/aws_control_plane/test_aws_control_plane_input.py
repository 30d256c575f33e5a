"""What is wrong in an AWSManagedControlPlane is named with its field and the way out, before anything is made."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Reason
from freehold.providers.aws.control_plane.facts import AddonVersions, ControlPlaneFacts, EncryptionKey
from freehold.providers.aws.control_plane.keys import CLUSTER, access_entry, addon
from freehold.providers.objects.adapter import RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from freehold_apiserver.custom import CustomStrategy
from harness.aws_control_plane import NETWORK, ON_RECORD, control_plane, desired_of, wanted
from harness.rows import over_rows
from harness.schemas import crd_of

Json = dict[str, Any]
ROLE = "arn:aws:iam::111122223333:role/admins"
VIEW = {"policyARN": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy", "accessScope": {"type": "cluster"}}
NONE = ControlPlaneFacts()
CNI = {"name": "vpc-cni", "version": "v9"}
VERSIONS = ControlPlaneFacts(addon_versions={"vpc-cni": Answer(AddonVersions(("v1.20.4", "v1.19.0"), "v1.20.4"))})

AT_APPLY: dict[str, tuple[Json, str, str]] = {
    "both ways in are closed": (
        {"endpointAccess": {"public": False}}, "spec.endpointAccess.public", "nobody could reach the API server",
    ),
    "a range that is none": (
        {"endpointAccess": {"publicCIDRs": ["10.0.0.0"]}}, "spec.endpointAccess.publicCIDRs", "is not an IPv4 range",
    ),
    "a name that EKS refuses": ({"eksClusterName": "my.cluster"}, "spec.eksClusterName", "no name of an EKS cluster"),
    "a name that is too long": ({"eksClusterName": "a" * 101}, "spec.eksClusterName", "at most 100"),
    "a mode without anybody": (
        {"accessConfig": {"authenticationMode": "config_map", "bootstrapClusterCreatorAdminPermissions": False}},
        "spec.accessConfig.bootstrapClusterCreatorAdminPermissions", "nobody could enter",
    ),
    "entries that are not used": (
        {"accessConfig": {"authenticationMode": "config_map"}, "accessEntries": [{"principalARN": ROLE}]},
        "spec.accessEntries", "write api_and_config_map",
    ),
    "an entry of nobody": (
        {"accessEntries": [{"principalARN": "admins"}]}, "spec.accessEntries[0].principalARN", "is not the ARN",
    ),
    "groups of nodes": (
        {"accessEntries": [{"principalARN": ROLE, "type": "ec2_linux", "kubernetesGroups": ["a"]}]},
        "spec.accessEntries[0].kubernetesGroups", "nodes have the groups",
    ),
    "policies of nodes": (
        {"accessEntries": [{"principalARN": ROLE, "type": "ec2_windows", "accessPolicies": [VIEW]}]},
        "spec.accessEntries[0].accessPolicies", "nodes have the rights",
    ),
    "a policy in no namespace": (
        {"accessEntries": [{"principalARN": ROLE, "accessPolicies": [{**VIEW, "accessScope": {"type": "namespace"}}]}]},
        "spec.accessEntries[0].accessPolicies[0].accessScope.namespaces", "list at least one",
    ),
    "encryption without a key": ({"encryptionConfig": {"resources": ["secrets"]}}, "spec.encryptionConfig.provider",
                                 "is missing"),
    "encryption of something else": (
        {"encryptionConfig": {"provider": "alias/a", "resources": ["pods"]}}, "spec.encryptionConfig.resources",
        "EKS encrypts secrets",
    ),
    "pods in a range of others": ({"secondaryCidrBlock": "10.1.0.0/16"}, "spec.secondaryCidrBlock",
                                  "no range for pods"),
    "a range for pods that is too large": ({"secondaryCidrBlock": "100.64.0.0/10"}, "spec.secondaryCidrBlock",
                                           "no range for pods"),
    "a range for pods that is not listed": (
        {"secondaryCidrBlock": "100.64.0.0/16",
         "network": {"vpc": {"secondaryCidrBlocks": [{"ipv4CidrBlock": "100.65.0.0/16"}]}}},
        "spec.secondaryCidrBlock", "list it there too",
    ),
    "an addon that is switched off": (
        {"addons": [CNI], "vpcCni": {"disable": True}}, "spec.vpcCni.disable", "installed and switched off",
    ),
    "kube-proxy as an addon and switched off": (
        {"addons": [{**CNI, "name": "kube-proxy"}], "kubeProxy": {"disable": True}}, "spec.kubeProxy.disable",
        "installed and switched off",
    ),
}  # fmt: skip
"""What both the API server and the reconciler refuse."""
HERE: dict[str, tuple[Json, ControlPlaneFacts, str, str]] = {
    "two addons of one name": ({"addons": [CNI, CNI]}, NONE, "spec.addons[1].name", "is used by spec.addons[0].name"),
    "two entries of one role": (
        {"accessEntries": [{"principalARN": ROLE}, {"principalARN": ROLE}]}, NONE,
        "spec.accessEntries[1].principalARN", "is used by",
    ),
    "IPv6": ({"network": {"vpc": {"ipv6": {}}}}, NONE, "spec.network.vpc.ipv6", "are not served"),
    "one zone": (
        {"network": {"vpc": {"availabilityZoneUsageLimit": 1}}}, NONE, "spec.network.vpc.availabilityZoneUsageLimit",
        "at least two zones",
    ),
    "subnets in one zone": (
        {"network": {"subnets": [{"id": "a", "availabilityZone": "us-east-1a", "cidrBlock": "10.0.0.0/24",
                                  "isPublic": True}]}},
        NONE, "spec.network.subnets", "list one in another zone",
    ),
    "no private subnets": (
        {"restrictPrivateSubnets": True, "network": {"subnets": [
            {"id": zone, "availabilityZone": zone, "cidrBlock": f"10.0.{n}.0/24", "isPublic": True}
            for n, zone in enumerate(("us-east-1a", "us-east-1b"))]}},
        NONE, "spec.restrictPrivateSubnets", "set it to false",
    ),
    "an addon that is not there": (
        {"addons": [{"name": "cni", "version": "v1"}]},
        ControlPlaneFacts(addon_versions={"cni": NotThere(("coredns", "vpc-cni"))}),
        "spec.addons[0].name", "choose one of coredns, vpc-cni",
    ),
    "a version of an addon that is not there": (
        {"addons": [CNI]}, VERSIONS, "spec.addons[0].version", "choose one of v1.20.4, v1.19.0; EKS takes v1.20.4",
    ),
    "a key that is not there": (
        {"encryptionConfig": {"provider": "alias/a"}}, ControlPlaneFacts(key=NotThere()),
        "spec.encryptionConfig.provider", "there is no key 'alias/a' in us-east-1",
    ),
    "a key that EKS cannot use": (
        {"encryptionConfig": {"provider": "alias/a"}},
        ControlPlaneFacts(key=Answer(EncryptionKey("arn:aws:kms:us-east-1:111122223333:key/1", "it is disabled"))),
        "spec.encryptionConfig.provider", "it is disabled",
    ),
    "no region": ({"region": ""}, NONE, "spec.region", "it is missing"),
}  # fmt: skip


@pytest.fixture(scope="module")
def schema() -> CustomStrategy:
    return CustomStrategy(
        crd_of("AWSManagedControlPlane")["spec"]["versions"][0]["schema"]["openAPIV3Schema"], has_status=True
    )


def refusals(schema: CustomStrategy, new: Json, old: Json | None = None, status: Json | None = None) -> list[str]:
    objects = [copy.deepcopy({**each, **({"status": status} if status else {})}) for each in (new, old) if each]
    for each in objects:
        schema.decode(each)
    return [str(each) for each in schema.validate(objects[0], objects[1] if old else None)]


@over_rows(("spec", "field", "said"), AT_APPLY.values(), ids=AT_APPLY.keys())
def test_what_cannot_work_is_refused_at_apply_time(schema: CustomStrategy, spec: Json, field: str, said: str) -> None:
    (refusal,) = refusals(schema, control_plane(**spec))
    assert refusal.startswith(f"{field}: ") and said in refusal


@over_rows(("spec", "field", "said"), AT_APPLY.values(), ids=AT_APPLY.keys())
def test_what_no_api_server_checked_is_refused_here(spec: Json, field: str, said: str) -> None:
    found = desired_of(control_plane(**spec))
    assert isinstance(found, RefusedSpec)
    assert [each.field.startswith(field) and said in each.message for each in found.problems].count(True) == 1


@pytest.mark.parametrize(("spec", "facts", "field", "said"), HERE.values(), ids=HERE.keys())
def test_what_no_schema_can_know_is_refused_here(spec: Json, facts: ControlPlaneFacts, field: str, said: str) -> None:
    found = desired_of(control_plane(**spec), facts)
    assert isinstance(found, RefusedSpec)
    assert [each.message for each in found.problems if each.field == field and said in each.message], found.problems


GOOD: tuple[Json, ...] = (
    {},
    {"version": None},
    {"endpointAccess": {"public": False, "private": True}},
    {"endpointAccess": {"publicCIDRs": ["192.0.2.0/24"]}},
    {"secondaryCidrBlock": "100.64.0.0/16"},
    {"secondaryCidrBlock": "198.19.4.0/24"},
    {"accessEntries": [{"principalARN": ROLE, "accessPolicies": [VIEW], "kubernetesGroups": ["a"]}]},
    {"accessConfig": {"authenticationMode": "config_map"}},
    {"vpcCni": {"disable": True}, "kubeProxy": {"disable": True}},
)


@pytest.mark.parametrize("spec", GOOD)
def test_what_is_right_is_neither_refused_by_the_schema_nor_here(schema: CustomStrategy, spec: Json) -> None:
    assert refusals(schema, control_plane(**spec)) == []
    wanted(control_plane(**spec))


# --- what must not change -------------------------------------------------------------------------

RECORDED = {"identity": {"uid": "u", "uuid": "u", "account": "111122223333/us-east-1"}}
LIVING = {**RECORDED, "ready": True, "phase": "Ready"}
KEY = {"provider": "arn:aws:kms:us-east-1:111122223333:key/1"}
KEPT: dict[str, tuple[Json, Json, str]] = {
    "the name": ({"eksClusterName": "a"}, {"eksClusterName": "b"}, "cannot be renamed"),
    "the region": ({}, {"region": "eu-west-1"}, "cannot change"),
    "the identity": ({"identityRef": {"kind": "AWSClusterRoleIdentity", "name": "a"}}, {}, "cannot be taken away"),
    "the key": ({"encryptionConfig": KEY}, {"encryptionConfig": {"provider": "alias/b"}}, "neither changes"),
    "that there is a key": ({"encryptionConfig": KEY}, {}, "neither changes nor removes"),
    "entries": ({"accessConfig": {"authenticationMode": "api_and_config_map"}},
                {"accessConfig": {"authenticationMode": "config_map"}}, "does not take access entries away"),
    "entries alone": ({"accessConfig": {"authenticationMode": "api"}}, {"accessConfig": {}}, "does not take"),
    "the version": ({"version": "v1.33"}, {"version": "1.32.9"}, "never goes back"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), KEPT.values(), ids=KEPT.keys())
def test_what_a_cluster_keeps_cannot_be_changed(schema: CustomStrategy, old: Json, new: Json, said: str) -> None:
    before, after = control_plane(**old), control_plane(**new)
    (refusal,) = refusals(schema, after, before, LIVING)
    assert said in refusal
    assert refusals(schema, after, before) == []  # nothing is on record: a slip of the pen


OF_EKS = ("the name", "the key", "that there is a key", "entries", "entries alone", "the version")


@over_rows("status", [RECORDED, {**LIVING, "phase": "Blocked"}], ids=["no cluster yet", "blocked"])
@over_rows("what", OF_EKS)
def test_what_eks_refused_can_be_corrected(schema: CustomStrategy, what: str, status: Json) -> None:
    """A name that is taken, a version that skips one, a key that is not there: the condition says what to write."""
    old, new, _ = KEPT[what]
    assert refusals(schema, control_plane(**new), control_plane(**old), status) == []


MAY_CHANGE: tuple[tuple[Json, Json], ...] = (
    ({"version": "v1.33"}, {"version": "v1.34"}),
    ({"version": "v1.9"}, {"version": "v1.10"}),
    ({}, {"encryptionConfig": KEY}),
    ({"accessConfig": {"authenticationMode": "config_map"}}, {"accessConfig": {"authenticationMode": "api"}}),
    ({"accessConfig": {"authenticationMode": "config_map"}}, {}),
    ({}, {"eksClusterName": "a"}),
)


@pytest.mark.parametrize(("old", "new"), MAY_CHANGE)
def test_what_eks_lets_change_can_change(schema: CustomStrategy, old: Json, new: Json) -> None:
    assert refusals(schema, control_plane(**new), control_plane(**old), LIVING) == []


def test_a_name_that_differs_from_the_living_clusters_is_refused() -> None:
    found = desired_of(control_plane(eksClusterName="other"), entries=ON_RECORD)
    assert isinstance(found, RefusedSpec)
    (problem,) = found.problems
    assert problem.field == "spec.eksClusterName" and "default_demo-control-plane" in problem.message


def test_a_record_of_a_cluster_of_another_name_gives_nothing_that_name() -> None:
    """Somebody who may edit the object may write the ARN of another cluster into it."""
    forged = {CLUSTER: Entry(RecordState.OWNED, "arn:aws:eks:us-east-1:111122223333:cluster/theirs")}
    found = desired_of(control_plane(), entries=forged)
    assert isinstance(found, RefusedSpec) and [each.field for each in found.problems] == ["spec.eksClusterName"]


def test_an_addon_that_is_there_stays_when_eks_offers_its_version_no_more() -> None:
    there = {**ON_RECORD, addon("vpc-cni"): Entry(RecordState.OWNED, "arn")}
    wanted(control_plane(addons=[CNI]), VERSIONS, entries=there)


# --- what is not known ------------------------------------------------------------------------------

DENIED = NoAnswer(Reason.DENIED, "not allowed to call iam:GetInstanceProfile")


def test_a_key_that_cannot_be_asked_for_holds_the_create_up() -> None:
    found = desired_of(control_plane(encryptionConfig=KEY), ControlPlaneFacts(key=DENIED))
    assert isinstance(found, UndecidedSpec) and "spec.encryptionConfig.provider" in found.missing


def test_a_role_of_nodes_that_is_not_known_now_keeps_its_entry() -> None:
    unknown = ControlPlaneFacts(node_roles={"gpu": DENIED})
    held = {**ON_RECORD, access_entry("arn:aws:iam::111122223333:role/gpu"): Entry(RecordState.OWNED, "arn")}
    assert isinstance(desired_of(control_plane(), unknown, entries=held), UndecidedSpec)
    wanted(control_plane(), unknown, entries=ON_RECORD)


def test_zones_that_are_not_known_hold_the_create_up() -> None:
    found = desired_of(control_plane(), network=replace(NETWORK, zones=DENIED))
    assert isinstance(found, UndecidedSpec)
