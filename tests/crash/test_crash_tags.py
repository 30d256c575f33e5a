"""A delta over 100 resources: killed, refused, raced, forgetful. It ends right, and what is not ours stays as it was.

Sampled; the whole of it is slow (``make crash-pairs``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import pytest

from freehold.kube.resources import Key
from freehold_sim.faults import Effect, Fault
from harness.metadata import NAMESPACE
from lab.tagged import JoinsByAnd, ReplacesTheList, Story

WRITES = ("ec2.CreateTags", "ec2.DeleteTags", "resourcegroupstaggingapi.TagResources",
          "resourcegroupstaggingapi.UntagResources")  # fmt: skip
READS = ("resourcegroupstaggingapi.GetResources", "ec2.DescribeTags", "secretsmanager.DescribeSecret")
FAULTS = (
    Effect.THROTTLE, Effect.ERROR_BEFORE, Effect.ERROR_AFTER, Effect.REPLY_LOST, Effect.RESET, Effect.LATE,
    Effect.DENIED, Effect.EXPIRED, Effect.SLOW,
)  # fmt: skip
"""Each once; QUOTA and FAILED are of creates, PARTIAL has a test of its own."""
SAMPLED_FAULTS = (Effect.THROTTLE, Effect.REPLY_LOST, Effect.LATE)
SAMPLE = pytest.param(40, id="sampled")
WHOLE = pytest.param(1, id="whole", marks=pytest.mark.slow)
STEPS = pytest.mark.parametrize("step", [SAMPLE, WHOLE])


Told = tuple[Story, int, list[int], int]
"""The story after an undisturbed run: how many calls it has, which of them write, how many writes of objects."""


async def _tell() -> Told:
    story = Story()
    await story.begin()
    story.again()
    await story.settle()
    writes = [number for number, call in enumerate(story.port.calls) if call.effect.value == "write"]
    calls, stores = len(story.port.calls), len(story.objects.written)
    story.wait()
    await story.check()
    return story, calls, writes, stores


@pytest.fixture(scope="module")
def told() -> Told:
    """Told once: each case puts everything back to its beginning (:meth:`Story.again`)."""
    return asyncio.run(_tell())


def _some(calls: int, writes: Iterable[int], step: int) -> list[int]:
    """Each write, and some of the reads."""
    return sorted({*range(0, calls, step), *writes})


@STEPS
@pytest.mark.parametrize("after", [False, True], ids=["before a call", "after a call"])
async def test_killed_at_a_call(told: Told, after: bool, step: int) -> None:
    story, calls, writes, _ = told
    assert len(writes) >= 6
    for number in _some(calls, writes, step):
        story.again()
        story.port.at, story.port.after = number, after
        await story.pursue()
        await story.check()


@STEPS
@pytest.mark.parametrize("after", [False, True], ids=["before a store", "after a store"])
async def test_killed_at_a_write_of_an_object(told: Told, after: bool, step: int) -> None:
    """Between the parts of the record, the tags and the statuses."""
    story, _, _, stores = told
    for number in range(0, stores, max(1, step // 2)):
        story.again()
        story.kill_at_store(number, after=after)
        await story.pursue()
        await story.check()


@pytest.mark.parametrize(
    "effect", [pytest.param(each, marks=() if each in SAMPLED_FAULTS else pytest.mark.slow) for each in FAULTS]
)
async def test_a_call_that_fails(told: Told, effect: Effect) -> None:
    """A read that fails proves nothing: no tag is removed or taken over by it."""
    story, *_ = told
    for operation in WRITES + READS:
        story.again()
        story.account.cloud.faults.add(Fault(effect, operation))
        await story.pursue()
        await story.check()


async def test_one_resource_of_a_call_that_fails(told: Told) -> None:
    story, *_ = told
    for operation in WRITES[2:]:
        story.again()
        story.account.cloud.faults.add(Fault(Effect.PARTIAL, operation, items=(0, 3, 7)))
        await story.pursue()
        await story.check()


@STEPS
async def test_others_write_between_any_two_calls(told: Told, step: int) -> None:
    story, calls, writes, _ = told
    for number in _some(calls, writes, step):
        story.again()
        story.stranger_at(number)
        await story.pursue()
        await story.check()


@STEPS
@pytest.mark.parametrize("trouble", ["rolled back", "lost"])
async def test_the_record_is_not_what_it_was_when_the_next_process_begins(told: Told, trouble: str, step: int) -> None:
    """Rolled back it says what was so before; where it is lost nothing is removed any more."""
    story, calls, writes, _ = told
    meanwhile: Callable[[], None] = story.roll_back_record if trouble == "rolled back" else story.lose_record_now
    for number in _some(calls, writes, max(step, 5)):
        story.again()
        story.port.at, story.port.after = number, True
        await story.pursue(meanwhile)
        await story.check(kept=["centre"] if trouble == "lost" else [])


@STEPS
async def test_two_replicas_on_one_object(told: Told, step: int) -> None:
    """A27: the whole pass of one comes between any two calls, and any two writes of objects, of the other.

    No lease is needed for that: the record is written by compare-and-set, and what was read is written with its value.
    """
    story, calls, writes, stores = told
    for number in _some(calls + stores, writes, step):
        story.again()
        other = story.start()
        steps = 0

        async def work(name: str, number: int = number, other: object = other) -> None:
            nonlocal steps
            steps += 1
            if steps == number + 1:
                await other.reconcile(Key(NAMESPACE, "metadata"))  # type: ignore[attr-defined]  # set by the test

        story.port.between = story.objects.between = work
        await story.pursue()
        await story.check()


# -- careless edits must be noticed ---------------------------------------------------------------------------------


async def test_replacing_the_whole_list_is_noticed(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """A10: it takes off what others have put on since the list was read."""
    story, _, writes, _ = told
    monkeypatch.setattr(story, "wrap", ReplacesTheList)
    noticed = 0
    for number in writes:
        story.again()
        story.stranger_at(number - 1)
        await story.pursue()
        try:
            await story.check()
        except AssertionError as told:
            noticed += "theirs-" in str(told)
    assert noticed


async def test_one_query_for_several_classifiers_is_noticed(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """A19: it finds what has all of them."""
    story, *_ = told
    monkeypatch.setattr(story, "wrap", JoinsByAnd)
    story.again()
    await story.pursue()
    with pytest.raises(AssertionError):
        await story.check()
