"""Few calls a second: a pass waits for its turn instead of starting again, and ends, however tight the limit is."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from freehold.controllers.controller import RequeueAfter
from freehold.engine.clock import ManualClock
from freehold.engine.errors import Throttled, Unavailable
from freehold.engine.port import Call, Effect, InlinePort
from freehold.providers.access.limits import SLOWEST, Limits
from freehold.providers.access.ports import PATIENCE, STALE_WRITE, PacedPort
from freehold_sim.ibm.settings import Settings
from harness.powervs import Harness
from harness.resources import existing

PROOFS = ("search.search", "tagging.list_tags")
"""Operations that read marks."""


class Wall:
    """Time that passes only in a pause."""

    def __init__(self) -> None:
        self.now = 0.0

    async def pause(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    def limits(self, rate: float = 10.0) -> Limits:
        return Limits(rate, 2, lambda: self.now, self.pause)


class Refusing:
    """Answers 429 until ``until``, and records when it was called."""

    def __init__(self, wall: Wall, until: float, retry_after: float | None = None) -> None:
        self._wall, self._until, self._retry_after = wall, until, retry_after
        self.asked: list[float] = []

    def __call__(self) -> str:
        self.asked.append(self._wall.now)
        if self._wall.now < self._until:
            raise Throttled("too many requests", retry_after=self._retry_after)
        return "served"


def limited(most: int, seconds: float) -> Harness:
    """A harness whose operator paces its calls as in production, on the stage's own clock."""

    async def pause(wanted: float) -> None:
        harness.clock.advance(wanted)

    def now() -> float:
        return harness.clock.monotonic()

    settings = replace(Settings(), rate_limits={"*": (most, seconds)})
    harness = Harness(
        settings=settings, port=lambda: PacedPort(InlinePort(), Limits(now=now, pause=pause), ManualClock(), now)
    )
    return harness


def test_a_delete_ends_although_a_pass_needs_more_reads_than_the_limit_allows() -> None:
    """Three calls in 20 s: a pass that starts again after a refusal would read the same three for ever."""
    harness = limited(3, 20.0)
    harness.run(harness.ready, limit=14_400.0)
    harness.object.delete()
    begun = harness.clock.now()
    while not harness.object.gone:
        assert harness.clock.now() - begun < 7200.0, harness.conditions()
        before = len(harness.cloud.calls)
        result = harness.pass_once()
        sent = [call.operation for call in harness.cloud.calls[before:] if call.status < 400]
        deletes = [place for place, operation in enumerate(sent) if ".delete_" in operation]
        # After a restart or a copied tag, the reads of an earlier pass prove nothing.
        assert not deletes or any(operation in PROOFS for operation in sent[: deletes[0]]), sent
        harness.clock.advance(max(result.seconds, 0.01) if isinstance(result, RequeueAfter) else 60.0)
    assert existing(harness) == []


@pytest.mark.parametrize("retry_after", [7.0, None])
async def test_a_rate_limited_call_is_sent_again_when_the_cloud_allows_it(retry_after: float | None) -> None:
    wall = Wall()
    cloud = Refusing(wall, until=7.0, retry_after=retry_after)
    port = PacedPort(InlinePort(), wall.limits(), ManualClock(), lambda: wall.now)
    assert await port.send(Call("vpc", "list_vpcs", Effect.READ, cloud)) == "served"
    if retry_after is not None:
        assert cloud.asked == [0.0, 7.0]  # not sooner: calls sent too soon may count against us
    assert len(cloud.asked) < 10


@pytest.mark.parametrize(("effect", "patience"), [(Effect.READ, PATIENCE), (Effect.WRITE, STALE_WRITE)])
async def test_a_call_that_waits_too_long_fails(effect: Effect, patience: float) -> None:
    """A worker that waits for ever would keep other objects from being served."""
    wall = Wall()
    cloud = Refusing(wall, until=float("inf"))
    with pytest.raises((Throttled, Unavailable)):
        await PacedPort(InlinePort(), wall.limits(), ManualClock(), lambda: wall.now).send(
            Call("vpc", "x", effect, cloud)
        )
    assert wall.now <= patience + 1.0 / SLOWEST


async def test_a_pause_that_an_api_asks_for_applies_to_all_calls() -> None:
    """The limit is per account: the next caller would be refused as well."""
    wall = Wall()
    limits = wall.limits()
    limits.find_bucket("vpc").slow_down(retry_after=30.0)
    await limits.find_bucket("vpc").take()
    assert wall.now == 30.0
    await limits.find_bucket("power").take()
    assert wall.now == 30.0


async def test_instances_are_launched_at_the_rate_that_aws_allows_and_hold_nobody_up() -> None:
    """https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html: 5 at once, then 2 a second."""
    wall, launched, described = Wall(), list[float](), list[float]()
    port = PacedPort(InlinePort(), Limits(10.0, 20, lambda: wall.now, wall.pause), ManualClock(), lambda: wall.now)
    run = Call("ec2", "run_instances", Effect.WRITE, lambda: launched.append(wall.now))
    for _ in range(15):
        await port.send(run)
    for _ in range(20):
        await port.send(Call("ec2", "describe_instances", Effect.READ, lambda: described.append(wall.now)))
    assert launched == pytest.approx([0.0] * 5 + [number / 2 for number in range(1, 11)])
    assert described == [wall.now] * 20, "their bucket is full"


async def test_many_calls_at_once_share_the_limit_and_all_are_served() -> None:
    """More reads than the cloud accepts in the time that they may wait."""
    wall = Wall()
    served: list[float] = []

    def run() -> None:
        if len([when for when in served if when > wall.now - 20.0]) >= 3:
            raise Throttled("too many requests", retry_after=20.0 - (wall.now - served[-3]))
        served.append(wall.now)

    port = PacedPort(InlinePort(), wall.limits(), ManualClock(), lambda: wall.now)
    calls = [Call("vpc", f"read_{number}", Effect.READ, run) for number in range(9)]
    await asyncio.gather(*(port.send(call) for call in calls))
    assert len(served) == len(calls)
    assert wall.now < 2 * PATIENCE


async def test_a_bucket_slows_down_to_a_floor_and_recovers() -> None:
    bucket = Wall().limits(10.0).find_bucket("vpc")
    for _ in range(20):
        bucket.slow_down()
    assert bucket.rate == SLOWEST
    for _ in range(20):
        bucket.speed_up()
    assert bucket.rate == 10.0


async def test_calls_that_were_in_flight_together_and_are_refused_together_halve_the_rate_once() -> None:
    """They tell one thing. Else eight at once slow an API down to a call in ten seconds."""
    wall = Wall()
    bucket = wall.limits(10.0).find_bucket("tagging")
    wall.now = 5.0
    for _ in range(8):
        bucket.slow_down(sent=4.9)
    assert bucket.rate == 5.0
    wall.now = 6.0
    bucket.slow_down(sent=5.5)
    assert bucket.rate == 2.5


async def test_a_rate_limit_error_empties_the_bucket() -> None:
    """A burst right after it would be refused as a whole."""
    bucket = Wall().limits().find_bucket("vpc")
    bucket.slow_down()
    assert bucket.find_wait() > 0.0


async def test_an_idle_hour_saves_no_more_than_one_burst() -> None:
    wall = Wall()
    bucket = wall.limits(rate=10.0).find_bucket("vpc")
    wall.now = 3600.0
    await bucket.take()
    await bucket.take()
    assert wall.now == 3600.0
    assert bucket.find_wait() > 0.0


async def test_the_rate_of_a_throttled_api_recovers() -> None:
    """Each served call shortens the wait for the next."""
    wall = Wall()
    limits = wall.limits(10.0)
    port = PacedPort(InlinePort(), limits, ManualClock(), lambda: wall.now)
    limits.find_bucket("vpc").slow_down()
    slow = limits.find_bucket("vpc").rate
    await port.send(Call("vpc", "list_vpcs", Effect.READ, lambda: None))
    assert limits.find_bucket("vpc").rate > slow


async def test_a_create_that_waited_past_its_fence_is_not_sent() -> None:
    """The write of the object that allowed it is too old: another process may have the object by now."""
    clock, wall = ManualClock(), Wall()
    world: list[str] = []
    port = PacedPort(InlinePort(), wall.limits(), clock, lambda: wall.now)
    create = Call("vpc", "create_vpc", Effect.WRITE, lambda: world.append("made"), not_after=clock.monotonic() + 1.0)
    await port.send(create)
    clock.advance(2.0)
    with pytest.raises(Unavailable, match="not sent"):
        await port.send(create)
    assert world == ["made"]
