"""Transit gateways are shared, scarce, and carry the marks of connections, which have none of their own."""

from __future__ import annotations

import pytest

from stage.powervs import Stage, example
from stage.scenery import (
    Row,
    everything_by_name,
    infrastructure,
    made_by_us,
    marks,
    only,
    photograph,
    record,
    row_of,
    standing,
)


def shared(stage: Stage) -> Row:
    """A gateway that serves another cluster already."""
    theirs = infrastructure(stage)
    stage.cloud.strangers.attach(theirs.gateway["crn"], "team:network")
    return theirs.gateway


def test_only_our_connections_leave_a_given_gateway() -> None:
    """openshift/installer#9166: the persistent gateway keeps the other clusters' connections and loses our marks."""
    stage = Stage()
    gateway = shared(stage)
    stage.object.patch({"spec": {"transitGateway": {"id": gateway["id"], "name": None}}})
    before = photograph(stage)

    stage.up()

    assert len(standing(stage, "connection")) == 4
    assert len(marks(only(stage, "gateway"))) == 2
    assert "team:network" in only(stage, "gateway")["tags"]
    connection = stage.status()["transitGateway"]["vpcConnection"]
    assert connection["controllerCreated"] is True
    assert stage.status()["transitGateway"]["controllerCreated"] is False

    stage.down()

    assert photograph(stage) == before


def test_a_shared_gateway_by_name_with_another_clusters_connection_name() -> None:
    """Both clusters' connections would be called ``<gateway>-vpc-con``; theirs is not ours, and both stand."""
    stage = Stage(example(transitGateway={"name": "theirs-tg"}))
    shared(stage)
    before = photograph(stage)

    stage.up()

    assert row_of(stage, "transit-gateway")["ownership"] == "unmanaged"
    ours = [row for row in made_by_us(stage) if row["kind"] == "connection"]
    assert len(ours) == 2
    stage.down()
    assert photograph(stage) == before


def test_an_existing_connection_of_a_given_end_is_used_and_the_other_made() -> None:
    """A network joins a gateway once. Where the spec names gateway and end, a connection that is there will do."""
    stage = Stage(example(**everything_by_name() | {"serviceInstance": None, "network": None}))
    theirs = infrastructure(stage)
    before = photograph(stage)

    stage.up()

    made = [row for row in made_by_us(stage) if row["kind"] == "connection"]
    assert [record(stage, row["id"])["type"] for row in made] == ["power_virtual_server"]
    assert stage.status()["transitGateway"]["vpcConnection"] == {
        "id": theirs.vpc_connection["id"],
        "controllerCreated": False,
    }
    stage.down()
    assert photograph(stage) == before


def test_a_carrier_mark_that_someone_stripped_is_put_back() -> None:
    """On a given gateway the carrier's mark is the only proof for a connection."""
    stage = Stage()
    gateway = shared(stage)
    stage.object.patch({"spec": {"transitGateway": {"id": gateway["id"], "name": None}}})
    before = photograph(stage)
    stage.up()
    carried = marks(only(stage, "gateway"))
    stage.cloud.strangers.detach(gateway["crn"], *carried)

    stage.for_a_while(1500.0)

    assert marks(only(stage, "gateway")) == carried
    stage.down()
    assert photograph(stage) == before


def test_a_foreign_connection_on_our_own_gateway_blocks_its_delete() -> None:
    """Someone else relies on it: deleting the gateway would cut them off."""
    stage = Stage()
    stage.up()
    theirs = stage.cloud.strangers.make("vpc", region="us-south", name="theirs")
    gateway = only(stage, "gateway")
    joined = stage.cloud.strangers.make("connection", gateway=gateway["id"], network=theirs["crn"], name="theirs")
    stage.object.delete()
    stage.for_a_while(1800.0)

    assert only(stage, "gateway")["id"] == gateway["id"]
    assert only(stage, "connection")["id"] == joined["id"]
    assert joined["id"] in stage.condition("Deleting")["message"]
    assert not stage.object.gone

    stage.cloud.strangers.delete(joined["id"])
    stage.run(lambda: stage.object.gone)
    assert [row["id"] for row in standing(stage, "vpc")] == [theirs["id"]]
    assert made_by_us(stage) == []


def test_a_gateway_routes_globally_when_the_regions_differ() -> None:
    """Upstream's rule; omitted, it follows from zone and region."""
    for zone, wanted in (("dal10", False), ("lon06", True)):
        stage = Stage(example(zone=zone))
        stage.up()
        assert stage.cloud.strangers.find(only(stage, "gateway")["id"])["global"] is wanted


def routing(stage: Stage) -> bool:
    return bool(record(stage, only(stage, "gateway")["id"])["global"])


def test_routing_follows_the_spec_in_place() -> None:
    """IBM can change it (PATCH ``global``), so nobody has to delete a gateway for it."""
    stage = Stage(example(transitGateway={"globalRouting": False}))
    stage.up()
    before = only(stage, "gateway")["id"]
    for wish in (True, False):
        stage.object.patch({"spec": {"transitGateway": {"globalRouting": wish}}})
        stage.for_a_while(60.0)
        assert routing(stage) is wish
    assert only(stage, "gateway")["id"] == before


def test_routing_that_the_spec_leaves_open_is_not_taken_from_those_who_need_it() -> None:
    """Somebody joined a distant network to our gateway and let it route globally: that is not against the spec."""
    stage = Stage()
    stage.up()
    stage.cloud.strangers.change(only(stage, "gateway")["id"], **{"global": True})
    stage.for_a_while(1500.0)
    assert routing(stage)
    assert stage.condition("TransitGatewayReady")["reason"] == "Ready"


@pytest.mark.parametrize("how", ["id", "name"])
def test_a_given_gateway_that_cannot_carry_the_traffic_is_said(how: str) -> None:
    """It routes locally, zone and VPC region are far apart: never changed, and not passed over in silence."""
    stage = Stage(example(zone="lon06"))
    gateway = stage.cloud.strangers.make("gateway", location="us-south", name="theirs")
    stage.clock.advance(3600.0)
    stage.object.patch({"spec": {"transitGateway": {"name": "theirs"} if how == "name" else {"id": gateway["id"]}}})
    stage.for_a_while(900.0)
    said = stage.condition("TransitGatewayReady")
    assert (said["status"], said["reason"]) == ("False", "Unfit")
    assert f"theirs ({gateway['id']}) routes locally" in said["message"]
    assert "lon06" in said["message"]
    assert routing(stage) is False

    stage.cloud.strangers.change(gateway["id"], **{"global": True})
    stage.for_a_while(700.0)
    assert stage.ready()
