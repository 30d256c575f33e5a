"""Workspaces, and what others put into our containers: nothing that is not provably ours is destroyed with them."""

from __future__ import annotations

from dataclasses import replace

from freehold_sim.ibm.settings import Assumptions, Settings
from harness.powervs import Harness, example
from harness.resources import REGION, ZONE, existing, made_by_us, marks, messages, only, snapshot
from harness.standing import standing

WITHOUT_CRN = replace(Settings(), assumptions=Assumptions(dhcp_network_has_crn=False))


def test_a_network_without_crn_is_carried_by_our_own_workspace() -> None:
    """Such a network cannot be tagged: the mark with the id of its server is on the workspace.

    Source: docs/reference/ibm-cloud.md#powervs.
    """
    harness = Harness(settings=WITHOUT_CRN)
    harness.up()

    carried = [tag for tag in marks(only(harness, "instance")) if ".dhcp-server:" in tag]
    assert [tag.rpartition(".")[2].partition("_")[0] for tag in carried] == [only(harness, "dhcp")["id"]]
    harness.start_process()
    harness.down()
    assert existing(harness) == []


def test_a_network_without_crn_in_a_given_workspace_is_unmarkable() -> None:
    """No resource of ours can carry its mark; this is reported, and reported again on delete."""
    harness = Harness(example(serviceInstance={"name": "theirs"}), WITHOUT_CRN)
    theirs = harness.cloud.strangers.make("workspace", zone="dal10", name="theirs")
    harness.clock.advance(3600.0)
    harness.for_a_while(1800.0)

    condition = harness.condition("NetworkReady")
    assert (condition["status"], condition["reason"]) == ("False", "Unmarkable")
    assert "is not deleted with the object" in condition["message"]
    assert only(harness, "instance")["tags"] == []

    harness.object.delete()
    harness.for_a_while(1800.0)
    assert only(harness, "dhcp")["parent"] == theirs["id"]
    assert not harness.object.gone
    assert only(harness, "dhcp")["id"] in messages(harness)

    harness.cloud.strangers.delete(only(harness, "network")["id"])
    harness.cloud.strangers.delete(only(harness, "dhcp")["id"])
    harness.run(lambda: harness.object.gone)
    assert [row["id"] for row in existing(harness)] == [theirs["id"]]


def test_a_virtual_machine_in_our_workspace_blocks_its_delete_and_is_named() -> None:
    """Deleting a workspace deletes everything in it: a person must decide that.

    Source: docs/reference/ibm-cloud.md#powervs.
    """
    harness = standing(Harness)
    workspace = only(harness, "instance")["id"]
    net = harness.cloud.strangers.make("network", region="dal", workspace=workspace, name="theirs")
    vm = harness.cloud.strangers.make("vm", region="dal", workspace=workspace, network=net["id"], name="database")
    harness.object.delete()
    harness.for_a_while(1800.0)

    assert {row["id"] for row in existing(harness)} == {workspace, net["id"], vm["id"]}
    message = harness.condition("Deleting")["message"]
    assert "database" in message
    assert vm["id"] in message
    assert not harness.object.gone

    harness.cloud.strangers.delete(vm["id"])
    harness.cloud.strangers.delete(net["id"])
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_virtual_machine_on_the_dhcp_network_is_named() -> None:
    """CAPIBM #1815: the delete hung for ever without a message. Here it waits, too, and reports for what."""
    harness = standing(Harness)
    workspace, network = only(harness, "instance")["id"], only(harness, "network")["id"]
    vm = harness.cloud.strangers.make("vm", region="dal", workspace=workspace, network=network, name="left-over")
    harness.object.delete()
    harness.for_a_while(700.0)

    assert only(harness, "vm")["id"] == vm["id"]
    assert "attached to pvm-instances" in harness.condition("Deleting")["message"]
    assert "left-over" in harness.condition("Deleting")["message"]

    harness.cloud.strangers.delete(vm["id"])
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_foreign_subnet_in_our_vpc_blocks_its_delete_and_is_named() -> None:
    """Others may have resources in our VPC; nothing of theirs is deleted with it."""
    harness = standing(Harness)
    vpc = only(harness, "vpc")["id"]
    theirs = harness.cloud.strangers.make("subnet", region=REGION, vpc=vpc, zone=ZONE, name="theirs")
    before = snapshot(harness, {theirs["id"]})
    harness.object.delete()
    harness.for_a_while(1800.0)

    assert snapshot(harness, before) == before
    assert "theirs" in harness.condition("Deleting")["message"]
    assert theirs["id"] in harness.condition("Deleting")["message"]
    assert {row["kind"] for row in made_by_us(harness)} == {"vpc", "security-group"}

    harness.cloud.strangers.delete(theirs["id"])
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_public_gateway_in_our_vpc_is_named() -> None:
    """CAPIBM #308: the VPC's delete hangs on a left-over public gateway."""
    harness = standing(Harness)
    vpc = only(harness, "vpc")["id"]
    theirs = harness.cloud.strangers.occupy("public-gateway", "left-over", vpc=vpc, region=REGION)
    harness.object.delete()
    harness.for_a_while(1800.0)
    assert only(harness, "vpc")["id"] == vpc
    assert theirs["id"] in harness.condition("Deleting")["message"]
    harness.cloud.strangers.delete(theirs["id"])
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_strangers_server_in_our_subnet_is_named() -> None:
    """The cloud refuses to delete the subnet: the reason is reported, and the delete continues afterwards."""
    harness = standing(Harness)
    vpc, subnet = only(harness, "vpc")["id"], only(harness, "subnet")["id"]
    theirs = harness.cloud.strangers.occupy("virtual-server", "theirs", vpc=vpc, region=REGION, subnets=[subnet])
    harness.object.delete()
    harness.for_a_while(1800.0)
    assert only(harness, "subnet")["id"] == subnet
    assert subnet in harness.condition("Deleting")["message"]
    harness.cloud.strangers.delete(theirs["id"])
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_workspace_whose_delete_needs_several_tries_is_deleted() -> None:
    """CAPIBM #1805: the first requests are refused while its network is still being deleted."""
    harness = Harness(settings=replace(Settings(), assumptions=Assumptions(workspace_delete_tries=3)))
    harness.up()
    harness.down()
    assert existing(harness) == []
