"""Electors over one store of Leases: never two that are certain, whatever the network and the scheduler do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from random import Random
from typing import Any

import pytest

from freehold.controllers.connections import open_connections
from freehold.controllers.leadership.elector import HELD_SECONDS, Claim, Elector
from freehold.controllers.leadership.fence import WRITE_SECONDS, LeaseFence
from freehold.controllers.leadership.interface import ALWAYS_LEADS, LeadershipLost
from freehold.controllers.leadership.lease import LEASE_SECONDS, LEASES
from freehold.controllers.settings import Settings
from freehold.engine.errors import Unavailable
from freehold.engine.port import Call, Effect, InlinePort
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import Json, Key
from freehold.providers.access.audit import NoAudit
from freehold.providers.ibm.access import IbmAccess, IbmConnection
from harness.leases import LeaseNetwork, LeaseServer
from harness.virtual_loop import VirtualLoop

KEY = Key("freehold-system", "freehold-operator")


class Replica:
    """A replica whose clock runs at a rate of its own, and which may be stopped as a whole, as by SIGSTOP."""

    def __init__(self, server: LeaseServer, name: str, random: Random, rate: float = 1.0, worst: float = 6.0) -> None:
        self.network = LeaseNetwork(server, random, worst, loss=0.05 if worst > 1.0 else 0.0)
        self.awake = asyncio.Event()
        self.awake.set()
        self._rate = rate
        self.claim = Claim(self, KEY, name, monotonic=self.monotonic)
        self.elector = Elector(self.claim)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() * self._rate

    async def get(self, *given: Any) -> Json:
        return await self._while_awake(lambda: self.network.get(*given))

    async def create(self, *given: Any) -> Json:
        return await self._while_awake(lambda: self.network.create(*given))

    async def replace(self, *given: Any) -> Json:
        return await self._while_awake(lambda: self.network.replace(*given))

    async def _while_awake(self, request: Callable[[], Coroutine[Any, Any, Json]]) -> Json:
        """A stopped process sends nothing, and hears an answer when it goes on."""
        await self.awake.wait()
        answer = await request()
        await self.awake.wait()
        return answer


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(work())


async def run_for_ever(server: LeaseServer, name: str, random: Random, rate: float, alive: list[Replica]) -> None:
    """A replica that is started again whenever it has lost, as the kubelet does."""
    for life in range(10_000):
        replica = Replica(server, f"{name}-{life}", random, rate)
        alive.append(replica)
        try:
            await replica.elector.run()
        except LeadershipLost:
            if random.random() < 0.3:
                await replica.elector.release()  # it had drained
        finally:
            alive.remove(replica)


@pytest.mark.parametrize("seed", range(12))
def test_no_two_replicas_are_certain_at_a_time(seed: int) -> None:
    """Requests are late, lost and repeated, processes are stopped, clocks run 2 % fast or slow."""

    async def live() -> None:
        random, server, alive = Random(seed), LeaseServer(), list[Replica]()
        rates = (0.98, 1.0, 1.02)
        tasks = [
            asyncio.create_task(run_for_ever(server, f"r{number}", random, rate, alive))
            for number, rate in enumerate(rates)
        ]
        led = set()
        for _ in range(6000):
            await asyncio.sleep(0.25)
            certain = [each for each in alive if each.elector.remaining() > 0]
            assert len(certain) <= 1, f"two lead at {asyncio.get_running_loop().time()}"
            led.update(id(each) for each in certain)
            chance = random.random()
            if alive and chance < 0.01:
                random.choice(alive).awake.clear()
            elif alive and chance < 0.04:
                random.choice(alive).awake.set()
            elif alive and chance < 0.05:
                each = random.choice(alive)
                each.network.is_cut = not each.network.is_cut
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert len(led) > 5, "the lead changed"

    run(live)


def test_a_killed_leader_is_followed_soon_after_its_lease() -> None:
    async def live() -> None:
        server, loop = LeaseServer(), asyncio.get_running_loop()
        first, second = (Replica(server, name, Random(1), worst=0.3) for name in ("one", "two"))
        leading = asyncio.create_task(first.elector.run())
        await first.elector.wait_until_elected()
        following = asyncio.create_task(second.elector.run())
        await asyncio.sleep(60.0)
        assert second.elector.remaining() == 0 and not second.elector.holds("any")
        leading.cancel()
        killed = loop.time()
        await second.elector.wait_until_elected()
        assert loop.time() - killed < LEASE_SECONDS + 2
        assert server.get(KEY)["spec"]["leaseTransitions"] == 1
        following.cancel()

    run(live)


def test_a_lease_that_is_given_back_is_taken_at_once() -> None:
    async def live() -> None:
        server, loop = LeaseServer(), asyncio.get_running_loop()
        first, second = (Replica(server, name, Random(1), worst=0.3) for name in ("one", "two"))
        leading = asyncio.create_task(first.elector.run())
        await first.elector.wait_until_elected()
        following = asyncio.create_task(second.elector.run())
        await asyncio.sleep(7.0)
        leading.cancel()
        stopped = loop.time()
        await first.elector.release()
        await second.elector.wait_until_elected()
        assert loop.time() - stopped < 5  # the network is a slow one
        following.cancel()

    run(live)


@pytest.mark.parametrize("harm", ["taken", "deleted", "unreachable"])
def test_a_leader_that_is_interfered_with(harm: str) -> None:
    """A Lease that is deleted by hand is made anew; one that is taken, or cannot be renewed, is lost."""

    async def live() -> None:
        server = LeaseServer()
        replica = Replica(server, "one", Random(1), worst=0.3)
        leading = asyncio.create_task(replica.elector.run())
        await replica.elector.wait_until_elected()
        if harm == "taken":
            stored = server.get(KEY)
            server.replace({**stored, "spec": {**stored["spec"], "holderIdentity": "somebody"}})
        elif harm == "deleted":
            del server.stored[KEY]
        else:
            replica.network.is_cut = True
        await asyncio.sleep(HELD_SECONDS + 5.0)
        if harm == "deleted":
            assert server.get(KEY)["spec"]["holderIdentity"] == "one" and replica.elector.remaining() > 0
            leading.cancel()
            return
        assert replica.elector.remaining() == 0
        with pytest.raises(LeadershipLost, match="somebody holds it" if harm == "taken" else "cut off"):
            await leading

    run(live)


def test_a_deleted_lease_is_not_taken_from_its_holder() -> None:
    async def live() -> None:
        server = LeaseServer()
        replica = Replica(server, "two", Random(1), worst=0.3)
        server.create({"metadata": {"name": KEY.name, "namespace": KEY.namespace}, "spec": {"holderIdentity": "one"}})
        await replica.claim.attempt()
        await asyncio.sleep(LEASE_SECONDS - 1)  # its holder may have renewed it since
        del server.stored[KEY]
        await replica.claim.attempt()
        await asyncio.sleep(LEASE_SECONDS - 2)
        await replica.claim.attempt()
        assert KEY not in server.stored
        await asyncio.sleep(LEASE_SECONDS)
        await replica.claim.attempt()
        assert server.get(KEY)["spec"]["holderIdentity"] == "two"

    run(live)


def test_the_certain_time_counts_from_before_the_request() -> None:
    async def live() -> None:
        replica = Replica(LeaseServer(), "one", Random(1))

        async def late(resource: object, obj: Json) -> Json:
            answer = await replica.network.create(LEASES, obj)
            await asyncio.sleep(2.0)
            return answer

        replica.create = late  # type: ignore[method-assign, assignment]  # only this request is late, and known to be
        before = replica.monotonic()
        await replica.claim.attempt()
        assert replica.claim.remaining() <= HELD_SECONDS - 2.0 and replica.monotonic() >= before + 2.0

    run(live)


class Ending:
    """A leadership of which so many seconds are left at each look."""

    def __init__(self, *left: float) -> None:
        self._left = list(left)

    def holds(self, uid: str) -> bool:
        return True

    def remaining(self) -> float:
        return self._left.pop(0)

    def held_share(self) -> float:
        return 1.0


WRITE = Call("vpc", "create_vpc", Effect.WRITE, lambda: "made", "vpc one")


@pytest.mark.parametrize(
    "left",
    [
        pytest.param((WRITE_SECONDS - 0.1,), id="before it is queued"),
        pytest.param((10.0, WRITE_SECONDS - 0.1), id="right before the socket"),
        pytest.param((10.0, 0.0), id="the process was stopped in between"),
    ],
)
async def test_a_write_that_may_not_end_within_the_lease_is_not_begun(left: tuple[float, ...]) -> None:
    with pytest.raises(Unavailable, match="not sent"):
        await LeaseFence(InlinePort(), Ending(*left)).send(WRITE._replace(run=lambda: pytest.fail("sent")))


async def test_reads_own_objects_and_timely_writes_pass() -> None:
    assert await LeaseFence(InlinePort(), Ending(WRITE_SECONDS, WRITE_SECONDS)).send(WRITE) == "made"
    assert await LeaseFence(InlinePort(), ALWAYS_LEADS).send(WRITE) == "made"
    for effect in (Effect.READ, Effect.STORE):
        assert await LeaseFence(InlinePort(), Ending(1.0, 1.0)).send(WRITE._replace(effect=effect)) == "made"


async def test_nothing_is_asked_of_the_cloud_after_the_lease() -> None:
    with pytest.raises(Unavailable, match="not sent"):
        await LeaseFence(InlinePort(), Ending(0.0)).send(WRITE._replace(effect=Effect.READ))


async def test_every_call_of_an_operator_passes_the_fence() -> None:
    settings = Settings(Connection("http://127.0.0.1:9"), {"ibm": IbmAccess(key="a key", url="http://127.0.0.1:9")})
    with ExitStack() as stack:
        connection = open_connections(settings, KubeClient(settings.kube), stack, NoAudit(), Ending(0.0))["ibm"]
        assert isinstance(connection, IbmConnection) and connection.account is not None
        account = connection.account
        with pytest.raises(Unavailable, match="not sent"):
            await account.port.send(WRITE._replace(run=lambda: pytest.fail("sent")))
