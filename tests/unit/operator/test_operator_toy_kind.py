"""A kind is an adapter: a toy one, over a cloud in memory, is created, paused, moved and deleted like any other."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from freehold.api import conditions as api_conditions
from freehold.api import names
from freehold.api.conditions import Observation
from freehold.api.served import ServedName
from freehold.lifecycle.graph import Graph
from freehold.lifecycle.interface import EngineDeps
from freehold.lifecycle.journal import Journal
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.outcomes import Ready
from freehold.lifecycle.port import InlinePort, step
from freehold.operator.controller import Done, RequeueAfter, Result
from freehold.operator.reconciler import Reconciler
from freehold.reconcilers import status
from freehold.reconcilers.adapter import Desired, Mode, PassReport, Refused, StatusUpdate, Wanted
from freehold.reconcilers.findings import Problem
from freehold.reconcilers.gate import ClusterContext, Proceed
from freehold.reconcilers.gate import Mode as ClusterApi
from harness.powervs import Events, HeldRing, MemoryDocument, StoredObject
from lab.world import MemoryWorld, node

TOY = ServedName("toys.example.com", "v1", "Toy", "toys", "toy.toys.example.com")


class ToyAdapter:
    """``spec.size`` is the size of its one network."""

    served = TOY

    async def desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        size = raw["spec"].get("size")
        if not isinstance(size, int):
            return Refused((Problem("spec.size", "must be a number"),))
        return Wanted(Mode.CREATE, Graph([node("net/main", size=size)]))

    def status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        ready = bool(report.outcomes) and all(isinstance(o, Ready) for o in report.outcomes.values())
        problems = "; ".join(map(str, report.plan.problems)) if isinstance(report.plan, Refused) else ""
        shown = Observation(names.READY, "True" if ready else "False", "Ready" if ready else "NotReady", problems)
        return status.updated(raw, {**(raw.get("status") or {})}, [shown], now)


class MemoryAccount:
    """The in-memory cloud as an account."""

    name = "the cloud in memory"

    def __init__(self, world: MemoryWorld) -> None:
        self._world = world
        self._deps = world.deps(InlinePort())

    def deps(self, subject: str, ring: KeyRing) -> EngineDeps:
        return self._deps

    def read_only_deps(self, ring: KeyRing) -> EngineDeps:
        return self._deps

    async def account(self) -> str:
        return "the-account"

    def left(self, subject: str, resource: str, why: str) -> None:
        raise AssertionError(f"nothing of a toy may stay: {resource}: {why}")

    def forget(self, subject: str) -> None:
        return None


class Toys:
    """One toy, and the operator's process."""

    def __init__(self, **spec: object) -> None:
        self.world = MemoryWorld(nodes=[])
        manifest = {"apiVersion": f"{TOY.group}/{TOY.version}", "kind": TOY.kind, "spec": spec}
        self.object = StoredObject({**manifest, "metadata": {"name": "bear"}}, self.world.clock.now)
        rings = HeldRing(self.world.ring)
        account = MemoryAccount(self.world)
        self.process = Reconciler(ToyAdapter(), account, rings, self.world.clock, Events())

    def once(self) -> Result:
        done = step(self.process.reconcile(MemoryDocument(self.object), ClusterContext(ClusterApi.OFF)))
        self.world.clock.advance(done.seconds if isinstance(done, RequeueAfter) else 60.0)
        return done

    def run(self, passes: int = 30) -> None:
        for _ in range(passes):
            if not self.object.gone:
                self.once()

    def ready(self) -> str:
        conditions = (self.object.raw.get("status") or {}).get("conditions") or []
        found = api_conditions.find(conditions, names.READY) or {}
        return f"{found.get('status')} {found.get('message', '')}".strip()

    def sizes(self) -> list[int]:
        nets = [r for r in self.world.cloud.log if r.kind == "net" and r.id in {t.id for t in self.world.living()}]
        return [int(net.attributes["size"]) for net in nets]


def test_a_toy_comes_up_follows_its_spec_and_goes() -> None:
    toys = Toys(size=1)
    toys.run()
    assert (toys.ready(), toys.sizes()) == ("True", [1])
    assert toys.object.raw["metadata"]["finalizers"] == [TOY.finalizer]
    toys.object.patch({"spec": {"size": 2}})
    toys.run()
    assert (toys.ready(), toys.sizes()) == ("True", [2])
    toys.object.delete()
    toys.run()
    assert toys.object.gone
    assert toys.world.living() == []


def test_a_toy_whose_spec_is_refused_gets_its_reason_and_nothing_else() -> None:
    toys = Toys(size="large")
    toys.run(3)
    assert toys.ready() == "False spec.size: must be a number"
    assert toys.world.living() == []


@pytest.mark.parametrize("deleted", [False, True])
def test_what_is_true_for_every_kind_is_true_for_a_toy(deleted: bool) -> None:
    """The gate comes first: a paused toy changes nothing, and a moved one leaves everything behind."""
    toys = Toys(size=1)
    toys.run()
    toys.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: "true"}}, "spec": {"size": 3}})
    if deleted:
        toys.object.delete()
    toys.run(5)
    assert toys.sizes() == [1]
    toys.object.patch({"metadata": {"annotations": {names.DELETE_FOR_MOVE_ANNOTATION: ""}}})
    if deleted:
        assert toys.once() == Done()
        assert toys.object.gone
        assert toys.sizes() == [1]
