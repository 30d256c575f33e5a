"""Decisions of a person about resources of an AWSCluster: surplus that may go, and what only a person can tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.plan.planner import Plan, plan_with_accounts
from freehold.controllers.recovery.open_decisions import find_open_decisions
from freehold.engine import decisions, journal
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.journal import Journal
from freehold.engine.resources import NodeKey
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_cluster import STORAGE, aws_cluster
from harness.stepping import run_blocking
from lab.aws import ONE_ZONE, QUICK, ROOMY, QuickHarness
from lab.aws_neighbours import existing

SETTINGS = Settings(delays=QUICK, quotas=ROOMY, limits={})
BASTION, BUCKET = NodeKey("instance", "bastion"), NodeKey("s3-bucket", "main")
MORE: dict[str, Any] = {
    "sshKeyName": "",
    "bastion": {"enabled": True},
    "s3Bucket": {"name": "demo-b", "controlPlaneIAMInstanceProfile": "a", "nodesIAMInstanceProfiles": ["n"]},
    "controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "additionalListeners": [{"port": 8080}]},
    "secondaryControlPlaneLoadBalancer": {"name": "inner", "scheme": "internal", "loadBalancerType": "nlb"},
}
LESS: dict[str, Any] = {
    "bastion": {"enabled": False},
    "s3Bucket": None,
    "controlPlaneLoadBalancer": {"additionalListeners": None},
    "secondaryControlPlaneLoadBalancer": None,
}


def _record(harness: QuickHarness) -> Journal:
    return journal.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])


def _decide(harness: QuickHarness, verdict: Verdict, keys: dict[NodeKey, str]) -> None:
    """Store a person's decision for each node, about the resource of this id."""
    record = _record(harness)
    ring, at = harness.rings.ring.derive_keys(record.owner), harness.clock.now()
    made = [Decision(verdict, str(key), id_, record.entries[key].attempt, "ada", at) for key, id_ in keys.items()]
    text = decisions.dumps(decisions.sign_decision(each, ring) for each in made)
    harness.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})


def _answers(harness: QuickHarness) -> dict[str, str]:
    rows = json.loads(harness.object.raw["metadata"]["annotations"][names.DECISIONS_ANNOTATION])
    return {row["node"]: row["answer"] for row in rows}


def _planned(harness: QuickHarness) -> Plan:
    """The plan for the stored object, by a process without other state."""
    accounts, raw = harness.new_accounts(), harness.object.raw
    return run_blocking(
        plan_with_accounts(AWS_CLUSTER, accounts, harness.clock, raw, harness.rings.ring, harness.around)
    )


def _ours(harness: QuickHarness) -> set[str]:
    return {str(record["id"]) for record in existing(harness) if record["by"] == "api"}


@pytest.fixture(name="smaller")
def _smaller() -> QuickHarness:
    """A cluster that had everything, and whose spec wants little of it now."""
    harness = QuickHarness(aws_cluster(**ONE_ZONE, **MORE), SETTINGS, gates=STORAGE)
    harness.up()
    harness.settle()
    harness.object.patch({"spec": LESS})
    harness.for_a_while(1500.0)
    return harness


def _surplus(harness: QuickHarness) -> dict[NodeKey, str]:
    shown = {row["id"] for row in harness.status()["resources"] if row["state"] == "Surplus"}
    return {key: entry.id for key, entry in _record(harness).entries.items() if entry.id in shown}


def test_approved_surplus_goes_and_the_rest_stays_ready(smaller: QuickHarness) -> None:
    surplus = _surplus(smaller)
    assert {key.kind for key in surplus} == {
        "instance", "listener", "target-group", "network-load-balancer", "s3-bucket", "security-group", "vpc-endpoint",
    }  # fmt: skip
    _decide(smaller, Verdict.PRUNE, surplus)
    plan = _planned(smaller)
    deleted = [row for row in plan.rows if row.action == "delete"]
    assert {row.kind for row in deleted} == {key.kind for key in surplus}
    assert {row.name for row in deleted if row.kind == "listener"} == {"primary:8080", "secondary:6443"}
    kept = {row["id"] for row in smaller.status()["resources"]} - set(surplus.values())
    smaller.for_a_while(3000.0)
    assert all(answer.endswith("is gone") for answer in _answers(smaller).values()), _answers(smaller)
    assert _answers(smaller).keys() == set(map(str, surplus))
    assert kept <= _ours(smaller) and not _ours(smaller) & set(surplus.values())
    assert smaller.ready()


def test_a_bucket_with_what_is_not_ours_stays_and_the_cluster_is_ready(smaller: QuickHarness) -> None:
    smaller.cloud.strangers.call("s3", "PutObject", {"Bucket": "demo-b", "Key": "theirs", "Body": b"x"})
    _decide(smaller, Verdict.PRUNE, {BUCKET: "demo-b"})
    smaller.for_a_while(1500.0)
    (answer,) = _answers(smaller).values()
    assert answer.startswith(decisions.REFUSED) and "theirs" in answer
    assert "demo-b" in _ours(smaller) and smaller.ready()


def test_a_decision_that_nobody_signed_deletes_nothing(smaller: QuickHarness) -> None:
    """Whoever may edit the object would otherwise decide what is deleted with it."""
    made = Decision(Verdict.PRUNE, str(BUCKET), "demo-b", 1, "eve", smaller.clock.now())
    text = decisions.dumps([made])
    smaller.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})
    smaller.for_a_while(600.0)
    assert "demo-b" in _ours(smaller)


def test_a_bastion_that_somebody_terminated_is_made_again_when_a_person_says_so() -> None:
    harness = QuickHarness(aws_cluster(**ONE_ZONE, sshKeyName="", bastion={"enabled": True}), SETTINGS)
    harness.up()
    harness.settle()
    first = _record(harness).entries[BASTION].id
    harness.cloud.strangers.delete(first)
    harness.for_a_while(3000.0)
    assert "freehold resolve demo -n default instance/bastion --not-mine" in harness.condition(names.READY)["message"]
    (question,) = run_blocking(
        find_open_decisions(_record(harness), harness.account.build_read_only_deps(harness.rings.ring))
    )
    assert question.key == BASTION and question.vanished
    _decide(harness, Verdict.NOT_MINE, {BASTION: ""})
    harness.up()
    assert _answers(harness)[str(BASTION)].startswith("done")
    assert _record(harness).entries[BASTION].id not in ("", first)


@pytest.mark.parametrize("verdict", [Verdict.MINE, Verdict.NOT_MINE])
def test_of_two_with_the_birth_mark_of_a_create_a_person_tells_which_is_ours(verdict: Verdict) -> None:
    """Somebody copied the tags of a VPC whose create had lost its reply: nothing but a person can tell them apart."""
    harness = QuickHarness(aws_cluster(**ONE_ZONE), SETTINGS)
    vpc = NodeKey("vpc", "main")
    harness.cloud.faults.add(Fault(Effect.REPLY_LOST, "ec2.CreateVpc"))
    harness.run(lambda: vpc in _record_or_none(harness))
    ours = next(record for record in existing(harness) if record["by"] == "api")
    twin = harness.cloud.strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.0.0.0/16"})
    harness.cloud.strangers.tag(twin["id"], dict(ours["tags"]))
    harness.for_a_while(1200.0)
    found = run_blocking(
        find_open_decisions(_record(harness), harness.account.build_read_only_deps(harness.rings.ring))
    )
    (question,) = [each for each in found if each.key == vpc]
    assert {each.observed.id for each in question.candidates} == {ours["id"], twin["id"]}
    assert all("birth mark of this create" in each.evidence for each in question.candidates)
    said = harness.condition(names.READY)["message"]
    assert ours["id"] in said and twin["id"] in said
    if verdict is Verdict.MINE:
        _decide(harness, verdict, {vpc: str(ours["id"])})
        harness.up()
        harness.down()
        assert _ours(harness) == set()
        assert twin["id"] in {record["id"] for record in existing(harness)}
    else:
        _decide(harness, verdict, {vpc: ""})
        harness.for_a_while(1200.0)
        assert _answers(harness)[str(vpc)].startswith("done")
        assert _record(harness).entries[vpc].id not in ("", ours["id"], twin["id"])
        there = {record["id"]: record["tags"] for record in existing(harness)}
        assert there[ours["id"]] == there[twin["id"]] == ours["tags"], "nothing is done to what nobody called ours"


def test_a_group_that_was_given_up_keeps_the_groups_that_its_rules_name_and_no_more() -> None:
    """AWS deletes no group that a rule of another one names: the delete would wait for it for ever."""
    harness = QuickHarness(aws_cluster(**ONE_ZONE), SETTINGS)
    harness.up()
    group = NodeKey("security-group", "node")
    _decide(harness, Verdict.NOT_MINE, {group: _record(harness).entries[group].id})
    harness.settle()
    harness.object.delete()
    planned = [row for row in _planned(harness).rows if row.action == "keep"]
    assert all(row.id for row in planned), "the node has no resource now"
    harness.down()
    assert {row.id for row in planned} == {record["id"] for record in existing(harness)}
    kept = {row["kind"] for row in harness.status()["resources"] if row["state"] == "Kept"}
    assert kept == {"vpc", "security-group"} == {record["kind"] for record in existing(harness)}


def _record_or_none(harness: QuickHarness) -> dict[NodeKey, Any]:
    """The open creates."""
    text = (harness.object.raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
    return dict(journal.loads(text).open) if text else {}
