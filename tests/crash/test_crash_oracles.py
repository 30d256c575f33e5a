"""The oracles detect faults: each of them fails a run in which its fault was made on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine import engine
from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Blocked, Reason
from freehold.engine.phases import delete
from freehold.engine.port import Call, Effect
from freehold.providers.access.ports import ObjectPort
from harness.stepping import run_blocking
from lab import catalogue, families, faults, oracles
from lab.audit import CloudRequest, Recorder
from lab.catalogue import Ground
from lab.families import Case
from lab.families_aws import AWS
from lab.families_memory import GIVEN, MEMORY
from lab.families_powervs import POWERVS
from lab.faults import Script
from lab.life import Course, Life
from lab.oracles import Excuse, Verdict
from lab.seam import World
from lab.world import MemoryWorld

GROUNDS = pytest.mark.parametrize("ground", [MEMORY, POWERVS, AWS], ids=["memory", "powervs", "aws"])


def _first_write(ground: Ground) -> int:
    return ground.numbers(lambda call: call.effect is Effect.WRITE)[0]


# -- the audit log --------------------------------------------------------------------------------------------


@GROUNDS
def test_an_undisturbed_life_is_audited_as_the_cloud_has_it(ground: Ground) -> None:
    """Each request once, each with its outcome."""
    life = families.golden(ground.world)
    audit, requests = life.world.audit, life.world.requests()
    assert audit.unlike(life.port.calls, requests) == []
    assert len(audit.lines) == len(requests) > 20


@GROUNDS
@pytest.mark.parametrize("fault", [faults.BEFORE, faults.AFTER], ids=str)
def test_a_killed_process_leaves_the_line_of_what_it_sent(ground: Ground, fault: faults.Fault) -> None:
    """A reader of the log must see that the request may have taken effect."""
    life = ground.world().begin(script=Script({_first_write(ground): fault}))
    life.create()
    cut_off = [line for line in life.world.audit.lines if line.killed]
    assert [line.heard.value for line in cut_off] == ["sent"]
    assert life.world.audit.unlike(life.port.calls, life.world.requests()) == []


@GROUNDS
@pytest.mark.parametrize("lost", ["sent and done", "done"])
def test_a_missing_line_is_detected(ground: Ground, lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of the third write is missing."""
    told: list[Call] = []
    sent, done = Recorder.log_sent, Recorder.log_done

    def forgetful_sent(self: Recorder, subject: str, call: Call) -> None:
        told.append(call)
        if lost == "done" or len(told) != 3:
            sent(self, subject, call)

    def forgetful_done(self: Recorder, subject: str, call: Call, error: BaseException | None) -> None:
        if call is not told[min(2, len(told) - 1)] or len(told) < 3:
            done(self, subject, call, error)

    monkeypatch.setattr(Recorder, "log_sent", forgetful_sent)
    monkeypatch.setattr(Recorder, "log_done", forgetful_done)
    assert families.run(Case("forgetful", ground.world)).unaudited


@GROUNDS
def test_an_outcome_that_differs_from_the_clouds_is_detected(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log in which every change is refused would hide all that the operator did."""
    done = Recorder.log_done
    denied = faults.errors.Denied("nothing was done")
    monkeypatch.setattr(Recorder, "log_done", lambda self, subject, call, error: done(self, subject, call, denied))
    assert families.run(Case("liar", ground.world)).unaudited


@GROUNDS
def test_an_unaudited_change_is_detected(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ObjectPort, "send", lambda self, call: self._inner.send(call))
    assert families.run(Case("unaudited", ground.world)).unaudited


@pytest.mark.parametrize(
    ("requests", "noticed"),
    [
        ([CloudRequest("api.create", "a", False)], False),
        ([], True),
        ([CloudRequest("api.create", "a", True)], True),
        ([CloudRequest("api.create", "a", False)] * 2, True),
        ([CloudRequest("api.create", "a", False), CloudRequest("api.delete", "a", False)], True),
        ([CloudRequest("api.create", "b", False)], True),
    ],
    ids=["as it was", "invented", "refused", "twice", "another verb", "another resource"],
)
def test_each_successful_line_is_one_request(requests: list[CloudRequest], noticed: bool) -> None:
    """Additional and missing requests of the cloud are reported."""
    call = Call("api", "create", Effect.WRITE, lambda: None, "a")
    recorder = Recorder()
    recorder.log_sent("the object", call)
    recorder.log_done("the object", call, None)
    assert bool(recorder.unlike([call], requests)) is noticed


# -- rest and release -----------------------------------------------------------------------------------------


def _restless(life: Course, world: MemoryWorld, what: str) -> Callable[..., Any]:
    """A pass of the engine, followed by a needless write."""

    async def ensure(deps: Any, graph: Any, journal: Any, store: Any, state: Any, tags: Any) -> Any:
        done = await engine.ensure(deps, graph, journal, store, state, tags)
        if watching:
            if what == "object":
                await store.save(done.journal)
            else:
                net = next(r for r in world.cloud.living() if r.kind == "net")
                run = lambda: world.cloud.rename(net.id, net.names[-1][1], "freehold")  # noqa: E731 - one expression, run later
                await deps.port.send(Call("memory", "rename_net", Effect.WRITE, run, net.id))
        return done

    watching = False

    def begin() -> None:
        nonlocal watching
        watching = True

    life.ensure = ensure
    return begin


@pytest.mark.parametrize("what", ["object", "cloud"])
def test_a_write_after_rest_is_detected(what: str) -> None:
    """Even one that changes nothing: it costs calls, wakes watchers and fills the audit log."""
    world = MemoryWorld()
    life = Life(world)
    begin = _restless(life, world, what)
    life.create()
    assert life.watch() == []
    begin()
    assert life.watch()


@GROUNDS
def test_nothing_runs_once_the_finalizer_is_gone(ground: Ground) -> None:
    """A pass after the release could find, and hide, a resource that the release lost."""
    life = families.golden(ground.world)
    assert life.released
    with pytest.raises(AssertionError, match="gone"):
        life.delete()


def test_an_effect_after_the_release_is_an_orphan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine must not get another pass to find it: in a real cluster there is none."""
    world = MemoryWorld()

    async def hasty(*_: Any) -> Any:
        make = lambda: world.cloud.create("site", "late", {"role": "site/late"}, creator="freehold")  # noqa: E731 - one expression, run later
        world.cloud.later(families.LATEST - 1, make)
        return replace(done, released=True)

    life = Life(world)
    life.create()
    done = run_blocking(engine.release(life.deps, life.graph, life.journal, _NoStore(), life.state.dry_run_copy()))
    case = Case("hasty", lambda: world)
    monkeypatch.setattr(families, "_begin", lambda *_, **__: life)
    life.release = hasty
    assert "site/late" in " ".join(families.run(case).orphans)


class _NoStore:
    async def save(self, journal: Any) -> None:
        """Nothing is kept."""


# -- others and excuses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("released", [True, False])
def test_a_changed_resource_of_a_stranger_is_detected_released_or_not(released: bool) -> None:
    """A stranger's resource must not be changed while a delete is blocked either."""
    world = GIVEN()
    life = Life(world)
    life.create()
    if released:
        life.delete()
    hub = next(r for r in world.cloud.log if r.creator == "stranger")
    world.cloud.attach(hub.target, frozenset({"owner:prod.c1"}))
    verdict = Verdict()
    oracles.after_delete(life, verdict)
    assert any(hub.id in wrong for wrong in verdict.wrong)


def test_our_mark_on_a_given_carrier_may_exist_as_long_as_the_carried_resource() -> None:
    world = GIVEN()
    life = world.begin()
    life.create()
    assert oracles.foreign(life) == []
    link = next(r for r in world.cloud.living() if r.kind == "link")
    world.cloud.vanish(link.id)
    assert any("carried:link:" in wrong and link.id in wrong for wrong in oracles.foreign(life))


@pytest.mark.parametrize(
    ("outcome", "excuse", "covered"),
    [
        (Blocked(Reason.NAME_TAKEN, "c1-main (net-009) is not ours"), Excuse(frozenset({Reason.NAME_TAKEN})), True),
        (Blocked(Reason.NAME_TAKEN, "c1-main is not ours"), Excuse(frozenset({Reason.NOT_OWNED})), False),
        (Blocked(Reason.NAME_TAKEN, "something has the name"), Excuse(frozenset({Reason.NAME_TAKEN})), False),
        (
            Blocked(Reason.NAME_TAKEN, "c1-main is not ours"),
            Excuse(frozenset({Reason.NAME_TAKEN}), frozenset({"disk"})),
            False,
        ),
        (Blocked(Reason.FAILED, "c1-main has failed"), Excuse(failed=frozenset({"net"})), True),
        (Blocked(Reason.FAILED, "c1-main has failed"), Excuse(failed=frozenset({"disk"})), False),
        (Blocked(Reason.IN_USE, "c1-main holds a stranger's"), Excuse(failed=frozenset({"net"})), False),
    ],
    ids=["what was done", "another reason", "names nothing", "another kind", "failed", "another failed", "not failed"],
)
@pytest.mark.parametrize("struck", [1, 0], ids=["done", "not done"])
def test_a_blocked_node_is_excused_only_by_an_act_in_the_run(
    outcome: Blocked, excuse: Excuse, covered: bool, struck: int
) -> None:
    life = Life(MemoryWorld())
    life.create()
    life.port.struck = struck
    assert excuse.covers(life, outcome) is (covered and bool(struck))


def test_more_named_than_before_fail_the_family() -> None:
    """A person has to clean up a resource that stays behind, although it is named."""
    cases = families.sample(catalogue.rolled_back_far(MEMORY), 12)
    with pytest.raises(AssertionError, match="left something to a person"):
        families.hold("rolled back far", cases, most_calls=10_000)


@GROUNDS
def test_a_server_error_after_the_effect_is_translated_as_by_the_adapters(ground: Ground) -> None:
    """Nothing may conclude that the write did not happen."""
    world: World = ground.world()
    life = world.begin(script=Script({_first_write(ground): faults.BROKEN}))
    life.create()
    first = life.world.audit.lines[0]
    assert first.heard.value == "unknown"
    assert not life.world.requests()[0].refused


@pytest.mark.parametrize("ground", [MEMORY, POWERVS], ids=["memory", "powervs"])
def test_marks_that_a_delete_attaches_again_are_detected(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody took a tag off to keep it would be deleted."""
    life = ground.world().begin()
    life.create()
    life.world.meddle("strip", ground.tagged[0])
    monkeypatch.setattr(delete, "_has_lost_marks", lambda ctx, key, evidence: False)
    monkeypatch.setattr(Entry, "to_mark_again", lambda self: replace(self, state=RecordState.RECORDED))
    life.delete()
    verdict = Verdict()
    oracles.after_delete(life, verdict)
    assert any("the delete attached them" in wrong for wrong in verdict.wrong)
