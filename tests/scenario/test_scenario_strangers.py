"""Neither a name nor a copied tag is proof: resources of others are not used, and reported, and left alone."""

from __future__ import annotations

from typing import Any

import pytest

from harness.powervs import Harness, example
from harness.resources import (
    MARK,
    REGION,
    Row,
    infrastructure,
    let_in,
    made_by_us,
    marks,
    messages,
    omitted,
    only,
    row_of,
    snapshot,
)
from harness.standing import standing

DEAD = "11111111-2222-4333-8444-555555555555"


def marks_of_an_earlier_cluster(name: str = "freehold-demo") -> list[str]:
    """docs/reference/requirements.md T12: an earlier cluster of this name, of which only the resources are left."""
    return [f"{MARK}owner:default.{name}", f"{MARK}cluster-uuid:{DEAD}"]


def put(harness: Harness, kind: str, *tags: str) -> Row:
    """A resource with the default name, which others created long ago."""
    make = harness.cloud.strangers.make
    fields: dict[str, Any] = {
        "workspace": {"zone": "dal10", "name": "freehold-demo-serviceInstance"},
        "vpc": {"region": REGION, "name": "freehold-demo-vpc"},
        "gateway": {"location": REGION, "name": "freehold-demo-transitgateway"},
    }.get(kind, {})
    if kind == "load-balancer":  # names of load balancers are unique in a VPC: it is in the one that the spec gives
        home = make("vpc", region=REGION, name="home")
        let_in(harness, home)
        subnet = make("subnet", region=REGION, vpc=home["id"], zone=f"{REGION}-1", name="home")
        fields = {"region": REGION, "subnet": subnet["id"], "name": "freehold-demo-loadbalancer"}
    made = make(kind, tags=tags, **fields)
    harness.clock.advance(3600.0)
    return made


def spec_for(kind: str, *, spelled: bool = False) -> dict[str, Any]:
    """A manifest that wants the name of ``put(kind)`` by default, or ``spelled`` out."""
    spec = {} if spelled else omitted()
    return example(**spec | ({"vpc": {"name": "home", "region": REGION}} if kind == "load-balancer" else {}))


CONDITIONS = {
    "workspace": "ServiceInstanceReady",
    "vpc": "VPCReady",
    "gateway": "TransitGatewayReady",
    "load-balancer": "LoadBalancerReady",
}


@pytest.mark.parametrize("kind", CONDITIONS)
def test_a_strangers_resource_under_a_default_name_is_refused_and_left_alone(kind: str) -> None:
    """docs/reference/requirements.md T8: the user did not write that name, so using it would be an accident."""
    harness = Harness(spec_for(kind))
    theirs = put(harness, kind)
    before = snapshot(harness)

    harness.for_a_while(300.0)

    condition = harness.condition(CONDITIONS[kind])
    assert (condition["status"], condition["reason"]) == ("False", "NameTaken")
    assert theirs["name"] in condition["message"]
    assert theirs["id"] in condition["message"]
    assert [row["id"] for row in made_by_us(harness) if row["name"] == theirs["name"]] == []
    assert snapshot(harness, before) == before

    harness.cloud.strangers.delete(theirs["id"])
    harness.up()

    assert only(harness, stored_as(kind), theirs["name"])["id"] != theirs["id"]
    harness.down()
    assert made_by_us(harness) == []


def stored_as(kind: str) -> str:
    """The simulated Resource Controller calls every workspace an instance."""
    return "instance" if kind == "workspace" else kind


@pytest.mark.parametrize("kind", CONDITIONS)
@pytest.mark.parametrize("naming", ["default", "explicit"])
def test_a_resource_of_an_earlier_cluster_of_our_name_is_refused(kind: str, naming: str) -> None:
    """docs/reference/requirements.md T12: the owner tag is the same, the uuid is not. Also if the spec has the name."""
    harness = Harness(spec_for(kind, spelled=naming == "explicit"))
    theirs = put(harness, kind, *marks_of_an_earlier_cluster())
    before = snapshot(harness)

    harness.for_a_while(300.0)

    condition = harness.condition(CONDITIONS[kind])
    assert (condition["status"], condition["reason"]) == ("False", "NameTaken")
    assert theirs["id"] in condition["message"]
    assert "default.freehold-demo" in condition["message"]
    assert "Choose another name for the cluster" in condition["message"]
    status = {name: part for name, part in harness.status().items() if name != "conditions"}
    told = [row.pop("message", "") for row in status["resources"]]
    assert theirs["id"] not in str(status), "no field says that the id of a refused resource is the cluster's"
    assert any(theirs["id"] in message for message in told)

    harness.down()
    assert snapshot(harness) == before


def test_a_load_balancer_of_our_name_in_another_vpc_has_no_effect() -> None:
    """Names of load balancers are unique only in a VPC; one in another VPC neither is used nor blocks ours."""
    harness = Harness(example(**omitted()))
    theirs = put(harness, "load-balancer")
    before = snapshot(harness)
    harness.up()
    assert harness.status()["loadBalancers"][theirs["name"]]["id"] != theirs["id"]
    harness.down()
    assert snapshot(harness) == before


def test_all_resources_of_an_earlier_cluster_are_named_at_once() -> None:
    """A person who has to clean up needs the whole list."""
    harness = Harness(example(**omitted()))
    left = [put(harness, kind, *marks_of_an_earlier_cluster()) for kind in ("workspace", "vpc", "gateway")]
    harness.pass_once()

    for one in left:
        assert one["id"] in messages(harness)
    assert made_by_us(harness) == []


def test_all_our_tags_copied_onto_a_strangers_resource_prove_nothing() -> None:
    """Anybody may write tags: the seal of the mark fits only the resource that it was made for."""
    harness = standing(Harness)
    copied = only(harness, "vpc")["tags"]
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="theirs", tags=copied)
    lb_tags = only(harness, "load-balancer")["tags"]
    balancer = infrastructure(harness).balancer
    harness.cloud.strangers.attach(balancer["crn"], *lb_tags)
    before = snapshot(harness, {theirs["id"], balancer["id"]})

    harness.for_a_while(1500.0)
    assert harness.ready()
    harness.down()

    assert snapshot(harness, before) == before
    assert made_by_us(harness) == []


def test_copied_tags_on_a_namesake_prove_nothing() -> None:
    """The resource has our default name and our owner mark, which was copied before our object existed."""
    harness = Harness(example(**omitted()))
    uid = harness.object.raw["metadata"]["uid"]
    put(harness, "vpc", f"{MARK}owner:default.freehold-demo", f"{MARK}cluster-uuid:{uid}")
    before = snapshot(harness)
    harness.for_a_while(900.0)

    assert harness.condition("VPCReady")["reason"] == "NameTaken"
    harness.down()
    assert snapshot(harness) == before


def test_owner_tags_on_a_reused_resource_do_not_make_it_ours() -> None:
    """It is used by name, and someone attached all the tags that we use: it is kept on delete."""
    harness = Harness(example(vpc={"name": "theirs", "region": REGION}))
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="theirs")
    let_in(harness, theirs)
    harness.clock.advance(3600.0)
    harness.up()
    harness.cloud.strangers.attach(theirs["crn"], *marks(only(harness, "instance")))
    harness.for_a_while(900.0)
    harness.down()

    assert only(harness, "vpc")["id"] == theirs["id"]


def test_a_young_namesake_is_waited_for_and_not_used() -> None:
    """A new resource without marks may be of anybody's create in flight."""
    harness = Harness(example(vpc={"name": "theirs", "region": REGION}))
    let_in(harness, harness.cloud.strangers.make("vpc", region=REGION, name="theirs"))
    harness.pass_once()
    assert harness.condition("VPCReady")["reason"] == "Settling"
    harness.up()
    assert harness.condition("VPCReady")["reason"] == "ReusedByName"


def test_our_recorded_resource_with_another_clusters_marks_is_not_changed() -> None:
    """Someone took over our VPC and attached their marks: a person must decide whose it is now."""
    harness = standing(Harness)
    vpc = only(harness, "vpc")
    harness.cloud.strangers.strip(vpc["crn"])
    harness.cloud.strangers.attach(vpc["crn"], *marks_of_an_earlier_cluster("other"))
    harness.for_a_while(1500.0)

    assert harness.condition("VPCReady")["reason"] == "NotOwned"
    assert DEAD in harness.condition("VPCReady")["message"]
    assert only(harness, "vpc")["tags"] == sorted(marks_of_an_earlier_cluster("other"))

    harness.down()
    assert [row["id"] for row in made_by_us(harness) if row["kind"] == "vpc"] == [vpc["id"]]


@pytest.mark.parametrize(("moment", "spelled"), [(1, True), (3, False), (6, True), (10, False)])
def test_our_workspace_with_a_strangers_uuid_beside_ours_blocks_and_is_called_claimed_by_two(
    moment: int, spelled: bool
) -> None:
    """ADR 3: what two owners claim is nobody's to delete; it did not exist before, and was not used by its name."""
    harness = Harness(example(**({} if spelled else omitted())))
    for _ in range(moment):
        harness.pass_once()
        harness.clock.advance(15.0)
    workspace = only(harness, "instance")
    harness.cloud.strangers.attach(workspace["crn"], f"{MARK}cluster-uuid:{DEAD}")
    harness.for_a_while(700.0)
    assert harness.condition("ServiceInstanceReady")["reason"] == "NotOwned"

    harness.object.delete()
    harness.for_a_while(700.0)
    row = row_of(harness, "workspace")
    assert not harness.object.gone
    assert (row["state"], row["reason"]) == ("Blocked", "NotOwned")
    assert DEAD in row["message"]
    assert "two owners claim it" in row["message"]
    assert "existed before" not in messages(harness)

    harness.cloud.strangers.detach(workspace["crn"], f"{MARK}cluster-uuid:{DEAD}")
    harness.run(lambda: harness.object.gone)
    assert made_by_us(harness) == []
