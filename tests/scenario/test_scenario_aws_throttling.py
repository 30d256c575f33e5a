"""AWSClusters are created at once in an account that refuses for rate: all get there, nobody starves, none twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from freehold.api import names
from freehold.controllers.controller import RequeueAfter
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.settings import Settings as OperatorSettings
from freehold.controllers.workqueue import Priority, WorkQueue
from freehold.engine.keyed_codec import NODE, OWNER
from freehold.providers.access.accounts import Binding, OneAccount
from freehold.providers.access.limits import Limits
from freehold.providers.access.ports import PacedPort
from freehold.providers.aws.accounts import AwsAccount
from freehold.providers.aws.cluster.adapter import AWSClusterAdapter
from freehold.providers.aws.cluster.facts_reader import AwsFactsReader
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.facts import AwsFacts
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.settings import Quotas, Settings
from harness.aws_account import REGION
from harness.aws_clients import SharedClients
from harness.aws_cluster import aws_cluster
from harness.loop_port import LoopPort, Waits
from harness.powervs import UID, Events, HeldRing, MemoryDocument, StoredObject
from harness.virtual_loop import LoopTime, VirtualLoop
from lab.aws import ONE_ZONE

CLUSTERS = 20
RESOURCES, GROUPS = 13, 4
"""Of a cluster in one zone. Security groups are what most creates of one operation are for."""
ROOM = Quotas(
    vpcs=100, internet_gateways=100, addresses=100, nat_gateways_per_zone=100, classic_balancers=100,
    security_groups=1000,
)  # fmt: skip
LIMITS = {"ec2.Describe*": (10.0, 2.0), "resourcegroupstaggingapi.*": (5.0, 0.5), "*": (5.0, 0.3)}
"""A tenth of what AWS documents and less, so that the operator's own limits do not keep it from being refused."""


class Operator:
    """Queue, workers and reconciler of the operator on one simulated account."""

    def __init__(self, loop: VirtualLoop, clusters: int) -> None:
        self.loop, self.time = loop, LoopTime(loop)
        self.cloud = SimulatedAWS(self.time, Settings(quotas=ROOM, limits=LIMITS))
        paced = PacedPort(LoopPort(), Limits(now=loop.time, pause=asyncio.sleep), self.time, loop.time)
        self.port = Waits(paced, loop)
        session = SharedClients(self.cloud, REGION, wall=self.time.now)
        account = AwsAccount(session, self.port, self.time, None, None)
        facts = AwsFactsReader(AwsFacts(account.client, account.tags, self.time))
        accounts = OneAccount(Binding(account, AWSClusterAdapter(facts)))
        self.reconciler = Reconciler(AWS_CLUSTER, accounts, HeldRing(), self.time, Events())
        self.objects = [self._object(number) for number in range(clusters)]
        self.due: dict[int, float] = {}
        self.ready: dict[int, float] = {}
        workers = OperatorSettings.workers
        self.queue: WorkQueue[int] = WorkQueue(self.time, backlog_workers=workers // 4)
        self.workers = [asyncio.ensure_future(self._work()) for _ in range(workers)]

    def _object(self, number: int) -> StoredObject:
        manifest = aws_cluster(**ONE_ZONE)
        manifest["metadata"]["name"] = f"demo-{number:02d}"
        return StoredObject(manifest, self.time.now, f"{number:08d}{UID[8:]}")

    async def _work(self) -> None:
        around = ClusterContext(ClusterApiMode.OFF)
        while (index := await self.queue.get()) is not None:
            stored = self.objects[index]
            subject = f"AWSCluster default/{stored.raw['metadata']['name']}"
            self.port.wants(subject, self.due.pop(index, self.loop.time()))
            result = await self.reconciler.reconcile(MemoryDocument(stored), around)
            if isinstance(result, RequeueAfter):
                priority = Priority.BACKLOG if result.at_rest else Priority.LIVE
                self.queue.add_after(index, result.seconds, priority)
                self.due[index] = self.loop.time() + result.seconds
            if (stored.raw.get("status") or {}).get("ready"):
                self.ready.setdefault(index, self.loop.time())
            self.queue.finish(index)

    async def up(self, hours: float) -> None:
        """All objects at once, until each is Ready."""
        for index in range(len(self.objects)):
            self.queue.add(index)
        while len(self.ready) < len(self.objects):
            assert self.loop.time() < hours * 3600.0, f"{len(self.ready)} are ready: {self._waiting()}"
            await asyncio.sleep(5.0)
        for worker in self.workers:
            worker.cancel()
        self.queue.close()
        await asyncio.gather(*self.workers, return_exceptions=True)

    def _waiting(self) -> list[Any]:
        left = [stored for index, stored in enumerate(self.objects) if index not in self.ready]
        found = [each for stored in left for each in (stored.raw.get("status") or {}).get("conditions", [])]
        return [each["message"] for each in found if each["type"] == names.READY][:3]


def _up(clusters: int) -> Operator:
    loop = VirtualLoop()

    async def run() -> Operator:
        operator = Operator(loop, clusters)
        await operator.up(hours=4.0)
        return operator

    try:
        return loop.run_until_complete(run())
    finally:
        loop.close()


def _refused(operator: Operator) -> int:
    return sum(call.status != 200 for call in operator.cloud.calls)


def test_all_are_ready_each_resource_once_and_nobody_starves() -> None:
    """A livelock would be calls without end; a pass that begins anew after each refusal would spend them on reads."""
    alone, many = _up(1), _up(CLUSTERS)
    assert _refused(many) > 100 + CLUSTERS * _refused(alone), "the account refuses for rate"
    nodes = Counter((row["tags"][OWNER], row["tags"][NODE]) for row in many.cloud.resources() if NODE in row["tags"])
    assert len(nodes) == CLUSTERS * RESOURCES and set(nodes.values()) == {1}
    answered = len(many.cloud.calls) - _refused(many)
    assert answered <= 1.5 * CLUSTERS * len(alone.cloud.calls)
    assert _refused(many) <= answered / 2
    burst, rate = LIMITS["*"]
    least = (CLUSTERS * GROUPS - burst) / rate
    assert max(many.ready.values()) <= 1.6 * least, "the limit itself is what takes the time"
    assert many.port.longest <= least / 2, "an object that has something to do gets a call through"
