"""A classic load balancer and a bucket are known by their names: what has one after ours has gone is not ours."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from freehold.lifecycle.decisions import Decision, Verdict
from freehold.lifecycle.outcomes import Blocked, Reason
from freehold.lifecycle.resources import NodeKey
from lab import catalogue, families, faults
from lab.aws import AwsLife, AwsWorld
from lab.aws_neighbours import existing
from lab.families import Case
from lab.families_aws import AWS, SECOND
from lab.faults import Script
from lab.oracles import NO_EXCUSE, Excuse
from lab.seam import World

DELETES = {"classic-load-balancer": "delete_load_balancer", "s3-bucket": "delete_bucket"}
WORLDS = {"classic-load-balancer": AWS.world, "s3-bucket": SECOND}
EXCUSES = {
    "classic-load-balancer": NO_EXCUSE,
    "s3-bucket": Excuse(frozenset({Reason.NOT_OWNED}), frozenset({"s3-bucket"})),
}


def _call_after_delete(kind: str) -> int:
    """The number of the call that follows the delete in an undisturbed life."""
    calls = families.golden(WORLDS[kind]).port.calls
    return next(number for number, call in enumerate(calls) if call.operation == DELETES[kind]) + 1


def _key(life: AwsLife, kind: str) -> NodeKey:
    (key,) = (each for each in life.journal.entries if each.kind == kind)
    return key


@pytest.mark.parametrize("crash", [None, faults.BEFORE, faults.AFTER], ids=["no crash", "crash before", "crash after"])
@pytest.mark.parametrize("later", [0, 2])
@pytest.mark.parametrize("kind", DELETES)
def test_a_strangers_of_our_name_is_neither_marked_nor_deleted(
    kind: str, later: int, crash: faults.Fault | None
) -> None:
    """Somebody makes it when ours has just gone; a process that dies then has not recorded that ours has."""
    at = _call_after_delete(kind) + later
    crashes = {at: crash} if crash else {}

    def script(world: World) -> Script:
        return Script(crashes, {at: partial(catalogue.meddle, world, "namesake", kind)})

    verdict = families.run(Case(f"{kind} at {at}", WORLDS[kind], script, excuse=EXCUSES[kind]))
    assert verdict.faults == []


def test_a_load_balancer_that_somebody_made_anew_by_hand_is_not_taken_for_ours() -> None:
    """Deleted and made again in the cloud, between two looks: without our marks, and in the way of ours."""
    world = AwsWorld()
    life = world.begin()
    life.create()
    ours = life.journal.entries[_key(life, "classic-load-balancer")].id
    world.neighbours.remove(ours)
    world.neighbours.namesake("classic-load-balancer")
    for _ in range(20):
        world.clock.advance(30.0)
        life.once()
    assert not life.journal.entries[_key(life, "classic-load-balancer")].id, "ours has gone"
    (theirs,) = (each for each in existing(world.harness) if each["id"] == ours)
    assert theirs["by"] == "stranger"
    assert set(theirs["tags"]) == {"Name"}
    assert "NameTaken" in str(world.harness.status())


def test_whoever_edits_the_object_does_not_make_another_load_balancer_of_our_name_ours() -> None:
    """What tells it from ours is signed with the id."""
    world = AwsWorld()
    life = world.begin()
    life.create()
    key = _key(life, "classic-load-balancer")
    ours = life.journal.entries[key]
    world.neighbours.remove(ours.id)
    world.neighbours.namesake("classic-load-balancer")
    (theirs,) = (each for each in existing(world.harness) if each["id"] == ours.id)
    life.rewrite(life.journal.put(key, replace(ours, incarnation=theirs["view"]["DNSName"])))
    for _ in range(5):
        world.clock.advance(30.0)
        life.once()
    (left,) = (each for each in existing(world.harness) if each["id"] == ours.id)
    assert set(left["tags"]) == {"Name"}


@pytest.mark.parametrize(("verdict", "there"), [(Verdict.MINE, 0), (Verdict.NOT_MINE, 1)])
def test_a_person_decides_about_a_bucket_whose_delete_was_asked_for(verdict: Verdict, there: int) -> None:
    """Its marks are gone, and the process does not know whether the bucket is."""
    at = _call_after_delete("s3-bucket")
    script = Script({at: faults.BEFORE}, {at: lambda: world.neighbours.namesake("s3-bucket")})
    world = SECOND()
    life = world.begin(script=script)
    life.create()
    life.watch()
    life.delete()
    key = _key(life, "s3-bucket")
    assert life.last is not None
    outcome = life.last.outcomes[key]
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.NOT_OWNED
    entry = life.journal.entries[key]
    life.decide(Decision(verdict, str(key), entry.id, entry.attempt, "a person", world.clock.now()))
    life.delete()
    assert life.released
    assert [each["id"] for each in existing(world.harness)].count(entry.id) == there
