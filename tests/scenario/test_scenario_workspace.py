"""Workspaces, and what others put into what is ours: nothing that is not provably ours is destroyed with it."""

from __future__ import annotations

from dataclasses import replace

from freehold_sim.ibm.settings import Assumptions, Settings
from stage.powervs import Stage, example
from stage.scenery import REGION, ZONE, made_by_us, marks, only, photograph, said, standing

WITHOUT_CRN = replace(Settings(), assumptions=Assumptions(dhcp_network_has_crn=False))


def test_a_network_without_crn_is_carried_by_our_own_workspace() -> None:
    """Such a network cannot be tagged: the mark with its server's id stands on the workspace.

    Source: docs/reference/ibm-cloud.md#powervs.
    """
    stage = Stage(settings=WITHOUT_CRN)
    stage.up()

    carried = [tag for tag in marks(only(stage, "instance")) if ".dhcp-server:" in tag]
    assert [tag.rpartition(".")[2].partition("_")[0] for tag in carried] == [only(stage, "dhcp")["id"]]
    stage.start_process()
    stage.down()
    assert standing(stage) == []


def test_a_network_without_crn_in_a_given_workspace_is_unmarkable() -> None:
    """Nothing of ours can bear its mark; that is said, and on delete it is said again, never forgotten."""
    stage = Stage(example(serviceInstance={"name": "theirs"}), WITHOUT_CRN)
    theirs = stage.cloud.strangers.make("workspace", zone="dal10", name="theirs")
    stage.clock.advance(3600.0)
    stage.for_a_while(1800.0)

    condition = stage.condition("NetworkReady")
    assert (condition["status"], condition["reason"]) == ("False", "Unmarkable")
    assert "will not be deleted by us" in condition["message"]
    assert only(stage, "instance")["tags"] == []

    stage.object.delete()
    stage.for_a_while(1800.0)
    assert only(stage, "dhcp")["parent"] == theirs["id"]
    assert not stage.object.gone
    assert only(stage, "dhcp")["id"] in said(stage)

    stage.cloud.strangers.delete(only(stage, "network")["id"])
    stage.cloud.strangers.delete(only(stage, "dhcp")["id"])
    stage.run(lambda: stage.object.gone)
    assert [row["id"] for row in standing(stage)] == [theirs["id"]]


def test_a_virtual_machine_in_our_workspace_blocks_its_delete_and_is_named() -> None:
    """Deleting a workspace takes everything in it along: a person must say so, not we.

    Source: docs/reference/ibm-cloud.md#powervs.
    """
    stage = Stage()
    stage.up()
    workspace = only(stage, "instance")["id"]
    net = stage.cloud.strangers.make("network", region="dal", workspace=workspace, name="theirs")
    vm = stage.cloud.strangers.make("vm", region="dal", workspace=workspace, network=net["id"], name="database")
    stage.object.delete()
    stage.for_a_while(1800.0)

    assert {row["id"] for row in standing(stage)} == {workspace, net["id"], vm["id"]}
    message = stage.condition("Deleting")["message"]
    assert "database" in message
    assert vm["id"] in message
    assert not stage.object.gone

    stage.cloud.strangers.delete(vm["id"])
    stage.cloud.strangers.delete(net["id"])
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []


def test_a_virtual_machine_on_the_dhcp_network_is_named() -> None:
    """CAPIBM #1815: deletion hung for ever without a word. It hangs here too, and says on what."""
    stage = Stage()
    stage.up()
    workspace, network = only(stage, "instance")["id"], only(stage, "network")["id"]
    vm = stage.cloud.strangers.make("vm", region="dal", workspace=workspace, network=network, name="left-over")
    stage.object.delete()
    stage.for_a_while(1800.0)

    assert only(stage, "vm")["id"] == vm["id"]
    assert "attached to pvm-instances" in stage.condition("Deleting")["message"]
    assert "left-over" in stage.condition("Deleting")["message"]

    stage.cloud.strangers.delete(vm["id"])
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []


def test_a_foreign_subnet_in_our_vpc_blocks_its_delete_and_is_named() -> None:
    """Others may have built in our VPC; nothing of theirs goes with it."""
    stage = Stage()
    stage.up()
    vpc = only(stage, "vpc")["id"]
    theirs = stage.cloud.strangers.make("subnet", region=REGION, vpc=vpc, zone=ZONE, name="theirs")
    before = photograph(stage, {theirs["id"]})
    stage.object.delete()
    stage.for_a_while(1800.0)

    assert photograph(stage, before) == before
    assert "theirs" in stage.condition("Deleting")["message"]
    assert theirs["id"] in stage.condition("Deleting")["message"]
    assert {row["kind"] for row in made_by_us(stage)} == {"vpc", "security-group"}

    stage.cloud.strangers.delete(theirs["id"])
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []


def test_a_public_gateway_in_our_vpc_is_named() -> None:
    """CAPIBM #308: the VPC's delete hangs on a left-over public gateway."""
    stage = Stage()
    stage.up()
    vpc = only(stage, "vpc")["id"]
    theirs = stage.cloud.strangers.occupy("public-gateway", "left-over", vpc=vpc, region=REGION)
    stage.object.delete()
    stage.for_a_while(1800.0)
    assert only(stage, "vpc")["id"] == vpc
    assert theirs["id"] in stage.condition("Deleting")["message"]
    stage.cloud.strangers.delete(theirs["id"])
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []


def test_a_strangers_server_in_our_subnet_is_named() -> None:
    """The subnet's delete is refused by the cloud: what holds it is said, and the delete goes on afterwards."""
    stage = Stage()
    stage.up()
    vpc, subnet = only(stage, "vpc")["id"], only(stage, "subnet")["id"]
    theirs = stage.cloud.strangers.occupy("virtual-server", "theirs", vpc=vpc, region=REGION, subnets=[subnet])
    stage.object.delete()
    stage.for_a_while(1800.0)
    assert only(stage, "subnet")["id"] == subnet
    assert subnet in stage.condition("Deleting")["message"]
    stage.cloud.strangers.delete(theirs["id"])
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []


def test_a_workspace_whose_delete_needs_repeated_tries_goes() -> None:
    """CAPIBM #1805: the first requests are refused while its network is still going away."""
    stage = Stage(settings=replace(Settings(), assumptions=Assumptions(workspace_delete_tries=3)))
    stage.up()
    stage.down()
    assert standing(stage) == []
