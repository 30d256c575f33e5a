"""What someone changes behind our back is seen and put right, and stays deletable."""

from __future__ import annotations

import json

import pytest

from freehold.api import names as api_names
from stage.powervs import Stage, example
from stage.scenery import MARK, made_by_us, marks, omitted, only, photograph, record, standing

LOOK = 1500.0
"""Seconds in which a deep look comes round, and what it finds is put right and read back."""


def risen(stage: Stage) -> Stage:
    stage.up()
    return stage


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
    stage = risen(Stage())
    before = only(stage, kind)
    gone = [tag for tag in before["tags"] if how == "all" or tag.startswith(f"{MARK}{how}:")]
    stage.cloud.strangers.detach(before["crn"], *gone)

    stage.for_a_while(LOOK)

    assert only(stage, kind)["tags"] == before["tags"]
    assert stage.ready()
    stage.down()
    assert standing(stage) == []


@pytest.mark.parametrize("how", ["owner", "cluster-uuid", "node", "all"])
def test_stripped_while_we_were_away_and_then_deleted(how: str) -> None:
    """With a mark stripped, the journal's evidence heals first, and only then is anything deleted."""
    stage = risen(Stage())
    for row in standing(stage):
        stage.cloud.strangers.detach(
            row["crn"], *(tag for tag in marks(row) if how == "all" or tag.startswith(f"{MARK}{how}:"))
        )
    stage.start_process()
    stage.down()
    assert standing(stage) == []


@pytest.mark.parametrize("end", ["vpc", "pvs"])
def test_a_connection_that_someone_removed_is_made_again(end: str) -> None:
    """The demo: without it no traffic passes. The old carrier mark goes, the new one stands."""
    stage = risen(Stage())
    old = next(row for row in standing(stage, "connection") if f"-{end}-con" in row["name"])
    stage.cloud.strangers.delete(old["id"])

    stage.for_a_while(LOOK)

    assert stage.ready()
    new = {row["id"] for row in standing(stage, "connection")}
    assert len(new) == 2
    assert old["id"] not in new
    carried = {tag.rpartition(".")[2] for tag in marks(only(stage, "gateway")) if "-connection:" in tag}
    assert carried == new
    assert any("is gone, deleted by someone else" in message for _, _, message in stage.events.said)
    stage.down()
    assert standing(stage) == []


def test_the_api_servers_rule_is_put_back_and_others_rules_stay() -> None:
    """The rule on the VPC's default group is a part of ours; whoever adds rules beside it keeps them."""
    stage = risen(Stage())
    group = record(stage, only(stage, "security-group")["id"])
    mine = next(rule for rule in group["rules"] if rule.get("port_min") == 6443)
    path = f"/vpc/us-south/v1/security_groups/{group['id']}/rules"
    stage.cloud.strangers.send("DELETE", f"{path}/{mine['id']}")
    body = {"direction": "inbound", "protocol": "tcp", "port_min": 22, "port_max": 22}
    theirs = stage.cloud.strangers.send("POST", path, body)

    stage.for_a_while(LOOK)

    rules = record(stage, group["id"])["rules"]
    assert [rule.get("port_min") for rule in rules].count(6443) == 1
    assert theirs["id"] in {rule["id"] for rule in rules}
    assert stage.ready()


def test_a_listener_that_someone_removed_is_made_again() -> None:
    """Without its listener the endpoint answers nobody; and it leads to the pool in which the members are."""
    stage = risen(Stage())
    balancer = record(stage, only(stage, "load-balancer")["id"])
    path = f"/vpc/us-south/v1/load_balancers/{balancer['id']}/listeners"
    stage.cloud.strangers.send("DELETE", f"{path}/{balancer['listeners'][0]['id']}")

    stage.for_a_while(LOOK)

    after = record(stage, balancer["id"])
    assert [listener["port"] for listener in after["listeners"]] == [6443]
    assert [pool["id"] for pool in after["pools"]] == [pool["id"] for pool in balancer["pools"]]
    assert stage.ready()


def test_members_that_the_cloud_provider_puts_into_our_pool_stay() -> None:
    """Whoever makes the machines puts them behind the load balancer: members are never ours to remove."""
    stage = risen(Stage())
    balancer = record(stage, only(stage, "load-balancer")["id"])
    path = f"/vpc/us-south/v1/load_balancers/{balancer['id']}/pools/{balancer['pools'][0]['id']}/members"
    stage.cloud.strangers.send("POST", path, {"port": 6443, "target": {"address": "192.168.0.7"}})
    stage.clock.advance(60.0)
    before = photograph(stage, {balancer["id"]})

    stage.for_a_while(LOOK)

    assert len(record(stage, balancer["id"])["pools"][0]["members"]) == 1
    assert photograph(stage, before) == before


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
    stage = risen(Stage())
    ident = only(stage, kind)["id"]
    stage.cloud.strangers.rename(ident, "someone-elses-idea")

    stage.for_a_while(LOOK)

    assert only(stage, kind, name)["id"] == ident
    assert stage.ready()


def test_a_renamed_vpc_whose_name_a_stranger_took_meanwhile() -> None:
    """It cannot be renamed back: that is said, the stranger's is left alone, ours stays ours."""
    stage = risen(Stage())
    ours = only(stage, "vpc")["id"]
    stage.cloud.strangers.rename(ours, "someone-elses-idea")
    theirs = stage.cloud.strangers.make("vpc", region="us-south", name="freehold-demo-vpc")
    before = photograph(stage, {theirs["id"]})

    stage.for_a_while(LOOK)

    assert stage.condition("VPCReady")["reason"] == "NameTaken"
    assert stage.status()["vpc"]["id"] == ours
    stage.down()
    assert [row["id"] for row in standing(stage, "vpc")] == [theirs["id"]]
    assert photograph(stage, before) == before


@pytest.mark.parametrize(
    "kind", ["subnet", "load-balancer", "vpc", "gateway", "network", "instance"], ids=lambda kind: f"{kind}-deleted"
)
def test_what_someone_deletes_is_made_again(kind: str) -> None:
    """Level-triggered: what the spec wants and is not there, is created; with what stood in it."""
    stage = risen(Stage(example(**omitted())))
    old = standing(stage, kind)[0]
    if kind == "network":
        stage.cloud.strangers.delete(only(stage, "dhcp")["id"])
    stage.cloud.strangers.delete(old["id"])
    stage.run(lambda: not stage.ready(), limit=700.0)
    stage.up()

    assert old["id"] not in {row["id"] for row in standing(stage, kind)}
    assert len(standing(stage, kind)) == (3 if kind == "subnet" else 1)
    stage.down()
    assert made_by_us(stage) == []


def test_a_failed_load_balancer_that_a_person_deletes_is_made_again() -> None:
    """That is what its condition told the person to do."""
    stage = risen(Stage())
    old = only(stage, "load-balancer")["id"]
    stage.cloud.strangers.change(old, state="failed")
    stage.for_a_while(LOOK)
    assert stage.condition("LoadBalancerReady")["reason"] == "ProvisioningFailed"

    stage.cloud.strangers.delete(old)
    stage.up()
    assert only(stage, "load-balancer")["id"] != old
    stage.down()
    assert standing(stage) == []


def test_what_nothing_records_or_marks_is_found_inside_what_this_process_has_not_looked_at() -> None:
    """A restored journal lacks the load balancer, its marks are gone, the spec is refused: it holds up the subnet.

    The VPC waits for the subnet, so a new process has no need to read it; the load balancers of its region are listed
    only for a VPC that is known to exist.
    """
    stage = Stage()
    stage.up()
    balancer = only(stage, "load-balancer")
    stage.cloud.strangers.detach(balancer["crn"], *balancer["tags"])
    stage.clock.advance(120.0)  # until the index has forgotten them
    document = json.loads(stage.object.raw["metadata"]["annotations"][api_names.JOURNAL_ANNOTATION])
    document["nodes"] = {key: row for key, row in document["nodes"].items() if not key.startswith("load-balancer/")}
    stage.object.patch({"metadata": {"annotations": {api_names.JOURNAL_ANNOTATION: json.dumps(document)}}})
    stage.object.patch({"spec": {"resourceGroup": {"name": "no-such-group"}}})
    stage.start_process()
    stage.down()
    assert made_by_us(stage) == []
