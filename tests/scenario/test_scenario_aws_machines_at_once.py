"""Many machines of one cluster applied at once: the operator's queue, workers, limits and reconciler in virtual time.

Each call takes a tenth of a second, and the simulated AWS refuses by the rates that AWS documents.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from freehold.controllers.controller import RequeueAfter
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.settings import Settings as OperatorSettings
from freehold.controllers.workqueue import Priority, WorkQueue
from freehold.providers.access.audit import NoAudit
from freehold.providers.access.limits import Limits
from freehold.providers.access.ports import PacedPort
from freehold.providers.aws.accounts import AwsAccounts
from freehold.providers.aws.identity_objects import StoredIdentities
from freehold.providers.aws.machine.adapter import AWSMachineAdapter
from freehold.providers.aws.machine.kind import AWS_MACHINE
from freehold.providers.objects.gate import Around, ClusterApiMode, ClusterContext
from freehold_sim.aws.cloud import SimulatedAWS
from harness.aws_clients import KEYS, SharingCloud
from harness.aws_machines import NETWORK, Machines, ready_cluster
from harness.loop_port import LoopPort
from harness.powervs import Events, MemoryDocument
from harness.virtual_loop import LoopTime, VirtualLoop

RUN = "ec2.RunInstances"


class Operator:
    """The operator with ``count`` new machines in the world of a cluster that is ready."""

    def __init__(self, loop: VirtualLoop, count: int) -> None:
        self.loop, time = loop, LoopTime(loop)
        machines = Machines(ready_cluster(NETWORK))
        cluster = machines.cluster
        self.cloud = SimulatedAWS(time)
        self.cloud.world.data = cluster.cloud.world.data
        self.objects = [machines.add(f"m{number}", control_plane=number < 3).object for number in range(count)]
        paced = PacedPort(LoopPort(), Limits(now=loop.time, pause=asyncio.sleep), time, loop.time)
        aws = SharingCloud(self.cloud, time, NoAudit(), port=paced)
        identities = StoredIdentities(machines.reader, "operators-own", KEYS)
        accounts = AwsAccounts(aws, identities, lambda account: AWSMachineAdapter(account.machine_facts))
        self.reconciler = Reconciler(AWS_MACHINE, accounts, cluster.rings, time, Events(), reader=machines.reader)
        self.around = ClusterContext(ClusterApiMode.OFF, around=Around(parent=cluster.object.raw))
        self.queue: WorkQueue[int] = WorkQueue(time)
        self.ready: set[int] = set()

    async def _work(self) -> None:
        while (index := await self.queue.get()) is not None:
            stored = self.objects[index]
            result = await self.reconciler.reconcile(MemoryDocument(stored), self.around)
            if isinstance(result, RequeueAfter):
                priority = Priority.BACKLOG if result.at_rest else Priority.LIVE
                self.queue.add_after(index, result.seconds, priority)
            if (stored.raw.get("status") or {}).get("ready"):
                self.ready.add(index)
            self.queue.finish(index)

    async def up(self) -> float:
        """Apply all machines at once; the seconds until each is ready."""
        await asyncio.sleep(1000.0)  # of the loop's virtual time: the cluster took some
        begun = self.loop.time()
        workers = [asyncio.ensure_future(self._work()) for _ in range(OperatorSettings.workers)]
        for index in range(len(self.objects)):
            self.queue.add(index)
        while len(self.ready) < len(self.objects):
            assert self.loop.time() - begun < 3600.0, f"only {len(self.ready)} are ready"
            await asyncio.sleep(1.0)
        took = self.loop.time() - begun
        for worker in workers:
            worker.cancel()
        self.queue.close()
        await asyncio.gather(*workers, return_exceptions=True)
        return took


def up(count: int) -> tuple[Operator, float]:
    loop = VirtualLoop()

    async def run() -> tuple[Operator, float]:
        operator = Operator(loop, count)
        return operator, await operator.up()

    try:
        return loop.run_until_complete(run())
    finally:
        loop.close()


def test_a_hundred_machines_at_once_cost_two_calls_and_a_half_each_and_none_is_refused() -> None:
    count = 100
    operator, took = up(count)
    sent = Counter(call.operation for call in operator.cloud.calls if call.actor == "api")
    assert [call.operation for call in operator.cloud.calls if call.status != 200] == []
    made = [row for row in operator.cloud.resources() if row["kind"] == "instance"]
    assert sent[RUN] == len(made) == count
    assert sent["sts.GetCallerIdentity"] == 1
    assert sent["ec2.DescribeInstances"] <= 10, "by page, not by machine"
    assert sent.total() <= 2.5 * count, sent
    assert took <= count / 2 + 40, "2 a second, 20 s until one runs, and its next look"
