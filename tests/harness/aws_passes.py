"""One object's passes with the engine and the drivers of AWS on the simulated AWS."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from freehold.engine.clock import ManualClock
from freehold.engine.durations import Durations
from freehold.engine.engine import ensure, release
from freehold.engine.graph import Graph, Node
from freehold.engine.interface import EngineDeps, PassResult
from freehold.engine.inventory import Inventory
from freehold.engine.journal import Journal
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Ready
from freehold.engine.ownership import Owner
from freehold.engine.port import Effect
from freehold.engine.state import ObjectState
from freehold.providers.aws.registry import aws_kinds
from freehold.providers.aws.tags.tagger import AwsTagger
from freehold_sim.aws.world import scope_of
from harness.aws_account import REGION, AwsAccount
from harness.simulated_aws import ACCOUNT

OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSCluster", "default", "demo")
HOUR = 3600.0
NETWORK = (
    "vpc",
    "subnet",
    "internet-gateway",
    "egress-only-internet-gateway",
    "elastic-ip",
    "natgateway",
    "route-table",
)


class _Store:
    async def save(self, journal: Journal) -> None:
        """The pass passes the journal on."""


class Life:
    """One object and its process; :meth:`die` starts another process with what is on record."""

    def __init__(self, account: AwsAccount, nodes: Iterable[Node], owner: Owner = OWNER) -> None:
        self.account, self.graph = account, Graph(nodes)
        self.clock = ManualClock(account.clock.now())
        self.store, self.journal, self.notes = _Store(), Journal(owner), list[str]()
        self.tagger = AwsTagger(account.api, self.clock)
        ring = KeyRing.single(b"k" * 32)
        self.deps = EngineDeps(
            aws_kinds(account.api), KeyedCodec(), self.tagger, Inventory(self.tagger, self.clock), account.port,
            self.clock, ring=ring, durations=Durations(self.clock),
        )  # fmt: skip
        self.state = ObjectState(first_seen=self.clock.monotonic(), identity_is_new=True)

    def die(self, journal: Journal | None = None) -> None:
        self.journal = self.journal if journal is None else journal
        self.state = ObjectState(first_seen=self.clock.monotonic())
        self.deps = replace(self.deps, registry=aws_kinds(self.account.api))

    def later(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.account.clock.advance(seconds)

    async def up(self, hours: float = 1.0) -> PassResult:
        """Passes until everything is ready and at rest."""
        end = self.clock.now() + hours * HOUR
        while self.clock.now() < end:
            done = await ensure(self.deps, self.graph, self.journal, self.store, self.state)
            self.journal = done.journal
            self.notes += done.notes
            ready = {key for key, outcome in done.outcomes.items() if isinstance(outcome, Ready)}
            if ready >= self.graph.nodes.keys() and done.at_rest:
                return done
            self.later(max(done.after, 1.0))
        raise AssertionError({str(key): outcome for key, outcome in done.outcomes.items()})

    async def one_release(self) -> PassResult:
        """One pass of the delete, and the time until the next."""
        done = await release(self.deps, self.graph, self.journal, self.store, self.state)
        self.journal = done.journal
        if not done.released:
            self.later(max(done.after, 1.0))
        return done

    async def down(self, hours: float = 2.0) -> None:
        end = self.clock.now() + hours * HOUR
        while self.clock.now() < end:
            done = await self.one_release()
            if done.released:
                return
        raise AssertionError({str(key): outcome for key, outcome in done.outcomes.items()})

    def writes(self) -> list[str]:
        return [call.operation for call in self.account.port.calls if call.effect is Effect.WRITE]

    def standing(self) -> dict[str, list[str]]:
        """What is in the account, by kind of the network; without what comes with a VPC or is shown after its end."""
        rows = {kind: self._rows(kind) for kind in NETWORK}
        there = {kind: [row for row in some if row["view"].get("State") != "deleted"] for kind, some in rows.items()}
        there["route-table"] = [row for row in rows["route-table"] if not row["main"]]
        return {kind: sorted(row["id"] for row in some) for kind, some in there.items() if some}

    def _rows(self, kind: str) -> list[Any]:
        return list(self.account.cloud.world.table(scope_of(ACCOUNT, REGION), kind).values())
