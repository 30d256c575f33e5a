"""The spec shrinks or changes on a live cluster: nothing is renamed or moved, and what is surplus is said."""

from __future__ import annotations

from stage.powervs import Stage, example
from stage.scenery import REGION, Row, infrastructure, made_by_us, only, photograph, record, standing


def subnets(stage: Stage) -> dict[str, Row]:
    return {row["name"]: record(stage, row["id"]) for row in standing(stage, "subnet")}


def test_removing_the_first_of_several_subnets_moves_none_of_the_others() -> None:
    """ADR 8: logical names are stable; upstream's index names would have shifted."""
    stage = Stage(example(vpcSubnets=[{}, {}, {}]))
    stage.up()
    before = {name: (row["id"], row["zone"]) for name, row in subnets(stage).items()}
    assert len({zone for _, zone in before.values()}) == 3
    stage.object.patch({"spec": {"vpcSubnets": [{}, {}]}})
    stage.for_a_while(1500.0)

    after = {name: (row["id"], row["zone"]) for name, row in subnets(stage).items()}
    assert after == before
    assert stage.ready()
    rows = {row["name"]: row["state"] for row in stage.status()["resources"] if row["kind"] == "vpc-subnet"}
    assert sorted(rows.values()) == ["Ready", "Ready", "Surplus"]
    assert "no longer wants" in stage.condition("VPCSubnetReady")["message"]
    stage.down()
    assert standing(stage) == []


def test_removing_a_named_subnet_that_a_load_balancer_uses_keeps_it() -> None:
    """The load balancer stands in it: deleting it is refused by the cloud anyway."""
    stage = Stage(example(vpcSubnets=[{"name": "a"}, {"name": "b"}]))
    stage.up()
    before = subnets(stage)
    stage.object.patch({"spec": {"vpcSubnets": [{"name": "b"}]}})
    stage.for_a_while(1500.0)
    assert {name: row["id"] for name, row in subnets(stage).items()} == {n: r["id"] for n, r in before.items()}
    stage.down()
    assert standing(stage) == []


def test_a_subnet_added_later_is_created_beside_the_others() -> None:
    """Growing is as level-triggered as everything else."""
    stage = Stage(example(vpcSubnets=[{"name": "a"}]))
    stage.up()
    first = only(stage, "subnet", "a")["id"]
    stage.object.patch({"spec": {"vpcSubnets": [{"name": "new"}, {"name": "a"}]}})
    stage.for_a_while(400.0)
    assert only(stage, "subnet", "a")["id"] == first
    assert only(stage, "subnet", "new")
    assert stage.ready()


def test_a_removed_load_balancer_is_surplus_and_goes_with_the_object() -> None:
    """It may serve somebody: not pruned by itself."""
    stage = Stage(example(loadBalancers=[{"name": "one"}, {"name": "two"}]))
    stage.up()
    stage.object.patch({"spec": {"loadBalancers": [{"name": "one"}]}})
    stage.for_a_while(1500.0)
    assert len(standing(stage, "load-balancer")) == 2
    assert "two" in stage.condition("LoadBalancerReady")["message"]
    stage.down()
    assert standing(stage) == []


def test_replacing_our_vpc_by_a_given_one_keeps_ours_as_surplus() -> None:
    """Now the spec names another: ours is not forgotten, and goes with the object."""
    stage = Stage()
    stage.up()
    theirs = infrastructure(stage)
    before = photograph(stage, {theirs.vpc["id"]})
    stage.object.patch({"spec": {"vpc": {"id": theirs.vpc["id"]}}})
    stage.for_a_while(1500.0)

    assert stage.status()["vpc"] == {"id": theirs.vpc["id"], "controllerCreated": False}
    stage.down()
    assert made_by_us(stage) == []
    assert photograph(stage, before) == before


def test_a_changed_zone_of_a_subnet_is_drift_and_said() -> None:
    """What cannot be changed in place is never replaced silently."""
    stage = Stage(example(vpcSubnets=[{"name": "a", "zone": f"{REGION}-1"}]))
    stage.up()
    ident = only(stage, "subnet")["id"]
    stage.object.patch({"spec": {"vpcSubnets": [{"name": "a", "zone": f"{REGION}-2"}]}})
    stage.for_a_while(1500.0)
    assert only(stage, "subnet")["id"] == ident
    assert record(stage, ident)["zone"] == f"{REGION}-1"
    assert f"{REGION}-2" in stage.condition("VPCSubnetReady")["message"]


def test_the_spec_turns_invalid_on_a_live_cluster_and_delete_still_works() -> None:
    """Deleting works from what is owned, not from what the spec says today."""
    stage = Stage()
    stage.up()
    world = photograph(stage)
    stage.object.patch({"spec": {"zone": "nowhere-1", "vpc": {"region": "atlantis"}}})
    stage.for_a_while(900.0)
    assert stage.condition("SpecValid")["status"] == "False"
    assert photograph(stage) == world
    stage.down()
    assert standing(stage) == []
