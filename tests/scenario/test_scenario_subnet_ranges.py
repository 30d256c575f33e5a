"""``vpcSubnets[].cidr``: the range that a subnet is created with, and keeps for life."""

from __future__ import annotations

from typing import Any

from harness.plans import planned
from harness.powervs import Harness, example
from harness.resources import REGION, ZONE, existing, made_by_us, messages, only, record, snapshot

RANGE, OTHER, OUTSIDE = "10.240.7.0/24", "10.240.8.0/24", "192.168.7.0/24"
"""The first two are in the address prefix that IBM Cloud gives a VPC in the zone, the third in none."""


def ranged(cidr: str | None = RANGE, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "ranged", "zone": ZONE, **({"cidr": cidr} if cidr else {}), **more}]


def of_subnet(harness: Harness) -> Any:
    return record(harness, only(harness, "subnet", "ranged")["id"])["cidr"]


def test_a_subnet_has_the_range_that_the_spec_gives() -> None:
    """The field is in the CRD and IBM Cloud takes it: it must not be ignored."""
    harness = Harness(example(vpcSubnets=ranged()))
    harness.up()
    assert of_subnet(harness) == RANGE
    assert "cidr" not in messages(harness)
    harness.down()
    assert existing(harness) == []


def test_another_range_is_reported_and_nothing_is_changed() -> None:
    """A range cannot be changed: status and plan name both, and what is in use stays."""
    harness = Harness(example(vpcSubnets=ranged()))
    harness.up()
    before = snapshot(harness)
    harness.object.patch({"spec": {"vpcSubnets": ranged(OTHER)}})
    harness.for_a_while(900.0)
    assert snapshot(harness) == before
    said = harness.condition("VPCSubnetReady")
    assert said["reason"] == "Drifted"
    assert f"cidr is {RANGE!r}, the spec says {OTHER!r}" in said["message"]
    assert [row.action.value for row in planned(harness).rows if row.kind == "vpc-subnet"] == ["leave"]

    harness.object.patch({"spec": {"vpcSubnets": ranged(None)}})
    harness.for_a_while(300.0)
    assert harness.condition("VPCSubnetReady")["reason"] == "Ready"


def test_a_range_outside_the_address_prefixes_is_refused_by_the_cloud_and_can_be_mended() -> None:
    """IBM Cloud knows the prefixes; nothing is created for it, and the message has the range."""
    harness = Harness(example(vpcSubnets=ranged(OUTSIDE)))
    harness.for_a_while(1200.0)
    said = harness.condition("VPCSubnetReady")
    assert (said["status"], said["reason"]) == ("False", "InvalidRequest")
    assert OUTSIDE in said["message"]
    assert [row for row in made_by_us(harness) if row["kind"] == "subnet"] == []

    harness.object.patch({"spec": {"vpcSubnets": ranged()}})
    harness.up()
    assert of_subnet(harness) == RANGE


def test_a_range_in_a_given_vpc_whose_prefixes_are_the_users_own() -> None:
    """With manual address prefixes a range must lie in one of them."""
    harness = Harness()
    vpc = harness.cloud.strangers.make("vpc", region=REGION, name="theirs-vpc")
    prefixes = [{**prefix, "cidr": "172.16.0.0/20"} for prefix in record(harness, vpc["id"])["prefixes"][:1]]
    harness.cloud.strangers.change(vpc["id"], prefixes=prefixes)
    harness.clock.advance(3600.0)
    harness.object.patch(
        {"spec": {"vpc": {"name": "theirs-vpc"}, "vpcSubnets": ranged("172.16.1.0/24"), "loadBalancers": None}}
    )
    harness.run(lambda: bool(existing(harness, "subnet")))
    harness.for_a_while(300.0)
    assert of_subnet(harness) == "172.16.1.0/24"
    harness.down()
    assert made_by_us(harness) == []


def test_a_subnet_that_was_there_under_its_name_keeps_its_range_and_that_is_said() -> None:
    """It is somebody else's: used as it is."""
    harness = Harness()
    make = harness.cloud.strangers.make
    vpc = make("vpc", region=REGION, name="theirs-vpc")
    make("subnet", region=REGION, vpc=vpc["id"], zone=ZONE, name="ranged")
    harness.clock.advance(3600.0)
    harness.object.patch({"spec": {"vpc": {"name": "theirs-vpc"}, "vpcSubnets": ranged(OTHER), "loadBalancers": None}})
    harness.for_a_while(600.0)
    assert "spec.vpcSubnets[0].cidr: not acted on" in harness.condition("FieldsServed")["message"]
