"""Plans: the result of the gate, interrupted creates, drift, surplus, and objects that may not be changed."""

from __future__ import annotations

import pytest

from freehold.api import names
from freehold.controllers.plan.plan import PlanAction, PlanRow
from freehold.controllers.plan.planner import Plan
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext, FoundCluster
from freehold_sim.faults import Effect, Fault
from harness.plans import Snapshot, planned
from harness.powervs import Harness, example
from harness.resources import existing, only, row_of
from harness.standing import standing


def _rows(plan: Plan, kind: str) -> list[PlanRow]:
    return [row for row in plan.rows if row.kind == kind]


def test_the_port_of_the_api_server_comes_from_the_cluster() -> None:
    cluster = {"metadata": {"name": "freehold-demo"}, "spec": {"clusterNetwork": {"apiServerPort": 7443}}}
    found = planned(Harness(around=ClusterContext(ClusterApiMode.OFF, referrer=FoundCluster(cluster))))
    assert "7443-7443" in next(row.attribute for row in found.rows if row.action is PlanAction.ADD_PART)


def test_a_paused_object_has_no_changes_to_list() -> None:
    harness = Harness()
    harness.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: ""}}})
    found = planned(harness)
    assert found.rows == ()
    assert "paused" in found.notes[0]


@pytest.mark.parametrize("effect", [Effect.ERROR_BEFORE, Effect.REPLY_LOST])
def test_a_plan_lists_an_interrupted_create_as_one_that_may_be_made_again(effect: Effect) -> None:
    """Only if nothing shows its effect: if it took effect, its nonce shows it."""
    harness = Harness()
    harness.cloud.faults.add(Fault(effect, "vpc.create_vpc", count=1))
    harness.pass_once()
    vpc = _rows(planned(harness), "vpc")[0]
    assert vpc.action is (PlanAction.MAY_CREATE if effect is Effect.ERROR_BEFORE else PlanAction.KEEP)


def test_a_plan_says_what_it_leaves_as_it_is_although_the_spec_says_otherwise() -> None:
    """Nothing of it is made anew, so no word of the plan says so."""
    harness = standing(Harness)
    harness.object.patch({"spec": {"zone": "dal12"}})
    found = planned(harness)
    workspace = _rows(found, "workspace")[0]
    assert workspace.action is PlanAction.LEAVE
    assert "zone is 'dal10', the spec says 'dal12'" in workspace.reason
    assert not found.changes


def test_a_plan_names_what_the_spec_no_longer_wants() -> None:
    subnets = [{"name": "a", "zone": "us-south-1"}, {"name": "b", "zone": "us-south-2"}]
    harness = Harness(example(vpcSubnets=subnets))
    harness.up()
    harness.object.patch({"spec": {"vpcSubnets": subnets[:1]}})
    rows = {row.name: row.action for row in _rows(planned(harness), "vpc-subnet")}
    assert rows == {"a": PlanAction.KEEP, "b": PlanAction.SURPLUS}


def test_a_plan_lists_the_create_of_a_resource_that_somebody_deleted() -> None:
    harness = standing(Harness)
    gone = existing(harness, "load-balancer")[0]
    harness.cloud.strangers.delete(gone["id"])
    harness.clock.advance(3600.0)
    (balancer,) = _rows(planned(harness), "load-balancer")
    assert balancer.action is PlanAction.CREATE
    assert "is gone" in balancer.reason


def test_an_object_that_may_not_be_changed_reports_the_differences_and_sends_nothing() -> None:
    """Without the annotation a pass only reads."""
    harness = standing(Harness)
    harness.object.patch({"metadata": {"annotations": {ibm_names.CREATE_INFRA_ANNOTATION: None}}})
    gateway = existing(harness, "gateway")[0]
    harness.object.patch({"spec": {"transitGateway": {"name": gateway["name"], "globalRouting": True}}})
    before = Snapshot(harness)
    harness.for_a_while(1400.0)
    assert Snapshot(harness) == before
    row = row_of(harness, "transit-gateway")
    assert (row["state"], row["reason"]) == ("Blocked", "Frozen")
    assert "is not sent" in row["message"]


def test_the_plan_says_that_another_name_in_a_list_is_another_resource() -> None:
    """Whoever meant a rename hears before the apply that a second subnet is made, and that the first one stays."""
    harness = Harness(example(vpcSubnets=[{"name": "first"}]))
    harness.up()
    harness.object.patch({"spec": {"vpcSubnets": [{"name": "second"}]}})
    rows = {row.name: row for row in planned(harness).rows if row.kind == "vpc-subnet"}
    assert rows["second"].action == "create" and "first is not renamed to it" in rows["second"].reason
    assert rows["first"].action == "surplus"


def test_a_vpc_is_renamed_in_place() -> None:
    harness = Harness(example(vpc={"name": "first", "region": "us-south"}))
    harness.up()
    vpc = only(harness, "vpc")["id"]
    harness.object.patch({"spec": {"vpc": {"name": "second"}}})
    (row,) = [row for row in planned(harness).rows if row.kind == "vpc" and row.action.changes]
    assert (row.action, row.attribute) == ("update", "name")
    harness.for_a_while(900.0)
    assert only(harness, "vpc", "second")["id"] == vpc
