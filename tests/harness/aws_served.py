"""One AWSCluster, served on a simulated account: the operator's own reconcile and plan, in virtual time, inline."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from freehold.api import names
from freehold.controllers.controller import RequeueAfter
from freehold.controllers.plan.planner import Plan, plan_with_accounts
from freehold.controllers.reconciler import Reconciler
from freehold.engine.clock import ManualClock
from freehold.engine.interface import Intervals
from freehold.engine.port import InlinePort
from freehold.kube import errors as kube
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.access.accounts import KnownAccounts
from freehold.providers.access.audit import NoAudit
from freehold.providers.aws.accounts import AwsAccounts
from freehold.providers.aws.cluster.adapter import AWSClusterAdapter
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.identities import Identity, StaticKeys
from freehold.providers.aws.identity_objects import StoredIdentities
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext
from freehold_sim.aws.settings import Settings
from harness.aws_account import REGION, AwsAccount
from harness.aws_clients import SharingCloud
from harness.powervs import Events, HeldRing, MemoryDocument, StoredObject
from harness.simulated_aws import KEY

OWN = StaticKeys(KEY, "secret of the test", origin="the operator's own AWS credentials")
SECRETS_IN = "operators-own"


class Stored:
    """What an API server has besides the cluster, by kind and key."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, Key], Json] = {}

    async def get(self, resource: Resource, key: Key) -> Json:
        if (resource.kind, key) not in self.objects:
            raise kube.ObjectNotFound(f"no {resource} {key}")
        return copy.deepcopy(self.objects[resource.kind, key])

    def put(self, kind: str, name: str, spec: Json) -> None:
        self.objects[kind, Key("", name)] = {"kind": kind, "metadata": {"name": name}, "spec": spec}


class ServedAws:
    """A simulated account, one object, one operator process. ``own``: the operator's own credentials."""

    def __init__(self, *, settings: Settings | None = None, own: Identity = OWN, **spec: Any) -> None:
        self.sim = AwsAccount(settings)
        self.clock = ManualClock(self.sim.clock.now())
        self.stored = Stored()
        self.own = own
        self.events, self.rings = Events(), HeldRing()
        self.around = ClusterContext(ClusterApiMode.OFF)
        manifest = {
            "apiVersion": f"{AWS_CLUSTER.group}/{AWS_CLUSTER.version}",
            "kind": AWS_CLUSTER.kind,
            "metadata": {"name": "demo", "namespace": "team-a"},
            "spec": {"region": REGION, **spec},
        }
        self.object = StoredObject(manifest, self.clock.now)
        self.worst: set[str] = set()
        """The states that the rows of the status have had."""
        self.start_process()

    def start_process(self) -> None:
        """A new operator process: everything in memory is lost."""
        self.process = Reconciler(AWS_CLUSTER, self.accounts(), self.rings, self.clock, self.events, None)

    def accounts(self) -> KnownAccounts:
        cloud = SharingCloud(self.sim.cloud, self.clock, NoAudit(), Intervals(), port=InlinePort())
        identities = StoredIdentities(self.stored, SECRETS_IN, self.own)
        return AwsAccounts(cloud, identities, lambda account: AWSClusterAdapter(account.facts))

    def later(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.sim.clock.advance(seconds)

    async def once(self) -> float:
        """One reconcile; the seconds after which it wants the next one."""
        result = await self.process.reconcile(MemoryDocument(self.object), self.around)
        self.worst |= {row["state"] for row in self.rows()}
        return max(result.seconds, 0.1) if isinstance(result, RequeueAfter) else 60.0

    async def run(self, until: Callable[[], bool], hours: float = 2.0) -> None:
        """Reconciles in virtual time until ``until``. Fails after so many hours."""
        end = self.clock.now() + hours * 3600
        while not until():
            assert self.clock.now() < end, self.conditions()
            self.later(await self.once())

    async def up(self) -> None:
        await self.run(lambda: self.condition(names.READY)["status"] == "True")

    async def down(self) -> None:
        self.object.delete()
        await self.run(lambda: self.object.gone)

    async def plan(self, *, deleting: bool = False) -> Plan:
        """What another process, without memory, would do."""
        raw = copy.deepcopy(self.object.raw)
        if deleting:
            raw["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z"
        return await plan_with_accounts(AWS_CLUSTER, self.accounts(), self.clock, raw, self.rings.ring, self.around)

    def change(self, **spec: Any) -> None:
        self.object.patch({"spec": spec})

    # --- what can be seen ----------------------------------------------------------------------

    def status(self) -> Mapping[str, Any]:
        return self.object.raw.get("status") or {}

    def rows(self) -> list[Json]:
        return list(self.status().get("resources") or ())

    def condition(self, type_: str) -> Mapping[str, Any]:
        found = [each for each in self.status().get("conditions") or () if each["type"] == type_]
        return found[0] if found else {"status": "Unknown", "reason": "", "message": ""}

    def conditions(self) -> dict[str, str]:
        return {
            each["type"]: f"{each['status']} {each['reason']} {each.get('message', '')}"
            for each in self.status().get("conditions") or ()
        }
