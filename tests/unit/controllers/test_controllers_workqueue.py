"""The guarantees of the work queue, on virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.controllers.workqueue import Backoff, Priority, WorkQueue
from harness.virtual_time import VirtualTime


def queue_on(time: VirtualTime, **options: Any) -> WorkQueue[str]:
    return WorkQueue(time, spread=lambda: 0.5, **options)


async def settle() -> None:
    """Let every task that can run do so."""
    for _ in range(5):
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        loop.call_soon(turn.set_result, None)
        await turn


async def take_all(queue: WorkQueue[str]) -> list[str]:
    found = []
    while len(queue):
        key = await queue.get()
        assert key is not None
        found.append(key)
        queue.finish(key)
    return found


async def test_added_twice_is_handed_out_once() -> None:
    queue = queue_on(VirtualTime())
    for key in ("a", "b", "a"):
        queue.add(key)
    assert await take_all(queue) == ["a", "b"]


async def test_never_two_workers_on_one_key() -> None:
    queue = queue_on(VirtualTime())
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    assert len(queue) == 0, "in progress: waits for done"
    queue.finish("a")
    assert await take_all(queue) == ["a"], "and is not lost"


async def test_earlier_wake_wins_either_way_round() -> None:
    time = VirtualTime()
    queue = queue_on(time)
    queue.add_after("a", 100)
    queue.add_after("a", 10)
    queue.add_after("a", 50)
    queue.add_after("b", 20)
    await settle()
    time.advance(10)
    await settle()
    assert await take_all(queue) == ["a"]
    time.advance(10)
    await settle()
    assert await take_all(queue) == ["b"]
    time.advance(1000)
    await settle()
    assert await take_all(queue) == [], "superseded wakes have no effect"


async def test_live_change_supersedes_pending_wake() -> None:
    time = VirtualTime()
    queue = queue_on(time)
    queue.add_after("a", 10)
    queue.add("a")
    assert await take_all(queue) == ["a"]
    await settle()
    time.advance(10)
    await settle()
    assert len(queue) == 0


async def test_backoff_per_key_grows_is_capped_and_forgotten() -> None:
    queue = queue_on(VirtualTime(), backoff=Backoff(first=1, cap=5, jitter=0))
    assert [queue.retry("a") for _ in range(5)] == [1, 2, 4, 5, 5]
    assert queue.retry("b") == 1
    queue.forget("a")
    assert queue.retry("a") == 1
    assert queue.retry("a", at_least=60) == 60, "a server's Retry-After is kept"


async def test_backlog_waits_for_live_changes_but_does_not_starve() -> None:
    queue = queue_on(VirtualTime())
    for index in range(2):
        queue.add(f"old{index}", Priority.BACKLOG)
    for index in range(6):
        queue.add(f"live{index}")
    order = await take_all(queue)
    assert order[0] == "live0"
    assert order.index("old0") == 4
    assert sorted(order) == sorted([f"old{i}" for i in range(2)] + [f"live{i}" for i in range(6)])


async def test_live_change_lifts_key_out_of_backlog_once() -> None:
    queue = queue_on(VirtualTime())
    queue.add("x", Priority.BACKLOG)
    queue.add("y", Priority.BACKLOG)
    queue.add("y")
    queue.add("y", Priority.BACKLOG)
    assert await take_all(queue) == ["y", "x"]


async def test_waiting_workers_are_woken_one_a_key() -> None:
    queue = queue_on(VirtualTime())
    workers = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await settle()
    queue.add("a")
    queue.add("b")
    await settle()
    assert sorted(w.result() or "" for w in workers if w.done()) == ["a", "b"]
    queue.close()
    await settle()
    assert sorted(w.result() or "" for w in workers) == ["", "a", "b"]


async def test_wake_up_of_a_cancelled_worker_goes_to_another() -> None:
    queue = queue_on(VirtualTime())
    first, second = asyncio.ensure_future(queue.get()), asyncio.ensure_future(queue.get())
    await settle()
    queue.add("a")
    first.cancel()
    await settle()
    assert first.cancelled() and second.result() == "a"


async def test_close_hands_out_nothing_more_and_drains() -> None:
    queue = queue_on(VirtualTime())
    queue.add("a")
    queue.add("b")
    assert await queue.get() == "a"
    queue.close()
    queue.add("c")
    assert await queue.get() is None
    drained = asyncio.ensure_future(queue.wait_until_drained())
    await settle()
    assert not drained.done()
    queue.finish("a")
    await settle()
    assert drained.done()


@given(st.lists(st.tuples(st.sampled_from(["add", "later", "take", "done", "tick"]), st.sampled_from("abc"))))
def test_no_key_is_lost_or_doubled_in_any_order_of_operations(steps: list[tuple[str, str]]) -> None:
    """No key is ever with two workers, and each requested key is handed out in the end."""

    async def run() -> None:
        time = VirtualTime()
        queue = queue_on(time)
        owed: set[str] = set()
        hands: list[str] = []
        for step, key in steps:
            if step == "add":
                queue.add(key)
                owed.add(key)
            elif step == "later":
                queue.add_after(key, 5)
                owed.add(key)
            elif step == "take" and len(queue):
                taken = await queue.get()
                assert taken is not None and taken not in hands
                hands.append(taken)
                owed.discard(taken)
                if taken in queue._due:  # a wake that was requested while the key was ready is still due
                    owed.add(taken)
            elif step == "done" and key in hands:
                hands.remove(key)
                queue.finish(key)
            elif step == "tick":
                await settle()
                time.advance(5)
                await settle()
        for key in hands:
            queue.finish(key)
        await settle()
        time.advance(5)
        await settle()
        assert owed <= set(await take_all(queue))
        queue.close()
        await settle()

    asyncio.run(run())


@pytest.mark.parametrize("failures", [0, 3, 10_000], ids=str)
def test_backoff_stays_within_its_jitter(failures: int) -> None:
    backoff = Backoff(first=1, cap=300, jitter=0.2)
    plain = min(2.0 ** min(failures, 60), 300)
    assert backoff.find_delay(failures, 0) == pytest.approx(plain * 0.8)
    assert backoff.find_delay(failures, 1) == pytest.approx(plain * 1.2)
