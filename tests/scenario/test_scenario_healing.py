"""Changes by others are detected and corrected, and the cluster stays deletable."""

from __future__ import annotations

import json

import pytest

from freehold.api import names as api_names
from freehold.controllers.repairs import Repaired
from freehold.engine.outcomes import Repair
from harness.powervs import Harness, example
from harness.resources import MARK, existing, made_by_us, marks, omitted, only, record, snapshot
from harness.standing import standing

LOOK = 1500.0
"""Seconds in which a deep pass runs, and its corrections are made and read back."""


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("instance", "owner"),
        ("network", "cluster-uuid"),
        ("vpc", "all"),
        ("subnet", "node"),
        ("load-balancer", "all"),
        ("gateway", "all"),
    ],
)
def test_a_stripped_mark_is_attached_again(kind: str, how: str) -> None:
    """A later process proves ownership by our marks: a missing one is attached again, and this is reported."""
    harness = standing(Harness)
    before = only(harness, kind)
    gone = [tag for tag in before["tags"] if how == "all" or tag.startswith(f"{MARK}{how}:")]
    harness.cloud.strangers.detach(before["crn"], *gone)

    harness.for_a_while(LOOK)

    assert only(harness, kind)["tags"] == before["tags"]
    assert harness.ready()
    harness.down()
    assert existing(harness) == []


@pytest.mark.parametrize("end", ["vpc", "pvs"])
def test_a_removed_connection_is_created_again(end: str) -> None:
    """As in the demo: without it no traffic passes. The old carrier mark is detached, the new one attached."""
    harness = standing(Harness)
    old = next(row for row in existing(harness, "connection") if f"-{end}-con" in row["name"])
    harness.cloud.strangers.delete(old["id"])

    harness.for_a_while(LOOK)

    assert harness.ready()
    new = {row["id"] for row in existing(harness, "connection")}
    assert len(new) == 2
    assert old["id"] not in new
    carried = {tag.rpartition(".")[2] for tag in marks(only(harness, "gateway")) if "-connection:" in tag}
    assert carried == new
    assert any("is gone, deleted by someone else" in message for _, _, message in harness.events.said)
    harness.down()
    assert existing(harness) == []


def test_the_rule_of_the_api_server_is_added_again_and_rules_of_others_stay() -> None:
    """The rule in the default group of the VPC is a part of ours; rules that others add there stay."""
    harness = standing(Harness)
    group = record(harness, only(harness, "security-group")["id"])
    mine = next(rule for rule in group["rules"] if rule.get("port_min") == 6443)
    path = f"/vpc/us-south/v1/security_groups/{group['id']}/rules"
    harness.cloud.strangers.send("DELETE", f"{path}/{mine['id']}")
    body = {"direction": "inbound", "protocol": "tcp", "port_min": 22, "port_max": 22}
    theirs = harness.cloud.strangers.send("POST", path, body)

    harness.for_a_while(LOOK)

    rules = record(harness, group["id"])["rules"]
    assert [rule.get("port_min") for rule in rules].count(6443) == 1
    assert theirs["id"] in {rule["id"] for rule in rules}
    assert harness.ready()


def test_a_removed_listener_is_created_again() -> None:
    """Without its listener the endpoint does not answer. The new one uses the pool with the members."""
    harness = standing(Harness)
    balancer = record(harness, only(harness, "load-balancer")["id"])
    path = f"/vpc/us-south/v1/load_balancers/{balancer['id']}/listeners"
    harness.cloud.strangers.send("DELETE", f"{path}/{balancer['listeners'][0]['id']}")

    harness.for_a_while(LOOK)

    after = record(harness, balancer["id"])
    assert [listener["port"] for listener in after["listeners"]] == [6443]
    assert [pool["id"] for pool in after["pools"]] == [pool["id"] for pool in balancer["pools"]]
    assert harness.ready()


def test_members_that_others_put_into_our_pool_stay() -> None:
    """The provider of the machines adds them as members: we never remove members."""
    harness = standing(Harness)
    balancer = record(harness, only(harness, "load-balancer")["id"])
    path = f"/vpc/us-south/v1/load_balancers/{balancer['id']}/pools/{balancer['pools'][0]['id']}/members"
    harness.cloud.strangers.send("POST", path, {"port": 6443, "target": {"address": "192.168.0.7"}})
    harness.clock.advance(60.0)
    before = snapshot(harness, {balancer["id"]})

    harness.for_a_while(LOOK)

    assert len(record(harness, balancer["id"])["pools"][0]["members"]) == 1
    assert snapshot(harness, before) == before


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("vpc", "freehold-demo-vpc"),
        ("subnet", "freehold-demo-vpcsubnet"),
        ("instance", "freehold-demo-serviceInstance"),
        ("gateway", "freehold-demo-transitgateway"),
    ],
)
def test_a_renamed_resource_is_renamed_back(kind: str, name: str) -> None:
    """The name follows the spec (docs/reference/requirements.md W12); machines find the resource by it."""
    harness = standing(Harness)
    ident = only(harness, kind)["id"]
    harness.cloud.strangers.rename(ident, "someone-elses-idea")

    harness.for_a_while(LOOK)

    assert only(harness, kind, name)["id"] == ident
    assert harness.ready()


def test_what_others_changed_is_counted_and_an_edit_is_not() -> None:
    """The metric freehold_drift_repaired_total: somebody works against the operator."""
    harness = standing(Harness)
    harness.for_a_while(LOOK)
    assert not harness.repairs, "nothing was changed"
    harness.object.patch({"spec": {"tags": [{"key": "team", "value": "blue"}]}})
    harness.for_a_while(LOOK)
    assert not harness.repairs, "the spec was"
    strangers, vpc = harness.cloud.strangers, only(harness, "vpc")
    said: list[Repaired] = []
    harness.on_repair = lambda kind, key, repaired: said.append(repaired)
    strangers.rename(vpc["id"], "someone-elses-idea")
    harness.for_a_while(LOOK)
    assert harness.repairs["IBMPowerVSCluster"] == 1
    assert said == [{("vpc", vpc["name"]): (Repair("name", "someone-elses-idea", vpc["name"]),)}]
    strangers.detach(vpc["crn"], *marks(vpc))
    harness.for_a_while(LOOK)
    assert harness.repairs["IBMPowerVSCluster"] == 2
    group = record(harness, only(harness, "security-group")["id"])
    mine = next(rule for rule in group["rules"] if rule.get("port_min") == 6443)
    strangers.send("DELETE", f"/vpc/us-south/v1/security_groups/{group['id']}/rules/{mine['id']}")
    harness.for_a_while(LOOK)
    assert harness.repairs["IBMPowerVSCluster"] == 3
    strangers.delete(existing(harness, "connection")[0]["id"])
    harness.for_a_while(LOOK)
    assert harness.ready()
    assert harness.repairs["IBMPowerVSCluster"] == 4


def test_a_renamed_vpc_is_kept_when_a_stranger_has_taken_its_name() -> None:
    """It cannot be renamed back: this is reported, the stranger's VPC is left alone, and ours stays owned."""
    harness = standing(Harness)
    ours = only(harness, "vpc")["id"]
    harness.cloud.strangers.rename(ours, "someone-elses-idea")
    theirs = harness.cloud.strangers.make("vpc", region="us-south", name="freehold-demo-vpc")
    before = snapshot(harness, {theirs["id"]})

    harness.for_a_while(LOOK)

    assert harness.condition("VPCReady")["reason"] == "NameTaken"
    assert harness.status()["vpc"]["id"] == ours
    harness.down()
    assert [row["id"] for row in existing(harness, "vpc")] == [theirs["id"]]
    assert snapshot(harness, before) == before


def left_behind(harness: Harness) -> bool:
    """Everything is there, and nobody reaches it: the endpoint is the address of the load balancer that went."""
    state = harness.condition("LoadBalancerReady")
    there = all(row["state"] == "Ready" for row in harness.status()["resources"] if row["kind"] != "load-balancer")
    return there and state["status"] == "False" and "spec.controlPlaneEndpoint.host" in state["message"]


@pytest.mark.parametrize(
    "kind", ["subnet", "load-balancer", "vpc", "gateway", "network", "instance"], ids=lambda kind: f"{kind}-deleted"
)
def test_a_deleted_resource_is_created_again(kind: str) -> None:
    """It is created again together with what was inside it. A new load balancer has another address (ADR 16)."""
    harness = standing(Harness, example(**omitted()))
    old = existing(harness, kind)[0]
    if kind == "network":
        harness.cloud.strangers.delete(only(harness, "dhcp")["id"])
    harness.cloud.strangers.delete(old["id"])
    harness.run(lambda: not harness.ready(), limit=700.0)
    if kind in ("load-balancer", "vpc"):
        harness.run(lambda: left_behind(harness), limit=3600.0)
    else:
        harness.up()

    assert old["id"] not in {row["id"] for row in existing(harness, kind)}
    assert len(existing(harness, kind)) == (3 if kind == "subnet" else 1)
    harness.down()
    assert made_by_us(harness) == []


def test_a_failed_load_balancer_that_a_person_deletes_is_created_again() -> None:
    """Its condition told the person to delete it."""
    harness = standing(Harness)
    old = only(harness, "load-balancer")["id"]
    harness.cloud.strangers.change(old, state="failed")
    harness.for_a_while(LOOK)
    assert harness.condition("LoadBalancerReady")["reason"] == "ProvisioningFailed"

    harness.cloud.strangers.delete(old)
    harness.run(lambda: left_behind(harness), limit=3600.0)
    assert only(harness, "load-balancer")["id"] != old
    harness.down()
    assert existing(harness) == []


def test_an_unrecorded_and_unmarked_resource_is_found_inside_one_that_this_process_has_not_read() -> None:
    """A restored journal lacks the load balancer, its marks are gone, the spec is refused: it holds up the subnet.

    The VPC waits for the subnet, so a new process has no need to read it; the load balancers of its region are listed
    only for a VPC that is known to exist.
    """
    harness = standing(Harness)
    balancer = only(harness, "load-balancer")
    harness.cloud.strangers.detach(balancer["crn"], *balancer["tags"])
    harness.clock.advance(120.0)  # until the index no longer shows them
    document = json.loads(harness.object.raw["metadata"]["annotations"][api_names.JOURNAL_ANNOTATION])
    document["nodes"] = {key: row for key, row in document["nodes"].items() if not key.startswith("load-balancer/")}
    harness.object.patch({"metadata": {"annotations": {api_names.JOURNAL_ANNOTATION: json.dumps(document)}}})
    harness.object.patch({"spec": {"resourceGroup": {"name": "no-such-group"}}})
    harness.start_process()
    harness.down()
    assert made_by_us(harness) == []
