"""Few calls for many: 50 clusters being made and 5 deleted beside 500 idle ones, at two calls a second and API.

The operator's work queue, rate limits and reconciler, in virtual time; each call takes a tenth of a second.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from benchmarks import herd
from benchmarks.powervs import critical_create, critical_delete, named
from benchmarks.rows import Row
from benchmarks.virtual_loop import LoopTime, VirtualLoop
from freehold.api.served import POWERVS_CLUSTER
from freehold.lifecycle.port import Call, Effect
from freehold.operator.accounts import Binding, OneAccount
from freehold.operator.app import Settings as OperatorSettings
from freehold.operator.controller import RequeueAfter
from freehold.operator.ibm import IbmAccount
from freehold.operator.limits import Limits
from freehold.operator.ports import PacedPort, together
from freehold.operator.reconciler import Reconciler
from freehold.operator.workqueue import Priority, WorkQueue
from freehold.reconcilers.gate import ClusterContext, Mode
from freehold.reconcilers.powervs.adapter import PowerVSClusterAdapter
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Delays, Quotas, Settings
from harness.account import BASE, SimMount
from harness.powervs import Events, HeldRing, MemoryDocument, StoredObject

T = TypeVar("T")

MADE, DELETED, IDLE = 50, 5, 500
RATE = 2.0
LATENCY = 0.1
STARVED = 60.0
LONGEST = 40_000.0


class LoopPort:
    """Sends inline, after the time that a call takes."""

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            return await call.run()
        await asyncio.sleep(LATENCY)
        return call.run()

    async def all(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
        return await together(work)


@dataclass
class Waits:
    """How long an object that has something to do got no call through, for want of a worker or of a token."""

    inner: PacedPort
    loop: asyncio.AbstractEventLoop
    waiting: Counter[str] = field(default_factory=Counter)
    since: dict[str, float] = field(default_factory=dict)
    due: dict[str, float] = field(default_factory=dict)
    longest: float = 0.0
    sent: Counter[tuple[str, bool]] = field(default_factory=Counter)

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            return await self.inner.send(call)
        sender = call.sender
        if not self.waiting[sender]:
            self.since[sender] = self.due.pop(sender, self.loop.time())
        self.waiting[sender] += 1
        try:
            return await self.inner.send(call)
        finally:
            self.waiting[sender] -= 1
            self.sent[call.api, call.look] += 1
            if sender and not call.look:
                self.longest = max(self.longest, self.loop.time() - self.since[sender])
            self.since[sender] = self.loop.time()

    def wants(self, sender: str, since: float) -> None:
        """Its pass begins, and was due then."""
        self.due[sender] = since

    async def all(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
        return await self.inner.all(work)


class Operator:
    """Queue, workers and reconciler on one simulated account."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop, self.time = loop, LoopTime(loop)
        time, prepared = self.time, herd.idle(IDLE + DELETED)
        room = Quotas(gateways_per_region=1000, gateways=1000, vpcs_per_region=1000)
        self.cloud = SimulatedIBM(time, Settings(delays=Delays(), quotas=room))
        self.cloud.world.data = {**self.cloud.world.data, **prepared.world}
        paced = PacedPort(LoopPort(), Limits(RATE, 2, loop.time, asyncio.sleep), time, loop.time)
        self.port = Waits(paced, loop)
        account = IbmAccount(self.cloud.settings.api_key, BASE, time, mount=SimMount(self.cloud), port=self.port)
        accounts = OneAccount(Binding(account, PowerVSClusterAdapter(account.facts_reader())))
        self.reconciler = Reconciler(POWERVS_CLUSTER, accounts, HeldRing(prepared.ring), time, Events())
        self.objects: list[StoredObject] = [herd.stored(raw, time.now) for raw in prepared.objects]
        self.due: dict[int, float] = {}
        workers = OperatorSettings.workers
        self.queue: WorkQueue[int] = WorkQueue(time, backlog_workers=workers // 4)
        self.workers = [asyncio.ensure_future(self._work()) for _ in range(workers)]
        self.ended: dict[int, float] = {}

    async def _work(self) -> None:
        around = ClusterContext(Mode.OFF)
        while (index := await self.queue.get()) is not None:
            stored = self.objects[index]
            self.port.wants(_subject(stored), self.due.pop(index, self.loop.time()))
            result = await self.reconciler.reconcile(MemoryDocument(stored), around)
            if isinstance(result, RequeueAfter):
                priority = Priority.BACKLOG if result.at_rest else Priority.LIVE
                self.queue.add_after(index, result.seconds, priority)
                self.due[index] = self.loop.time() + result.seconds
            ready = (stored.raw.get("status") or {}).get("ready") and "deletionTimestamp" not in stored.raw["metadata"]
            if stored.gone or ready:
                self.ended.setdefault(index, self.loop.time())
            self.queue.done(index)


def _subject(stored: StoredObject) -> str:
    """As the operator names it in its calls."""
    return f"{stored.raw['kind']} {stored.raw['metadata']['namespace']}/{stored.raw['metadata']['name']}"


async def _run(loop: VirtualLoop) -> tuple[Operator, dict[str, float]]:
    operator = Operator(loop)
    for index in range(IDLE + DELETED):
        operator.queue.add(index, Priority.BACKLOG)
    await asyncio.sleep(700.0)  # all have been looked at
    operator.ended.clear()
    operator.port.longest = 0.0
    operator.port.sent.clear()
    begun = loop.time()
    deleted = range(DELETED)
    for index in deleted:
        operator.objects[index].delete()
        operator.queue.add(index)
    made = range(len(operator.objects), len(operator.objects) + MADE)
    for index in made:
        operator.objects.append(named(operator.time.now, index))
        operator.queue.add(index)
    while not all(index in operator.ended for index in (*deleted, *made)):
        if loop.time() - begun > LONGEST:
            raise AssertionError("creates or deletes do not end")
        await asyncio.sleep(5.0)
    ends = {
        "create": max(operator.ended[index] for index in made) - begun,
        "delete": max(operator.ended[index] for index in deleted) - begun,
    }
    for worker in operator.workers:
        worker.cancel()
    operator.queue.close()
    await asyncio.gather(*operator.workers, return_exceptions=True)
    return operator, ends


def measure() -> Iterator[Row]:
    loop = VirtualLoop()
    try:
        operator, ends = loop.run_until_complete(_run(loop))
    finally:
        loop.close()
    sent = operator.port.sent
    alone = max(calls for (_, look), calls in sent.items() if not look) / RATE
    how = f"{MADE} made, {DELETED} deleted, {IDLE} idle, {RATE:g} calls a second and API: {alone:.0f} s for the calls"
    for verb, chain in (("create", critical_create(Delays())), ("delete", critical_delete(Delays()))):
        least = max(alone, chain) if verb == "create" else chain
        yield Row(f"powervs.fair.{verb}", round(ends[verb] / least, 2), "× what it needs, the slowest", source=how)
    yield Row("powervs.fair.wait", round(operator.port.longest), "s without a call, the longest", STARVED, "", how)
    looks = sum(calls for (_, look), calls in sent.items() if look)
    yield Row("powervs.fair.looks", looks, "calls of looks meanwhile", None, "", how)
