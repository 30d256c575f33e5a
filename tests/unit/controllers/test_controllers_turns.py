"""Who gets the next call where there are few: objects take turns, writes go before reads, looks last."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import inf

import pytest

from freehold.controllers.workqueue import Priority, WorkQueue
from freehold.engine.port import Call, Effect, InlinePort, PassFlags
from freehold.providers.access.audit import NoAudit
from freehold.providers.access.limits import LOOK_SHARE, READ_SHARE, TokenBucket, TurnExpired
from freehold.providers.access.ports import ObjectPort, shared_look_port
from harness.virtual_time import VirtualTime, run_ready_tasks


class Counter:
    """A bucket of one token a second, and the order in which its tokens were taken."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.bucket = TokenBucket(1.0, 1, self.time.monotonic, self.time.sleep)
        self.served: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    def wait(
        self, name: str, sender: str, *, write: bool = False, look: bool = False, until: float = inf
    ) -> asyncio.Task[None]:
        async def take() -> None:
            try:
                await self.bucket.take(sender, write=write, look=look, until=until)
            except TurnExpired:
                self.served.append(f"{name} expired at {self.time.monotonic():g}")
            else:
                self.served.append(f"{name}")

        self.tasks.append(asyncio.create_task(take()))
        return self.tasks[-1]

    async def run(self) -> list[str]:
        """Until nobody waits."""
        for _ in range(1000):
            await run_ready_tasks()
            if all(task.done() for task in self.tasks):
                return self.served
            self.time.advance(self.time.until_next() or 0.5)
        raise AssertionError(f"somebody waits for ever: {self.served}")


async def test_an_object_with_many_calls_does_not_keep_another_one_waiting() -> None:
    counter = Counter()
    for number in range(5):
        counter.wait(f"many-{number}", "many")
    counter.wait("few", "few")
    assert (await counter.run()).index("few") <= 2


async def test_the_writes_of_an_object_go_one_after_the_other() -> None:
    """What they were decided on grows old: after half a minute they are decided anew."""
    counter = Counter()
    counter.wait("first", "other")
    await run_ready_tasks()
    for name, sender in (("a-1", "a"), ("b-1", "b"), ("a-2", "a"), ("b-2", "b")):
        counter.wait(name, sender, write=True)
    assert await counter.run() == ["first", "a-1", "a-2", "b-1", "b-2"]


async def test_a_write_goes_before_the_reads_of_other_objects() -> None:
    """Behind the reads of a hundred objects it would come too late each time, and its object would never go on."""
    counter = Counter()
    for number in range(100):
        counter.wait(f"read-{number}", f"object-{number}")
    await run_ready_tasks()
    counter.wait("write", "object-0", write=True)
    assert (await counter.run()).index("write") <= 1


async def test_many_writes_of_one_object_keep_no_other_object_from_reading() -> None:
    counter = Counter()
    counter.wait("first", "other")
    await run_ready_tasks()
    for number in range(50):
        counter.wait(f"write-{number}", "many", write=True)
    for number in range(3):
        counter.wait(f"read-{number}", f"object-{number}")
    assert (await counter.run()).index("read-2") <= 3 * READ_SHARE


async def test_a_write_whose_time_is_over_spends_no_token() -> None:
    counter = Counter()
    counter.wait("first", "a")
    await run_ready_tasks()
    for number in range(5):
        counter.wait(f"late-{number}", "b", write=True, until=0.5)
    counter.wait("last", "c")
    served = await counter.run()
    assert counter.time.monotonic() < 3.0, served
    assert sum("expired" in each for each in served) == 5


async def test_looks_at_what_is_at_rest_go_last_and_still_go_on() -> None:
    counter = Counter()
    counter.wait("urgent", "object")
    await run_ready_tasks()
    counter.wait("look-1", "idle", look=True)
    counter.wait("look-2", "idle", look=True)
    for number in range(2 * LOOK_SHARE):
        counter.wait(f"urgent-{number}", f"object-{number}")
    served = await counter.run()
    assert LOOK_SHARE - 2 <= served.index("look-1") <= LOOK_SHARE
    assert served.index("look-2") <= 2 * LOOK_SHARE


@pytest.mark.parametrize("which", (0, 1, 2))
async def test_one_who_is_cancelled_keeps_nobody_waiting(which: int) -> None:
    counter = Counter()
    waiting = [counter.wait(f"call-{number}", f"object-{number}") for number in range(4)]
    await run_ready_tasks()
    waiting[which + 1].cancel()
    served = await counter.run()
    assert len(served) == 3


def _seen(port: InlinePort, sent: list[Call]) -> InlinePort:
    class Recording(InlinePort):
        async def send(self, call: Call) -> object:
            sent.append(call)
            return None

    return Recording()


async def test_a_call_says_which_object_it_is_for_and_whether_it_only_looks() -> None:
    sent: list[Call] = []
    flags = PassFlags(look=True)
    port = ObjectPort(_seen(InlinePort(), sent), "IBMPowerVSCluster default/c1", NoAudit(), flags)
    await port.send(Call("vpc", "get_vpc", Effect.READ, lambda: None))
    flags.look = False
    await port.send(Call("vpc", "get_vpc", Effect.READ, lambda: None))
    await shared_look_port(_seen(InlinePort(), sent)).send(Call("vpc", "list_vpcs", Effect.READ, lambda: None))
    assert [(call.sender, call.look) for call in sent] == [
        ("IBMPowerVSCluster default/c1", True),
        ("IBMPowerVSCluster default/c1", False),
        ("", True),
    ]


async def _taken(queue: WorkQueue[str], count: int) -> Sequence[str | None]:
    tasks = [asyncio.create_task(queue.get()) for _ in range(count)]
    await run_ready_tasks()
    return [task.result() for task in tasks if task.done()]


async def test_looks_leave_workers_for_what_changes() -> None:
    """A look that waits for its calls would otherwise keep every worker."""
    queue: WorkQueue[str] = WorkQueue(VirtualTime(), backlog_workers=2)
    for name in ("look-1", "look-2", "look-3"):
        queue.add(name, Priority.BACKLOG)
    assert await _taken(queue, 3) == ["look-1", "look-2"]
    queue.add("changed")
    await run_ready_tasks()
    assert "changed" in queue.active


async def test_a_look_that_ends_lets_the_next_one_begin() -> None:
    queue: WorkQueue[str] = WorkQueue(VirtualTime(), backlog_workers=1)
    queue.add("look-1", Priority.BACKLOG)
    queue.add("look-2", Priority.BACKLOG)
    waiting = [asyncio.create_task(queue.get()) for _ in range(2)]
    await run_ready_tasks()
    assert queue.active == {"look-1"}
    queue.finish("look-1")
    await run_ready_tasks()
    assert queue.active == {"look-2"}
    assert all(task.done() for task in waiting)


async def test_a_look_that_is_planned_is_of_the_backlog_when_its_time_comes() -> None:
    time = VirtualTime()
    queue: WorkQueue[str] = WorkQueue(time)
    queue.add_after("look", 5.0, Priority.BACKLOG)
    await run_ready_tasks()
    time.advance(6.0)
    await run_ready_tasks()
    queue.add("changed")
    assert await _taken(queue, 2) == ["changed", "look"]
