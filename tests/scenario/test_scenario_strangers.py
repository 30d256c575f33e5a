"""A name is not a deed, and a copied tag is not one either: what others own is refused, named, left alone."""

from __future__ import annotations

from typing import Any

import pytest

from harness.powervs import Harness, example
from harness.resources import MARK, REGION, Row, infrastructure, made_by_us, marks, omitted, only, photograph, said

DEAD = "11111111-2222-4333-8444-555555555555"


def marks_of_the_dead(name: str = "freehold-demo") -> list[str]:
    """docs/reference/requirements.md T12: an earlier cluster of this name, gone but for its resources."""
    return [f"{MARK}owner:default.{name}", f"{MARK}cluster-uuid:{DEAD}"]


def put(harness: Harness, kind: str, *tags: str) -> Row:
    """A resource under the default name, put there by others long ago."""
    make = harness.cloud.strangers.make
    fields: dict[str, Any] = {
        "workspace": {"zone": "dal10", "name": "freehold-demo-serviceInstance"},
        "vpc": {"region": REGION, "name": "freehold-demo-vpc"},
        "gateway": {"location": REGION, "name": "freehold-demo-transitgateway"},
    }.get(kind, {})
    if kind == "load-balancer":  # names of load balancers are unique in a VPC: it stands in the one we are given
        home = make("vpc", region=REGION, name="home")
        subnet = make("subnet", region=REGION, vpc=home["id"], zone=f"{REGION}-1", name="home")
        fields = {"region": REGION, "subnet": subnet["id"], "name": "freehold-demo-loadbalancer"}
    made = make(kind, tags=tags, **fields)
    harness.clock.advance(3600.0)
    return made


def spec_for(kind: str, *, spelled: bool = False) -> dict[str, Any]:
    """A manifest that meets ``put(kind)`` under a default name, or ``spelled`` out."""
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
    """docs/reference/requirements.md T8: the user never mentioned that name, so using its bearer is an accident."""
    harness = Harness(spec_for(kind))
    theirs = put(harness, kind)
    before = photograph(harness)

    harness.for_a_while(900.0)

    condition = harness.condition(CONDITIONS[kind])
    assert (condition["status"], condition["reason"]) == ("False", "NameTaken")
    assert theirs["name"] in condition["message"]
    assert theirs["id"] in condition["message"]
    assert [row["id"] for row in made_by_us(harness) if row["name"] == theirs["name"]] == []
    assert photograph(harness, before) == before

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
def test_what_a_dead_cluster_of_our_name_left_is_refused(kind: str, naming: str) -> None:
    """docs/reference/requirements.md T12: owner tag alike, uuid not. Also under a name that the spec spells out."""
    harness = Harness(spec_for(kind, spelled=naming == "explicit"))
    theirs = put(harness, kind, *marks_of_the_dead())
    before = photograph(harness)

    harness.for_a_while(900.0)

    condition = harness.condition(CONDITIONS[kind])
    assert (condition["status"], condition["reason"]) == ("False", "NameTaken")
    assert theirs["id"] in condition["message"]
    assert "default.freehold-demo" in condition["message"]

    harness.down()
    assert photograph(harness) == before


def test_a_load_balancer_of_our_name_in_another_vpc_is_not_in_the_way() -> None:
    """Names of load balancers are unique in a VPC only; a strange one elsewhere is neither used nor feared."""
    harness = Harness(example(**omitted()))
    theirs = put(harness, "load-balancer")
    before = photograph(harness)
    harness.up()
    assert harness.status()["loadBalancers"][theirs["name"]]["id"] != theirs["id"]
    harness.down()
    assert photograph(harness) == before


def test_everything_that_a_dead_cluster_left_is_named_at_once() -> None:
    """A person who has to clean up wants the whole list, not one name a day."""
    harness = Harness(example(**omitted()))
    left = [put(harness, kind, *marks_of_the_dead()) for kind in ("workspace", "vpc", "gateway")]
    harness.pass_once()

    for one in left:
        assert one["id"] in said(harness)
    assert made_by_us(harness) == []


def test_all_our_tags_copied_onto_a_strangers_resource_give_us_nothing() -> None:
    """Tags are world-writable: the mark is sealed to the resource it was made for."""
    harness = Harness()
    harness.up()
    copied = only(harness, "vpc")["tags"]
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="theirs", tags=copied)
    lb_tags = only(harness, "load-balancer")["tags"]
    balancer = infrastructure(harness).balancer
    harness.cloud.strangers.attach(balancer["crn"], *lb_tags)
    before = photograph(harness, {theirs["id"], balancer["id"]})

    harness.for_a_while(1500.0)
    assert harness.ready()
    harness.down()

    assert photograph(harness, before) == before
    assert made_by_us(harness) == []


def test_copied_tags_on_a_namesake_give_us_nothing() -> None:
    """The worst of both: our default name and, copied before we were born, our owner mark."""
    harness = Harness(example(**omitted()))
    uid = harness.object.raw["metadata"]["uid"]
    put(harness, "vpc", f"{MARK}owner:default.freehold-demo", f"{MARK}cluster-uuid:{uid}")
    before = photograph(harness)
    harness.for_a_while(900.0)

    assert harness.condition("VPCReady")["reason"] == "NameTaken"
    harness.down()
    assert photograph(harness) == before


def test_owner_tags_on_a_reused_resource_do_not_make_it_ours() -> None:
    """Reused by name, then tagged by someone with everything that we use: it stays on delete."""
    harness = Harness(example(vpc={"name": "theirs", "region": REGION}))
    theirs = harness.cloud.strangers.make("vpc", region=REGION, name="theirs")
    harness.clock.advance(3600.0)
    harness.up()
    harness.cloud.strangers.attach(theirs["crn"], *marks(only(harness, "instance")))
    harness.for_a_while(900.0)
    harness.down()

    assert only(harness, "vpc")["id"] == theirs["id"]


def test_a_young_namesake_is_waited_for_not_taken() -> None:
    """Something unmarked that just came to be may be anybody's create in flight."""
    harness = Harness(example(vpc={"name": "theirs", "region": REGION}))
    harness.cloud.strangers.make("vpc", region=REGION, name="theirs")
    harness.pass_once()
    assert harness.condition("VPCReady")["reason"] == "Settling"
    harness.up()
    assert harness.condition("VPCReady")["reason"] == "ReusedByName"


def test_our_recorded_resource_with_another_clusters_marks_is_not_touched() -> None:
    """Someone took our VPC over and put their marks on it: whose it is now, a person must say."""
    harness = Harness()
    harness.up()
    vpc = only(harness, "vpc")
    harness.cloud.strangers.strip(vpc["crn"])
    harness.cloud.strangers.attach(vpc["crn"], *marks_of_the_dead("other"))
    harness.for_a_while(1500.0)

    assert harness.condition("VPCReady")["reason"] == "NotOwned"
    assert DEAD in harness.condition("VPCReady")["message"]
    assert only(harness, "vpc")["tags"] == sorted(marks_of_the_dead("other"))

    harness.down()
    assert [row["id"] for row in made_by_us(harness) if row["kind"] == "vpc"] == [vpc["id"]]
