"""What someone changes behind our back is seen and put right, and stays deletable."""

from __future__ import annotations

import json

import pytest

from freehold.api import names as api_names
from harness.powervs import Harness, example
from harness.resources import MARK, made_by_us, marks, omitted, only, photograph, record, standing

LOOK = 1500.0
"""Seconds in which a deep look comes round, and what it finds is put right and read back."""


def risen(harness: Harness) -> Harness:
    harness.up()
    return harness


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
def test_a_stripped_mark_is_put_back(kind: str, how: str) -> None:
    """Our marks are how a later process proves ownership: one that is missing is attached again, and it is said."""
    harness = risen(Harness())
    before = only(harness, kind)
    gone = [tag for tag in before["tags"] if how == "all" or tag.startswith(f"{MARK}{how}:")]
    harness.cloud.strangers.detach(before["crn"], *gone)

    harness.for_a_while(LOOK)

    assert only(harness, kind)["tags"] == before["tags"]
    assert harness.ready()
    harness.down()
    assert standing(harness) == []


@pytest.mark.parametrize("how", ["owner", "cluster-uuid", "node", "all"])
def test_stripped_while_we_were_away_and_then_deleted(how: str) -> None:
    """With a mark stripped, the journal's evidence heals first, and only then is anything deleted."""
    harness = risen(Harness())
    for row in standing(harness):
        harness.cloud.strangers.detach(
            row["crn"], *(tag for tag in marks(row) if how == "all" or tag.startswith(f"{MARK}{how}:"))
        )
    harness.start_process()
    harness.down()
    assert standing(harness) == []


@pytest.mark.parametrize("end", ["vpc", "pvs"])
def test_a_connection_that_someone_removed_is_made_again(end: str) -> None:
    """The demo: without it no traffic passes. The old carrier mark goes, the new one stands."""
    harness = risen(Harness())
    old = next(row for row in standing(harness, "connection") if f"-{end}-con" in row["name"])
    harness.cloud.strangers.delete(old["id"])

    harness.for_a_while(LOOK)

    assert harness.ready()
    new = {row["id"] for row in standing(harness, "connection")}
    assert len(new) == 2
    assert old["id"] not in new
    carried = {tag.rpartition(".")[2] for tag in marks(only(harness, "gateway")) if "-connection:" in tag}
    assert carried == new
    assert any("is gone, deleted by someone else" in message for _, _, message in harness.events.said)
    harness.down()
    assert standing(harness) == []


def test_the_api_servers_rule_is_put_back_and_others_rules_stay() -> None:
    """The rule on the VPC's default group is a part of ours; whoever adds rules beside it keeps them."""
    harness = risen(Harness())
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


def test_a_listener_that_someone_removed_is_made_again() -> None:
    """Without its listener the endpoint answers nobody; and it leads to the pool in which the members are."""
    harness = risen(Harness())
    balancer = record(harness, only(harness, "load-balancer")["id"])
    path = f"/vpc/us-south/v1/load_balancers/{balancer['id']}/listeners"
    harness.cloud.strangers.send("DELETE", f"{path}/{balancer['listeners'][0]['id']}")

    harness.for_a_while(LOOK)

    after = record(harness, balancer["id"])
    assert [listener["port"] for listener in after["listeners"]] == [6443]
    assert [pool["id"] for pool in after["pools"]] == [pool["id"] for pool in balancer["pools"]]
    assert harness.ready()


def test_members_that_the_cloud_provider_puts_into_our_pool_stay() -> None:
    """Whoever makes the machines puts them behind the load balancer: members are never ours to remove."""
    harness = risen(Harness())
    balancer = record(harness, only(harness, "load-balancer")["id"])
    path = f"/vpc/us-south/v1/load_balancers/{balancer['id']}/pools/{balancer['pools'][0]['id']}/members"
    harness.cloud.strangers.send("POST", path, {"port": 6443, "target": {"address": "192.168.0.7"}})
    harness.clock.advance(60.0)
    before = photograph(harness, {balancer["id"]})

    harness.for_a_while(LOOK)

    assert len(record(harness, balancer["id"])["pools"][0]["members"]) == 1
    assert photograph(harness, before) == before


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("vpc", "freehold-demo-vpc"),
        ("subnet", "freehold-demo-vpcsubnet"),
        ("instance", "freehold-demo-serviceInstance"),
        ("gateway", "freehold-demo-transitgateway"),
    ],
)
def test_what_someone_renames_is_renamed_back(kind: str, name: str) -> None:
    """It is kept in sync with the spec (docs/reference/requirements.md W12); machines find it by its name."""
    harness = risen(Harness())
    ident = only(harness, kind)["id"]
    harness.cloud.strangers.rename(ident, "someone-elses-idea")

    harness.for_a_while(LOOK)

    assert only(harness, kind, name)["id"] == ident
    assert harness.ready()


def test_a_renamed_vpc_whose_name_a_stranger_took_meanwhile() -> None:
    """It cannot be renamed back: that is said, the stranger's is left alone, ours stays ours."""
    harness = risen(Harness())
    ours = only(harness, "vpc")["id"]
    harness.cloud.strangers.rename(ours, "someone-elses-idea")
    theirs = harness.cloud.strangers.make("vpc", region="us-south", name="freehold-demo-vpc")
    before = photograph(harness, {theirs["id"]})

    harness.for_a_while(LOOK)

    assert harness.condition("VPCReady")["reason"] == "NameTaken"
    assert harness.status()["vpc"]["id"] == ours
    harness.down()
    assert [row["id"] for row in standing(harness, "vpc")] == [theirs["id"]]
    assert photograph(harness, before) == before


@pytest.mark.parametrize(
    "kind", ["subnet", "load-balancer", "vpc", "gateway", "network", "instance"], ids=lambda kind: f"{kind}-deleted"
)
def test_what_someone_deletes_is_made_again(kind: str) -> None:
    """Level-triggered: what the spec wants and is not there, is created; with what stood in it."""
    harness = risen(Harness(example(**omitted())))
    old = standing(harness, kind)[0]
    if kind == "network":
        harness.cloud.strangers.delete(only(harness, "dhcp")["id"])
    harness.cloud.strangers.delete(old["id"])
    harness.run(lambda: not harness.ready(), limit=700.0)
    harness.up()

    assert old["id"] not in {row["id"] for row in standing(harness, kind)}
    assert len(standing(harness, kind)) == (3 if kind == "subnet" else 1)
    harness.down()
    assert made_by_us(harness) == []


def test_a_failed_load_balancer_that_a_person_deletes_is_made_again() -> None:
    """That is what its condition told the person to do."""
    harness = risen(Harness())
    old = only(harness, "load-balancer")["id"]
    harness.cloud.strangers.change(old, state="failed")
    harness.for_a_while(LOOK)
    assert harness.condition("LoadBalancerReady")["reason"] == "ProvisioningFailed"

    harness.cloud.strangers.delete(old)
    harness.up()
    assert only(harness, "load-balancer")["id"] != old
    harness.down()
    assert standing(harness) == []


def test_what_nothing_records_or_marks_is_found_inside_what_this_process_has_not_looked_at() -> None:
    """A restored journal lacks the load balancer, its marks are gone, the spec is refused: it holds up the subnet.

    The VPC waits for the subnet, so a new process has no need to read it; the load balancers of its region are listed
    only for a VPC that is known to exist.
    """
    harness = Harness()
    harness.up()
    balancer = only(harness, "load-balancer")
    harness.cloud.strangers.detach(balancer["crn"], *balancer["tags"])
    harness.clock.advance(120.0)  # until the index has forgotten them
    document = json.loads(harness.object.raw["metadata"]["annotations"][api_names.JOURNAL_ANNOTATION])
    document["nodes"] = {key: row for key, row in document["nodes"].items() if not key.startswith("load-balancer/")}
    harness.object.patch({"metadata": {"annotations": {api_names.JOURNAL_ANNOTATION: json.dumps(document)}}})
    harness.object.patch({"spec": {"resourceGroup": {"name": "no-such-group"}}})
    harness.start_process()
    harness.down()
    assert made_by_us(harness) == []
