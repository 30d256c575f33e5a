"""What a process says it has looked at: nothing before its first deep pass, and anew when it is asked to look again."""

from __future__ import annotations

from freehold.api import names
from freehold.controllers.observation_log import LookLog, LookOutcome, LookRecord
from freehold.kube.resources import Key, key_of
from harness.powervs import Harness
from harness.resources import only
from harness.standing import standing

A = Key("default", "a")


def seen(harness: Harness) -> LookOutcome | None:
    look = harness.process.look_log.find_last(key_of(harness.object.raw))
    return look.outcome if look else None


def version(harness: Harness) -> str:
    return str(harness.object.raw["metadata"]["resourceVersion"])


def test_the_confirmation_of_an_unchanged_object_writes_nothing_and_is_known() -> None:
    """``up`` waits for it, and an idle object costs no write."""
    harness = standing(Harness)
    harness.settle()
    harness.start_process()
    before = version(harness)
    assert seen(harness) is None, "the Ready in the status is of an earlier process"
    harness.pass_once()
    assert harness.process.look_log.find_last(key_of(harness.object.raw)) == LookRecord(LookOutcome.FULL_LOOK, before)
    assert version(harness) == before


def test_a_process_at_rest_looks_at_everything_when_it_is_asked_to() -> None:
    """Its memory still says Ready for minutes after the load balancer has gone."""
    harness = standing(Harness)
    harness.settle()
    harness.pass_once()
    harness.cloud.strangers.delete(only(harness, "load-balancer")["id"])
    harness.pass_once()
    assert harness.ready(), "a shallow pass trusts what is remembered"
    harness.process.look_log.request_look(key_of(harness.object.raw))
    assert seen(harness) is None
    harness.pass_once()
    assert seen(harness) is LookOutcome.FULL_LOOK and not harness.ready()


def test_a_paused_object_is_told_and_not_looked_at() -> None:
    harness = standing(Harness)
    harness.start_process()
    harness.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: ""}}})
    harness.pass_once()
    assert seen(harness) is LookOutcome.STATUS_ONLY and harness.ready(), "Ready is left from before"


def test_a_pass_in_the_middle_of_a_create_is_no_look() -> None:
    """It asks only for what is due, and trusts its memory for the rest."""
    harness = Harness()
    harness.pass_once()
    assert seen(harness) is LookOutcome.FULL_LOOK, "the first pass of a process is a deep one"
    harness.process.look_log.forget(key_of(harness.object.raw))
    harness.clock.advance(2.0)
    harness.pass_once()
    assert seen(harness) is LookOutcome.STATUS_ONLY


def test_an_object_that_somebody_else_manages_is_left() -> None:
    harness = Harness()
    harness.object.patch({"metadata": {"annotations": {names.MANAGED_BY_ANNOTATION: "terraform"}}})
    harness.pass_once()
    assert seen(harness) is LookOutcome.LEFT_ALONE


def test_a_pass_that_had_begun_before_the_question_is_no_answer() -> None:
    """What it has read may be from before."""
    looks = LookLog()
    assert not looks.begin_pass(A)
    looks.request_look(A)
    looks.note_pass(A, LookOutcome.FULL_LOOK, "7")
    assert looks.find_last(A) is None
    assert looks.begin_pass(A) and not looks.begin_pass(A), "one deep pass answers it"
    looks.note_pass(A, LookOutcome.FULL_LOOK, "8")
    assert looks.find_last(A) == LookRecord(LookOutcome.FULL_LOOK, "8")


def test_a_later_pass_that_looks_at_less_does_not_take_a_look_back() -> None:
    looks = LookLog()
    looks.note_pass(A, LookOutcome.FULL_LOOK, "7")
    looks.note_pass(A, LookOutcome.STATUS_ONLY, "8")
    assert looks.find_last(A) == LookRecord(LookOutcome.FULL_LOOK, "8")
    looks.forget(A)
    assert looks.find_last(A) is None
