"""A kind is an adapter: a toy kind, with a cloud in memory, is created, paused, moved and deleted like any other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import pytest
from pydantic import BaseModel, Field

from freehold.api import conditions as api_conditions
from freehold.api import names
from freehold.api.conditions import Observation
from freehold.api.crd import build_crd
from freehold.api.served import ServedName
from freehold.api.served_kind import Column, ServedKind
from freehold.controllers.controller import Done, RequeueAfter, Result
from freehold.controllers.reconciler import Reconciler
from freehold.engine.graph import Graph
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Ready
from freehold.engine.ownership import Owner
from freehold.engine.port import InlinePort
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.access.accounts import Binding, NoCredentials
from freehold.providers.objects import status
from freehold.providers.objects.adapter import Desired, GraphMode, PassReport, RefusedSpec, StatusUpdate, WantedGraph
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.gate import ClusterApiMode as ClusterApi
from freehold.providers.objects.gate import ClusterContext, Proceed
from freehold.providers.objects.spec_problems import SpecProblem
from harness.powervs import Events, HeldRing, MemoryDocument, StoredObject
from harness.stepping import run_blocking
from lab.world import MemoryWorld, node

TOY = ServedName("toys.example.com", "v1", "Toy", "toys", "toy.toys.example.com")


class ToyAdapter:
    """``spec.size`` is the size of its one network."""

    served = TOY

    async def find_desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        size = raw["spec"].get("size")
        if size == 0:
            raise ValueError("nobody thought of this size")
        if not isinstance(size, int):
            return RefusedSpec((SpecProblem("spec.size", "must be a number"),))
        return WantedGraph(GraphMode.CREATE, Graph([node("net/main", size=size)]))

    async def find_secrets(self, raw: Mapping[str, Any], proceed: Proceed, report: PassReport) -> tuple[()]:
        """Find none: the kind keeps no Secrets."""
        return ()

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        ready = bool(report.outcomes) and all(isinstance(o, Ready) for o in report.outcomes.values())
        problems = "; ".join(map(str, report.plan.problems)) if isinstance(report.plan, RefusedSpec) else ""
        shown = Observation(names.READY, "True" if ready else "False", "Ready" if ready else "NotReady", problems)
        return status.build_update(raw, {**(raw.get("status") or {})}, [shown], now)

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        return {}

    def find_collection(self, raw: Mapping[str, Any], journal: Journal, around: Around = NOTHING_AROUND) -> None:
        return None


class MemoryAccount:
    """The in-memory cloud as an account."""

    name = "the cloud in memory"

    def __init__(self, world: MemoryWorld) -> None:
        self._deps = world.deps(InlinePort())

    def build_deps(self, subject: str, ring: KeyRing, uuid: str) -> EngineDeps:
        return self._deps

    def build_read_only_deps(self, ring: KeyRing) -> EngineDeps:
        return self._deps

    async def read_account(self) -> str:
        return "the-account"

    def forget_answers(self) -> None:
        return None

    def audit_collected(self, subject: str, summary: str) -> None: ...

    def audit_left(self, subject: str, resource: str, why: str) -> None:
        raise AssertionError(f"nothing of a toy may stay: {resource}: {why}")

    def forget(self, subject: str) -> None:
        return None


class ToyAccounts:
    """All toys are in the account ``now``. There are no credentials for ``locked``."""

    def __init__(self, world: MemoryWorld) -> None:
        self.now = "first"
        self.found = {name: MemoryAccount(world) for name in ("first", "another")}

    async def bind(self, raw: Mapping[str, Any]) -> Binding | NoCredentials:
        if self.now in self.found:
            return Binding(self.found[self.now], ToyAdapter())
        return NoCredentials(f"the operator has no credentials for the account {self.now!r}")


class Toys:
    """One toy, and the operator's process."""

    def __init__(self, **spec: object) -> None:
        self.world = MemoryWorld(nodes=[])
        manifest = {"apiVersion": f"{TOY.group}/{TOY.version}", "kind": TOY.kind, "spec": spec}
        self.object = StoredObject({**manifest, "metadata": {"name": "bear"}}, self.world.clock.now)
        rings = HeldRing(self.world.ring)
        self.accounts = ToyAccounts(self.world)
        self.process = Reconciler(TOY, self.accounts, rings, self.world.clock, Events())

    def pass_once(self) -> Result:
        return run_blocking(self.process.reconcile(MemoryDocument(self.object), ClusterContext(ClusterApi.OFF)))

    def once(self) -> Result:
        done = self.pass_once()
        self.world.clock.advance(done.seconds if isinstance(done, RequeueAfter) else 60.0)
        return done

    def run(self, passes: int = 30) -> None:
        for _ in range(passes):
            if not self.object.gone:
                self.once()

    def ready(self) -> str:
        conditions = (self.object.raw.get("status") or {}).get("conditions") or []
        found = api_conditions.find_condition(conditions, names.READY) or {}
        return f"{found.get('status')} {found.get('message', '')}".strip()

    def sizes(self) -> list[int]:
        nets = [r for r in self.world.cloud.log if r.kind == "net" and r.id in {t.id for t in self.world.living()}]
        return [int(net.attributes["size"]) for net in nets]


class ToySpec(BaseModel):
    """The spec of a toy."""

    size: int | None = Field(default=None, description="The size of its network.")


class ToyModel(BaseModel):
    """A toy."""

    spec: ToySpec = Field(description="What is wanted.")


def test_a_toy_has_a_crd() -> None:
    crd = build_crd(ServedKind(TOY, ToyModel, (Column("Size", ".spec.size", "Its size"),)))
    assert crd["metadata"]["name"] == TOY.crd
    assert crd["spec"]["names"]["kind"] == "Toy"


def test_a_toy_is_created_updated_and_deleted() -> None:
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


def test_a_toy_with_an_invalid_spec_gets_the_reason_and_nothing_else() -> None:
    toys = Toys(size="large")
    toys.run(3)
    assert toys.ready() == "False spec.size: must be a number"
    assert toys.world.living() == []


@pytest.mark.parametrize("deleted", [False, True])
def test_the_rules_for_every_kind_apply_to_a_toy(deleted: bool) -> None:
    """The gate comes first: a paused toy changes nothing, and a moved one keeps all its resources."""
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


@pytest.mark.parametrize("deleted", [False, True])
def test_without_credentials_nothing_of_an_object_counts_as_gone(deleted: bool) -> None:
    toys = Toys(size=1)
    toys.run()
    toys.accounts.now = "locked"
    if deleted:
        toys.object.delete()
    assert toys.once() == RequeueAfter(300.0), "credentials may be added at any time, without an event"
    assert toys.sizes() == [1]
    assert toys.ready() == "False the operator has no credentials for the account 'locked'"
    toys.accounts.now = "first"
    toys.run()
    assert (toys.object.gone, toys.sizes()) == ((True, []) if deleted else (False, [1]))


@pytest.mark.parametrize("account", ["another", "locked"])
def test_reads_of_one_account_do_not_count_for_another(account: str) -> None:
    """The network is deleted while the toy uses another account: back in the first one, the pass must read at once."""
    toys = Toys(size=1)
    toys.run()
    toys.pass_once()  # this read is fresh enough for the next pass
    toys.accounts.now = account
    toys.pass_once()
    toys.accounts.now = "first"
    [net] = toys.world.living()
    toys.world.cloud.vanish(net.id)
    toys.pass_once()
    assert toys.ready() != "True"


def test_a_defect_is_told_and_raised() -> None:
    """An object without any news looks as if it were being worked on, and whoever waits for it waits for ever."""
    toys = Toys(size=0)
    with pytest.raises(ValueError, match="nobody thought"):
        toys.pass_once()
    assert toys.ready().startswith("False a defect in Freehold stopped this reconcile: ValueError: nobody thought")


@pytest.mark.parametrize("was", (1, 0), ids=("what was", "nothing"))
def test_a_delete_does_not_depend_on_the_spec(was: int) -> None:
    """Nobody could delete the object, nor what it owns."""
    toys = Toys(size=was)
    if was:
        toys.run()
        toys.object.patch({"spec": {"size": 0}})
    with pytest.raises(ValueError, match="nobody thought"):
        toys.pass_once()
    toys.object.delete()
    toys.run()
    assert toys.object.gone and toys.world.living() == []
