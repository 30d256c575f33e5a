"""All objects share one read of the tag index: a thousand clusters that reconcile together must not read it each."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.errors import CloudError, Unavailable
from freehold.engine.inventory import Inventory, TagChange, TagsByTarget


class SlowIndex:
    """An index that answers when the test lets it."""

    def __init__(self) -> None:
        self.readings = 0
        self.broken = False
        self.answer = asyncio.Event()

    async def everything(self, without: frozenset[str] = frozenset()) -> TagsByTarget:
        self.readings += 1
        await self.answer.wait()
        if self.broken:
            raise Unavailable("the index does not answer")
        return {"target": frozenset({f"reading-{self.readings}", *(f"no {kind}" for kind in without)})}

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByTarget:
        return {}

    async def tags_of(self, target: str) -> frozenset[str]:
        return frozenset()

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return {}

    async def detach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return {}


async def test_a_request_during_a_read_waits_for_that_read() -> None:
    index = SlowIndex()
    inventory = Inventory(index, ManualClock())
    asking = [asyncio.create_task(inventory.read_snapshot(60.0)) for _ in range(8)]
    index.answer.set()
    snapshots = await asyncio.gather(*asking)
    assert {each.targets["target"] for each in snapshots} == {frozenset({"reading-1"})}


async def test_a_reading_that_left_kinds_out_answers_nobody_who_wants_them() -> None:
    """What lists show need not be in it; without those lists what is ours and on no record would be missed."""
    index = SlowIndex()
    inventory = Inventory(index, ManualClock())
    index.answer.set()
    less = await inventory.read_snapshot(60.0, frozenset({"vpc", "subnet"}))
    assert less.targets["target"] == {"reading-1", "no vpc", "no subnet"}
    assert (await inventory.read_snapshot(60.0, frozenset({"vpc"}))).targets["target"] == {"reading-2", "no vpc"}
    assert (await inventory.read_snapshot(60.0)).targets["target"] == {"reading-3"}
    assert (await inventory.read_snapshot(60.0, frozenset({"other"}))).targets["target"] == {
        "reading-3"
    }  # it shows all
    assert index.readings == 3


async def test_a_failed_read_is_tried_again_by_the_next_request() -> None:
    index = SlowIndex()
    inventory = Inventory(index, ManualClock())
    index.broken = True
    index.answer.set()
    with pytest.raises(Unavailable):
        await inventory.read_snapshot(60.0)
    index.broken = False
    assert (await inventory.read_snapshot(60.0)).targets == {"target": frozenset({"reading-2"})}


class LongReading(SlowIndex):
    """An index whose answer is as of the request, and takes 50 seconds."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.clock = clock
        self.answer.set()

    async def everything(self, without: frozenset[str] = frozenset()) -> TagsByTarget:
        reply = await super().everything()
        self.clock.advance(50.0)
        return reply


async def test_the_age_of_a_read_counts_from_its_request() -> None:
    """A change during the read may be missing in the answer."""
    clock = ManualClock()
    index = LongReading(clock)
    inventory = Inventory(index, clock)
    await inventory.read_snapshot(60.0)
    clock.advance(5.0)
    await inventory.read_snapshot(60.0)
    assert index.readings == 1
    clock.advance(10.0)
    await inventory.read_snapshot(60.0)
    assert index.readings == 2
