"""Transit gateways are shared and scarce, and carry the marks of connections, which cannot be tagged."""

from __future__ import annotations

import pytest

from harness.powervs import Harness, example
from harness.resources import (
    Row,
    everything_by_name,
    existing,
    infrastructure,
    made_by_us,
    marks,
    only,
    record,
    row_of,
    snapshot,
)
from harness.standing import standing


def shared(harness: Harness) -> Row:
    """A gateway that serves another cluster already."""
    theirs = infrastructure(harness)
    harness.cloud.strangers.attach(theirs.gateway["crn"], "team:network")
    return theirs.gateway


def test_only_our_connections_are_removed_from_a_given_gateway() -> None:
    """openshift/installer#9166: the persistent gateway keeps the other clusters' connections and loses our marks."""
    harness = Harness()
    gateway = shared(harness)
    harness.object.patch({"spec": {"transitGateway": {"id": gateway["id"], "name": None}}})
    before = snapshot(harness)

    harness.up()

    assert len(existing(harness, "connection")) == 4
    assert len(marks(only(harness, "gateway"))) == 2
    assert "team:network" in only(harness, "gateway")["tags"]
    connection = harness.status()["transitGateway"]["vpcConnection"]
    assert connection["controllerCreated"] is True
    assert harness.status()["transitGateway"]["controllerCreated"] is False

    harness.down()

    assert snapshot(harness) == before


def test_a_shared_gateway_by_name_with_another_clusters_connection_name() -> None:
    """Both clusters' connections would be called ``<gateway>-vpc-con``; theirs is not taken, and both exist."""
    harness = Harness(example(transitGateway={"name": "theirs-tg"}))
    shared(harness)
    before = snapshot(harness)

    harness.up()

    assert row_of(harness, "transit-gateway")["ownership"] == "unmanaged"
    ours = [row for row in made_by_us(harness) if row["kind"] == "connection"]
    assert len(ours) == 2
    harness.down()
    assert snapshot(harness) == before


def test_an_existing_connection_of_a_given_end_is_used_and_the_other_created() -> None:
    """A network can join a gateway only once. If the spec gives gateway and end, an existing connection is used."""
    harness = Harness(example(**everything_by_name() | {"serviceInstance": None, "network": None}))
    theirs = infrastructure(harness)
    before = snapshot(harness)

    harness.up()

    made = [row for row in made_by_us(harness) if row["kind"] == "connection"]
    assert [record(harness, row["id"])["type"] for row in made] == ["power_virtual_server"]
    assert harness.status()["transitGateway"]["vpcConnection"] == {
        "id": theirs.vpc_connection["id"],
        "controllerCreated": False,
    }
    harness.down()
    assert snapshot(harness) == before


def test_a_stripped_carrier_mark_is_attached_again() -> None:
    """On a given gateway the carrier's mark is the only proof for a connection."""
    harness = Harness()
    gateway = shared(harness)
    harness.object.patch({"spec": {"transitGateway": {"id": gateway["id"], "name": None}}})
    before = snapshot(harness)
    harness.up()
    carried = marks(only(harness, "gateway"))
    harness.cloud.strangers.detach(gateway["crn"], *carried)

    harness.for_a_while(1500.0)

    assert marks(only(harness, "gateway")) == carried
    harness.down()
    assert snapshot(harness) == before


def test_a_foreign_connection_on_our_own_gateway_blocks_its_delete() -> None:
    """Someone else needs it: deleting the gateway would disconnect them."""
    harness = standing(Harness)
    theirs = harness.cloud.strangers.make("vpc", region="us-south", name="theirs")
    gateway = only(harness, "gateway")
    joined = harness.cloud.strangers.make("connection", gateway=gateway["id"], network=theirs["crn"], name="theirs")
    harness.object.delete()
    harness.for_a_while(1800.0)

    assert only(harness, "gateway")["id"] == gateway["id"]
    assert only(harness, "connection")["id"] == joined["id"]
    assert joined["id"] in harness.condition("Deleting")["message"]
    assert not harness.object.gone

    harness.cloud.strangers.delete(joined["id"])
    harness.run(lambda: harness.object.gone)
    assert [row["id"] for row in existing(harness, "vpc")] == [theirs["id"]]
    assert made_by_us(harness) == []


def test_a_gateway_routes_globally_when_the_regions_differ() -> None:
    """Upstream's rule: if omitted, it follows from zone and region."""
    for zone, wanted in (("dal10", False), ("lon06", True)):
        harness = Harness(example(zone=zone))
        harness.up()
        assert harness.cloud.strangers.find(only(harness, "gateway")["id"])["global"] is wanted


def routing(harness: Harness) -> bool:
    return bool(record(harness, only(harness, "gateway")["id"])["global"])


def test_routing_follows_the_spec_in_place() -> None:
    """IBM can change it (PATCH ``global``), so the gateway need not be deleted."""
    harness = Harness(example(transitGateway={"globalRouting": False}))
    harness.up()
    before = only(harness, "gateway")["id"]
    for wish in (True, False):
        harness.object.patch({"spec": {"transitGateway": {"globalRouting": wish}}})
        harness.for_a_while(60.0)
        assert routing(harness) is wish
    assert only(harness, "gateway")["id"] == before


def test_global_routing_is_not_switched_off_if_the_spec_does_not_set_it() -> None:
    """Somebody connected a distant network to our gateway and enabled it: that does not contradict the spec."""
    harness = standing(Harness)
    harness.cloud.strangers.change(only(harness, "gateway")["id"], **{"global": True})
    harness.for_a_while(1500.0)
    assert routing(harness)
    assert harness.condition("TransitGatewayReady")["reason"] == "Ready"


@pytest.mark.parametrize("how", ["id", "name"])
def test_a_given_gateway_that_cannot_route_the_traffic_is_reported(how: str) -> None:
    """It routes locally, but zone and VPC region are far apart: it is not changed, and this is reported."""
    harness = Harness(example(zone="lon06"))
    gateway = harness.cloud.strangers.make("gateway", location="us-south", name="theirs")
    harness.clock.advance(3600.0)
    harness.object.patch({"spec": {"transitGateway": {"name": "theirs"} if how == "name" else {"id": gateway["id"]}}})
    harness.for_a_while(900.0)
    said = harness.condition("TransitGatewayReady")
    assert (said["status"], said["reason"]) == ("False", "Unfit")
    assert f"theirs ({gateway['id']}) routes locally" in said["message"]
    assert "lon06" in said["message"]
    assert routing(harness) is False

    harness.cloud.strangers.change(gateway["id"], **{"global": True})
    harness.for_a_while(700.0)
    assert harness.ready()
