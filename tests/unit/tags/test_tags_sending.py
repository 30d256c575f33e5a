"""Calls that write tags: those of one resource in their order, those of different resources together."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

import pytest

from freehold.engine.errors import CloudError, Invalid, NotFound, Throttled, Unavailable, Unknown
from freehold.providers.aws.tags.dialect import AWS
from freehold.tags.policy.batches import Batch, TagVerb
from freehold.tags.policy.resources import TaggedResource, single_valued
from freehold.tags.tag_pass import AT_ONCE, carry_out

ACCOUNT, REGION = "111122223333", "eu-central-1"


def _batch(verb: TagVerb, *targets: str) -> Batch:
    return Batch(verb, ACCOUNT, REGION, targets, (("env", None if verb.removes else "prod"),))


def _resource(ident: str, tags: Mapping[str, str]) -> TaggedResource:
    return TaggedResource(ident, AWS, "ec2:volume", ACCOUNT, REGION, single_valued(tags))


class Fleet:
    """Answers each call after a while, and refuses one that has a resource of ``bad``. It shows ``tags``."""

    def __init__(self, bad: Collection[str] = (), tags: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self.bad = set(bad)
        self.tags = tags or {}
        self.in_flight: list[Batch] = []
        self.most = 0
        self.done: list[tuple[TagVerb, tuple[str, ...]]] = []

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

    async def read(self, ids: Collection[str]) -> Mapping[str, TaggedResource | CloudError]:
        return {ident: _resource(ident, self.tags.get(ident, {})) for ident in ids}

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]:
        return frozenset()


async def test_calls_for_different_resources_are_in_flight_together() -> None:
    """A reply that is lost is waited for for ten seconds: the others do not wait with it."""
    cloud = Fleet()
    batches = [_batch(TagVerb.TAG_RESOURCES, f"arn-{number}") for number in range(5 * AT_ONCE)]
    written = await carry_out(batches, cloud, lambda: True)
    assert cloud.most == AT_ONCE
    assert written.calls == len(cloud.done) == len(batches)


async def test_what_is_removed_from_a_resource_goes_before_what_is_added() -> None:
    """It may have as many tags as the cloud allows. A refused removal goes again in halves, still before the addition;
    a resource of which one call failed gets no other one."""
    cloud = Fleet(bad=["arn-1"])
    pairs = [(f"arn-{number}", f"arn-{number + 1}") for number in range(0, 20, 2)]
    removals = [_batch(TagVerb.UNTAG_RESOURCES, *pair) for pair in pairs]
    additions = [_batch(TagVerb.TAG_RESOURCES, *pair) for pair in reversed(pairs)]
    written = await carry_out([*removals, *additions], cloud, lambda: True)
    assert written.failed.keys() == {"arn-1"}
    for number in (0, *range(2, 20)):
        verbs = [verb for verb, targets in cloud.done if f"arn-{number}" in targets]
        assert verbs == [TagVerb.UNTAG_RESOURCES, TagVerb.TAG_RESOURCES]
    assert not [targets for _, targets in cloud.done if "arn-1" in targets]


async def test_a_call_does_not_overtake_one_that_waits_for_another_resource() -> None:
    cloud = Fleet()
    first, both = _batch(TagVerb.UNTAG_RESOURCES, "arn-1"), _batch(TagVerb.UNTAG_RESOURCES, "arn-1", "arn-2")
    addition = _batch(TagVerb.TAG_RESOURCES, "arn-2")
    await carry_out([first, both, addition], cloud, lambda: True)
    assert [verb for verb, _ in cloud.done] == [TagVerb.UNTAG_RESOURCES, TagVerb.UNTAG_RESOURCES, TagVerb.TAG_RESOURCES]


async def test_what_is_withdrawn_meanwhile_is_sent_no_more() -> None:
    cloud = Fleet()
    batches = [_batch(TagVerb.TAG_RESOURCES, f"arn-{number}") for number in range(5 * AT_ONCE)]
    written = await carry_out(batches, cloud, lambda: not cloud.done)
    assert len(cloud.done) <= AT_ONCE
    assert written.later == {target for batch in batches for target in batch.targets} - {
        target for _, targets in cloud.done for target in targets
    }


class Broken(Fleet):
    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        raise KeyError("a defect")


async def test_a_defect_is_raised_and_not_taken_for_an_answer() -> None:
    with pytest.raises(KeyError):
        await carry_out([_batch(TagVerb.TAG_RESOURCES, "arn-1")], Broken(), lambda: True)


class Silent(Fleet):
    """Every call is carried out on the first of its resources, and no reply comes."""

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        raise Unknown("the reply was lost")


async def test_what_a_call_without_a_reply_has_done_is_read_at_once() -> None:
    """What shows no effect may get it later: it is read again before anything is sent."""
    batch = _batch(TagVerb.TAG_RESOURCES, "arn-1", "arn-2", "arn-3")
    place = Silent(tags={"arn-1": {"env": "prod"}, "arn-2": {"env": "test"}})
    written = await carry_out([batch], place, lambda: True)
    assert written.succeeded == [batch.only(["arn-1"])]
    assert written.unsure == {"arn-2", "arn-3"}
    assert written.calls == 1


@pytest.mark.parametrize("where", [0, 199])
async def test_a_bad_resource_in_each_of_many_calls_does_not_keep_the_others_from_being_tagged(where: int) -> None:
    """They are refused at once, before any half of theirs can succeed: that says nothing about the halves."""
    calls = [[f"arn-{number}-{each}" for each in range(200)] for number in range(AT_ONCE)]
    place = Fleet(bad=[targets[where] for targets in calls])
    await carry_out([_batch(TagVerb.CREATE_TAGS, *targets) for targets in calls], place, lambda: True)
    good = {target for targets in calls for target in targets} - place.bad
    tagged = {target for _, targets in place.done for target in targets}
    assert len(good - tagged) < 200, "what is over the most refusals of a pass"


class Deaf(Fleet):
    """The first calls have their effect, and no reply comes."""

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        answer = await super().send(batch)
        if len(self.done) > AT_ONCE:
            return answer
        self.tags = {**self.tags, **{each: {"env": "prod"} for each in batch.targets}}
        raise Unknown("the reply was lost")


async def test_after_lost_replies_a_bad_resource_does_not_keep_the_others_from_being_tagged() -> None:
    """What is read as done shows that the call is allowed."""
    last = [f"last-{number}" for number in range(200)]
    place = Deaf(bad=last[:1])
    batches = [_batch(TagVerb.CREATE_TAGS, f"arn-{number}") for number in range(AT_ONCE)]
    written = await carry_out([*batches, _batch(TagVerb.CREATE_TAGS, *last)], place, lambda: True)
    assert written.failed.keys() == {last[0]}
    assert not written.unsure


class Hanging(Silent):
    """Nothing can be read either."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.at_once = self.most_at_once = 0

    async def read(self, ids: Collection[str]) -> Mapping[str, TaggedResource | CloudError]:
        self.reads += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return dict.fromkeys(ids, Unavailable("no answer"))


async def test_where_nothing_can_be_read_it_is_tried_once() -> None:
    """Each read would wait for ten seconds, and hold threads that others need."""
    place = Hanging()
    batches = [_batch(TagVerb.TAG_RESOURCES, f"arn-{number}") for number in range(3 * AT_ONCE)]
    written = await carry_out(batches, place, lambda: True)
    assert (place.reads, place.most_at_once) == (1, 1)
    assert len(written.unsure) == len(batches)


async def test_a_call_that_was_never_sent_leaves_no_claim() -> None:
    """The removal before it has an unknown outcome: the addition was not sent, and what somebody writes there is not
    ours."""
    removal, addition = _batch(TagVerb.UNTAG_RESOURCES, "arn-1"), _batch(TagVerb.TAG_RESOURCES, "arn-1")
    written = await carry_out([removal, addition], Silent(tags={"arn-1": {"env": "test"}}), lambda: True)
    done = written.done_on(["arn-1"])["arn-1"]
    assert done.perhaps_removed == {"env"}
    assert not done.perhaps_written | done.written | done.removed


class Partial(Fleet):
    """Answers each call with errors for some of its resources, and refuses a call for one of them alone."""

    def __init__(self, errors: Mapping[str, CloudError]) -> None:
        super().__init__()
        self.errors = errors

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        await super().send(batch)
        failed = {target: self.errors[target] for target in batch.targets if target in self.errors}
        if len(batch.targets) == 1 and failed:
            raise failed[batch.targets[0]]
        return failed


async def test_a_call_that_fails_for_one_resource_has_written_on_the_others_only() -> None:
    """A value that is taken for ours is removed later: it may be a person's."""
    place = Partial({"arn-2": Invalid("it cannot be tagged")})
    written = await carry_out([_batch(TagVerb.TAG_RESOURCES, "arn-1", "arn-2", "arn-3")], place, lambda: True)
    done = written.done_on(["arn-1", "arn-2", "arn-3"])
    assert {target: each.written for target, each in done.items()} == {"arn-1": {"env"}, "arn-3": {"env"}}
    assert written.failed.keys() == {"arn-2"}


@pytest.mark.parametrize("targets", [("arn-1",), ("arn-1", "arn-2")], ids=["the whole call", "one of two"])
@pytest.mark.parametrize("verb", [TagVerb.TAG_RESOURCES, TagVerb.UNTAG_RESOURCES])
async def test_a_call_that_says_gone_may_have_had_its_effect(targets: tuple[str, ...], verb: TagVerb) -> None:
    """The record must not forget what is there by a word of a call."""
    place = Partial({"arn-1": NotFound("there is none")})
    written = await carry_out([_batch(verb, *targets)], place, lambda: True)
    done = written.done_on(["arn-1"])["arn-1"]
    assert written.vanished == {"arn-1"}
    assert (done.perhaps_removed if verb.removes else done.perhaps_written) == {"env"}


@pytest.mark.parametrize("seconds", [(30.0, 5.0), (5.0, 30.0)])
async def test_of_several_waits_the_longest_counts(seconds: tuple[float, float]) -> None:
    """Of two calls in one region, and of two regions."""
    errors = {f"arn-{at}": Throttled("later", retry_after=each) for at, each in enumerate(seconds)}
    batches = [_batch(TagVerb.TAG_RESOURCES, target) for target in errors]
    written = await carry_out(batches, Partial(errors), lambda: True)
    assert (written.wait, written.later) == (30.0, set(errors))
    one, other = [await carry_out([each], Partial(errors), lambda: True) for each in batches]
    assert ((one | other).wait, (one | other).later) == (30.0, set(errors))
