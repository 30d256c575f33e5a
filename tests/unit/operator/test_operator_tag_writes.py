"""Calls that write tags: those of one resource in their order, those of different resources together."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

import pytest

from freehold.lifecycle.errors import CloudError, Invalid
from freehold.operator.metadata.writes import AT_ONCE, carry_out
from freehold.operator.ports import together
from freehold.tagging.batches import Batch, Verb

ACCOUNT, REGION = "111122223333", "eu-central-1"


def _batch(verb: Verb, *targets: str) -> Batch:
    return Batch(verb, ACCOUNT, REGION, targets, (("env", None if verb.removes else "prod"),))


def _none_named(error: CloudError, targets: Collection[str]) -> frozenset[str]:
    return frozenset()


class Cloud:
    """Answers each call after a while, and refuses one that has a resource of ``bad``."""

    def __init__(self, bad: Collection[str] = ()) -> None:
        self.bad = set(bad)
        self.in_flight: list[Batch] = []
        self.most = 0
        self.done: list[tuple[Verb, tuple[str, ...]]] = []

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        busy = {target for each in self.in_flight for target in each.targets}
        assert busy.isdisjoint(batch.targets), "two calls change one resource at once"
        self.in_flight.append(batch)
        self.most = max(self.most, len(self.in_flight))
        for _ in range(len(batch.targets)):
            await asyncio.sleep(0)  # the others get their turn; no time passes
        self.in_flight.remove(batch)
        if self.bad & set(batch.targets):
            raise Invalid("one of these cannot be tagged")
        self.done.append((batch.verb, batch.targets))
        return {}


async def test_calls_for_different_resources_are_in_flight_together() -> None:
    """A reply that is lost is waited for for ten seconds: the others do not wait with it."""
    cloud = Cloud()
    batches = [_batch(Verb.TAG_RESOURCES, f"arn-{number}") for number in range(5 * AT_ONCE)]
    written = await carry_out(batches, cloud.send, _none_named, lambda: True, together)
    assert cloud.most == AT_ONCE
    assert written.calls == len(cloud.done) == len(batches)


async def test_what_is_removed_from_a_resource_goes_before_what_is_added() -> None:
    """It may have as many tags as the cloud allows. A refused removal goes again in halves, still before the addition;
    a resource of which one call failed gets no other one."""
    cloud = Cloud(bad=["arn-1"])
    pairs = [(f"arn-{number}", f"arn-{number + 1}") for number in range(0, 20, 2)]
    removals = [_batch(Verb.UNTAG_RESOURCES, *pair) for pair in pairs]
    additions = [_batch(Verb.TAG_RESOURCES, *pair) for pair in reversed(pairs)]
    written = await carry_out([*removals, *additions], cloud.send, _none_named, lambda: True, together)
    assert written.failed.keys() == {"arn-1"}
    for number in (0, *range(2, 20)):
        verbs = [verb for verb, targets in cloud.done if f"arn-{number}" in targets]
        assert verbs == [Verb.UNTAG_RESOURCES, Verb.TAG_RESOURCES]
    assert not [targets for _, targets in cloud.done if "arn-1" in targets]


async def test_a_call_does_not_overtake_one_that_waits_for_another_resource() -> None:
    cloud = Cloud()
    first, both = _batch(Verb.UNTAG_RESOURCES, "arn-1"), _batch(Verb.UNTAG_RESOURCES, "arn-1", "arn-2")
    addition = _batch(Verb.TAG_RESOURCES, "arn-2")
    await carry_out([first, both, addition], cloud.send, _none_named, lambda: True, together)
    assert [verb for verb, _ in cloud.done] == [Verb.UNTAG_RESOURCES, Verb.UNTAG_RESOURCES, Verb.TAG_RESOURCES]


async def test_what_is_withdrawn_meanwhile_is_sent_no_more() -> None:
    cloud = Cloud()
    batches = [_batch(Verb.TAG_RESOURCES, f"arn-{number}") for number in range(5 * AT_ONCE)]
    written = await carry_out(batches, cloud.send, _none_named, lambda: not cloud.done, together)
    assert len(cloud.done) <= AT_ONCE
    assert written.later == {target for batch in batches for target in batch.targets} - {
        target for _, targets in cloud.done for target in targets
    }


async def test_a_defect_is_raised_and_not_taken_for_an_answer() -> None:
    async def broken(batch: Batch) -> Mapping[str, CloudError]:
        raise KeyError("a defect")

    with pytest.raises(KeyError):
        await carry_out([_batch(Verb.TAG_RESOURCES, "arn-1")], broken, _none_named, lambda: True, together)
