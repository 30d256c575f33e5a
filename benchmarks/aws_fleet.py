"""AWSClusters on the simulated AWS in virtual time, with the operator's own account and adapter, one call a time.

Each call of an object is kept with the phase of the engine that made it: ``python -m benchmarks.aws_calls`` tells why.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from freehold.api.feature_gates import FeatureGate
from freehold.engine.clock import ManualClock
from freehold.engine.engine import ensure, release
from freehold.engine.interface import PassResult
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Ready
from freehold.engine.ownership import Owner
from freehold.engine.port import Call, Effect, InlinePort
from freehold.engine.state import ObjectState
from freehold.kube.stepping import run_blocking
from freehold.providers.aws.accounts import AwsAccount, AwsCloud
from freehold.providers.aws.cluster.adapter import AWSClusterAdapter
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.facts_reader import AwsFactsReader
from freehold.providers.aws.facts import AwsFacts
from freehold.providers.aws.identity_objects import DEFAULT
from freehold.providers.objects.gate import Proceed
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.aws.settings import Delays, Quotas, Settings
from freehold_sim.clock import VirtualClock
from freehold_sim.mount import mount_client
from harness.aws_account import KEYS, REGION

ROOM = Quotas(
    vpcs=100, internet_gateways=100, egress_only_gateways=100, addresses=1000, nat_gateways_per_zone=100,
    classic_balancers=100, balancers=100,
)  # fmt: skip
Spec = Mapping[str, Any]
_ENGINE = str(Path("freehold") / "engine")


@dataclass(frozen=True)
class Asked:
    """A call, when it was made (seconds since the first), and the step of the engine that made it."""

    call: Call
    at: float
    phase: str

    @property
    def is_write(self) -> bool:
        return self.call.effect is Effect.WRITE

    @property
    def operation(self) -> str:
        return f"{self.call.api}.{self.call.operation}"


@dataclass
class TellingPort(InlinePort):
    """Keeps the calls to the cloud."""

    clock: ManualClock
    asked: list[Asked] = field(default_factory=list)

    async def send(self, call: Call) -> Any:
        if call.effect is not Effect.STORE:
            self.asked.append(Asked(call, self.clock.monotonic(), _phase()))
        return await super().send(call)


def _phase() -> str:
    """The innermost step of the engine on the stack: ``observe.recorded``; else the file that asked."""
    frame = sys._getframe(2)
    found, other = "", ""
    while frame is not None and not found:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if str(Path(_ENGINE) / "phases") in file and not name.startswith("<"):
            found = f"{Path(file).stem}.{name}"
        elif "freehold" in file and Path(file).stem in ("discover", "shared_lists", "inventory"):
            other = other or f"{Path(file).stem}.{name}"
        frame = frame.f_back  # type: ignore[assignment]  # our own frames are above it
    return other or found


class Store:
    """Of an object: the pass itself passes the journal on."""

    async def save(self, journal: Journal) -> None:
        return None


@dataclass
class Cluster:
    """One object as the operator serves it, and what the process remembers of it."""

    fleet: Fleet
    raw: dict[str, Any]
    journal: Journal
    state: ObjectState
    due: float = 0.0
    is_up: bool = False

    @property
    def kinds(self) -> frozenset[str]:
        """Of what it owns."""
        return frozenset(key.kind for key in self.journal.claimed)

    def reconcile(self, *, deleting: bool = False) -> PassResult:
        """One pass, as the operator's reconciler makes it."""
        return run_blocking(self._reconcile(deleting=deleting))

    async def _reconcile(self, *, deleting: bool) -> PassResult:
        fleet = self.fleet
        plan = await fleet.adapter.find_desired(self.raw, Proceed(self.raw["metadata"]["name"]), self.journal)
        assert isinstance(plan, AWSWanted), plan
        deps = fleet.account.build_deps(self.raw["metadata"]["name"], fleet.ring, self.journal.owner.uuid)
        if self.journal.account == "":
            self.journal = replace(self.journal, account=await fleet.account.read_account())
        run = release if deleting else ensure
        done = await run(deps, plan.graph, self.journal, Store(), self.state)
        self.journal = done.journal
        self.due = fleet.clock.monotonic() + max(done.after, 0.1)
        self.is_up = plan.graph.nodes.keys() <= {k for k, o in done.outcomes.items() if isinstance(o, Ready)}
        return done


class Fleet:
    """An account with clusters in it, and one operator process."""

    def __init__(self, delays: Delays | None = None) -> None:
        self.settings = Settings(delays=delays or Delays(), quotas=ROOM, limits={})
        self.simulated = VirtualClock()
        self.cloud = SimulatedAWS(self.simulated, self.settings)
        self.clock = ManualClock(self.simulated.now())
        self.port = TellingPort(self.clock)
        served = AwsCloud(None, self.clock, mount=lambda client: mount_client(client, self.cloud), port=self.port)
        self.account: AwsAccount = served.account(DEFAULT, KEYS, REGION)
        facts = AwsFactsReader(AwsFacts(self.account.client, self.account.tags, self.clock))
        self.adapter = AWSClusterAdapter(facts, frozenset({FeatureGate.BOOTSTRAP_FORMAT_IGNITION}))
        self.ring = KeyRing.single(b"k" * 32)
        self.made = 0

    def cluster(self, spec: Spec) -> Cluster:
        self.made += 1
        name = f"cluster-{self.made:03d}"
        owner = Owner(f"00000000-0000-4000-8000-{self.made:012d}", "AWSCluster", "default", name)
        raw = {"metadata": {"name": name, "namespace": "default"}, "spec": {"region": REGION, **spec}}
        state = ObjectState(first_seen=self.clock.monotonic(), identity_is_new=True)
        return Cluster(self, raw, Journal(owner, key=self.ring.writing), state)

    def later(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.simulated.advance(seconds)

    @contextmanager
    def watched(self) -> Iterator[list[Asked]]:
        """What is asked meanwhile."""
        found: list[Asked] = []
        before = len(self.port.asked)
        yield found
        found += self.port.asked[before:]

    def up(self, cluster: Cluster, hours: float = 2.0) -> float:
        """Seconds until the object is Ready; then on until it is at rest."""
        begun, ready = self.clock.monotonic(), 0.0
        while self.clock.monotonic() - begun < hours * 3600.0:
            done = cluster.reconcile()
            if cluster.is_up and not ready:
                ready = self.clock.monotonic() - begun
            if cluster.is_up and done.at_rest:
                return ready
            self.later(max(done.after, 0.1))
        raise AssertionError({str(key): outcome for key, outcome in done.outcomes.items()})

    def down(self, cluster: Cluster, hours: float = 2.0) -> float:
        """Seconds until nothing is left."""
        begun = self.clock.monotonic()
        while self.clock.monotonic() - begun < hours * 3600.0:
            done = cluster.reconcile(deleting=True)
            if done.released:
                self.account.forget(cluster.raw["metadata"]["name"])
                return self.clock.monotonic() - begun
            self.later(max(done.after, 0.1))
        raise AssertionError({str(key): outcome for key, outcome in done.outcomes.items()})

    def for_a_while(self, clusters: list[Cluster], seconds: float) -> None:
        """Passes of clusters at rest, each at its time."""
        until = self.clock.monotonic() + seconds
        while (first := min(clusters, key=lambda each: each.due)).due <= until:
            self.later(max(0.0, first.due - self.clock.monotonic()))
            first.reconcile()
        self.later(max(0.0, until - self.clock.monotonic()))
