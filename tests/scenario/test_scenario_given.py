"""Resources that the spec gives by name or id are used as they are: not created, changed, marked or deleted."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.providers.access.audit import NoAudit
from harness.powervs import Harness, example
from harness.resources import (
    ZONE,
    everything_by_id,
    everything_by_name,
    infrastructure,
    made_by_us,
    messages,
    only,
    row_of,
    snapshot,
)


@pytest.mark.parametrize("how", ["name", "id"])
def test_an_existing_infrastructure_is_only_used(how: str) -> None:
    """docs/reference/requirements.md T11, I27: reused resources get no tag and outlive the cluster."""
    harness = Harness()
    theirs = infrastructure(harness)
    spec = everything_by_name() if how == "name" else everything_by_id(theirs)
    harness.object.patch({"spec": example(**spec)["spec"]})
    before = snapshot(harness)

    harness.up()

    assert snapshot(harness, before) == before
    assert made_by_us(harness) == []
    assert {row["ownership"] for row in harness.status()["resources"]} == {"unmanaged"}
    assert harness.status()["vpc"] == {"id": theirs.vpc["id"], "controllerCreated": False}

    harness.down()

    assert snapshot(harness) == before


def test_what_is_given_by_id_is_never_called_the_clusters_own() -> None:
    """It is on record under its node like what the cluster made: only the phase of the record tells them apart."""
    harness = Harness()
    harness.object.patch({"spec": example(**everything_by_id(infrastructure(harness)))["spec"]})
    harness.up()
    harness.for_a_while(1200.0)

    assert "own" not in harness.condition("FieldsServed")["message"].split()
    assert {row["ownership"] for row in harness.status()["resources"]} == {"unmanaged"}


def test_what_waits_names_what_it_waits_for() -> None:
    """Also in the pass that finds what it needs: it is made in the next one, and nobody waits for nothing."""
    harness = Harness(example(serviceInstance={"name": "theirs-serviceInstance"}, network=None))
    infrastructure(harness)
    told = set[str]()
    while not harness.ready():
        result = harness.pass_once()
        told |= {str(row.get("message")) for row in harness.status().get("resources") or ()}
        harness.clock.advance(max(getattr(result, "seconds", 60.0), 0.01))
    assert not [message for message in told if message.strip().endswith("waits for")]


def test_reuse_by_name_is_reported() -> None:
    """A person may not know that a resource of that name exists: plan and conditions report it."""
    harness = Harness(example(**everything_by_name()))
    infrastructure(harness)
    harness.up()

    for type_ in ("ServiceInstanceReady", "NetworkReady", "VPCReady", "VPCSubnetReady", "LoadBalancerReady"):
        assert harness.condition(type_)["reason"] == "ReusedByName", type_
        assert harness.condition(type_)["status"] == "True"
    assert "theirs-vpc" in harness.condition("VPCReady")["message"]
    assert "stays when the cluster is deleted" in harness.condition("VPCReady")["message"]


def test_the_final_table_has_the_reason_why_each_given_resource_stays() -> None:
    """Each resource that is not owned stays, with a reason in the final table."""
    harness = Harness(example(**everything_by_name()))
    theirs = infrastructure(harness)
    harness.up()
    harness.down()

    row = row_of(harness, "vpc")
    assert (row["state"], row["reason"], row["id"]) == ("Kept", "ReusedByName", theirs.vpc["id"])
    assert row["message"]


def test_given_and_created_resources_together() -> None:
    """Ours are created inside given ones, and only ours are deleted."""
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
    before = snapshot(harness, {theirs.vpc["id"], theirs.workspace["id"], theirs.subnet["id"], theirs.balancer["id"]})

    harness.up()

    ours = {row["kind"] for row in made_by_us(harness)}
    assert ours == {"instance", "network", "dhcp", "subnet", "load-balancer", "connection"}
    assert only(harness, "subnet", "freehold-demo-vpcsubnet")["parent"] == theirs.vpc["id"]
    assert snapshot(harness, before) == before

    harness.down()

    assert made_by_us(harness) == []
    assert snapshot(harness, before) == before


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
def test_a_given_id_that_does_not_exist_is_named(spec: dict[str, Any], type_: str, field: str, ident: str) -> None:
    """docs/reference/requirements.md I9: an error, and no replacement; the rest can be deleted."""
    harness = Harness(example(**spec))
    harness.for_a_while(300.0)

    condition = harness.condition(type_)
    assert (condition["status"], condition["reason"]) == ("False", "NotFound")
    assert f"{field}: " in condition["message"]
    assert f"{ident} does not exist: correct the id" in condition["message"]
    assert not harness.ready()

    harness.down()
    assert made_by_us(harness) == []


@pytest.mark.parametrize(("field", "noun"), [("network", "network"), ("dhcpServer", "DHCP server")])
def test_a_network_that_does_not_exist_is_called_what_the_spec_calls_it(field: str, noun: str) -> None:
    """The kind is dhcp-server in both cases; the user named a network."""
    harness = Harness(example(**{field: {"id": GUID}}))
    harness.for_a_while(900.0)
    message = harness.condition("NetworkReady")["message"]
    assert message == f"{noun} {GUID}: spec.{field}.id: {noun} {GUID} does not exist: correct the id"


@pytest.mark.parametrize(
    ("field", "type_"), [("vpcSubnets", "VPCSubnetReady"), ("vpcSecurityGroups", "VPCSecurityGroupReady")]
)
def test_a_wrong_id_is_reported_at_once_and_not_only_when_the_vpc_exists(field: str, type_: str) -> None:
    """A resource given by id exists already or never will: there is nothing to wait for."""
    harness = Harness(example(**{field: [{"id": NOWHERE}]}))
    harness.pass_once()
    assert harness.condition(type_)["reason"] == "NotFound"
    assert f"spec.{field}[0].id: " in harness.condition(type_)["message"]


def test_the_correction_of_a_wrong_id_takes_effect() -> None:
    """It is seen at once: the generation changed."""
    harness = Harness(example(vpc={"id": NOWHERE, "region": "us-south"}))
    theirs = infrastructure(harness)
    harness.pass_once()
    harness.object.patch({"spec": {"vpc": {"id": theirs.vpc["id"]}}})
    harness.up()
    assert harness.status()["vpc"]["id"] == theirs.vpc["id"]


def test_a_given_resource_that_vanishes_is_named_and_never_replaced() -> None:
    """Drift in a resource that is not ours is its owner's task: nothing is created in its place."""
    harness = Harness()
    theirs = infrastructure(harness)
    harness.object.patch({"spec": example(**everything_by_id(theirs))["spec"]})
    harness.up()
    harness.cloud.strangers.delete(theirs.balancer["id"])
    harness.for_a_while(1500.0)

    assert harness.condition("LoadBalancerReady")["reason"] == "NotFound"
    assert theirs.balancer["id"] in messages(harness)
    assert made_by_us(harness) == []


def test_two_resources_of_a_given_name_need_a_person() -> None:
    """Workspace names are not unique: which of two is meant is unknown."""
    harness = Harness(example(serviceInstance={"name": "theirs"}))
    first, second = (harness.cloud.strangers.make("workspace", zone="dal10", name="theirs") for _ in range(2))
    harness.clock.advance(3600.0)
    harness.for_a_while(600.0)

    condition = harness.condition("ServiceInstanceReady")
    assert condition["reason"] == "Ambiguous"
    assert first["id"] in condition["message"]
    assert second["id"] in condition["message"]


@pytest.mark.parametrize("wish", ["theirs-net", "theirs"])
def test_a_network_name_means_the_network_or_else_that_of_the_dhcp_server(wish: str) -> None:
    """Upstream #2159 and #1933: ``foo`` is the network ``foo``, or else ``DHCPSERVERfoo_Private``; no second server."""
    harness = Harness(example(serviceInstance={"name": "theirs-serviceInstance"}, network={"name": wish}))
    theirs = infrastructure(harness, connected=False)
    harness.cloud.strangers.make("dhcp", region="dal", workspace=theirs.workspace["id"], name="theirs")
    harness.clock.advance(3600.0)
    before = snapshot(harness)

    harness.up()

    assert {row["kind"] for row in made_by_us(harness)}.isdisjoint({"dhcp", "network"})
    wanted = (
        theirs.network["id"] if wish == "theirs-net" else only(harness, "network", "DHCPSERVERtheirs_Private")["id"]
    )
    assert harness.status()["network"]["id"] == wanted
    harness.down()
    assert snapshot(harness) == before


def test_a_network_name_that_nothing_has_becomes_a_dhcp_server() -> None:
    """The given name is that of the server; the cloud adds a prefix and a suffix for the network."""
    harness = Harness(example(network={"name": "blue"}))
    harness.up()
    assert only(harness, "network")["name"] == "DHCPSERVERblue_Private"
    harness.down()
    assert made_by_us(harness) == []


def test_a_created_load_balancer_is_in_the_given_subnet() -> None:
    """``loadBalancers[].subnets`` may give an id that the spec does not list elsewhere."""
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
    """The lines of the audit log about kept resources."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, str]] = []

    def log_kept(self, subject: str, resource: str, why: str) -> None:
        self.lines.append((subject, resource, why))


def test_a_kept_resource_is_in_the_audit_log_once() -> None:
    """Events are refused if the namespace is being deleted, too, and the status is deleted with the object."""
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
