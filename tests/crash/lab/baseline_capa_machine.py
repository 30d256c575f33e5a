"""CAPA's order for a machine: found by its tags, made without a token, its id in memory until the end of the pass.

https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/controllers/awsmachine_controller.go: it looks for
the id of the spec, else for a running instance with the cluster's tag and the machine's name; the id is patched into
the object when the pass ends, and not if it panics (CAPA#5794). Registration comes after the create, by the same id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from freehold.engine.decisions import Decision
from freehold.engine.graph import Graph, Node, ReadyNodes
from freehold.engine.interface import EngineDeps, PassResult
from freehold.engine.journal import Journal, Store
from freehold.engine.outcomes import Category, Outcome, Ready, Reason, Waiting
from freehold.engine.port import Call, Effect
from freehold.engine.resources import Birth, Observed, Ref, State
from freehold.engine.state import ObjectState
from freehold.providers.aws.machine.keys import INSTANCE
from lab.baseline_capa import OWNED
from lab.baselines import FIXED, Held, Naive


@dataclass
class CapaMachine(Naive):
    """It keeps the instance's id, from the end of the pass that made it."""

    async def use_or_create(
        self, deps: EngineDeps, journal: Journal, node: Node, known: ReadyNodes
    ) -> tuple[Observed, bool]:
        if found := await self._found(deps, node.name):
            return found, False
        await self._hold(deps)
        # Which node it is tells the oracle; the uuid, our own reconciler.
        marks = frozenset(node.tags) | deps.codec.label(node.key) | deps.codec.owner(journal.owner)
        birth = Birth(str(uuid4()), FIXED, marks)  # the SDK's own token, another one for each call
        request = {**node.request({}), "user_data": "its data"}
        return await deps.registry[INSTANCE.kind].driver.create(request, birth), True

    async def _found(self, deps: EngineDeps, name: str) -> Observed | None:
        driver = deps.registry[INSTANCE.kind].driver
        if INSTANCE in self.status:
            ident = self.status[INSTANCE].id
            return (await driver.observe([Ref(ident)])).get(ident)
        rows: Sequence[Observed] = [row.observed for row in await driver.read_rows(driver.list_of(Ref("")))]  # type: ignore[attr-defined]  # instances have lists
        wanted = {OWNED, f"Name={name}"}
        return next((s for s in rows if wanted <= (s.tags or frozenset()) and s.state is not State.DELETING), None)

    async def ensure(
        self,
        deps: EngineDeps,
        graph: Graph,
        journal: Journal,
        store: Store,
        state: ObjectState,
        user_tags: frozenset[str] = frozenset(),
        decisions: tuple[Decision, ...] = (),
    ) -> PassResult:
        node = graph.nodes.get(INSTANCE)
        if node is None:  # our own adapter, which has a record of its own, wants no other one
            return PassResult(journal, {}, 60.0)
        seen, _ = await self.use_or_create(deps, journal, node, {})
        outcome: Outcome = Waiting(Reason.PROVISIONING, 15.0, observed=seen)
        if seen.state is State.READY:
            for part in sorted(node.parts({}), key=str):
                driver = deps.registry[INSTANCE.kind].parts.driver
                assert driver is not None
                await driver.add_part(Ref(seen.id, seen.target), part)
            outcome = Ready(seen, Category.MANAGED)
        if INSTANCE not in self.status:
            held = Held(seen.id, seen.target, carried=False, created=True)
            call = Call("store", "patch", Effect.STORE, lambda: self.status.update({INSTANCE: held}), "the object")
            await deps.port.send(call)
        return PassResult(journal, {INSTANCE: outcome}, 60.0 if isinstance(outcome, Ready) else 15.0)

    async def release(
        self,
        deps: EngineDeps,
        graph: Graph,
        journal: Journal,
        store: Store,
        state: ObjectState,
        decisions: tuple[Decision, ...] = (),
    ) -> PassResult:
        seen = await self._found(deps, journal.owner.name)
        if seen is None:
            return PassResult(journal, {}, 15.0, released=True)
        if seen.state is not State.DELETING:
            await deps.registry[INSTANCE.kind].driver.delete(Ref(seen.id, seen.target))
        return PassResult(journal, {INSTANCE: Waiting(Reason.DELETING, 15.0)}, 15.0)
