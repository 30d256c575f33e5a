"""What the schema of AWSCluster and its identities can know is refused at apply time, with its field."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.session import Session

from freehold_apiserver.custom import CustomStrategy
from harness.rows import over_rows
from harness.schemas import crd_of

Json = dict[str, Any]
LB: str = "controlPlaneLoadBalancer"
SECOND: str = "secondaryControlPlaneLoadBalancer"
INTERNAL = {"name": "b", "scheme": "internal", "loadBalancerType": "nlb"}
NLB = {LB: {"loadBalancerType": "nlb"}}
ENDPOINT = {"controlPlaneEndpoint": {"host": "h", "port": 6443}}
BEHIND = {"controlPlaneEndpoint": {"host": "a-1.elb.us-east-1.amazonaws.com", "port": 6443}}
IDENTITY = {"identityRef": {"kind": "AWSClusterStaticIdentity", "name": "a"}}


def strategy_of(kind: str) -> CustomStrategy:
    version = crd_of(kind)["spec"]["versions"][0]
    return CustomStrategy(version["schema"]["openAPIV3Schema"], has_status="subresources" in version)


@pytest.fixture(scope="module")
def clusters() -> CustomStrategy:
    return strategy_of("AWSCluster")


def refusals(strategy: CustomStrategy, new: Json, old: Json | None = None, **more: Any) -> list[str]:
    """``new`` and ``old`` are specs; ``more`` the kind, the name and the status."""
    objects = [
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": more.get("kind", "AWSCluster"),
            "metadata": {"name": more.get("name", "a")},
            "spec": copy.deepcopy(spec),
            **({"status": more["status"]} if "status" in more else {}),
        }
        for spec in (new, old)
        if spec is not None
    ]
    for each in objects:
        strategy.decode(each)
    return [str(each) for each in strategy.validate(objects[0], objects[1] if old is not None else None)]


def vpc(**fields: Any) -> Json:
    return {"network": {"vpc": fields}}


def subnet(**fields: Any) -> Json:
    return {"network": {"subnets": [{"id": "a", **fields}]}}


REFUSED: dict[str, tuple[Json, str, str]] = {
    "a region": ({"region": "Frankfurt"}, "spec.region", "eu-central-1"),
    "a range beside a pool": (vpc(cidrBlock="10.0.0.0/16", ipamPool={"id": "p"}), "spec.network.vpc.ipamPool",
                              "remove cidrBlock"),
    "a pool that is not named": (vpc(ipamPool={}), "spec.network.vpc.ipamPool", "id or its name"),
    "IPv6 without a pool": (vpc(ipv6={"cidrBlock": "2001:db8::/56"}), "spec.network.vpc.ipv6.cidrBlock", "poolId"),
    "a subnet's zone": (subnet(availabilityZone="US-EAST-1A"), "spec.network.subnets[0].availabilityZone",
                         "us-east-1a"),
    "a local zone of nowhere": (subnet(zoneType="local-zone"), "spec.network.subnets[0]", "parentZoneName"),
    "two of one name": ({LB: {"name": "b"}, SECOND: INTERNAL}, f"spec.{SECOND}.name", "same name; change one"),
}  # fmt: skip
"""What the reconciler says otherwise; the rest of the table is in test_aws_cluster_input."""


@pytest.mark.parametrize(("spec", "field", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_work_is_refused_at_apply_time(clusters: CustomStrategy, spec: Json, field: str, said: str) -> None:
    (refusal,) = refusals(clusters, {"region": "us-east-1", **spec})
    assert refusal.startswith(f"{field}: Invalid value: ") and said in refusal


@pytest.mark.parametrize("spec", [spec for spec, field, _ in REFUSED.values() if field != "spec.region"],
                         ids=[name for name, row in REFUSED.items() if row[1] != "spec.region"])  # fmt: skip
def test_what_was_stored_before_a_rule_existed_can_still_be_written(clusters: CustomStrategy, spec: Json) -> None:
    """Its finalizer could not be removed otherwise."""
    old = {"region": "us-east-1", **spec}
    assert not refusals(clusters, {**old, "controlPlaneEndpoint": {"host": "h", "port": 6443}}, old)


ON_RECORD = {"identity": {"uid": "u", "uuid": "u", "account": "111122223333/us-east-1"}}
KEPT: dict[str, tuple[Json, Json, str, str]] = {
    "the region": ({"region": "us-east-1"}, {"region": "eu-west-1"}, "spec.region", "cannot change"),
    "the endpoint": ({"controlPlaneEndpoint": {"host": "a", "port": 1}}, {"controlPlaneEndpoint": {"host": "b",
                         "port": 1}},
                     "spec.controlPlaneEndpoint", "cannot change"),
    "the VPC": (vpc(id="vpc-0123456789abcdef0"), vpc(id="vpc-0123456789abcdef1"), "spec.network", "cannot change"),
    "the identity": ({"identityRef": {"kind": "AWSClusterRoleIdentity", "name": "a"}}, {}, "spec",
                         "cannot be taken away"),
    "the scheme": ({LB: {"scheme": "internet-facing"}}, {LB: {"scheme": "internal"}}, f"spec.{LB}.scheme",
                         "cannot change"),
    "the scheme that was not written": ({}, {LB: {"scheme": "internal"}}, f"spec.{LB}.scheme",
                         "it was internet-facing"),
    "the scheme that is not written any more": ({LB: {"scheme": "internal"}}, {}, "spec", "it is internet-facing"),
    "that there is one": ({LB: {}}, {LB: {"loadBalancerType": "disabled"}}, f"spec.{LB}.loadBalancerType", "disabled"),
    "that there is one, not written": ({}, {LB: {"loadBalancerType": "disabled"}}, f"spec.{LB}.loadBalancerType",
                                       "cannot be disabled or enabled later, and without the field there was one"),
    "that there is none": ({LB: {"loadBalancerType": "disabled"}}, {}, "spec",
                           "cannot be disabled or enabled later, and without the field there is one"),
    "the name": ({LB: {"name": "a"}}, {LB: {"name": "b"}}, f"spec.{LB}.name", "cannot change"),
    "the health check of a network one": (
        {LB: {"loadBalancerType": "nlb", "healthCheckProtocol": "TCP"}},
        {LB: {"loadBalancerType": "nlb", "healthCheckProtocol": "HTTP"}}, f"spec.{LB}.healthCheckProtocol",
        "cannot change",
    ),
    "the second one": ({SECOND: INTERNAL}, {}, "spec", "cannot be taken away"),
    "the region, taken out": ({}, {"region": None}, "spec.region", "cannot change"),
    "the endpoint's port": (ENDPOINT, {"controlPlaneEndpoint": {"host": "h", "port": 443}}, "spec.controlPlaneEndpoint",
                            "cannot change"),
    "the endpoint, taken out": ({"controlPlaneEndpoint": {"host": "h"}}, {}, "spec.controlPlaneEndpoint",
                                "cannot change"),
    "that there is none, by another type": ({LB: {"loadBalancerType": "disabled"}}, NLB, f"spec.{LB}.loadBalancerType",
                                            "disabled or enabled later"),
    "the type behind the endpoint": ({**NLB, **BEHIND}, {LB: {"loadBalancerType": "classic"}, **BEHIND},
                                     f"spec.{LB}.loadBalancerType", "so its type cannot change"),
    "the type behind the endpoint, left out": ({**NLB, **BEHIND}, BEHIND, f"spec.{LB}.loadBalancerType",
                                               "so its type cannot change"),
    "a name that was not written": (NLB, {LB: {**NLB[LB], "name": "b"}}, f"spec.{LB}.name", "cannot change"),
    "the family": (NLB, {LB: {**NLB[LB], "targetGroupIPType": "ipv4"}}, f"spec.{LB}.targetGroupIPType",
                   "cannot change"),
    "the second one's name": ({SECOND: INTERNAL}, {SECOND: {**INTERNAL, "name": "c"}}, f"spec.{SECOND}.name",
                              "cannot change"),
}  # fmt: skip


@over_rows(("old", "new", "field", "said"), KEPT.values(), ids=KEPT.keys())
def test_what_upstream_does_not_let_change_is_refused(
    clusters: CustomStrategy, old: Json, new: Json, field: str, said: str
) -> None:
    after, before = {"region": "us-east-1", **new}, {"region": "us-east-1", **old}
    (refusal,) = refusals(clusters, after, before, status=ON_RECORD)
    assert refusal.startswith(f"{field}: Invalid value: ") and said in refusal


@over_rows(("old", "new"), [row[:2] for row in KEPT.values()], ids=KEPT.keys())
def test_anything_may_be_corrected_while_nothing_is_on_record(clusters: CustomStrategy, old: Json, new: Json) -> None:
    """A slip of the pen would hold the object for ever otherwise."""
    after, before = {"region": "us-east-1", **new}, {"region": "us-east-1", **old}
    assert not refusals(clusters, after, before)
    assert not refusals(clusters, after, before, status={"identity": {"uid": "u", "uuid": "u"}})


CHANGES: dict[str, tuple[Json, Json]] = {
    "endpoint filled in": ({}, ENDPOINT),
    "endpoint's port filled in": ({"controlPlaneEndpoint": {"host": "h", "port": 0}}, ENDPOINT),
    "identity": (IDENTITY, {"identityRef": {"kind": "AWSClusterRoleIdentity", "name": "b"}}),
    "load balancer written out": ({}, {LB: {"scheme": "internet-facing", "loadBalancerType": "classic"}}),
    "load balancer left out": ({LB: {"scheme": "internet-facing"}}, {}),
    "check of a classic one": ({LB: {"healthCheckProtocol": "SSL"}}, {LB: {"healthCheckProtocol": "TCP"}}),
    "second later": ({}, {SECOND: INTERNAL}),
    "tags": ({"additionalTags": {"a": "b"}}, {"additionalTags": {"c": "d"}}),
    "type behind an endpoint of one's own": ({**NLB, **ENDPOINT}, {LB: {"loadBalancerType": "classic"}, **ENDPOINT}),
    "subnets": (subnet(), {"network": {"subnets": [{"id": "a"}, {"id": "b"}]}}),
    "VPC taken out, which may have been written by mistake": (vpc(id="vpc-0123456789abcdef0"), {}),
    "VPC written, which may be the cluster's own": ({}, vpc(id="vpc-0123456789abcdef0")),
}


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES.keys())
def test_the_rest_can_change(clusters: CustomStrategy, old: Json, new: Json) -> None:
    assert not refusals(clusters, {"region": "us-east-1", **new}, {"region": "us-east-1", **old}, status=ON_RECORD)


def test_the_region_may_become_that_of_the_resources_again(clusters: CustomStrategy) -> None:
    """Whatever was written, and a restored status showed, meanwhile."""
    assert not refusals(clusters, {"region": "us-east-1"}, {"region": "eu-west-1"}, status=ON_RECORD)


def test_every_region_of_aws_is_accepted_and_a_slip_of_the_pen_is_not(clusters: CustomStrategy) -> None:
    known = Session()
    regions = [
        region
        for partition in known.get_available_partitions()
        for region in known.get_available_regions("ec2", partition)
    ]
    assert len(regions) > 40
    for region in (*regions, "us-west-9", "nz-south-1"):
        assert not refusals(clusters, {"region": region}), region
    for slip in ("us-esat-1", "us-east1", "eu-centrl-1", "useast-1", "us-east-1a", "us-east-", "Us-East-1"):
        assert refusals(clusters, {"region": slip}), slip


def test_a_port_without_a_host_may_change(clusters: CustomStrategy) -> None:
    """It is no endpoint yet: the operator writes the load balancer's port in its place."""
    before = {"region": "us-east-1", "controlPlaneEndpoint": {"port": 443}}
    after = {"region": "us-east-1", "controlPlaneEndpoint": {"host": "lb.example.org", "port": 6443}}
    assert not refusals(clusters, after, before)


ACCEPTED: dict[str, Json] = {
    "nothing": {},
    "everything written": {LB: {"scheme": "internet-facing", "loadBalancerType": "classic"}},
    "none": {LB: {"loadBalancerType": "disabled"}},
    "two": {LB: {"loadBalancerType": "nlb", "name": "a"}, SECOND: INTERNAL},
    "an odd key": {"additionalTags": {"a b_c.d:e/f=g+h-i@j": "1", "k" * 128: ""}},
    "40 tags": {"additionalTags": {f"key-{n}": "" for n in range(40)}},
}


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_can_work_is_accepted_and_may_be_taken_back(clusters: CustomStrategy, spec: Json) -> None:
    new = {"region": "us-east-1", **spec}
    assert not refusals(clusters, new)
    assert not refusals(clusters, new, new)


def test_the_example_is_accepted(clusters: CustomStrategy) -> None:
    path = Path(__file__).parents[3] / "examples" / "aws-cluster.yaml"
    assert not refusals(clusters, yaml.safe_load(path.read_text())["spec"])


ROLE = {"roleARN": "arn:aws:iam::111122223333:role/a", "allowedNamespaces": {}}
IDENTITIES: dict[str, tuple[str, str, Json, Json | None, str]] = {
    "a role without a source": ("AWSClusterRoleIdentity", "a", ROLE, None, "name an identity in sourceIdentityRef"),
    "a role of its own": ("AWSClusterRoleIdentity", "a",
                          {**ROLE, "sourceIdentityRef": {"kind": "AWSClusterRoleIdentity", "name": "a"}}, None,
                          "cannot assume itself"),
    "another Secret": ("AWSClusterStaticIdentity", "a", {"secretRef": "b"}, {"secretRef": "a"},
                         "make another identity"),
    "a controller's of another name": ("AWSClusterControllerIdentity", "mine", {}, None, "called default"),
    "an operator without values": ("AWSClusterStaticIdentity", "a", {"secretRef": "b", "allowedNamespaces": {
        "selector": {"matchExpressions": [{"key": "team", "operator": "In"}]}}}, None, "In or NotIn with values"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "new", "old", "said"), IDENTITIES.values(), ids=IDENTITIES.keys())
def test_identities_that_cannot_work_are_refused(kind: str, name: str, new: Json, old: Json | None, said: str) -> None:
    (refusal,) = refusals(strategy_of(kind), new, old, kind=kind, name=name)
    assert said in refusal
