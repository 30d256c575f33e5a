"""The verdicts of /healthz and /readyz."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from freehold.controllers import probes
from freehold.controllers.health import Health
from freehold.controllers.probes import Heartbeat, Probes, ProcessHealth, judge_alive, judge_ready
from freehold.kube.watch import WatchState
from harness.virtual_time import run_ready_tasks

GOOD = Health(True, {}, 0.0, 0.0, 0.0, 0, 0, 0, state=WatchState.SYNCED)
REFUSED = replace(
    GOOD, ready=False, state=WatchState.REFUSED, refused={"awsclusters.x": "awsclusters is forbidden: User …"}
)


def health(**kinds: Health) -> ProcessHealth:
    return ProcessHealth(kinds)


def test_a_process_that_works_is_alive_and_ready() -> None:
    assert judge_alive(0.5, health(a=GOOD)).text == judge_ready(0.5, health(a=GOOD)).text == "ok\n"


def test_a_loop_that_is_stuck_fails_both_probes() -> None:
    for judge in (judge_alive, judge_ready):
        found = judge(probes.STUCK_SECONDS + 1, health(a=GOOD))
        assert (found.good, found.text) == (False, "failing\nthe event loop has not turned for 31 s\n")
        assert judge(probes.STUCK_SECONDS - 1, health(a=GOOD)).good


def test_a_controller_whose_tasks_die_again_and_again_is_not_alive() -> None:
    found = judge_alive(0.0, health(a=GOOD, b=replace(GOOD, deaths=probes.MOST_DEATHS)))
    assert (found.good, found.lines) == (False, ("b: 10 tasks died in ten minutes, see the log",))
    assert judge_alive(0.0, health(b=replace(GOOD, deaths=probes.MOST_DEATHS - 1, restarts=500))).good


def test_a_reconcile_that_cannot_end_is_not_alive_and_a_long_one_is() -> None:
    assert judge_alive(0.0, health(a=replace(GOOD, busy=1800.0))).good
    found = judge_alive(0.0, health(a=replace(GOOD, busy=3601.0)))
    assert (found.good, found.lines) == (False, ("a: a reconcile has been running for 3601 s",))


def test_without_the_api_server_a_process_stays_alive() -> None:
    """A new process would not reach it either, and what is known would be lost."""
    assert judge_alive(0.0, health(a=replace(GOOD, ready=False, state=WatchState.FAILING))).good


@pytest.mark.parametrize("state", [WatchState.STARTING, WatchState.FAILING, WatchState.ABSENT])
def test_a_kind_that_is_not_listed_is_named_and_nothing_is_ready(state: WatchState) -> None:
    found = judge_ready(0.0, health(a=GOOD, b=replace(GOOD, ready=False, state=state)))
    assert not found.good
    assert found.lines == (f"b: its objects are not listed yet (watch: {state.value})",)


def test_a_kind_without_rights_is_named_and_the_others_are_ready() -> None:
    found = judge_ready(0.0, health(a=GOOD, b=REFUSED))
    assert (found.good, found.text) == (
        True,
        "ok\nawsclusters.x may not be read: awsclusters is forbidden: User …\n",
    )


def test_a_watch_beside_a_kind_without_rights_is_named() -> None:
    found = judge_ready(0.0, health(a=replace(GOOD, refused={"clusters": "clusters is forbidden"})))
    assert (found.good, found.lines) == (True, ("clusters may not be read: clusters is forbidden",))


def test_where_no_kind_may_be_read_nothing_is_ready() -> None:
    found = judge_ready(0.0, health(a=REFUSED))
    assert (found.good, found.lines[0]) == (False, "no kind may be read")


def test_without_a_key_ring_nothing_is_ready() -> None:
    found = judge_ready(0.0, ProcessHealth({"a": GOOD}, ring_problem="the key ring is damaged"))
    assert (found.good, found.lines) == (False, ("the key ring is damaged",))
    assert judge_alive(0.0, ProcessHealth({"a": GOOD}, ring_problem="the key ring is damaged")).good


def test_before_the_start_a_process_is_alive_and_not_ready() -> None:
    probe = Probes().build_pages()
    assert (probe["/healthz"]().status, probe["/readyz"]().status) == (200, 503)


def test_a_follower_is_ready() -> None:
    assert judge_ready(0.0, ProcessHealth(follows=True)).text == "ok\nanother replica leads; this one follows\n"


async def test_the_heart_beats_while_the_loop_turns_and_ages_while_it_does_not() -> None:
    now = [100.0]
    heart = Heartbeat(lambda: now[0])
    now[0] = 200.0
    assert heart.age == 100.0
    beating = asyncio.create_task(heart.run())
    await run_ready_tasks()
    assert heart.age == 0.0
    beating.cancel()
    now[0] = 300.0  # as if the loop had not turned since
    assert heart.age == 100.0
