"""Calls, time, Secrets and memory of AWSManagedControlPlanes: an operator's first, its third, and a hundred at once.

The whole reconcile on the simulated AWS in virtual time. What the network of a control plane costs is what the rows
``aws.*`` are about: it is measured here by an AWSCluster without load balancer, and taken off.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import tracemalloc
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import yaml

from benchmarks.rows import Explained, Row
from freehold.controllers.controller import RequeueAfter
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.secret_writer import SecretWriter
from freehold.controllers.settings import Settings as OperatorSettings
from freehold.controllers.workqueue import Priority, WorkQueue
from freehold.kube.resources import Key
from freehold.providers.access.accounts import Accounts, Binding, OneAccount
from freehold.providers.access.limits import Limits
from freehold.providers.access.ports import PacedPort
from freehold.providers.aws.accounts import AwsAccount
from freehold.providers.aws.cluster.adapter import AWSClusterAdapter
from freehold.providers.aws.control_plane.adapter import AWSManagedControlPlaneAdapter
from freehold.providers.aws.control_plane.cluster_source import AwsClusterSource
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.settings import Delays, Quotas, Settings
from harness.aws_account import REGION
from harness.aws_clients import SharedClients
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_control_plane import OWN_ROLE, ControlPlaneHarness, control_plane
from harness.loop_port import LoopPort
from harness.powervs import UID, Events, HeldRing, MemoryDocument, StoredObject
from harness.stored_objects import MemoryObjects
from harness.virtual_loop import LoopTime, VirtualLoop

TARGET = "target of this project"
HOURS, ROUND = 6, 540.0
MANY, WEIGHED = 100, 20
ADDON = {"name": "vpc-cni", "version": "v1.20.4-eksbuild.2"}
FULL: dict[str, Any] = {"associateOIDCProvider": True, "addons": [ADDON]}
"""Beside the role, the cluster and the entry of its nodes, which each has: an OIDC provider and an add-on."""
ROOM = Quotas(
    vpcs=2 * MANY, internet_gateways=2 * MANY, addresses=6 * MANY, nat_gateways_per_zone=2 * MANY, clusters=2 * MANY
)
DELAYS = Delays()
CHAIN = "× critical path"
DESCRIBE = "eks.DescribeCluster"
SERVICES = ("eks.", "iam.", "sts.")
PASSES = HOURS * 3600.0 / ROUND
THROTTLED = 503
OWN_LINES = str(Path(__file__).parents[1] / "src" / "freehold" / "*")
CREATE = DELAYS.create_vpc + DELAYS.create_cluster + DELAYS.create_addon
"""NAT gateways come while EKS makes the cluster."""
DELETE = DELAYS.delete_addon + DELAYS.delete_cluster + DELAYS.delete_nat_gateway
"""The next begins when the one before has gone."""


class ControlPlane(ControlPlaneHarness):
    """One control plane of an operator that has served those before it, in one account."""

    def __init__(self, before: AwsHarness | None = None) -> None:
        self._before = before
        manifest = control_plane(**FULL)
        manifest["metadata"]["name"] = f"c{len(before.together) if before else 0}"
        super().__init__(manifest, settings=Settings(quotas=ROOM), beside=before, gates=OWN_ROLE)

    def new_accounts(self) -> Accounts:
        if self._before is None:
            return super().new_accounts()
        self.account = self._before.account
        return OneAccount(Binding(self.account, _adapter(self.account)))


def _adapter(account: AwsAccount) -> AWSManagedControlPlaneAdapter:
    clusters = AwsClusterSource(account.client, account)
    return AWSManagedControlPlaneAdapter(account.facts, account.control_plane_facts, clusters, OWN_ROLE)


class Network(AwsHarness):
    """The same of a cluster that is no more than such a network."""

    def __init__(self, before: AwsHarness | None = None) -> None:
        self._before = before
        endpoint = {"host": "10.0.0.1", "port": 6443}
        manifest = aws_cluster(controlPlaneLoadBalancer={"loadBalancerType": "disabled"}, controlPlaneEndpoint=endpoint)
        manifest["metadata"]["name"] = f"n{len(before.together) if before else 0}"
        super().__init__(manifest, Settings(quotas=ROOM), beside=before)

    def new_accounts(self) -> Accounts:
        if self._before is None:
            return super().new_accounts()
        self.account = self._before.account
        return OneAccount(Binding(self.account, AWSClusterAdapter(self.account.facts, self.gates)))


@dataclass(frozen=True)
class Life:
    """Calls and seconds to Ready, calls of HOURS at rest, of the passes that wrote a Secret, writes of Secrets, and
    calls and seconds to gone."""

    create: Counter[str]
    up: float
    rest: Counter[str]
    renewing: Counter[str]
    secrets: Counter[str]
    delete: Counter[str]
    down: float


def measure() -> Iterator[Row]:
    bare, first, third = _third(Network), _live(ControlPlane()), _third(ControlPlane)
    yield from _create(third, bare, first)
    yield from _rest(third, bare)
    yield from _delete(third, bare, first)
    yield from _run()


def _create(third: Life, bare: Life, first: Life) -> Iterator[Row]:
    own, network = _own(third.create), bare.create.total()
    polls, writes = third.create[DESCRIBE], sum(map(_is_write, _flat(own)))
    how = (
        f"{third.create.total()} in all, {network} of them the network's; of EKS, IAM and STS {own.total()}: {writes} "
        f"writes, {polls} DescribeCluster (the create, waits of {DELAYS.create_cluster:g} s and of its parts), "
        f"{own.total() - writes - polls} other reads, each a proof, a fact or the end of a wait"
    )
    yield Row(
        "eks.create.calls", third.create.total() - network, "calls beside the network's", 45, "", f"{TARGET}; {how}"
    )
    yield Row("eks.create.polls", polls, "DescribeCluster among them")
    yield Row("eks.create.time", round(third.up / CREATE, 3), CHAIN, 1.10, source=TARGET)
    yield Row("eks.first.create.calls", first.create.total() - network, "calls beside the network's, of the first", 45)
    yield Row("eks.first.create.time", round(first.up / CREATE, 3), f"{CHAIN}, of the first")


def _delete(third: Life, bare: Life, first: Life) -> Iterator[Row]:
    network = bare.delete.total()
    yield Row("eks.delete.calls", third.delete.total() - network, "calls beside the network's", 25, source=TARGET)
    yield Row("eks.delete.time", round(third.down / DELETE, 3), CHAIN, 1.10, source=TARGET)
    yield Row("eks.first.delete.time", round(first.down / DELETE, 3), f"{CHAIN}, of the first")


def _rest(third: Life, bare: Life) -> Iterator[Row]:
    reads = (third.rest.total() - bare.rest.total()) / PASSES
    unit = "reads a deep pass beside the network's"
    named = ", ".join(f"{number} {each}" for each, number in sorted(third.renewing.items()))
    facts = Explained(
        27,
        f"{named} in the {HOURS * 3600.0 / 450.0:.0f} passes that renew a token, none of them for the Secret: what "
        "an operator reads once for all its objects in whichever pass finds it old. The tag index is read in every "
        "second one, which comes long after a deep pass; facts every three hours",
    )
    yield Row(
        "eks.idle.renewing.calls", third.renewing.total(), f"calls of passes that renew a token, {HOURS} hours", 0, "",
        TARGET, facts,
    )  # fmt: skip
    yield Row("eks.idle.reads", round(reads, 2), unit, source=f"one of each of {len(_own(third.rest))}")
    writes = sum(map(_is_write, _flat(third.rest)))
    yield Row("eks.idle.writes", writes, f"calls in {HOURS} hours", 0, source=TARGET)
    renewals = HOURS * 3600.0 / (7 * 60.0)
    most = third.secrets[max(third.secrets, key=lambda each: third.secrets[each])]
    yield Row(
        "eks.idle.secrets", most / renewals, "writes of the Secret with the token, per 7 minutes", 1, source=TARGET
    )
    yield Row(
        "eks.idle.user_secrets", third.secrets.total() - most, f"writes of the other, {HOURS} hours", 0, source=TARGET
    )


def _own(asked: Counter[str]) -> Counter[str]:
    return Counter({name: count for name, count in asked.items() if name.startswith(SERVICES)})


def _flat(asked: Counter[str]) -> Iterator[str]:
    return asked.elements()


def _is_write(operation: str) -> bool:
    return not operation.partition(".")[2].startswith(("Describe", "Get", "List"))


# -- one at a time --------------------------------------------------------------------------------------------


def _third(made: type[ControlPlane] | type[Network]) -> Life:
    """Of the third by one operator, which has learned how long what takes."""
    first = made()
    _live(first)
    _live(made(first))
    return _live(made(first))


def _live(one: ControlPlane | Network) -> Life:
    def asked() -> Counter[str]:
        found = Counter(call.operation for call in one.cloud.calls)
        one.cloud.calls.clear()
        return found

    asked()
    up = one.up()
    created = asked()
    one.for_a_while(2 * ROUND)
    asked()
    written = one.secrets.written if isinstance(one, ControlPlane) else []
    written.clear()
    renewing, until = Counter[str](), one.clock.now() + HOURS * 3600.0
    while one.clock.now() < until:
        calls, secrets = len(one.cloud.calls), len(written)
        result = one.pass_once()
        sent = [call.operation for call in one.cloud.calls[calls:]]
        if len(written) > secrets and DESCRIBE not in sent:
            renewing += Counter(sent)
        one.clock.advance(result.seconds if isinstance(result, RequeueAfter) else 60.0)
    rest, secrets_written = asked(), Counter(written)
    down = one.down()
    return Life(created, up, rest, renewing, secrets_written, asked(), down)


# -- many at once ---------------------------------------------------------------------------------------------


class Operator:
    """Queue, workers and reconciler of the operator, on an account with the roles of ``clusterawsadm``."""

    def __init__(self, loop: VirtualLoop, count: int) -> None:
        self.loop, self.time = loop, LoopTime(loop)
        self.cloud = SimulatedAWS(self.time, Settings(quotas=ROOM))
        self.cloud.prepare()
        port = PacedPort(LoopPort(), Limits(now=loop.time, pause=asyncio.sleep), self.time, loop.time)
        account = AwsAccount(SharedClients(self.cloud, REGION, wall=self.time.now), port, self.time, None, None)
        accounts = OneAccount(Binding(account, _adapter(account)))
        self.secrets = MemoryObjects()
        self.reconciler = Reconciler(
            AWS_MANAGED_CONTROL_PLANE, accounts, HeldRing(), self.time, Events(),
            secrets=SecretWriter(self.secrets, self.time),
        )  # fmt: skip
        self.objects = [self._object(number) for number in range(count)]
        self.up: set[int] = set()
        workers = OperatorSettings.workers
        self.queue: WorkQueue[int] = WorkQueue(self.time, backlog_workers=workers // 4)
        self.workers = [asyncio.ensure_future(self._work()) for _ in range(workers)]

    def _object(self, number: int) -> StoredObject:
        manifest = control_plane()
        manifest["metadata"]["name"] = f"many-{number:03d}"
        return StoredObject(manifest, self.time.now, f"{number:08d}{UID[8:]}")

    async def _work(self) -> None:
        around = ClusterContext(ClusterApiMode.OFF)
        while (index := await self.queue.get()) is not None:
            stored = self.objects[index]
            result = await self.reconciler.reconcile(MemoryDocument(stored), around)
            if isinstance(result, RequeueAfter):
                self.queue.add_after(index, result.seconds, Priority.BACKLOG if result.at_rest else Priority.LIVE)
            if (stored.raw.get("status") or {}).get("initialized"):
                self.up.add(index)
            self.queue.finish(index)

    async def bring_up(self) -> None:
        for index in range(len(self.objects)):
            self.queue.add(index)
        while len(self.up) < len(self.objects):
            if self.loop.time() > 2 * 3600.0:
                raise AssertionError(f"{len(self.up)} are up after two hours")
            await asyncio.sleep(1.0)

    def oldest_token(self) -> float:
        """Return the age in seconds of the oldest one in a Secret."""
        return max(self.time.now() - _signed_at(each) for each in self._kubeconfigs())

    def _kubeconfigs(self) -> Iterator[str]:
        for each in self.objects:
            secret = self.secrets.objects["Secret", Key("default", f"{each.raw['metadata']['name']}-kubeconfig")]
            yield base64.b64decode(secret["data"]["value"]).decode()

    async def stop(self) -> None:
        for each in self.workers:
            each.cancel()
        self.queue.close()
        await asyncio.gather(*self.workers, return_exceptions=True)


@lru_cache(2 * MANY)
def _signed_at(kubeconfig: str) -> float:
    token = str(yaml.safe_load(kubeconfig)["users"][0]["user"]["token"]).removeprefix("k8s-aws-v1.")
    url = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    (date,) = parse_qs(urlsplit(url).query)["X-Amz-Date"]
    return datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()


async def _many(loop: VirtualLoop, count: int) -> tuple[float, float, int]:
    """Return the seconds until all are up, the age of the oldest token in hours at rest, and the calls refused."""
    operator = Operator(loop, count)
    await operator.bring_up()
    took, oldest, until = loop.time(), 0.0, loop.time() + HOURS * 3600.0
    refused = sum(call.status == THROTTLED for call in operator.cloud.calls)
    while loop.time() < until:
        oldest = max(oldest, operator.oldest_token())
        operator.cloud.calls.clear()
        await asyncio.sleep(20.0)
    await operator.stop()
    return took, oldest, refused


def _run() -> Iterator[Row]:
    took, oldest, refused = _on_a_loop(lambda loop: _many(loop, MANY))
    yield Row(f"eks.of_{MANY}.time", round(took), f"s until {MANY} run")
    yield Row(f"eks.of_{MANY}.refused", refused, "calls refused by request limits", 0, source=TARGET)
    yield Row(f"eks.of_{MANY}.token", round(oldest / 60.0, 1), "minutes, the oldest token", 14, source=TARGET)
    how = f"what lines of freehold hold more of {WEIGHED} control planes at rest than of one, an object"
    yield Row("eks.memory", round((_weighed(WEIGHED) - _weighed(1)) / (WEIGHED - 1) / 1024.0), "KiB", source=how)


def _weighed(count: int) -> float:
    """Return the bytes that lines of freehold have allocated and hold, of so many at rest."""
    tracemalloc.start()
    try:
        return _on_a_loop(lambda loop: _weigh(loop, count))
    finally:
        tracemalloc.stop()


async def _weigh(loop: VirtualLoop, count: int) -> float:
    operator = Operator(loop, count)
    await operator.bring_up()
    await asyncio.sleep(2 * ROUND)
    operator.cloud.calls.clear()
    gc.collect()
    held = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(inclusive=True, filename_pattern=OWN_LINES)])
    await operator.stop()
    return float(sum(each.size for each in held.traces))


T = TypeVar("T")


def _on_a_loop(act: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(act(loop))
    finally:
        asyncio.set_event_loop(None)
        loop.close()
