"""A manifest can be applied over the spec that is rebuilt from what a lost AWSCluster had made."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from freehold.api.crd import build_crd
from freehold.api.parse import parse
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, State
from freehold.engine.tag_text import texts
from freehold.providers.aws.cluster.adapter import rebuild_spec
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.keys import VPC
from freehold.providers.aws.cluster.nodes.balancers import balancer_key
from freehold.providers.aws.cluster.types.crd import AWS_CLUSTERS
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.tags.capa_tags import cluster_key
from freehold_apiserver.custom import CustomStrategy
from harness.aws_specs import NAMES, REGION, Spec, cluster, decide, facts
from harness.schemas import schema_of

STRATEGY = CustomStrategy(schema_of(build_crd(AWS_CLUSTERS)), has_status=True)
OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSCluster", NAMES.namespace, NAMES.cluster)


def _first(**fields: Any) -> Spec:
    return {"controlPlaneLoadBalancer": fields}


SECOND = {"name": "inner", "scheme": "internal", "loadBalancerType": "nlb"}
MANIFESTS: dict[str, Spec] = {
    "nothing said": {},
    "network, public": _first(loadBalancerType="nlb"),
    "network, named": _first(loadBalancerType="nlb", name="api"),
    "internal": _first(scheme="internal"),
    "internal, network": _first(scheme="internal", loadBalancerType="nlb"),
    "internal, named": _first(scheme="internal", name="api"),
    "internal, network, named": _first(scheme="internal", loadBalancerType="nlb", name="api"),
    "a second one": {**_first(loadBalancerType="nlb"), "secondaryControlPlaneLoadBalancer": SECOND},
    "an endpoint": {"controlPlaneEndpoint": {"host": "h", "port": 6443}},
}


def _found(spec: Spec, tags: dict[str, str]) -> list[tuple[NodeKey, Observed]]:
    """The load balancers that this spec comes to, as a read shows them."""
    parse(AWSClusterSpec, spec, at="spec")
    decided = decide(NAMES, cluster(spec), facts())
    assert isinstance(decided, Decided), decided
    return [
        (
            balancer_key(each),
            Observed(each.name, each.name, State.READY, tags=texts(tags),
                     attributes={"name": each.name, "scheme": each.scheme.value}),
        )
        for each in decided.cluster_plan.load_balancers
    ]  # fmt: skip


@pytest.mark.parametrize("spec", MANIFESTS.values(), ids=MANIFESTS)
def test_what_must_not_change_is_as_the_manifest_has_it(spec: Spec) -> None:
    manifest = {"region": REGION, **spec}
    rebuilt = {"region": REGION, **rebuild_spec(OWNER, _found(manifest, {cluster_key(NAMES.cluster): "owned"}))}
    before, after = cluster(copy.deepcopy(rebuilt)), cluster(copy.deepcopy(manifest))
    for each in (before, after):
        STRATEGY.decode(each)
    assert not STRATEGY.validate(before, None)
    assert not STRATEGY.validate(after, before), rebuilt


def test_the_usual_name_is_that_of_the_cluster_and_not_of_the_object() -> None:
    """CAPA's tag has it. Where a stranger added another one, the name of the object is as good as any."""
    manifest = {"region": REGION, **_first(scheme="internal")}
    another = Owner(OWNER.uuid, OWNER.kind, OWNER.namespace, "object")
    (row,) = [
        rebuild_spec(another, _found(manifest, {cluster_key(NAMES.cluster): "owned"}))["controlPlaneLoadBalancer"]
    ]
    assert "name" not in row
    tags = {cluster_key(name): "owned" for name in (NAMES.cluster, "strangers")}
    assert "name" in rebuild_spec(another, _found(manifest, tags))["controlPlaneLoadBalancer"]


@pytest.mark.parametrize("name", [name for name in MANIFESTS if name.startswith(("network", "internal"))])
def test_what_is_rebuilt_means_the_load_balancer_that_is_there(name: str) -> None:
    """Whoever lets the object go on without its manifest gets no second one beside it."""
    manifest = {"region": REGION, **MANIFESTS[name]}
    found = _found(manifest, {cluster_key(NAMES.cluster): "owned"})
    assert [key for key, _ in _found({"region": REGION, **rebuild_spec(OWNER, found)}, {})] == [key for key, _ in found]


@pytest.mark.parametrize(("block", "said"), [("10.0.0.0/16", {}), ("10.8.0.0/16", {"cidrBlock": "10.8.0.0/16"})])
def test_the_range_of_the_vpc_is_said_where_it_is_not_the_default(block: str, said: Spec) -> None:
    seen = Observed("vpc-1", "demo-vpc", State.READY, attributes={"cidr": block})
    assert rebuild_spec(OWNER, [(VPC, seen)]) == ({"network": {"vpc": said}} if said else {})


def test_without_a_load_balancer_nothing_is_said_of_one() -> None:
    assert rebuild_spec(OWNER, []) == {}


def test_a_health_check_that_is_not_todays_default_is_written_out() -> None:
    def rebuilt(kind: str, logical: str, check: Spec) -> Spec:
        seen = Observed(
            "one", "one", State.READY, attributes={"name": "n", "scheme": "internal", "health_check": check}
        )
        return dict(rebuild_spec(OWNER, [(NodeKey(kind, logical), seen)]).get("controlPlaneLoadBalancer", {}))

    times = {"intervalSeconds": 10, "timeoutSeconds": 5, "thresholdCount": 5, "unhealthyThresholdCount": 3}
    former = {"Interval": 10, "Timeout": 5, "HealthyThreshold": 5, "UnhealthyThreshold": 3}
    assert rebuilt("classic-load-balancer", "primary", former)["healthCheck"] == times
    today = {"Interval": 5, "Timeout": 4, "HealthyThreshold": 2, "UnhealthyThreshold": 6}
    assert "healthCheck" not in rebuilt("classic-load-balancer", "primary", today)
    group = {
        "HealthCheckIntervalSeconds": 10, "HealthCheckTimeoutSeconds": 5, "HealthyThresholdCount": 5,
        "UnhealthyThresholdCount": 3,
    }  # fmt: skip
    assert rebuilt("target-group", "primary:6443", group) == {"healthCheck": times}
    assert rebuilt("target-group", "secondary:6443", group) == rebuilt("target-group", "primary:8132", group) == {}
