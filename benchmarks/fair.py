"""Few calls for many: 50 clusters being made and 5 deleted beside 500 idle ones, at two calls a second and API.

The operator's work queue, rate limits and reconciler, in virtual time; each call takes a tenth of a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from benchmarks import herd
from benchmarks.powervs import critical_create, critical_delete, named
from benchmarks.rows import Explained, Row
from freehold.controllers.controller import RequeueAfter
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.settings import Settings as OperatorSettings
from freehold.controllers.workqueue import Priority, WorkQueue
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
from harness.loop_port import LoopPort, Waits
from harness.powervs import Events, HeldRing, MemoryDocument, StoredObject
from harness.virtual_loop import LoopTime, VirtualLoop

MADE, DELETED, IDLE = 50, 5, 500
RATE = 2.0
STARVED = 60.0
TOGETHER = Explained(
    68,
    "the marks of all 50 become due at one moment, since they are looked at when their resources usually are ready: "
    "133 calls to attach them, 2 a second, take 66 s, and one object is the last",
)
LONGEST = 40_000.0


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
        around = ClusterContext(ClusterApiMode.OFF)
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
            self.queue.finish(index)


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
    wait = round(operator.port.longest)
    yield Row("powervs.fair.wait", wait, "s without a call, the longest", STARVED, "", how, TOGETHER)
    looks = sum(calls for (_, look), calls in sent.items() if look)
    yield Row("powervs.fair.looks", looks, "calls of looks meanwhile", None, "", how)
