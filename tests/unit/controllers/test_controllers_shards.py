"""Shards: each replica serves a fair part, each object is served by one at a time, and none is left out for long."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from freehold.controllers.leadership.elector import Claim
from freehold.controllers.leadership.interface import LeadershipLost
from freehold.controllers.leadership.lease import LEASE_SECONDS, NAME
from freehold.controllers.leadership.shard_keeper import GONE_SECONDS, ShardKeeper
from freehold.controllers.leadership.shards import SINGLE, find_shard, find_share
from freehold.kube.resources import Key
from freehold.providers.access.limits import Limits
from harness.leases import LeaseNetwork, LeaseServer
from harness.rows import over_rows
from harness.virtual_loop import VirtualLoop

SHARDS = 12
UIDS = [*{find_shard(uid, SHARDS): uid for uid in map(str, range(100))}.values()]
"""One of each shard."""


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(work())


def test_the_shard_of_an_object_is_the_same_in_every_process() -> None:
    """The numbers are fixed: another version of the operator must find the same."""
    assert [find_shard(each, 12) for each in ("a", "b", "c", SINGLE)] == [10, 10, 2, 0]
    spread = Counter(find_shard(str(number), 4) for number in range(4000))
    assert all(900 < spread[shard] < 1100 for shard in range(4))


@over_rows("seed", range(200))
def test_replicas_that_take_and_give_one_by_one_come_to_fair_parts_and_rest(seed: int) -> None:
    """From any division; whoever holds some is never asked for its last one; at the end nobody moves."""
    random = Random(seed)
    shards, members = random.randint(1, 20), [f"m{number}" for number in range(random.randint(1, 6))]
    owner: list[str] = [random.choice([*members, ""]) for _ in range(shards)]

    def count() -> dict[str, int]:
        return {each: owner.count(each) for each in members}

    for _ in range(200):
        each = random.choice(members)
        before, share = count(), find_share(count(), each, shards)
        assert share >= 1 or not before[each]
        if before[each] > share:
            owner[max(number for number in range(shards) if owner[number] == each)] = ""
        elif before[each] < share and "" in owner:
            owner[owner.index("")] = each
    held = count()
    assert sum(held.values()) == shards and max(held.values()) - min(held.values()) <= 1
    assert all(find_share(held, each, shards) == held[each] for each in members)


class Replica:
    """A replica of a sharded operator."""

    def __init__(
        self,
        server: LeaseServer,
        number: int,
        random: Random,
        worst: float = 0.1,
        loss: float = 0.0,
        shards: int = SHARDS,
    ) -> None:
        self.network = LeaseNetwork(server, random, worst, loss)
        self.keeper = ShardKeeper(
            self.network, "ns", f"host_{number}", shards, monotonic=lambda: asyncio.get_running_loop().time()
        )
        self.taken: list[int] = []
        self.keeper.on_taken = self.taken.append
        self.task = asyncio.create_task(self.keeper.run())

    @property
    def serves(self) -> list[str]:
        return [each for each in UIDS if self.keeper.holds(each)]


def count_served(alive: list[Replica]) -> Counter[str]:
    return Counter(each for replica in alive for each in replica.serves)


async def wait_for(wanted: Callable[[], bool], seconds: float) -> None:
    for _ in range(int(seconds * 10)):
        if wanted():
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"not within {seconds} s")


def held(alive: list[Replica]) -> list[int]:
    return sorted(each.keeper.read_standing().shards_held for each in alive)


def test_replicas_come_and_go() -> None:
    async def live() -> None:
        server, random = LeaseServer(), Random(1)
        alive = [Replica(server, 0, random)]
        await wait_for(lambda: held(alive) == [SHARDS], 10)
        alive += [Replica(server, 1, random), Replica(server, 2, random)]
        await wait_for(lambda: held(alive) == [4, 4, 4], 15)
        assert alive[0].keeper.holds(SINGLE), "what only one does has not moved"
        await asyncio.sleep(60)
        assert [len(each.taken) for each in alive] == [12, 4, 4], "nothing moves without need"
        assert set(count_served(alive).values()) == {1} and len(count_served(alive)) == len(UIDS)
        assert [each.keeper.held_share() for each in alive] == [1 / 3] * 3

        killed = alive.pop(0)
        killed.task.cancel()
        await wait_for(lambda: len(count_served(alive)) == len(UIDS), LEASE_SECONDS + 2)
        await wait_for(lambda: held(alive) == [6, 6], 10)

        left = alive.pop(0)
        left.keeper.retire()
        left.task.cancel()
        await left.keeper.release()
        assert not left.serves and left.keeper.remaining() == 0
        await wait_for(lambda: held(alive) == [SHARDS], 5)
        await asyncio.sleep(GONE_SECONDS + 5)
        assert len(server.stored) == SHARDS + 1, "memberships of the others are gone"

    run(live)


def test_a_shard_is_handed_over_when_nothing_of_it_is_in_hand() -> None:
    async def live() -> None:
        server, random = LeaseServer(), Random(1)
        first = Replica(server, 0, random)
        await wait_for(lambda: held([first]) == [SHARDS], 10)
        may_end = asyncio.Event()

        async def drain(shard: int) -> None:
            assert not [each for each in first.serves if find_shard(each, SHARDS) == shard], "nothing new begins"
            await may_end.wait()

        first.keeper.drain = drain
        second = Replica(server, 1, random)
        await asyncio.sleep(2 * LEASE_SECONDS)
        assert held([first, second]) == [0, SHARDS] and first.keeper.remaining() > 0, "it is renewed until then"
        may_end.set()
        await wait_for(lambda: held([first, second]) == [6, 6], 10)
        assert min(find_shard(each, SHARDS) for each in second.serves) == 6

    run(live)


@pytest.mark.parametrize("seed", range(5))
def test_no_object_is_served_by_two(seed: int) -> None:
    """The network is slow and loses; replicas are killed and come back."""

    async def live() -> None:
        server, random = LeaseServer(), Random(seed)
        alive = [Replica(server, number, random, 3.0, 0.03) for number in range(3)]
        number, seen = 3, Counter[str]()
        for _ in range(1500):
            await asyncio.sleep(0.5)
            served = count_served(alive)
            assert not served or max(served.values()) == 1
            seen.update(served)
            for each in [each for each in alive if each.task.done() or random.random() < 0.004]:
                if each.task.done():
                    assert isinstance(each.task.exception(), LeadershipLost)
                each.task.cancel()
                alive.remove(each)
                alive.append(Replica(server, number, random, 3.0, 0.03))
                number += 1
        assert len(seen) == len(UIDS) and min(seen.values()) > 600

    run(live)


@pytest.mark.parametrize("before", [1, 3], ids=["one leader", "three shards"])
def test_another_number_of_shards_takes_effect_when_the_last_of_the_old_has_ended(before: int) -> None:
    async def live() -> None:
        server, random = LeaseServer(), Random(1)
        old = Replica(server, 0, random, shards=before)
        if before == 1:
            old.task.cancel()
            claim = Claim(old.network, Key("ns", NAME), "host_0", monotonic=asyncio.get_running_loop().time)
            await claim.attempt()
            until, release = claim.remaining, claim.release
        else:
            await wait_for(lambda: held([old]) == [before], 10)
            until, release = old.keeper.remaining, old.keeper.release
        new = Replica(server, 1, random)
        await asyncio.sleep(LEASE_SECONDS - 3)
        assert until() > 0 and not new.serves
        old.task.cancel()
        await release()
        await wait_for(lambda: held([new]) == [SHARDS], 10)

    run(live)


def test_a_replica_that_loses_one_shard_ends() -> None:
    async def live() -> None:
        server = LeaseServer()
        replica = Replica(server, 0, Random(1))
        await wait_for(lambda: held([replica]) == [SHARDS], 10)
        (key,) = [each for each in server.stored if each.name == "freehold-operator-shard-7"]
        stored = server.get(key)
        server.replace({**stored, "spec": {**stored["spec"], "holderIdentity": "somebody"}})
        with pytest.raises(LeadershipLost, match="shard-7 is lost: somebody holds it now"):
            await replica.task
        assert replica.keeper.remaining() == 0

    run(live)


async def test_an_account_is_asked_at_the_rate_of_the_share() -> None:
    now, slept = [0.0], list[float]()

    async def pause(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    limits = Limits(rate=10.0, burst=20, now=lambda: now[0], pause=pause)
    limits.share = lambda: 0.25
    bucket = limits.find_bucket("vpc")
    for _ in range(100):
        await bucket.take()
    assert bucket.rate == 2.5 and sum(slept) == pytest.approx((100 - 5) / 2.5, rel=0.05)
