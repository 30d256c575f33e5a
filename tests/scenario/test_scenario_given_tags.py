"""The user's tags on what is given: put on, followed, and taken off again; tags of other people stay as they were."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from freehold.api import names
from freehold.engine.keys import KeyRing
from freehold_sim.faults import Effect, Fault
from harness.plans import planned
from harness.powervs import IGNITION, Harness, example
from harness.resources import (
    MARK,
    REGION,
    Row,
    Theirs,
    everything_by_id,
    everything_by_name,
    existing,
    infrastructure,
    row_of,
    snapshot,
)

TEAM = {"key": "team", "value": "payments"}
COST = {"key": "cost", "value": "42"}
TAGGED = ("workspace", "network", "vpc", "subnet", "balancer", "gateway")
"""What of a given infrastructure the user's tags belong on: all but the connections, which cannot be tagged."""


@dataclass(frozen=True)
class Whole(Theirs):
    """With the kinds that a cluster has only where its spec names them."""

    group: Row
    storage: Row


def tags(harness: Harness, resource: dict[str, Any]) -> set[str]:
    return set(next(row["tags"] for row in existing(harness) if row["id"] == resource["id"]))


def attach(harness: Harness, resource: dict[str, Any], tag: str) -> None:
    """Somebody else attaches it, longer ago than reads of tags are behind."""
    harness.cloud.strangers.attach(resource["crn"], tag)
    harness.clock.advance(60.0)


def given(how: str = "id", *user_tags: dict[str, str]) -> tuple[Harness, Theirs]:
    harness = Harness()
    theirs = infrastructure(harness)
    for name in TAGGED:
        attach(harness, vars(theirs)[name], "owner:network-team")
    spec = everything_by_name() if how == "name" else everything_by_id(theirs)
    harness.object.patch({"spec": example(**spec, tags=list(user_tags or (TEAM,)))["spec"]})
    return harness, theirs


def shared_vpc(first: Harness, theirs: Theirs, *user_tags: dict[str, str]) -> Harness:
    """A second cluster in the same given VPC, with everything else of its own name."""
    spec = example(**everything_by_id(theirs), tags=list(user_tags))
    spec["metadata"]["name"] = "second"
    return Harness(spec, beside=first)


def whole(how: str) -> tuple[Harness, Whole]:
    """Everything that can be given is. A given instance of object storage has no id in the spec."""
    harness = Harness(gates=IGNITION)
    theirs, make = infrastructure(harness), harness.cloud.strangers.make
    group = make("security-group", region=REGION, vpc=theirs.vpc["id"], name="theirs-group")
    all_of_it = Whole(**vars(theirs), group=group, storage=make("cos-instance", name="theirs-cos"))
    for name in (*TAGGED, "group", "storage"):
        attach(harness, vars(all_of_it)[name], "owner:network-team")
    spec = everything_by_name() if how == "name" else everything_by_id(theirs)
    spec["vpcSecurityGroups"] = [{"name": "theirs-group"} if how == "name" else {"id": group["id"]}]
    spec["cosInstance"] = {"name": "theirs-cos", "bucketName": "a-bucket", "bucketRegion": REGION}
    harness.object.patch({"spec": example(**spec, tags=[TEAM])["spec"]})
    return harness, all_of_it


@pytest.mark.parametrize("how", ["id", "name"])
def test_they_are_put_on_what_is_given_and_taken_off_with_the_cluster(how: str) -> None:
    """docs/reference/requirements.md T17: attached to resources that existed before, and detached on delete."""
    harness, theirs = whole(how)
    before = snapshot(harness)

    harness.up()

    for name in (*TAGGED, "group", "storage"):
        theirs_and_ours = {tag for tag in tags(harness, vars(theirs)[name]) if not tag.startswith(MARK)}
        assert theirs_and_ours == {"owner:network-team", "team:payments"}, name
    harness.down()
    assert snapshot(harness) == before


def test_what_somebody_else_attached_before_stays_with_its_letter_case() -> None:
    """IBM Cloud folds the case of tags: `Team:Payments` is the tag that the spec wants, and it is not ours."""
    harness, theirs = given()
    attach(harness, theirs.vpc, "Team:Payments")
    before = snapshot(harness)

    harness.up()
    harness.down()

    assert snapshot(harness) == before


def test_an_edit_takes_off_what_we_put_there_and_nothing_else() -> None:
    """A tag that the spec drops was ours on one resource, and was there before on another."""
    harness, theirs = given("id", TEAM, COST)
    attach(harness, theirs.gateway, "cost:42")
    harness.up()

    harness.object.patch({"spec": {"tags": [TEAM]}})
    harness.for_a_while(900.0)

    assert tags(harness, theirs.vpc) == {"owner:network-team", "team:payments"}
    assert tags(harness, theirs.gateway) == {"owner:network-team", "team:payments", "cost:42"}


def test_another_letter_case_in_the_spec_is_the_same_tag() -> None:
    harness, theirs = given()
    harness.up()
    harness.for_a_while(120.0)
    before = len([call for call in harness.cloud.calls if call.mutating])

    harness.object.patch({"spec": {"tags": [{"key": "Team", "value": "PAYMENTS"}]}})
    harness.for_a_while(900.0)

    assert len([call for call in harness.cloud.calls if call.mutating]) == before
    harness.down()
    assert tags(harness, theirs.vpc) == {"owner:network-team"}


def test_a_resource_that_the_spec_no_longer_gives_is_left_as_it_was() -> None:
    """Another VPC is given: the first one has our tag no more."""
    harness = Harness()
    theirs, others = infrastructure(harness), infrastructure(harness, "others")
    harness.object.patch({"spec": example(**everything_by_id(theirs), tags=[TEAM])["spec"]})
    harness.up()
    assert "team:payments" in tags(harness, theirs.gateway)

    harness.object.patch({"spec": {"transitGateway": {"id": others.gateway["id"]}}})
    harness.for_a_while(900.0)

    assert "team:payments" not in tags(harness, theirs.gateway)
    assert "team:payments" in tags(harness, others.gateway)


def test_one_that_was_stripped_is_put_on_again() -> None:
    """Drift is seen in the next round, also where lists confirm the rest."""
    harness, theirs = given()
    harness.up()
    harness.for_a_while(1800.0)

    harness.cloud.strangers.detach(theirs.vpc["crn"], "team:payments")
    harness.for_a_while(1800.0)

    assert tags(harness, theirs.vpc) == {"owner:network-team", "team:payments"}


def _idle_calls(*user_tags: dict[str, str]) -> int:
    harness, _ = given("id", *user_tags)
    harness.object.patch({"spec": {"tags": list(user_tags)}})
    harness.up()
    harness.for_a_while(1800.0)
    since = len(harness.cloud.calls)
    harness.for_a_while(5400.0)
    assert not [call for call in harness.cloud.calls[since:] if call.mutating]
    return len(harness.cloud.calls) - since


def test_they_cost_an_idle_cluster_one_search_a_round() -> None:
    rounds = 10
    without = _idle_calls()
    assert without < _idle_calls(TEAM) <= without + rounds


def test_two_clusters_on_one_vpc_do_not_strip_each_other() -> None:
    """Both want the tag; the one that is deleted first leaves it, and the last one takes it off."""
    first, theirs = given()
    before = snapshot(first)
    first.up()
    second = shared_vpc(first, theirs, TEAM)
    second.up()

    first.down()
    assert "team:payments" in tags(second, theirs.vpc)

    second.down()
    assert snapshot(second) == before


def test_two_clusters_that_want_the_tag_and_go_together_leave_none() -> None:
    first, theirs = given()
    before = snapshot(first)
    first.up()
    second = shared_vpc(first, theirs, TEAM)
    second.up()

    second.object.delete()
    first.down()
    second.down()

    assert snapshot(second) == before


def test_a_restart_between_the_record_and_the_attach_loses_nothing() -> None:
    """The record is written first; a process that dies after the attach finds its own tag again."""
    harness, theirs = given()
    before = snapshot(harness)
    harness.cloud.faults.add(Fault(Effect.REPLY_LOST, "tagging.attach_tag"))
    harness.run(lambda: "team:payments" in tags(harness, theirs.vpc))
    harness.start_process()

    harness.up()
    harness.down()

    assert snapshot(harness) == before


@pytest.mark.parametrize("end", ["deleted", "edited"])
def test_an_attach_that_takes_effect_late_is_taken_off_too(end: str) -> None:
    """The process died after it sent it, and the object was deleted or edited before the cloud had acted."""
    harness, theirs = given()
    before = snapshot(harness)
    harness.cloud.faults.add(Fault(Effect.LATE, "tagging.attach_tag", delay=60.0))
    harness.run(lambda: "tagging.attach_tag" in {call.operation for call in harness.cloud.calls if call.actor == "api"})
    harness.start_process()

    if end == "deleted":
        harness.down()
    else:
        harness.object.patch({"spec": {"tags": []}})
        harness.for_a_while(900.0)
    harness.clock.advance(120.0)

    assert "team:payments" not in tags(harness, theirs.vpc)
    assert snapshot(harness) == before


def test_their_record_is_renewed_with_the_key() -> None:
    """A key that is taken out of the ring, because no object names it, must not leave tags behind."""
    harness, theirs = given()
    before = snapshot(harness)
    harness.up()
    had, new = harness.rings.ring, KeyRing.single(b"another key of the operator" * 2)
    harness.rings.ring = KeyRing(new.writing, {**new.keys, **had.keys})
    harness.for_a_while(4 * 3600.0)
    harness.rings.ring = new
    harness.start_process()

    harness.down()

    assert "team:payments" not in tags(harness, theirs.vpc)
    assert snapshot(harness) == before


@pytest.mark.parametrize("forged", ["another tag", "copied to another resource", "without a key"])
def test_a_forged_record_takes_no_tag_off(forged: str) -> None:
    """Whoever may edit the object can name any resource and tag in its journal: only a signed record counts."""
    harness, theirs = given()
    other = harness.cloud.strangers.make("vpc", region=REGION, name="another-vpc")
    attach(harness, other, "team:payments")
    harness.up()
    text = harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    journal = json.loads(text)
    if forged == "another tag":
        for row in journal["attached"].values():
            row[0] = [*row[0], "owner:network-team"]
    else:
        tags_, signature, key = journal["attached"][theirs.vpc["crn"]]
        journal["attached"][other["crn"]] = [tags_, signature, "" if forged == "without a key" else key]
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: json.dumps(journal)}}})

    harness.down()

    assert "owner:network-team" in tags(harness, theirs.vpc)
    assert "team:payments" in tags(harness, other)


def test_a_tag_that_may_not_be_attached_is_named_and_the_cluster_is_ready() -> None:
    """What is given is others': its tags are no reason to keep a cluster from being used."""
    harness, theirs = given()
    harness.cloud.faults.add(Fault(Effect.DENIED, "tagging.attach_tag", count=None))

    harness.up()

    assert "its tags are not as wanted" in row_of(harness, "vpc")["message"]
    harness.cloud.faults.clear()
    harness.for_a_while(900.0)
    assert "team:payments" in tags(harness, theirs.vpc)
    assert not row_of(harness, "vpc").get("message")


def test_a_tag_that_may_not_come_off_holds_the_delete_until_it_is_gone() -> None:
    """Nothing is said to be done that was not seen; a person who detaches it by hand frees the object."""
    harness, theirs = given()
    harness.up()
    harness.cloud.faults.add(Fault(Effect.DENIED, "tagging.detach_tag", count=None))
    harness.object.delete()
    harness.for_a_while(900.0)

    assert not harness.object.gone
    assert "detach them there" in json.dumps(harness.status())
    for name in TAGGED:
        harness.cloud.strangers.detach(vars(theirs)[name]["crn"], "team:payments")
    harness.run(lambda: harness.object.gone)


def test_a_given_resource_that_is_gone_does_not_hold_the_delete() -> None:
    harness, theirs = given()
    harness.up()
    harness.cloud.strangers.delete(theirs.gateway["id"])

    harness.down()


def test_the_plan_lists_them() -> None:
    harness, _ = given()
    plan = planned(harness)
    attached = {(row.kind, row.attribute) for row in plan.rows if row.action == "add tag"}
    assert ("vpc", "team:payments") in attached
    harness.up()
    harness.for_a_while(120.0)
    detached = {(row.kind, row.attribute) for row in planned(harness, deleting=True).rows if row.action == "remove tag"}
    assert ("vpc", "team:payments") in detached
    assert not [row for row in planned(harness).rows if row.action.changes]


def test_a_forged_claim_of_another_object_makes_no_tag_ours() -> None:
    """Whoever may edit one object could have a stranger's tag taken off with another one."""
    harness, theirs = given()
    attach(harness, theirs.vpc, "team:payments")
    before = snapshot(harness)
    forger = Harness(shared_vpc(harness, theirs).object.raw, beside=harness)
    text = {"v": 2, "owner": ["0" * 36, "IBMPowerVSCluster", "x", "y"], "nodes": {}}
    text["attached"] = {theirs.vpc["crn"]: [["team:payments"], "", ""]}
    forger.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: json.dumps(text)}}})
    harness.up()
    forger.object.gone = True
    harness.down()
    assert snapshot(harness) == before


def test_a_tag_whose_attach_was_refused_is_its_owners_when_he_attaches_it() -> None:
    harness, theirs = given()
    harness.cloud.faults.add(Fault(Effect.DENIED, "tagging.attach_tag", count=None))
    harness.up()
    attach(harness, theirs.vpc, "team:payments")
    harness.cloud.faults.clear()
    harness.for_a_while(1800.0)
    harness.down()
    assert "team:payments" in tags(harness, theirs.vpc)


@pytest.mark.parametrize("effect", [Effect.DENIED, Effect.ERROR_BEFORE], ids=["denied", "server error"])
@pytest.mark.parametrize("operation", ["attach_tag", "detach_tag"])
def test_tags_that_are_refused_are_tried_again_ever_more_slowly(effect: Effect, operation: str) -> None:
    """The object is Ready and at rest otherwise: nobody waits for it."""
    harness, _ = given()
    if operation == "detach_tag":
        harness.up()
        harness.object.patch({"spec": {"tags": []}})
    harness.cloud.faults.add(Fault(effect, f"tagging.{operation}", count=None))
    harness.for_a_while(1800.0)
    assert harness.ready()
    since = len(harness.cloud.calls)
    harness.for_a_while(1800.0)
    assert len(harness.cloud.calls) - since < 160


def test_a_damaged_journal_of_another_object_holds_nothing_up() -> None:
    """All stored objects are read for each: one annotation must not stop the others."""
    harness, theirs = given()
    harness.up()
    other = shared_vpc(harness, theirs, TEAM)
    for text in ('{"v":2,"owner":["a","b","c","d"],"nodes":{"a/b":{"p":"o","o":1' + "0" * 400 + "}}}", "[" * 100_000):
        other.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: text}}})
        harness.object.patch({"spec": {"tags": [COST] if "0" in text else [TEAM]}})
        harness.for_a_while(900.0)
    harness.down()
    assert tags(harness, theirs.vpc) == {"owner:network-team"}
