"""A restart in the middle of work: when new clusters and deletes go on, and what bounds the looks at all others.

The operator's work queue, rate limits and reconciler, in virtual time, on clusters that are all Ready but some; each
call takes a tenth of a second. The order is the controller's: what an API server lists first is looked at first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks import herd
from benchmarks.powervs import named
from benchmarks.rows import Row
from freehold.controllers.controller import RequeueAfter, choose_priority
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.settings import Settings as OperatorSettings
from freehold.controllers.workqueue import Priority, WorkQueue
from freehold.engine.port import Call, Effect, Port
from freehold.kube.resources import key_of
from freehold.kube.watch import ObjectChange, Origin
from freehold.providers.access.accounts import Binding, OneAccount
from freehold.providers.access.limits import Limits
from freehold.providers.access.ports import PacedPort
from freehold.providers.ibm.accounts import IbmAccount
from freehold.providers.ibm.powervs.adapter import PowerVSClusterAdapter
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Delays, Quotas, Settings
from harness.account import BASE, SimMount
from harness.loop_port import LoopPort
from harness.powervs import Events, HeldRing, MemoryDocument
from harness.virtual_loop import LoopTime, VirtualLoop

CLUSTERS, DELETED, NEW = 300, 5, 5
SOON = 15.0
"""Seconds in which a delete and a new cluster must have their first call that changes something."""
LONGEST = 3600.0


@dataclass
class FirstWrites:
    """A port that notes when each object sent its first change."""

    inner: Port
    loop: asyncio.AbstractEventLoop
    at: dict[str, float]
    asked: Counter[str]

    async def send(self, call: Call) -> Any:
        if call.effect is not Effect.STORE:
            self.asked[call.api] += 1
        if call.effect is Effect.WRITE:
            self.at.setdefault(call.sender, self.loop.time())
        return await self.inner.send(call)


class _LaterTime(LoopTime):
    """Hours after the clusters were brought up: the index of the cloud shows all that was marked."""

    START = 1_800_000_000.0


class Restarted:
    """An operator that has just started: its objects were listed in this order, those with work last."""

    def __init__(
        self, loop: VirtualLoop, *, work: int = NEW, workers: int = OperatorSettings.workers, rate: float = 10.0
    ) -> None:
        self.loop, self.time = loop, _LaterTime(loop)
        prepared = herd.idle(CLUSTERS)
        room = Quotas(gateways_per_region=2000, gateways=2000, vpcs_per_region=2000)
        self.cloud = SimulatedIBM(self.time, Settings(delays=Delays(), quotas=room))
        self.cloud.world.data = {**self.cloud.world.data, **prepared.world}
        paced = PacedPort(LoopPort(), Limits(rate, int(2 * rate), loop.time, asyncio.sleep), self.time, loop.time)
        self.port = FirstWrites(paced, loop, {}, Counter())
        account = IbmAccount(self.cloud.settings.api_key, BASE, self.time, mount=SimMount(self.cloud), port=self.port)
        accounts = OneAccount(Binding(account, PowerVSClusterAdapter(account.facts_reader())))
        self.reconciler = Reconciler(POWERVS_CLUSTER, accounts, HeldRing(prepared.ring), self.time, Events())
        self.objects = [herd.stored(raw, self.time.now) for raw in prepared.objects]
        for each, raw in zip(self.objects, prepared.objects, strict=True):
            each.raw["metadata"]["generation"] = raw["metadata"]["generation"]
        self.objects += [named(self.time.now, CLUSTERS + number) for number in range(work)]
        for stored in self.objects[CLUSTERS - DELETED : CLUSTERS] if work else ():
            stored.delete()
        self.looked: dict[int, float] = {}
        self.queue: WorkQueue[int] = WorkQueue(self.time, backlog_workers=workers // 4)
        self.workers = [asyncio.ensure_future(self._work()) for _ in range(workers)]
        for index, stored in enumerate(self.objects):
            listed = ObjectChange(key_of(stored.raw), None, stored.raw, Origin.LIST)
            self.queue.add(index, choose_priority(listed))

    async def _work(self) -> None:
        around = ClusterContext(ClusterApiMode.OFF)
        while (index := await self.queue.get()) is not None:
            stored = self.objects[index]
            result = await self.reconciler.reconcile(MemoryDocument(stored), around)
            if isinstance(result, RequeueAfter):
                priority = Priority.BACKLOG if result.at_rest else Priority.LIVE
                self.queue.add_after(index, result.seconds, priority)
            self.looked.setdefault(index, self.loop.time())
            self.queue.finish(index)

    async def look_at_all(self) -> float:
        """Wait until each object had its first pass; the seconds."""
        while len(self.looked) < len(self.objects):
            if self.loop.time() > LONGEST:
                raise AssertionError(f"{len(self.looked)} were looked at in an hour")
            await asyncio.sleep(1.0)
        for each in self.workers:
            each.cancel()
        self.queue.close()
        await asyncio.gather(*self.workers, return_exceptions=True)
        return max(self.looked.values())

    def first_writes(self, first: int, number: int) -> float:
        """Return when the last of these had its first change sent."""
        of = [each.raw["metadata"]["name"] for each in self.objects[first : first + number]]
        found = {sender.rpartition("/")[2]: at for sender, at in self.port.at.items()}
        return max(found.get(name, LONGEST) for name in of)


def _restart(**options: Any) -> tuple[Restarted, float]:
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)

    async def run() -> tuple[Restarted, float]:
        operator = Restarted(loop, **options)
        return operator, await operator.look_at_all()

    try:
        return loop.run_until_complete(run())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def measure() -> Iterator[Row]:
    operator, _ = _restart()
    how = f"{CLUSTERS} clusters, {DELETED} of them being deleted, and {NEW} new ones, which the API server lists last"
    new, deleted = operator.first_writes(CLUSTERS, NEW), operator.first_writes(CLUSTERS - DELETED, DELETED)
    for name, at in (("create", new), ("delete", deleted)):
        unit = f"s after a restart until the last {name} is sent"
        yield Row(f"powervs.restart.{name}", round(at, 1), unit, SOON, "", f"target of this project. {how}")
    alone = f"{CLUSTERS} clusters at rest"
    operator, seconds = _restart(work=0)
    api, calls = operator.port.asked.most_common(1)[0]
    unit = f"s until {CLUSTERS} clusters are looked at after a restart"
    why = f"{alone}; {calls} calls of {api}, the busiest API, 10 a second"
    yield Row("powervs.restart.looks", round(seconds), unit, source=why)
    _, seconds = _restart(work=0, workers=4 * OperatorSettings.workers)
    yield Row("powervs.restart.looks.workers", round(seconds), f"{unit}, four times the workers", source=alone)
    _, seconds = _restart(work=0, rate=40.0)
    yield Row("powervs.restart.looks.rate", round(seconds), f"{unit}, four times the calls a second", source=alone)
