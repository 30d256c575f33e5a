"""The spec shrinks or changes on a live cluster: nothing is renamed or moved, and what is surplus is said."""

from __future__ import annotations

from harness.powervs import Harness, example
from harness.resources import REGION, Row, infrastructure, made_by_us, only, photograph, record, standing


def subnets(harness: Harness) -> dict[str, Row]:
    return {row["name"]: record(harness, row["id"]) for row in standing(harness, "subnet")}


def test_removing_the_first_of_several_subnets_moves_none_of_the_others() -> None:
    """ADR 8: logical names are stable; upstream's index names would have shifted."""
    harness = Harness(example(vpcSubnets=[{}, {}, {}]))
    harness.up()
    before = {name: (row["id"], row["zone"]) for name, row in subnets(harness).items()}
    assert len({zone for _, zone in before.values()}) == 3
    harness.object.patch({"spec": {"vpcSubnets": [{}, {}]}})
    harness.for_a_while(1500.0)

    after = {name: (row["id"], row["zone"]) for name, row in subnets(harness).items()}
    assert after == before
    assert harness.ready()
    rows = {row["name"]: row["state"] for row in harness.status()["resources"] if row["kind"] == "vpc-subnet"}
    assert sorted(rows.values()) == ["Ready", "Ready", "Surplus"]
    assert "no longer wants" in harness.condition("VPCSubnetReady")["message"]
    harness.down()
    assert standing(harness) == []


def test_removing_a_named_subnet_that_a_load_balancer_uses_keeps_it() -> None:
    """The load balancer stands in it: deleting it is refused by the cloud anyway."""
    harness = Harness(example(vpcSubnets=[{"name": "a"}, {"name": "b"}]))
    harness.up()
    before = subnets(harness)
    harness.object.patch({"spec": {"vpcSubnets": [{"name": "b"}]}})
    harness.for_a_while(1500.0)
    assert {name: row["id"] for name, row in subnets(harness).items()} == {n: r["id"] for n, r in before.items()}
    harness.down()
    assert standing(harness) == []


def test_a_subnet_added_later_is_created_beside_the_others() -> None:
    """Growing is as level-triggered as everything else."""
    harness = Harness(example(vpcSubnets=[{"name": "a"}]))
    harness.up()
    first = only(harness, "subnet", "a")["id"]
    harness.object.patch({"spec": {"vpcSubnets": [{"name": "new"}, {"name": "a"}]}})
    harness.for_a_while(400.0)
    assert only(harness, "subnet", "a")["id"] == first
    assert only(harness, "subnet", "new")
    assert harness.ready()


def test_a_removed_load_balancer_is_surplus_and_goes_with_the_object() -> None:
    """It may serve somebody: not pruned by itself."""
    harness = Harness(example(loadBalancers=[{"name": "one"}, {"name": "two"}]))
    harness.up()
    harness.object.patch({"spec": {"loadBalancers": [{"name": "one"}]}})
    harness.for_a_while(1500.0)
    assert len(standing(harness, "load-balancer")) == 2
    assert "two" in harness.condition("LoadBalancerReady")["message"]
    harness.down()
    assert standing(harness) == []


def test_replacing_our_vpc_by_a_given_one_keeps_ours_as_surplus() -> None:
    """Now the spec names another: ours is not forgotten, and goes with the object."""
    harness = Harness()
    harness.up()
    theirs = infrastructure(harness)
    before = photograph(harness, {theirs.vpc["id"]})
    harness.object.patch({"spec": {"vpc": {"id": theirs.vpc["id"]}}})
    harness.for_a_while(1500.0)

    assert harness.status()["vpc"] == {"id": theirs.vpc["id"], "controllerCreated": False}
    harness.down()
    assert made_by_us(harness) == []
    assert photograph(harness, before) == before


def test_a_changed_zone_of_a_subnet_is_drift_and_said() -> None:
    """What cannot be changed in place is never replaced silently."""
    harness = Harness(example(vpcSubnets=[{"name": "a", "zone": f"{REGION}-1"}]))
    harness.up()
    ident = only(harness, "subnet")["id"]
    harness.object.patch({"spec": {"vpcSubnets": [{"name": "a", "zone": f"{REGION}-2"}]}})
    harness.for_a_while(1500.0)
    assert only(harness, "subnet")["id"] == ident
    assert record(harness, ident)["zone"] == f"{REGION}-1"
    assert f"{REGION}-2" in harness.condition("VPCSubnetReady")["message"]


def test_the_spec_turns_invalid_on_a_live_cluster_and_delete_still_works() -> None:
    """Deleting works from what is owned, not from what the spec says today."""
    harness = Harness()
    harness.up()
    world = photograph(harness)
    harness.object.patch({"spec": {"zone": "nowhere-1", "vpc": {"region": "atlantis"}}})
    harness.for_a_while(900.0)
    assert harness.condition("SpecValid")["status"] == "False"
    assert photograph(harness) == world
    harness.down()
    assert standing(harness) == []
