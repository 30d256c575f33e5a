"""The spec of a live cluster shrinks or changes: nothing is renamed or moved, and surplus is reported."""

from __future__ import annotations

from harness.powervs import Harness, example
from harness.resources import REGION, Row, existing, infrastructure, made_by_us, only, record, snapshot
from harness.standing import standing


def subnets(harness: Harness) -> dict[str, Row]:
    return {row["name"]: record(harness, row["id"]) for row in existing(harness, "subnet")}


def test_removing_the_first_of_several_subnets_moves_none_of_the_others() -> None:
    """ADR 13: logical names are stable; upstream's names by index would shift."""
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
    assert existing(harness) == []


def test_removing_a_named_subnet_that_a_load_balancer_uses_keeps_it() -> None:
    """The load balancer is inside it, so the cloud refuses to delete it anyway."""
    harness = Harness(example(vpcSubnets=[{"name": "a"}, {"name": "b"}]))
    harness.up()
    before = subnets(harness)
    harness.object.patch({"spec": {"vpcSubnets": [{"name": "b"}]}})
    harness.for_a_while(1500.0)
    assert {name: row["id"] for name, row in subnets(harness).items()} == {n: r["id"] for n, r in before.items()}
    harness.down()
    assert existing(harness) == []


def test_a_subnet_added_later_is_created_beside_the_others() -> None:
    """An added list entry is handled like any other difference."""
    harness = Harness(example(vpcSubnets=[{"name": "a"}]))
    harness.up()
    first = only(harness, "subnet", "a")["id"]
    harness.object.patch({"spec": {"vpcSubnets": [{"name": "new"}, {"name": "a"}]}})
    harness.for_a_while(400.0)
    assert only(harness, "subnet", "a")["id"] == first
    assert only(harness, "subnet", "new")
    assert harness.ready()


def test_a_removed_load_balancer_is_surplus_and_deleted_with_the_object() -> None:
    """Somebody may be using it, so it is not pruned."""
    harness = Harness(example(loadBalancers=[{"name": "one"}, {"name": "two"}]))
    harness.up()
    harness.object.patch({"spec": {"loadBalancers": [{"name": "one"}]}})
    harness.for_a_while(1500.0)
    assert len(existing(harness, "load-balancer")) == 2
    assert "two" in harness.condition("LoadBalancerReady")["message"]
    harness.down()
    assert existing(harness) == []


def test_replacing_our_vpc_by_a_given_one_keeps_ours_as_surplus() -> None:
    """The spec names another one now: ours is not forgotten, and is deleted with the object."""
    harness = standing(Harness)
    theirs = infrastructure(harness)
    before = snapshot(harness, {theirs.vpc["id"]})
    harness.object.patch({"spec": {"vpc": {"id": theirs.vpc["id"], "name": None}}})
    harness.for_a_while(1500.0)

    assert harness.status()["vpc"] == {"id": theirs.vpc["id"], "controllerCreated": False}
    harness.down()
    assert made_by_us(harness) == []
    assert snapshot(harness, before) == before


def test_a_changed_zone_of_a_subnet_is_reported_as_drift() -> None:
    """A resource that cannot be changed in place is not replaced silently."""
    harness = Harness(example(vpcSubnets=[{"name": "a", "zone": f"{REGION}-1"}]))
    harness.up()
    ident = only(harness, "subnet")["id"]
    harness.object.patch({"spec": {"vpcSubnets": [{"name": "a", "zone": f"{REGION}-2"}]}})
    harness.for_a_while(1500.0)
    assert only(harness, "subnet")["id"] == ident
    assert record(harness, ident)["zone"] == f"{REGION}-1"
    assert f"{REGION}-2" in harness.condition("VPCSubnetReady")["message"]


def test_a_live_cluster_whose_spec_becomes_invalid_can_be_deleted() -> None:
    """A delete depends on what is owned, not on today's spec."""
    harness = standing(Harness)
    world = snapshot(harness)
    harness.object.patch({"spec": {"zone": "nowhere-1", "vpc": {"region": "atlantis"}}})
    harness.for_a_while(900.0)
    assert harness.condition("SpecValid")["status"] == "False"
    assert snapshot(harness) == world
    harness.down()
    assert existing(harness) == []


def test_a_group_of_ours_that_the_spec_gives_by_its_id_keeps_its_rules() -> None:
    """An id says which group is meant, and nothing about its rules: they are as the spec said before."""
    rule = {
        "action": "allow",
        "direction": "inbound",
        "source": {
            "protocol": "tcp",
            "portRange": {"minimumPort": 22, "maximumPort": 22},
            "remotes": [{"remoteType": "any"}],
        },
    }
    harness = Harness(example(vpcSecurityGroups=[{"name": "web", "rules": [rule]}]))
    harness.up()
    group = only(harness, "security-group", "web")["id"]
    before = snapshot(harness, {group})
    assert record(harness, group)["rules"]

    harness.object.patch({"spec": {"vpcSecurityGroups": [{"id": group}]}})
    harness.for_a_while(1500.0)

    assert snapshot(harness, {group}) == before
