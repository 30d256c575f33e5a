"""An object that the product's reconciler serves, on any simulated cloud: its passes, its stored journal."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from unittest import mock

from freehold.api import names
from freehold.controllers.controller import RequeueAfter
from freehold.engine import decisions, engine
from freehold.engine import journal as journals
from freehold.engine.decisions import Decision
from freehold.engine.graph import Graph
from freehold.engine.interface import PassResult
from freehold.engine.journal import Journal
from freehold.engine.keys import ObjectKeys
from freehold.engine.port import Call, Effect, Port
from harness.powervs import MemoryDocument, ReconcilerHarness, StoredObject
from harness.stepping import run_blocking
from lab.life import Course
from lab.seam import World

IDLE = 60.0
"""Seconds until the next pass if none was requested."""


class PortedDocument(MemoryDocument):
    """Every write of the object is a call of the port, too, so that the process can die before and after it."""

    def __init__(self, stored: StoredObject, port: Port) -> None:
        super().__init__(stored)
        self._port = port

    async def save(self, journal: Journal) -> None:
        await super().apply({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journals.dumps(journal)}}})

    async def apply(self, patch: Mapping[str, Any]) -> None:
        run = super().apply
        await self._port.send(Call("store", "patch", Effect.STORE, lambda: run(patch), "the object"))

    async def patch_status(self, status: Mapping[str, Any]) -> None:
        run = super().patch_status
        await self._port.send(Call("store", "patch_status", Effect.STORE, lambda: run(status), "the object"))


class ReconciledWorld(World, Protocol):
    """A world whose object a reconciler serves."""

    port: Port

    @property
    def harness(self) -> ReconcilerHarness[Any]: ...


@dataclass
class ReconciledLife(Course):
    """An object that a reconciler serves."""

    world: ReconciledWorld

    def __post_init__(self) -> None:
        self._wanted = Graph(())
        self.harness = self.world.harness
        super().__post_init__()

    def start(self, *, minted: bool) -> None:
        """The process reads the identity from the object."""
        self.world.port = self.port
        self.harness.start_process()

    def one_pass(self) -> PassResult | None:
        stored = self.harness.object
        if self.deleting and "deletionTimestamp" not in stored.raw["metadata"]:
            stored.delete()
        passes: list[PassResult] = []
        result = None
        if not stored.gone:
            with self._watched(passes):
                document = PortedDocument(stored, self.port)
                result = run_blocking(self.harness.process.reconcile(document, self.harness.around))
        if stored.gone:
            outcomes = passes[-1].outcomes if passes else {}
            return PassResult(self.journal, outcomes, 0.0, released=True)
        after = result.seconds if isinstance(result, RequeueAfter) else IDLE
        if not passes:
            self.world.clock.advance(max(after, 0.01))
            return None
        return replace(passes[-1], after=after, released=False)

    @contextlib.contextmanager
    def _watched(self, passes: list[PassResult]) -> Iterator[None]:
        """Observe the results of the engine."""

        def watching(verb: Callable[..., Any]) -> Callable[..., Any]:
            async def run(deps: Any, graph: Graph, *rest: Any) -> PassResult:
                self._wanted = graph
                done: PassResult = await verb(deps, graph, *rest)
                passes.append(done)
                return done

            return run

        verbs = {"ensure": self.ensure, "release": self.release}
        with mock.patch.multiple(engine, **{name: watching(verb) for name, verb in verbs.items()}):
            yield

    @property
    def graph(self) -> Graph:
        return self._wanted

    @property
    def record(self) -> str:
        return _journal_of(self.harness.object.raw)

    @property
    def versions(self) -> int:
        return self.harness.object.versions

    def rewrite(self, journal: Journal) -> None:
        self.restored = True
        self._annotate(journals.dumps(journal))

    def decide(self, decision: Decision) -> None:
        text = decisions.dumps([decisions.sign_decision(decision, self.keys)])
        self.harness.object.patch({"metadata": {"annotations": {names.DECISIONS_ANNOTATION: text}}})

    def roll_back(self, writes: int = 1) -> None:
        self.restored = True
        texts: list[str] = []
        for version in self.harness.object.history:
            if (text := _journal_of(version)) and text not in texts[-1:]:
                texts.append(text)
        if texts and not self.harness.object.gone:
            self._annotate(texts[max(0, len(texts) - 1 - writes)])

    def back_up(self) -> Callable[[], None]:
        raw = copy.deepcopy(self.harness.object.raw)

        def restore() -> None:
            self.restored = True
            if not self.harness.object.gone:
                self.harness.object.restore(raw)

        return restore

    def begin_anew(self) -> None:
        """Restored from before its first pass."""
        self.restored = True
        self.harness.object.begin_anew()

    def _annotate(self, text: str) -> None:
        self.harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: text}}})

    def wipe_status(self) -> None:
        """As a restore or a move does."""
        if not self.harness.object.gone:
            self.harness.object.patch({"status": {}}, "status")

    def edit(self, **spec: Any) -> None:
        """A user edits the object."""
        self.harness.object.patch({"spec": spec})

    def touch(self) -> None:
        if not self.harness.object.gone:
            self.harness.object.patch({"metadata": {"annotations": {"somebody": str(len(self.port.calls))}}})

    @property
    def keys(self) -> ObjectKeys:
        return self.harness.rings.ring.derive_keys(self.journal.owner)

    def invalidate(self) -> None:
        """Not possible here: the next pass comes at its time."""

    def hear(self, done: PassResult) -> str:
        """Conditions, and the messages and kept resources of the table; ids alone do not count as messages."""
        status = self.harness.status()
        said = [str(c.get("message", "")) for c in status.get("conditions", ())]
        for row in status.get("resources", ()):
            said += [str(row.get("message", "")), str(row.get("id", "")) if row["state"] == "Kept" else ""]
        return " ".join(said)


def _journal_of(raw: Mapping[str, Any]) -> str:
    return str((raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION, ""))
