"""What the spec gives by name or by id is used as it is: not created, not changed, not tagged, not deleted."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.operator.audit import NoAudit
from stage.powervs import Stage, example
from stage.scenery import (
    ZONE,
    everything_by_id,
    everything_by_name,
    infrastructure,
    made_by_us,
    only,
    photograph,
    row_of,
    said,
)


@pytest.mark.parametrize("how", ["name", "id"])
def test_an_infrastructure_that_is_there_already_is_only_used(how: str) -> None:
    """docs/reference/requirements.md T11, I27: reused resources get no tag and outlive the cluster."""
    stage = Stage()
    theirs = infrastructure(stage)
    spec = everything_by_name() if how == "name" else everything_by_id(theirs)
    stage.object.patch({"spec": example(**spec)["spec"]})
    before = photograph(stage)

    stage.up()

    assert photograph(stage, before) == before
    assert made_by_us(stage) == []
    assert {row["ownership"] for row in stage.status()["resources"]} == {"unmanaged"}
    assert stage.status()["vpc"] == {"id": theirs.vpc["id"], "controllerCreated": False}

    stage.down()

    assert photograph(stage) == before


def test_reuse_by_name_is_said() -> None:
    """A person may not know that the name was taken by something that works: plan and conditions tell."""
    stage = Stage(example(**everything_by_name()))
    infrastructure(stage)
    stage.up()

    for type_ in ("ServiceInstanceReady", "NetworkReady", "VPCReady", "VPCSubnetReady", "LoadBalancerReady"):
        assert stage.condition(type_)["reason"] == "ReusedByName", type_
        assert stage.condition(type_)["status"] == "True"
    assert "theirs-vpc" in stage.condition("VPCReady")["message"]
    assert "stays when the cluster is deleted" in stage.condition("VPCReady")["message"]


def test_the_last_table_says_why_each_given_resource_stays() -> None:
    """What is not owned stays, each with its reason in the final table."""
    stage = Stage(example(**everything_by_name()))
    theirs = infrastructure(stage)
    stage.up()
    stage.down()

    row = row_of(stage, "vpc")
    assert (row["state"], row["reason"], row["id"]) == ("Kept", "ReusedByName", theirs.vpc["id"])
    assert row["message"]


def test_given_and_created_side_by_side() -> None:
    """Only what we created goes; it is created inside what is given."""
    stage = Stage()
    theirs = infrastructure(stage, connected=False)
    stage.object.patch(
        {
            "spec": {
                "vpc": {"id": theirs.vpc["id"], "name": None},
                "transitGateway": {"name": theirs.gateway["name"]},
            }
        }
    )
    before = photograph(stage, {theirs.vpc["id"], theirs.workspace["id"], theirs.subnet["id"], theirs.balancer["id"]})

    stage.up()

    ours = {row["kind"] for row in made_by_us(stage)}
    assert ours == {"instance", "network", "dhcp", "subnet", "load-balancer", "connection"}
    assert only(stage, "subnet", "freehold-demo-vpcsubnet")["parent"] == theirs.vpc["id"]
    assert photograph(stage, before) == before

    stage.down()

    assert made_by_us(stage) == []
    assert photograph(stage, before) == before


NOWHERE = "r006-00000000-0000-4000-8000-000000000000"
GUID = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("spec", "type_", "field", "ident"),
    [
        ({"vpc": {"id": NOWHERE, "region": "us-south"}}, "VPCReady", "spec.vpc.id", NOWHERE),
        ({"vpcSubnets": [{"id": NOWHERE}]}, "VPCSubnetReady", "spec.vpcSubnets[0].id", NOWHERE),
        ({"loadBalancers": [{"id": NOWHERE}]}, "LoadBalancerReady", "spec.loadBalancers[0].id", NOWHERE),
        ({"transitGateway": {"id": GUID}}, "TransitGatewayReady", "spec.transitGateway.id", GUID),
        ({"serviceInstance": {"id": GUID}}, "ServiceInstanceReady", "spec.serviceInstance.id", GUID),
        ({"network": {"id": GUID}}, "NetworkReady", "spec.network.id", GUID),
        ({"dhcpServer": {"id": GUID}}, "NetworkReady", "spec.dhcpServer.id", GUID),
        ({"vpcSecurityGroups": [{"id": NOWHERE}]}, "VPCSecurityGroupReady", "spec.vpcSecurityGroups[0].id", NOWHERE),
    ],
    ids=["vpc", "subnet", "load-balancer", "gateway", "workspace", "network", "dhcp-server", "security-group"],
)
def test_an_id_that_does_not_exist_is_named(spec: dict[str, Any], type_: str, field: str, ident: str) -> None:
    """docs/reference/requirements.md I9: given by id, or else an error; no replacement, and the rest can go."""
    stage = Stage(example(**spec))
    stage.for_a_while(900.0)

    condition = stage.condition(type_)
    assert (condition["status"], condition["reason"]) == ("False", "NotFound")
    assert f"{field}: " in condition["message"]
    assert f"{ident} does not exist: correct the id" in condition["message"]
    assert not stage.ready()

    stage.down()
    assert made_by_us(stage) == []


@pytest.mark.parametrize(
    ("field", "type_"), [("vpcSubnets", "VPCSubnetReady"), ("vpcSecurityGroups", "VPCSecurityGroupReady")]
)
def test_a_wrong_id_is_said_at_once_and_not_when_the_vpc_stands(field: str, type_: str) -> None:
    """What is given by id stands already, or never will: there is nothing to wait for."""
    stage = Stage(example(**{field: [{"id": NOWHERE}]}))
    stage.pass_once()
    assert stage.condition(type_)["reason"] == "NotFound"
    assert f"spec.{field}[0].id: " in stage.condition(type_)["message"]


def test_a_wrong_id_that_is_corrected_goes_on() -> None:
    """What a person mends is picked up at once: the generation changed."""
    stage = Stage(example(vpc={"id": NOWHERE, "region": "us-south"}))
    theirs = infrastructure(stage)
    stage.pass_once()
    stage.object.patch({"spec": {"vpc": {"id": theirs.vpc["id"]}}})
    stage.up()
    assert stage.status()["vpc"]["id"] == theirs.vpc["id"]


def test_a_given_resource_that_vanishes_is_named_and_never_replaced() -> None:
    """Drift in what is not ours is for its owner: nothing is created in its place."""
    stage = Stage()
    theirs = infrastructure(stage)
    stage.object.patch({"spec": example(**everything_by_id(theirs))["spec"]})
    stage.up()
    stage.cloud.strangers.delete(theirs.balancer["id"])
    stage.for_a_while(1500.0)

    assert stage.condition("LoadBalancerReady")["reason"] == "NotFound"
    assert theirs.balancer["id"] in said(stage)
    assert made_by_us(stage) == []


def test_one_name_twice_is_asked_of_a_person() -> None:
    """Workspace names are not unique: which of two is meant cannot be guessed."""
    stage = Stage(example(serviceInstance={"name": "theirs"}))
    first, second = (stage.cloud.strangers.make("workspace", zone="dal10", name="theirs") for _ in range(2))
    stage.clock.advance(3600.0)
    stage.for_a_while(600.0)

    condition = stage.condition("ServiceInstanceReady")
    assert condition["reason"] == "Ambiguous"
    assert first["id"] in condition["message"]
    assert second["id"] in condition["message"]


@pytest.mark.parametrize("wish", ["theirs-net", "theirs"])
def test_a_network_name_means_the_network_then_the_dhcp_servers(wish: str) -> None:
    """Upstream #2159 and #1933: ``foo`` is the network ``foo``, else ``DHCPSERVERfoo_Private``: no second server."""
    stage = Stage(example(serviceInstance={"name": "theirs-serviceInstance"}, network={"name": wish}))
    theirs = infrastructure(stage, connected=False)
    stage.cloud.strangers.make("dhcp", region="dal", workspace=theirs.workspace["id"], name="theirs")
    stage.clock.advance(3600.0)
    before = photograph(stage)

    stage.up()

    assert {row["kind"] for row in made_by_us(stage)}.isdisjoint({"dhcp", "network"})
    wanted = theirs.network["id"] if wish == "theirs-net" else only(stage, "network", "DHCPSERVERtheirs_Private")["id"]
    assert stage.status()["network"]["id"] == wanted
    stage.down()
    assert photograph(stage) == before


def test_a_network_name_that_nothing_has_becomes_a_dhcp_server() -> None:
    """The user's word is the server's name; the cloud decorates the network's."""
    stage = Stage(example(network={"name": "blue"}))
    stage.up()
    assert only(stage, "network")["name"] == "DHCPSERVERblue_Private"
    stage.down()
    assert made_by_us(stage) == []


def test_a_given_subnet_decides_where_a_created_load_balancer_stands() -> None:
    """``loadBalancers[].subnets`` may give an id beside those of the spec."""
    stage = Stage()
    theirs = infrastructure(stage)
    stage.object.patch(
        {
            "spec": {
                "vpc": {"name": theirs.vpc["name"]},
                "loadBalancers": [{"name": "ours", "subnets": [{"id": theirs.subnet["id"]}]}],
                "vpcSubnets": [{"name": "more", "zone": ZONE}],
            }
        }
    )
    stage.up()
    balancer = stage.cloud.strangers.find(only(stage, "load-balancer", "ours")["id"])
    assert balancer["subnets"] == [theirs.subnet["id"]]
    stage.down()
    assert made_by_us(stage) == []


class Kept(NoAudit):
    """The lines of the audit log about what stays."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, str]] = []

    def kept(self, subject: str, resource: str, why: str) -> None:
        self.lines.append((subject, resource, why))


def test_what_stays_is_in_the_audit_log_once() -> None:
    """The event is refused where the namespace goes too, and the status goes with the object."""
    audit = Kept()
    stage = Stage(example(**everything_by_name()), audit=audit)
    theirs = infrastructure(stage)
    stage.up()
    assert audit.lines == []

    stage.down()

    assert {subject for subject, _, _ in audit.lines} == {"IBMPowerVSCluster default/freehold-demo"}
    resources = [resource for _, resource, _ in audit.lines]
    assert len(resources) == len(set(resources))
    assert f"vpc {theirs.vpc['name']} {theirs.vpc['id']}" in resources
    assert all(why for _, _, why in audit.lines)
