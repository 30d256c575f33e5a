"""Naive controllers in the same harness: it must show that they lose resources, or its results for us mean nothing.

They keep their state in a status that is written after each action, as kops, CAPA's option 1 and CAPIBM do.
They have the signatures of :func:`ensure` and :func:`release`, so that they run in every world.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from freehold.engine.decisions import Decision
from freehold.engine.errors import CloudError, NotFound
from freehold.engine.graph import Graph, Node, ReadyNodes
from freehold.engine.interface import EngineDeps, PassResult
from freehold.engine.inventory import TagChange
from freehold.engine.journal import Journal, Store
from freehold.engine.outcomes import Category, Outcome, Ready, Reason, Waiting, outcome_of_error
from freehold.engine.port import Call, Effect
from freehold.engine.resources import Birth, NodeKey, Observed, Ref, State, Want
from freehold.engine.state import ObjectState

FIXED = "fnaive00"
"""In place of a nonce: these controllers use the same name each time."""


@dataclass
class Held:
    """A row of the status. ``created`` is CAPIBM's controllerCreated."""

    id: str
    target: str
    carried: bool
    created: bool


@dataclass
class Naive(ABC):
    """Common to all. The status survives a crash: it is stored in the object."""

    status: dict[NodeKey, Held] = field(default_factory=dict)

    @abstractmethod
    async def use_or_create(
        self, deps: EngineDeps, journal: Journal, node: Node, known: ReadyNodes
    ) -> tuple[Observed, bool]:
        """The resource, and whether this call created it."""

    async def tag(self, deps: EngineDeps, journal: Journal, key: NodeKey, observed: Observed) -> None:
        """Owner and uuid (docs/reference/requirements.md T7), and which one it is."""
        if not observed.target or observed.carried:
            return
        tags = deps.codec.owner(journal.owner) | {deps.codec.node(key, "naive")}
        failed = await deps.tagger.attach([TagChange(observed.target, tags)])
        for error in failed.values():
            raise error

    async def _save(self, deps: EngineDeps, key: NodeKey, held: Held | None) -> None:
        def run() -> None:
            if held is None:
                self.status.pop(key, None)
            else:
                self.status[key] = held

        await deps.port.send(Call("store", "save_status", Effect.STORE, run, str(key)))

    async def _hold(self, deps: EngineDeps) -> None:
        """Write the finalizer. Our port refuses creates without a write of the object in the same pass."""
        await deps.port.send(Call("store", "add_finalizer", Effect.STORE, lambda: None, "the object"))

    async def _create(self, deps: EngineDeps, node: Node, known: ReadyNodes) -> Observed:
        return await deps.registry[node.key.kind].driver.create(dict(node.request(known)), Birth(FIXED, FIXED))

    async def _by_name(self, deps: EngineDeps, node: Node, known: ReadyNodes) -> Observed | None:
        want = Want(node.key, node.name, dict(node.request(known)), frozenset({FIXED}))
        found = (await deps.registry[node.key.kind].driver.find([want])).get(node.key, ())
        return next((o for o in found if o.state is not State.DELETING), None)

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
        known: dict[NodeKey, Observed] = {}
        outcomes: dict[NodeKey, Outcome] = {}
        if not graph.nodes.keys() <= self.status.keys():
            await self._hold(deps)
        for key in graph.order:
            node = graph.nodes[key]
            if not node.requires <= known.keys():
                outcomes[key] = Waiting(Reason.REQUIREMENT, 15.0)
                continue
            try:
                outcomes[key] = await self._ensure_one(deps, journal, node, known)
            except CloudError as error:
                outcomes[key] = outcome_of_error(error)
        return PassResult(journal, outcomes, _after(outcomes))

    async def _ensure_one(
        self, deps: EngineDeps, journal: Journal, node: Node, known: dict[NodeKey, Observed]
    ) -> Outcome:
        key = node.key
        held = self.status.get(key)
        driver = deps.registry[key.kind].driver
        if held is not None:
            observed = (await driver.observe([Ref(held.id, held.target)])).get(held.id)
            if observed is None:
                await self._save(deps, key, None)
                return Waiting(Reason.CREATING, 5.0)
        else:
            observed, created = await self.use_or_create(deps, journal, node, known)
            row = Held(observed.id, observed.target, observed.carried, created)
            await self._save(deps, key, row)
        if observed.state is not State.READY:
            return Waiting(Reason.PROVISIONING, 15.0, observed=observed)
        known[key] = observed
        return Ready(observed, Category.MANAGED)

    async def release(
        self,
        deps: EngineDeps,
        graph: Graph,
        journal: Journal,
        store: Store,
        state: ObjectState,
        decisions: tuple[Decision, ...] = (),
    ) -> PassResult:
        outcomes: dict[NodeKey, Outcome] = {}
        order = [*reversed(graph.order), *(k for k in self.status if k not in graph.nodes)]
        for key in [k for k in order if k in self.status]:
            held = self.status[key]
            needed = [k for k in outcomes if k.kind != key.kind and _rests_on(deps, k.kind, key.kind)]
            if not held.created:
                await self._save(deps, key, None)
            elif needed:
                outcomes[key] = Waiting(Reason.DEPENDENTS, 15.0)
            elif not await self._delete(deps, key, held):
                outcomes[key] = Waiting(Reason.DELETING, 15.0)
        return PassResult(journal, outcomes, 15.0, released=not outcomes)

    async def _delete(self, deps: EngineDeps, key: NodeKey, held: Held) -> bool:
        driver = deps.registry[key.kind].driver
        try:
            if not await driver.observe([Ref(held.id, held.target)]):
                await self._save(deps, key, None)
                return True
            await driver.delete(Ref(held.id, held.target))
        except NotFound:
            return False
        except CloudError:
            return False
        return False


def _rests_on(deps: EngineDeps, kind: str, required: str) -> bool:
    requires = deps.registry[kind].requires
    return required in requires or any(_rests_on(deps, r, required) for r in requires)


def _after(outcomes: Mapping[NodeKey, Outcome]) -> float:
    return 60.0 if all(isinstance(o, Ready) for o in outcomes.values()) else 15.0


class TagThenStatus(Naive):
    """Query by tags, create, tag, then write the status (kops; docs/reference/requirements.md W19)."""

    async def use_or_create(
        self, deps: EngineDeps, journal: Journal, node: Node, known: ReadyNodes
    ) -> tuple[Observed, bool]:
        driver = deps.registry[node.key.kind].driver
        marked = await deps.tagger.find_marked(journal.owner.uuid)
        for target, tags in marked.items():
            marks = deps.codec.read(tags)
            if any(str(mark.key) == str(node.key).casefold() for mark in marks.nodes):
                id_ = driver.identify(target)
                seen = (await driver.observe([Ref(id_, target)])).get(id_)
                if seen is not None:
                    return seen, True
        created = await self._create(deps, node, known)
        await self.tag(deps, journal, node.key, created)
        return created, True


class ControllerCreated(Naive):
    """Use a resource with the name, else create; write ``controllerCreated`` into the status afterwards (CAPIBM)."""

    async def use_or_create(
        self, deps: EngineDeps, journal: Journal, node: Node, known: ReadyNodes
    ) -> tuple[Observed, bool]:
        found = await self._by_name(deps, node, known)
        if found is not None:
            return found, False
        return await self._create(deps, node, known), True


class NamedIsOurs(Naive):
    """Use a resource with the name, and count it as created (CAPIBM v1beta3's ``Provision``)."""

    async def use_or_create(
        self, deps: EngineDeps, journal: Journal, node: Node, known: ReadyNodes
    ) -> tuple[Observed, bool]:
        found = await self._by_name(deps, node, known)
        return (found or await self._create(deps, node, known)), True
