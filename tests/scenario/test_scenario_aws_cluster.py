"""An AWSCluster among others: names that are taken, names that people change, and what cannot be changed in place."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.plan.planner import plan_with_accounts
from freehold.engine.keyed_codec import NODE
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.tags.capa_tags import cluster_key
from freehold_sim.aws.settings import Settings
from harness.aws_cluster import aws_cluster
from harness.powervs import StoredObject
from harness.stepping import run_blocking
from lab.aws import ONE_ZONE, QUICK, ROOMY, QuickHarness
from lab.aws_neighbours import existing

SETTINGS = Settings(delays=QUICK, quotas=ROOMY, limits={})


def _harness(**spec: Any) -> QuickHarness:
    return QuickHarness(aws_cluster(**{**ONE_ZONE, **spec}), SETTINGS)


def _ours(harness: QuickHarness) -> list[dict[str, Any]]:
    return [dict(record) for record in existing(harness) if record["by"] == "api"]


def _nodes(harness: QuickHarness) -> Counter[str]:
    return Counter(record["tags"][NODE] for record in _ours(harness) if NODE in record["tags"])


def _row(harness: QuickHarness, kind: str) -> dict[str, Any]:
    return next(row for row in harness.status()["resources"] if row["kind"] == kind)


def test_beside_a_cluster_of_capas_with_the_name_nothing_is_created() -> None:
    """To CAPA and the cloud controller two clusters of one name are one: each would delete what the other has."""
    harness = _harness()
    strangers = harness.cloud.strangers
    vpc = strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.9.0.0/16"})
    strangers.tag(vpc["id"], {cluster_key("demo"): "owned"})
    harness.clock.advance(300.0)
    raw, ring = copy.deepcopy(harness.object.raw), harness.rings.ring
    plan = run_blocking(
        plan_with_accounts(AWS_CLUSTER, harness.new_accounts(), harness.clock, raw, ring, harness.around)
    )
    harness.for_a_while(600.0)
    ready = harness.condition(names.READY)
    assert ready["reason"] == "NameTaken" and vpc["id"] in ready["message"]
    assert vpc["id"] in " ".join(plan.problems)
    assert _ours(harness) == []
    strangers.delete(vpc["id"])
    harness.clock.advance(300.0)
    harness.up()


def test_a_cluster_that_is_there_goes_on_when_another_one_of_the_name_comes() -> None:
    """Whoever may tag could otherwise stop the healing of every cluster."""
    harness = _harness()
    harness.up()
    vpc = harness.cloud.strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.9.0.0/16"})
    harness.cloud.strangers.tag(vpc["id"], {cluster_key("demo"): "owned"})
    harness.clock.advance(300.0)
    harness.settle(4)
    assert harness.ready()
    harness.down()
    assert _ours(harness) == [] and vpc["id"] in {record["id"] for record in existing(harness)}


@pytest.mark.parametrize("lost", [False, True], ids=["on record", "restored from before its first pass"])
def test_names_that_people_change_make_no_second_one(lost: bool) -> None:
    """CAPA looks a VPC and its machines up by their ``Name``: a user's own leaked 124 instances (CAPA#4629)."""
    harness = _harness(additionalTags={"Name": "mine"})
    harness.up()
    harness.settle()
    before = {record["id"] for record in _ours(harness)}
    for record in _ours(harness):
        if NODE in record["tags"]:
            harness.cloud.strangers.tag(record["id"], {"Name": "theirs"})
    if lost:
        harness.object = StoredObject(harness.object.history[0], harness.clock.now)
        harness.start_process()
    harness.for_a_while(700.0)
    assert harness.ready(), harness.conditions()
    assert {record["id"] for record in _ours(harness)} == before
    harness.down()
    assert _ours(harness) == []


def test_what_cannot_be_changed_in_place_is_reported_and_stays() -> None:
    """A bastion of another type would be another machine, with another address: a person decides."""
    harness = _harness(sshKeyName="", bastion={"enabled": True})
    harness.up()
    before = _nodes(harness)
    ident = _row(harness, "instance")["id"]
    harness.object.patch({"spec": {"bastion": {"instanceType": "t3.large"}}})
    harness.for_a_while(1200.0)
    row = _row(harness, "instance")
    assert (row["id"], row["state"]) == (ident, "Ready")
    assert "t3.large" in row["message"] and "not changed in place" in row["message"]
    assert harness.ready() and _nodes(harness) == before


@pytest.mark.parametrize(("made", "says"), [("ops", ""), ("", "ops")])
def test_another_key_of_a_bastion_is_told_no_key_too(made: str, says: str) -> None:
    """The machine keeps the key that it was made with: who thinks that it has none must know."""
    harness = _harness(sshKeyName=made, bastion={"enabled": True})
    harness.cloud.strangers.call("ec2", "ImportKeyPair", {"KeyName": "ops", "PublicKeyMaterial": b"ssh-rsa"})
    harness.up()
    harness.object.patch({"spec": {"sshKeyName": says}})
    harness.for_a_while(1200.0)
    row = _row(harness, "instance")
    assert row["state"] == "Ready" and f"key_name is {made!r}, the spec says {says!r}" in row["message"]
    harness.object.patch({"spec": {"sshKeyName": made}})
    harness.for_a_while(1200.0)
    assert not _row(harness, "instance").get("message")


def test_what_others_change_in_place_is_brought_back() -> None:
    """Attributes and rules; each by the call that changes it."""
    harness = _harness()
    harness.up()
    call, tables = harness.cloud.strangers.call, {row["id"]: row for row in _ours(harness)}
    vpc = next(ident for ident, row in tables.items() if row["kind"] == "vpc")
    group = next(row["id"] for row in harness.status()["resources"] if row["name"] == "demo-controlplane")
    call("ec2", "ModifyVpcAttribute", {"VpcId": vpc, "EnableDnsHostnames": {"Value": False}})
    (before,) = call("ec2", "DescribeSecurityGroups", {"GroupIds": [group]})["SecurityGroups"]
    call("ec2", "RevokeSecurityGroupIngress", {"GroupId": group, "IpPermissions": before["IpPermissions"][:1]})
    harness.for_a_while(4400.0)
    attribute = call("ec2", "DescribeVpcAttribute", {"VpcId": vpc, "Attribute": "enableDnsHostnames"})
    assert attribute["EnableDnsHostnames"]["Value"] is True
    (after,) = call("ec2", "DescribeSecurityGroups", {"GroupIds": [group]})["SecurityGroups"]
    assert len(after["IpPermissions"]) == len(before["IpPermissions"])
