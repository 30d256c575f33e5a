"""What the spec gives by name or by id is used as it is: not created, not changed, not tagged, not deleted."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.operator.audit import NoAudit
from harness.powervs import Harness, example
from harness.resources import (
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
    harness = Harness()
    theirs = infrastructure(harness)
    spec = everything_by_name() if how == "name" else everything_by_id(theirs)
    harness.object.patch({"spec": example(**spec)["spec"]})
    before = photograph(harness)

    harness.up()

    assert photograph(harness, before) == before
    assert made_by_us(harness) == []
    assert {row["ownership"] for row in harness.status()["resources"]} == {"unmanaged"}
    assert harness.status()["vpc"] == {"id": theirs.vpc["id"], "controllerCreated": False}

    harness.down()

    assert photograph(harness) == before


def test_reuse_by_name_is_said() -> None:
    """A person may not know that the name was taken by something that works: plan and conditions tell."""
    harness = Harness(example(**everything_by_name()))
    infrastructure(harness)
    harness.up()

    for type_ in ("ServiceInstanceReady", "NetworkReady", "VPCReady", "VPCSubnetReady", "LoadBalancerReady"):
        assert harness.condition(type_)["reason"] == "ReusedByName", type_
        assert harness.condition(type_)["status"] == "True"
    assert "theirs-vpc" in harness.condition("VPCReady")["message"]
    assert "stays when the cluster is deleted" in harness.condition("VPCReady")["message"]


def test_the_last_table_says_why_each_given_resource_stays() -> None:
    """What is not owned stays, each with its reason in the final table."""
    harness = Harness(example(**everything_by_name()))
    theirs = infrastructure(harness)
    harness.up()
    harness.down()

    row = row_of(harness, "vpc")
    assert (row["state"], row["reason"], row["id"]) == ("Kept", "ReusedByName", theirs.vpc["id"])
    assert row["message"]


def test_given_and_created_side_by_side() -> None:
    """Only what we created goes; it is created inside what is given."""
    harness = Harness()
    theirs = infrastructure(harness, connected=False)
    harness.object.patch(
        {
            "spec": {
                "vpc": {"id": theirs.vpc["id"], "name": None},
                "transitGateway": {"name": theirs.gateway["name"]},
            }
        }
    )
    before = photograph(harness, {theirs.vpc["id"], theirs.workspace["id"], theirs.subnet["id"], theirs.balancer["id"]})

    harness.up()

    ours = {row["kind"] for row in made_by_us(harness)}
    assert ours == {"instance", "network", "dhcp", "subnet", "load-balancer", "connection"}
    assert only(harness, "subnet", "freehold-demo-vpcsubnet")["parent"] == theirs.vpc["id"]
    assert photograph(harness, before) == before

    harness.down()

    assert made_by_us(harness) == []
    assert photograph(harness, before) == before


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
    harness = Harness(example(**spec))
    harness.for_a_while(900.0)

    condition = harness.condition(type_)
    assert (condition["status"], condition["reason"]) == ("False", "NotFound")
    assert f"{field}: " in condition["message"]
    assert f"{ident} does not exist: correct the id" in condition["message"]
    assert not harness.ready()

    harness.down()
    assert made_by_us(harness) == []


@pytest.mark.parametrize(
    ("field", "type_"), [("vpcSubnets", "VPCSubnetReady"), ("vpcSecurityGroups", "VPCSecurityGroupReady")]
)
def test_a_wrong_id_is_said_at_once_and_not_when_the_vpc_stands(field: str, type_: str) -> None:
    """What is given by id stands already, or never will: there is nothing to wait for."""
    harness = Harness(example(**{field: [{"id": NOWHERE}]}))
    harness.pass_once()
    assert harness.condition(type_)["reason"] == "NotFound"
    assert f"spec.{field}[0].id: " in harness.condition(type_)["message"]


def test_a_wrong_id_that_is_corrected_goes_on() -> None:
    """What a person mends is picked up at once: the generation changed."""
    harness = Harness(example(vpc={"id": NOWHERE, "region": "us-south"}))
    theirs = infrastructure(harness)
    harness.pass_once()
    harness.object.patch({"spec": {"vpc": {"id": theirs.vpc["id"]}}})
    harness.up()
    assert harness.status()["vpc"]["id"] == theirs.vpc["id"]


def test_a_given_resource_that_vanishes_is_named_and_never_replaced() -> None:
    """Drift in what is not ours is for its owner: nothing is created in its place."""
    harness = Harness()
    theirs = infrastructure(harness)
    harness.object.patch({"spec": example(**everything_by_id(theirs))["spec"]})
    harness.up()
    harness.cloud.strangers.delete(theirs.balancer["id"])
    harness.for_a_while(1500.0)

    assert harness.condition("LoadBalancerReady")["reason"] == "NotFound"
    assert theirs.balancer["id"] in said(harness)
    assert made_by_us(harness) == []


def test_one_name_twice_is_asked_of_a_person() -> None:
    """Workspace names are not unique: which of two is meant cannot be guessed."""
    harness = Harness(example(serviceInstance={"name": "theirs"}))
    first, second = (harness.cloud.strangers.make("workspace", zone="dal10", name="theirs") for _ in range(2))
    harness.clock.advance(3600.0)
    harness.for_a_while(600.0)

    condition = harness.condition("ServiceInstanceReady")
    assert condition["reason"] == "Ambiguous"
    assert first["id"] in condition["message"]
    assert second["id"] in condition["message"]


@pytest.mark.parametrize("wish", ["theirs-net", "theirs"])
def test_a_network_name_means_the_network_then_the_dhcp_servers(wish: str) -> None:
    """Upstream #2159 and #1933: ``foo`` is the network ``foo``, else ``DHCPSERVERfoo_Private``: no second server."""
    harness = Harness(example(serviceInstance={"name": "theirs-serviceInstance"}, network={"name": wish}))
    theirs = infrastructure(harness, connected=False)
    harness.cloud.strangers.make("dhcp", region="dal", workspace=theirs.workspace["id"], name="theirs")
    harness.clock.advance(3600.0)
    before = photograph(harness)

    harness.up()

    assert {row["kind"] for row in made_by_us(harness)}.isdisjoint({"dhcp", "network"})
    wanted = (
        theirs.network["id"] if wish == "theirs-net" else only(harness, "network", "DHCPSERVERtheirs_Private")["id"]
    )
    assert harness.status()["network"]["id"] == wanted
    harness.down()
    assert photograph(harness) == before


def test_a_network_name_that_nothing_has_becomes_a_dhcp_server() -> None:
    """The user's word is the server's name; the cloud decorates the network's."""
    harness = Harness(example(network={"name": "blue"}))
    harness.up()
    assert only(harness, "network")["name"] == "DHCPSERVERblue_Private"
    harness.down()
    assert made_by_us(harness) == []


def test_a_given_subnet_decides_where_a_created_load_balancer_stands() -> None:
    """``loadBalancers[].subnets`` may give an id beside those of the spec."""
    harness = Harness()
    theirs = infrastructure(harness)
    harness.object.patch(
        {
            "spec": {
                "vpc": {"name": theirs.vpc["name"]},
                "loadBalancers": [{"name": "ours", "subnets": [{"id": theirs.subnet["id"]}]}],
                "vpcSubnets": [{"name": "more", "zone": ZONE}],
            }
        }
    )
    harness.up()
    balancer = harness.cloud.strangers.find(only(harness, "load-balancer", "ours")["id"])
    assert balancer["subnets"] == [theirs.subnet["id"]]
    harness.down()
    assert made_by_us(harness) == []


class Kept(NoAudit):
    """The lines of the audit log about what stays."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, str]] = []

    def kept(self, subject: str, resource: str, why: str) -> None:
        self.lines.append((subject, resource, why))


def test_what_stays_is_in_the_audit_log_once() -> None:
    """The event is refused where the namespace goes too, and the status goes with the object."""
    audit = Kept()
    harness = Harness(example(**everything_by_name()), audit=audit)
    theirs = infrastructure(harness)
    harness.up()
    assert audit.lines == []

    harness.down()

    assert {subject for subject, _, _ in audit.lines} == {"IBMPowerVSCluster default/freehold-demo"}
    resources = [resource for _, resource, _ in audit.lines]
    assert len(resources) == len(set(resources))
    assert f"vpc {theirs.vpc['name']} {theirs.vpc['id']}" in resources
    assert all(why for _, _, why in audit.lines)
