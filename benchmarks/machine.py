"""Calls of AWSMachines: a worker, a control-plane machine, at rest, twenty and a hundred at once, and their Secrets.

The whole reconcile on the simulated AWS in virtual time, by an operator process that knows the account. Many at once
have the operator's queue, workers and rate limits, and each call takes a tenth of a second.
"""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.rows import Explained, Row
from freehold.api import names
from freehold.controllers.controller import RequeueAfter
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.settings import Settings as OperatorSettings
from freehold.controllers.workqueue import Priority, WorkQueue
from freehold.providers.access.accounts import Accounts, Binding, OneAccount
from freehold.providers.access.limits import Limits
from freehold.providers.access.ports import PacedPort
from freehold.providers.aws.accounts import AwsAccount
from freehold.providers.aws.machine.adapter import AWSMachineAdapter
from freehold.providers.aws.machine.kind import AWS_MACHINE
from freehold.providers.objects.gate import Around, ClusterApiMode, ClusterContext
from freehold_sim.aws.cloud import SimulatedAWS
from harness.aws_account import REGION
from harness.aws_clients import SharedClients
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_machine import SIMULATED_IMAGE, MachineHarness, machine
from harness.loop_port import LoopPort
from harness.machine_secrets import Secrets
from harness.powervs import UID, Events, MemoryDocument, StoredObject
from harness.virtual_loop import LoopTime, VirtualLoop

TARGET = "target of this project"
CAPA = "CAPA's code, read: DescribeInstances, DescribeNetworkInterfaces and, behind an NLB, three reads more a resync"
HOURS, ROUND = 6, 540.0
PASSES = HOURS * 3600.0 / ROUND
MANY, BURST = 100, 20
SHARED = frozenset({
    "ec2.DescribeVpcs", "ec2.DescribeSubnets", "ec2.DescribeRouteTables", "ec2.DescribeAvailabilityZones",
    "ec2.DescribeInstanceTypes", "resourcegroupstaggingapi.GetResources",
})  # fmt: skip
"""Reads that are made once for all machines: of the network, of the type, and the look at all that has our marks."""
LOOK = "elbv2.DescribeTargetHealth"
INSTANCES = "ec2.DescribeInstances"
THROTTLED = 503
DELETE = Explained(
    5,
    "proof that the instance is ours, TerminateInstances, a read that it has gone, and before the finalizer goes one "
    "read of instances and one of secrets: has a create whose reply was lost made another one? The journal may have "
    "been rolled back, so that the record alone is no answer",
)
DRAINED = Explained(
    8,
    f"{DELETE.most:g} of a worker, DeregisterTargets, a read whether the target has gone, and the proof that is read "
    "again after the wait for its connections: an earlier one is too old to delete by",
)
HEALTH = Explained(
    1, "the health of its target, which is in no list; a control-plane machine alone has one, so three a cluster"
)


class Machine(MachineHarness):
    """One machine, served by the operator that serves its cluster."""

    def __init__(self, stage: AwsHarness, manifest: dict[str, Any]) -> None:
        self._served_by = stage
        self.reader = Secrets()  # type: ignore[assignment]  # it is only read
        super().__init__(stage, manifest)

    def new_accounts(self) -> Accounts:
        self.account = self._served_by.account
        return OneAccount(Binding(self.account, AWSMachineAdapter(self.account.machine_facts)))


@dataclass(frozen=True)
class Life:
    """Calls from create to running, then to a healthy target, at rest for HOURS, and from the delete to gone."""

    create: Counter[str]
    settle: Counter[str]
    rest: Counter[str]
    delete: Counter[str]


def measure() -> Iterator[Row]:
    worker = _life()
    yield from _alone("worker", worker, 4, DELETE)
    control_plane = _life(control_plane=True)
    yield from _alone("control_plane", control_plane, 6, DRAINED)
    unit = "looks until its target is healthy, after it runs"
    yield Row("machine.control_plane.health.calls", control_plane.settle[LOOK], unit)
    own = control_plane.rest[LOOK] / PASSES
    yield Row(
        "machine.control_plane.idle.calls", round(own, 2), "calls a pass beside the shared look", 0, "5", CAPA, HEALTH
    )
    yield from _secrets(worker, _life(bootstrap="boot"))
    yield from _together()


def _alone(name: str, life: Life, most: int, delete: Explained) -> Iterator[Row]:
    shared = life.create.total() - _own(life.create)
    yield Row(f"machine.{name}.create.calls", _own(life.create), "calls to running, of its own", most, source=TARGET)
    yield Row(f"machine.{name}.create.shared", shared, "reads, for all machines of five minutes")
    yield Row(f"machine.{name}.delete.calls", _own(life.delete), "calls, of its own", 4, "", TARGET, delete)


def _secrets(without: Life, with_secret: Life) -> Iterator[Row]:
    """Of bootstrap data in two secrets, which the machine has not taken."""
    for what in ("create", "delete"):
        calls = _own(getattr(with_secret, what)) - _own(getattr(without, what))
        yield Row(f"machine.secret.{what}.calls", calls, "calls of two secrets")
    more = (_own(with_secret.rest) - _own(without.rest)) / PASSES
    yield Row("machine.secret.idle.calls", round(more, 2), "calls a pass of two secrets, until the machine takes them")


def _own(asked: Counter[str]) -> int:
    """Calls without those that are made for all machines."""
    return asked.total() - sum(asked[each] for each in SHARED)


# -- one at a time --------------------------------------------------------------------------------------------


def _stage() -> AwsHarness:
    """A cluster with a network load balancer, at rest."""
    stage = AwsHarness(aws_cluster(controlPlaneLoadBalancer={"loadBalancerType": "nlb"}))
    stage.up()
    stage.for_a_while(2 * ROUND)
    return stage


def _manifest(name: str, *, control_plane: bool, bootstrap: str) -> dict[str, Any]:
    manifest = machine(ami={"id": SIMULATED_IMAGE}, sshKeyName="")
    metadata = manifest["metadata"]
    metadata["name"] = name
    metadata["annotations"][names.BOOTSTRAP_ANNOTATION] = bootstrap
    if control_plane:
        metadata["labels"][names.CONTROL_PLANE_LABEL] = ""
    return manifest


def _life(*, control_plane: bool = False, bootstrap: str = names.NO_BOOTSTRAP) -> Life:
    """Of the third machine of its sort: the operator has learned how long an instance takes."""
    stage = _stage()

    def made() -> Machine:
        name = f"m{len(stage.together)}"
        return Machine(stage, _manifest(name, control_plane=control_plane, bootstrap=bootstrap))

    def asked() -> Counter[str]:
        found = Counter(call.operation for call in stage.cloud.calls)
        stage.cloud.calls.clear()
        return found

    for _ in range(2):
        before = made()
        before.up()
        before.for_a_while(ROUND)
        before.down()
    one = made()
    stage.cloud.calls.clear()
    one.up()
    created = asked()
    one.for_a_while(2 * ROUND)
    settled = asked()
    one.for_a_while(HOURS * 3600.0)
    rested = asked()
    one.down()
    return Life(created, settled, rested, asked())


# -- many at once ---------------------------------------------------------------------------------------------


class Operator:
    """Queue, workers and reconciler of the operator, on the account of the cluster."""

    def __init__(self, loop: VirtualLoop, stage: AwsHarness, count: int) -> None:
        self.loop, self.time = loop, _LaterTime(loop, stage.clock.now())
        self.cloud = SimulatedAWS(self.time)
        self.cloud.world.data = copy.deepcopy(stage.cloud.world.data)
        port = PacedPort(LoopPort(), Limits(now=loop.time, pause=asyncio.sleep), self.time, loop.time)
        account = AwsAccount(SharedClients(self.cloud, REGION, wall=self.time.now), port, self.time, None, None)
        self.account = account
        accounts = OneAccount(Binding(account, AWSMachineAdapter(account.machine_facts)))
        self.around = ClusterContext(ClusterApiMode.OFF, around=Around(None, None, stage.object.raw))
        self.reconciler = Reconciler(AWS_MACHINE, accounts, stage.rings, self.time, Events())
        self.objects = [self._object(number) for number in range(count)]
        self.running: dict[int, float] = {}
        workers = OperatorSettings.workers
        self.queue: WorkQueue[int] = WorkQueue(self.time, backlog_workers=workers // 4)
        self.workers = [asyncio.ensure_future(self._work()) for _ in range(workers)]

    def _object(self, number: int) -> StoredObject:
        manifest = _manifest(f"many-{number:03d}", control_plane=False, bootstrap=names.NO_BOOTSTRAP)
        return StoredObject(manifest, self.time.now, f"{number:08d}{UID[8:]}")

    async def _work(self) -> None:
        while (index := await self.queue.get()) is not None:
            stored = self.objects[index]
            result = await self.reconciler.reconcile(MemoryDocument(stored), self.around)
            if isinstance(result, RequeueAfter):
                priority = Priority.BACKLOG if result.at_rest else Priority.LIVE
                self.queue.add_after(index, result.seconds, priority)
            if (stored.raw.get("status") or {}).get("ready"):
                self.running.setdefault(index, self.loop.time())
            self.queue.finish(index)

    async def up(self) -> None:
        await self.account.read_account()  # it serves the cluster
        self.cloud.calls.clear()
        for index in range(len(self.objects)):
            self.queue.add(index)
        while len(self.running) < len(self.objects):
            if self.loop.time() > 3600.0:
                raise AssertionError(f"{len(self.running)} run after an hour")
            await asyncio.sleep(1.0)

    async def stop(self) -> None:
        for each in self.workers:
            each.cancel()
        self.queue.close()
        await asyncio.gather(*self.workers, return_exceptions=True)


class _LaterTime(LoopTime):
    """The loop's time, which goes on from another clock's."""

    def __init__(self, loop: VirtualLoop, start: float) -> None:
        super().__init__(loop)
        self.START = start


@dataclass(frozen=True)
class Many:
    """Seconds until all run, calls until then, and in an hour at rest; refusals by request limits."""

    seconds: float
    create: Counter[str]
    rest: Counter[str]
    refused: int


async def _many(loop: VirtualLoop, stage: AwsHarness, count: int) -> Many:
    operator = Operator(loop, stage, count)
    await operator.up()
    made = list(operator.cloud.calls)
    await asyncio.sleep(2 * ROUND)
    begun = len(operator.cloud.calls)
    await asyncio.sleep(HOURS * 3600.0)
    rest = Counter(call.operation for call in operator.cloud.calls[begun:])
    await operator.stop()
    refused = sum(call.status == THROTTLED for call in made)
    return Many(max(operator.running.values()), Counter(call.operation for call in made), rest, refused)


def _run(stage: AwsHarness, count: int) -> Many:
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(_many(loop, stage, count))
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _together() -> Iterator[Row]:
    stage = _stage()
    burst, many, one = (_run(stage, count) for count in (BURST, MANY, 1))
    yield Row(f"machine.of_{BURST}.time", round(burst.seconds), f"s until {BURST} run", 60, source=TARGET)
    yield Row(f"machine.of_{BURST}.refused", burst.refused, "calls refused by request limits", 0, source=TARGET)
    each = f"calls a machine, {MANY} of one cluster"
    yield Row(f"machine.of_{MANY}.calls", round(many.create.total() / MANY, 2), each, 2.5, source=TARGET)
    yield Row(f"machine.of_{MANY}.time", round(many.seconds), f"s until {MANY} run")
    yield Row(f"machine.of_{MANY}.refused", many.refused, "calls refused by request limits", 0, source=TARGET)
    reads = many.create[INSTANCES]
    yield Row(f"machine.of_{MANY}.reads", reads, "reads of instances until all run, by page", MANY // 2, source=TARGET)
    more = (many.rest.total() - one.rest.total()) / (MANY - 1) / PASSES
    unit = "calls a pass beside the shared look"
    yield Row("machine.worker.idle.calls", round(max(more, 0.0), 2), unit, 0, "2", CAPA)
