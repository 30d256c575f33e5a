"""The name of the load balancer and the range of the VPC stay, once the cluster is ready: refused when it is applied.

Also where the spec leaves one of them out, which means the default: :mod:`test_aws_cluster_input` has the rest.
"""

from __future__ import annotations

from typing import Any

import pytest

from harness.aws_specs import REGION, SUBNET, VPC, Spec
from unit.aws_cluster.test_aws_cluster_family import READY, refusals

LEAST: Spec = {"region": REGION}
NAME, RANGE = "spec.controlPlaneLoadBalancer.name", "spec.network.vpc.cidrBlock"


def first(**fields: Any) -> Spec:
    return {**LEAST, "controlPlaneLoadBalancer": fields}


def vpc(**fields: Any) -> Spec:
    return {**LEAST, "network": {"vpc": fields}}


def given(**fields: Any) -> Spec:
    return {**LEAST, "network": {"vpc": {**VPC, **fields}, "subnets": [SUBNET]}}


STAYS: dict[str, tuple[Spec, Spec, str]] = {
    "a name beside none": (LEAST, first(name="other"), NAME),
    "a name of another type": (LEAST, first(name="other", loadBalancerType="nlb"), NAME),
    "a name that is left out with the rest": (first(name="api"), LEAST, NAME),
    "a range beside none": (LEAST, vpc(cidrBlock="10.8.0.0/16"), RANGE),
    "a range where the rest was written": (vpc(subnetSchema="PreferPublic"), vpc(cidrBlock="10.8.0.0/16"), RANGE),
    "another range": (vpc(cidrBlock="10.8.0.0/16"), vpc(cidrBlock="10.9.0.0/16"), RANGE),
    "a range that is left out": (vpc(cidrBlock="10.8.0.0/16"), LEAST, RANGE),
}
CHANGES: dict[str, tuple[Spec, Spec]] = {
    "a load balancer is written out": (LEAST, first(scheme="internet-facing")),
    "a load balancer is left out": (first(scheme="internet-facing"), LEAST),
    "something else, with a name": (first(name="api"), first(name="api", crossZoneLoadBalancing=True)),
    "the default range is written out": (LEAST, vpc(cidrBlock="10.0.0.0/16")),
    "the default range is left out": (vpc(cidrBlock="10.0.0.0/16"), {**LEAST, "network": {}}),
    "an empty range": (LEAST, vpc(cidrBlock="")),
    "something else, with a range": (vpc(cidrBlock="10.8.0.0/16"), vpc(cidrBlock="10.8.0.0/16", ipv6=None)),
    "upstream writes the range of a given VPC": (given(), given(cidrBlock="10.8.0.0/16")),
    "the VPC by its id, as upstream writes it": (LEAST, given(cidrBlock="10.8.0.0/16")),
    "an id that was written by mistake is taken out": (given(cidrBlock="10.8.0.0/16"), LEAST),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "field"), STAYS.values(), ids=STAYS)
def test_a_living_cluster_keeps_them(old: Spec, new: Spec, field: str) -> None:
    (found,) = refusals(new, old, READY)
    assert found.startswith(f"{field}: Invalid value: ") and "cannot change" in found


@pytest.mark.parametrize(("old", "new", "field"), STAYS.values(), ids=STAYS)
@pytest.mark.parametrize(
    "status", [None, {"ready": False}, {"ready": True, "phase": "Blocked"}], ids=["new", "not ready", "blocked"]
)
def test_before_it_is_ready_and_a_name_where_a_person_must_act_they_can_change(
    old: Spec, new: Spec, field: str, status: dict[str, Any] | None
) -> None:
    """Another name is the way out of one that is taken, and another range out of one that is refused: then no VPC has
    been made."""
    free = field == NAME or not (status or {}).get("ready")
    assert (refusals(new, old, status) == []) is free


def _there(name: str) -> dict[str, Any]:
    return {**READY, "networkStatus": {"apiServerElb": {"name": name}}}


@pytest.mark.parametrize(
    ("old", "new", "there", "taken"),
    [
        pytest.param(first(name="other"), LEAST, "demo-apiserver", True, id="a wrong name is taken out"),
        pytest.param(LEAST, first(name="api"), "api", True, id="a name that is missing is written"),
        pytest.param(first(name="api"), LEAST, "api", False, id="the right name is taken out"),
        pytest.param(LEAST, first(name="other"), "demo-apiserver", False, id="a wrong name is written"),
    ],
)
def test_a_spec_that_names_another_load_balancer_than_there_is_can_be_corrected(
    old: Spec, new: Spec, there: str, taken: bool
) -> None:
    """It is drift, and the condition says to write what is there."""
    assert (refusals(new, old, _there(there)) == []) is taken


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES)
def test_the_same_in_other_words_is_taken(old: Spec, new: Spec) -> None:
    assert refusals(new, old, READY) == []
