"""What others do, in the same harness: it must show where they lose things, or it could not show that we do not.

Both keep what they know in a status that is written after the deed, as kops, CAPA's option 1 and CAPIBM do.
They have the signatures of :func:`ensure` and :func:`release`, so that they run in every world.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from freehold.lifecycle.errors import CloudError, NotFound
from freehold.lifecycle.graph import Graph, Known, Node
from freehold.lifecycle.inventory import TagChange
from freehold.lifecycle.journal import Journal, Store
from freehold.lifecycle.kinds import Birth, NodeKey, Observed, Ref, State, Want
from freehold.lifecycle.memory import Memory
from freehold.lifecycle.outcomes import Category, Outcome, Ready, Reason, Waiting, of_error
from freehold.lifecycle.port import Call, Effect
from freehold.lifecycle.work import Pass, Tools

FIXED = "fnaive00"
"""In place of a nonce: these name things the same way each time."""


@dataclass
class Held:
    """A row of the status. ``created`` is CAPIBM's controllerCreated."""

    id: str
    target: str
    carried: bool
    created: bool


@dataclass
class Naive(ABC):
    """Common to all. The status survives a crash: it stands on the object."""

    status: dict[NodeKey, Held] = field(default_factory=dict)

    @abstractmethod
    async def use_or_create(self, tools: Tools, journal: Journal, node: Node, known: Known) -> tuple[Observed, bool]:
        """The resource, and whether this call created it."""

    async def tag(self, tools: Tools, journal: Journal, key: NodeKey, observed: Observed) -> None:
        """Owner and uuid, as seed 000 has them, and which one it is."""
        if not observed.target or observed.carried:
            return
        tags = tools.codec.owner(journal.owner) | {tools.codec.node(key, "naive")}
        failed = await tools.tagger.attach([TagChange(observed.target, tags)])
        for error in failed.values():
            raise error

    async def _save(self, tools: Tools, key: NodeKey, held: Held | None) -> None:
        def run() -> None:
            if held is None:
                self.status.pop(key, None)
            else:
                self.status[key] = held

        await tools.port.send(Call("store", "save_status", Effect.STORE, run, str(key)))

    async def _hold(self, tools: Tools) -> None:
        """The finalizer. Our own port lets nobody create who has not written the object in the same pass."""
        await tools.port.send(Call("store", "add_finalizer", Effect.STORE, lambda: None, "the object"))

    async def _create(self, tools: Tools, node: Node, known: Known) -> Observed:
        return await tools.registry[node.key.kind].driver.create(dict(node.request(known)), Birth(FIXED, FIXED))

    async def _by_name(self, tools: Tools, node: Node, known: Known) -> Observed | None:
        want = Want(node.key, node.name, dict(node.request(known)), frozenset({FIXED}))
        found = (await tools.registry[node.key.kind].driver.find([want])).get(node.key, ())
        return next((o for o in found if o.state is not State.DELETING), None)

    async def ensure(
        self,
        tools: Tools,
        graph: Graph,
        journal: Journal,
        store: Store,
        memory: Memory,
        user_tags: frozenset[str] = frozenset(),
    ) -> Pass:
        known: dict[NodeKey, Observed] = {}
        outcomes: dict[NodeKey, Outcome] = {}
        if not graph.nodes.keys() <= self.status.keys():
            await self._hold(tools)
        for key in graph.order:
            node = graph.nodes[key]
            if not node.requires <= known.keys():
                outcomes[key] = Waiting(Reason.REQUIREMENT, 15.0)
                continue
            try:
                outcomes[key] = await self._ensure_one(tools, journal, node, known)
            except CloudError as error:
                outcomes[key] = of_error(error)
        return Pass(journal, outcomes, _after(outcomes))

    async def _ensure_one(self, tools: Tools, journal: Journal, node: Node, known: dict[NodeKey, Observed]) -> Outcome:
        key = node.key
        held = self.status.get(key)
        driver = tools.registry[key.kind].driver
        if held is not None:
            observed = (await driver.observe([Ref(held.id, held.target)])).get(held.id)
            if observed is None:
                await self._save(tools, key, None)
                return Waiting(Reason.CREATING, 5.0)
        else:
            observed, created = await self.use_or_create(tools, journal, node, known)
            row = Held(observed.id, observed.target, observed.carried, created)
            await self._save(tools, key, row)
        if observed.state is not State.READY:
            return Waiting(Reason.PROVISIONING, 15.0, observed=observed)
        known[key] = observed
        return Ready(observed, Category.MANAGED)

    async def release(self, tools: Tools, graph: Graph, journal: Journal, store: Store, memory: Memory) -> Pass:
        outcomes: dict[NodeKey, Outcome] = {}
        order = [*reversed(graph.order), *(k for k in self.status if k not in graph.nodes)]
        for key in [k for k in order if k in self.status]:
            held = self.status[key]
            needed = [k for k in outcomes if k.kind != key.kind and _rests_on(tools, k.kind, key.kind)]
            if not held.created:
                await self._save(tools, key, None)
            elif needed:
                outcomes[key] = Waiting(Reason.DEPENDENTS, 15.0)
            elif not await self._delete(tools, key, held):
                outcomes[key] = Waiting(Reason.DELETING, 15.0)
        return Pass(journal, outcomes, 15.0, released=not outcomes)

    async def _delete(self, tools: Tools, key: NodeKey, held: Held) -> bool:
        driver = tools.registry[key.kind].driver
        try:
            if not await driver.observe([Ref(held.id, held.target)]):
                await self._save(tools, key, None)
                return True
            await driver.delete(Ref(held.id, held.target))
        except NotFound:
            return False
        except CloudError:
            return False
        return False


def _rests_on(tools: Tools, kind: str, required: str) -> bool:
    requires = tools.registry[kind].requires
    return required in requires or any(_rests_on(tools, r, required) for r in requires)


def _after(outcomes: Mapping[NodeKey, Outcome]) -> float:
    return 60.0 if all(isinstance(o, Ready) for o in outcomes.values()) else 15.0


class TagThenStatus(Naive):
    """Query by tags, create, tag, then write the status (kops; seed 003's third workflow as first written)."""

    async def use_or_create(self, tools: Tools, journal: Journal, node: Node, known: Known) -> tuple[Observed, bool]:
        driver = tools.registry[node.key.kind].driver
        marked = await tools.tagger.marked(journal.owner.uuid)
        for target, tags in marked.items():
            marks = tools.codec.read(tags)
            if any(str(mark.key) == str(node.key).casefold() for mark in marks.nodes):
                id_ = driver.identify(target)
                seen = (await driver.observe([Ref(id_, target)])).get(id_)
                if seen is not None:
                    return seen, True
        created = await self._create(tools, node, known)
        await self.tag(tools, journal, node.key, created)
        return created, True


class ControllerCreated(Naive):
    """Use what has the name, else create; ``controllerCreated`` goes into the status afterwards (CAPIBM)."""

    async def use_or_create(self, tools: Tools, journal: Journal, node: Node, known: Known) -> tuple[Observed, bool]:
        found = await self._by_name(tools, node, known)
        if found is not None:
            return found, False
        return await self._create(tools, node, known), True


class NamedIsOurs(Naive):
    """Use what has the name, and hold it for created (CAPIBM v1beta3's ``Provision``)."""

    async def use_or_create(self, tools: Tools, journal: Journal, node: Node, known: Known) -> tuple[Observed, bool]:
        found = await self._by_name(tools, node, known)
        return (found or await self._create(tools, node, known)), True
