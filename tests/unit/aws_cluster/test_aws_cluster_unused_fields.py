"""A field that is not used beside the rest of the spec is named, and what upstream writes out by default is not."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.objects.served_fields import observe_served_fields
from harness.aws_specs import NAMES, REGION, SUBNET, VPC, ZONES, Spec, at, cluster, decide, facts, put, rule

FIRST, SECOND = "spec.controlPlaneLoadBalancer", "spec.secondaryControlPlaneLoadBalancer"
VPC_AT = "spec.network.vpc"
LISTED = [{"id": "a", "availabilityZone": ZONES[0], "cidrBlock": "10.0.0.0/24", "isPublic": True}]
INTERNAL = {"loadBalancerType": "nlb", "scheme": "internal", "name": "in"}
OPEN = {"loadBalancerType": "nlb", "scheme": "internet-facing", "name": "out"}
NONE_DERIVED = "not used; spec.network.subnets lists the subnets, so none is derived"
BUCKET = {"name": "b-1", "presignedURLDuration": "1h"}
URLS = (
    "s3Bucket.presignedURLDuration: for the URLs that machines of the cluster get; the bucket is the same for every "
    "duration"
)
NO_PATH = (
    "additionalListeners[0].healthCheck.path: not used; a check with TCP asks for no path. Write protocol: HTTP or "
    "HTTPS beside it, or remove it"
)


def notes(spec: Spec) -> list[str]:
    found = decide(NAMES, cluster({"region": REGION, **spec}), facts(), storage=True)
    assert isinstance(found, Decided), found
    return [str(note) for note in found.notes]


def _listeners(path: str, **check: Any) -> dict[str, Any]:
    return {"additionalListeners": [{"port": 1234, "healthCheck": {"path": path, **check}}]}


UNUSED: dict[str, tuple[Spec, list[str]]] = {
    "limit beside listed subnets": (
        {"network": {"vpc": {"availabilityZoneUsageLimit": 1}, "subnets": LISTED}},
        [f"{VPC_AT}.availabilityZoneUsageLimit: {NONE_DERIVED}"],
    ),
    "selection and schema in a given VPC": (
        {"network": {"vpc": {**VPC, "availabilityZoneSelection": "Random", "subnetSchema": "PreferPublic"},
                     "subnets": [SUBNET]}},
        [f"{VPC_AT}.availabilityZoneSelection: {NONE_DERIVED}", f"{VPC_AT}.subnetSchema: {NONE_DERIVED}"],
    ),
    "check and scheme of no load balancer": (
        {"controlPlaneLoadBalancer": {"loadBalancerType": "disabled", "scheme": "internal",
                                      "healthCheck": {"intervalSeconds": 30}}},
        [f"{FIRST}.scheme: not used; there is no load balancer",
         f"{FIRST}.healthCheck: not used; there is no load balancer"],
    ),
    "path of a check with TCP": (
        {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb", **_listeners("/x")},
         "secondaryControlPlaneLoadBalancer": {**INTERNAL, **_listeners("/x", protocol="TCP")}},
        [f"{FIRST}.{NO_PATH}", f"{SECOND}.{NO_PATH}"],
    ),
    "of no bastion": (
        {"bastion": {"enabled": False, "allowedCIDRBlocks": ["192.0.2.0/24"]}},
        ["spec.bastion.allowedCIDRBlocks: not used; there is no bastion without enabled: true"],
    ),
    "nobody reaches no bastion": (
        {"bastion": {"disableIngressRules": True}},
        ["spec.bastion.disableIngressRules: not used; there is no bastion without enabled: true"],
    ),
    "profiles beside URLs": (
        {"s3Bucket": {**BUCKET, "controlPlaneIAMInstanceProfile": "c", "nodesIAMInstanceProfiles": ["n"]}},
        [f"spec.{URLS}",
         *(f"spec.s3Bucket.{each}: not used; with presignedURLDuration machines read through URLs, and no profile gets "
           "a right to read" for each in ("controlPlaneIAMInstanceProfile", "nodesIAMInstanceProfiles"))],
    ),
    "tags of the cloud controller": (
        {"additionalTags": {"kubernetes.io/cluster/prod": "shared", "kubernetes.io/role/elb": "", "team": "a"}},
        ["spec.additionalTags[kubernetes.io/cluster/prod]: subnets, route tables and the security group lb have it "
         "with a value of their own, and the other security groups do not have it: the cloud controller finds them by "
         "it",
         "spec.additionalTags[kubernetes.io/role/elb]: subnets for load balancers of Services have it with a value of "
         "their own"],
    ),
}  # fmt: skip
USED: dict[str, Spec] = {
    "what upstream writes out of no bastion": {"bastion": {"enabled": False, "allowedCIDRBlocks": ["0.0.0.0/0"]}},
    "the same with IPv6": {
        "network": {"vpc": {"ipv6": {}}}, "bastion": {"allowedCIDRBlocks": ["::/0", "0.0.0.0/0"]},
    },
    "defaults beside listed subnets": {
        "network": {"vpc": {"availabilityZoneUsageLimit": 3, "availabilityZoneSelection": "Ordered",
                            "subnetSchema": "PreferPrivate"}, "subnets": LISTED},
    },
    "the scheme of none decides that of the second": {
        "controlPlaneLoadBalancer": {"loadBalancerType": "disabled", "scheme": "internal"},
        "secondaryControlPlaneLoadBalancer": OPEN,
    },
    "a path that is asked for": {
        "controlPlaneLoadBalancer": {"loadBalancerType": "nlb", **_listeners("/x", protocol="HTTPS")},
    },
    "a key of machines": {"sshKeyName": "mine"},
    "tags of another cluster": {"additionalTags": {"kubernetes.io/cluster/other": "shared"}},
}  # fmt: skip


@pytest.mark.parametrize(("spec", "said"), UNUSED.values(), ids=UNUSED)
def test_what_is_not_used_is_named(spec: Spec, said: list[str]) -> None:
    assert notes(spec) == said


@pytest.mark.parametrize("spec", USED.values(), ids=USED)
def test_what_is_used_is_not(spec: Spec) -> None:
    assert notes(spec) == []


def test_what_serves_machines_is_served() -> None:
    """Of the condition: nothing is wrong with it."""
    found = decide(NAMES, cluster({"region": REGION, "s3Bucket": BUCKET}), facts(), storage=True)
    assert isinstance(found, Decided) and found.notes and observe_served_fields(found.notes).status == "True"


def test_the_schema_numbers_ranges_of_derived_subnets_that_are_written_out() -> None:
    """It is used where a subnet has the default name and IPv6, and no range of it is given."""
    spec: Spec = {"region": REGION, "network": {"vpc": {"ipv6": {}}}}
    found = decide(NAMES, cluster(spec), facts())
    assert isinstance(found, Decided)
    subnets = [
        {"id": each.name, "availabilityZone": each.zone, "cidrBlock": each.cidr, "isPublic": each.public}
        for each in found.cluster_plan.subnets
    ]
    put(spec, "network.subnets", subnets)
    put(spec, "network.vpc.subnetSchema", "PreferPublic")
    assert notes(spec) == []
    del at(spec, "network.vpc")["ipv6"]
    assert notes(spec) == [f"{VPC_AT}.subnetSchema: {NONE_DERIVED}"]


def test_a_load_balancer_that_is_disabled_sends_no_client() -> None:
    """Nodes reach the second one alone: from within the VPC."""
    second = {**INTERNAL, "ingressRules": [rule(cidrBlocks=["192.0.2.0/24"])]}
    spec = {"controlPlaneLoadBalancer": {"loadBalancerType": "disabled"}, "secondaryControlPlaneLoadBalancer": second}
    found = decide(NAMES, cluster({"region": REGION, **spec}), facts())
    assert isinstance(found, Decided)
    (rules,) = (group.rules for group in found.cluster_plan.groups if group.role == "apiserver-lb")
    assert [str(each.source.kind) for each in rules if each.to_port == 6443] == ["ipv4"]
