"""AWSCluster as the operator serves it: its life, what heals, and what a person is told meanwhile."""

from __future__ import annotations

import pytest

from freehold.api import names
from freehold.controllers.plan.plan import PlanAction
from freehold.view.journal_view import parents
from freehold.view.object_view import view
from harness.aws_account import REGION
from harness.aws_served import ServedAws


async def test_a_cluster_is_made_and_deleted_without_anything_for_a_person() -> None:
    """A state that needs nobody must not be shown as blocked, also not in between."""
    served = ServedAws()
    await served.up()
    assert served.object.raw["spec"]["controlPlaneEndpoint"]["port"] == 6443
    assert served.status()["ready"] is True
    await served.down()
    assert "Blocked" not in served.worst


async def test_a_route_that_somebody_takes_out_is_put_back_although_nothing_is_new_to_record() -> None:
    """It is added by a create, which is sent only soon after a write of the object (ADR 2)."""
    served = ServedAws()
    await served.up()
    ec2 = served.sim.client("ec2")
    (table, *_) = [row["id"] for row in served.rows() if row["kind"] == "route-table"]
    ec2.delete_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0")
    for _ in range(4):
        served.later(600)
        await served.once()
    (found,) = ec2.describe_route_tables(RouteTableIds=[table])["RouteTables"]
    assert "0.0.0.0/0" in {route.get("DestinationCidrBlock") for route in found["Routes"]}
    assert served.condition(names.READY)["status"] == "True"


@pytest.mark.parametrize("deleting", [False, True], ids=["create", "delete"])
async def test_a_plan_lists_what_is_done(deleting: bool) -> None:
    served = ServedAws()
    if deleting:
        await served.up()
    plan = await served.plan(deleting=deleting)
    assert not plan.problems and not plan.unanswered
    wanted = {(row.kind, row.name) for row in plan.rows if row.action in (PlanAction.CREATE, PlanAction.DELETE)}
    await served.up()
    assert wanted == {(row["kind"], row["name"]) for row in served.rows()}


async def test_a_plan_names_what_does_not_exist_yet() -> None:
    """An id that the plan made up would tell nobody which group a rule lets in."""
    plan = await ServedAws().plan()
    said = [row.attribute for row in plan.rows if row.action is PlanAction.ADD_PART]
    assert not any("planned" in each for each in said)
    assert "ingress-rule tcp 10250 demo-controlplane" in said


async def test_each_resource_has_a_name_of_its_own_to_be_told_apart() -> None:
    """Upstream calls the NAT gateways of all zones alike."""
    served = ServedAws()
    await served.once()
    shown = [(row["kind"], row["name"]) for row in served.rows()]
    assert len(shown) == len(set(shown)) == 25


async def test_a_tree_shows_what_is_in_the_vpc_below_it() -> None:
    """A NAT gateway has an address too, which is in no VPC."""
    served = ServedAws()
    await served.up()
    lines = view(served.object.raw).lines
    inside = parents(served.object.raw, lines)
    within = {line.name: lines[at].name if at is not None else "" for line, at in zip(lines, inside, strict=True)}
    outside = {name for name, parent in within.items() if not parent}
    assert outside == {"demo-vpc", *(f"demo-eip-common {REGION}{zone}" for zone in "abc")}
