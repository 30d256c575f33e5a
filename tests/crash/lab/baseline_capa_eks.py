"""CAPA's way with a control plane of EKS: a cluster that has the name is used as its own, and deleted by its name.

https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/eks/cluster.go: it describes
the cluster by its name, and creates one if there is none. With EKSEnableIAM the role likewise (``roles.go``): its tag
with the cluster's name is read before it is deleted.
"""

from __future__ import annotations

from uuid import uuid4

from freehold.engine.decisions import Decision
from freehold.engine.errors import CloudError
from freehold.engine.graph import Graph, Node, ReadyNodes
from freehold.engine.interface import EngineDeps, PassResult
from freehold.engine.journal import Journal, Store
from freehold.engine.outcomes import Category, Outcome, Ready, Reason, Waiting, outcome_of_error
from freehold.engine.port import Call, Effect
from freehold.engine.resources import Birth, NodeKey, Observed, Ref, State, Want
from freehold.engine.state import ObjectState
from freehold.providers.aws.control_plane.keys import CLUSTER, OIDC, ROLE
from harness.aws_control_plane import NAME
from lab.baseline_capa import listed
from lab.baselines import FIXED, Held, Naive

GROUP = "security-group"
OWNED = f"sigs.k8s.io/cluster-api-provider-aws/cluster/{NAME}=owned"


class CapaEks(Naive):
    """It keeps the ARN of the provider, from the end of the pass that made it; names find everything else again."""

    async def use_or_create(
        self, deps: EngineDeps, journal: Journal, node: Node, known: ReadyNodes
    ) -> tuple[Observed, bool]:
        driver = deps.registry[node.key.kind].driver
        if node.given:
            ident = node.given(known)
            return (await driver.observe([Ref(ident)]))[ident], False
        request = dict(node.request(known))
        if (found := await self._named(deps, node, request)) is not None:
            return found, False
        await self._hold(deps)
        # Which node it is tells the oracle; the uuid, our own reconciler.
        marks = frozenset(node.tags) | deps.codec.label(node.key) | deps.codec.owner(journal.owner)
        birth = Birth(str(uuid4()), FIXED, marks)  # the SDK's own token, another one for each call
        return await driver.create(request, birth), True

    async def _named(self, deps: EngineDeps, node: Node, request: dict[str, object]) -> Observed | None:
        if node.key.kind == GROUP:
            return next((seen for seen in await listed(deps, GROUP) if seen.name == node.name), None)
        want = Want(node.key, node.name, {"name": node.name, **request}, frozenset())
        found = (await deps.registry[node.key.kind].driver.find([want])).get(node.key, ())
        return next(iter(found), None)

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
        for key in graph.order:
            node = graph.nodes[key]
            outcomes[key] = Waiting(Reason.REQUIREMENT, 15.0)
            if node.requires <= known.keys():
                try:
                    outcomes[key] = await self._ensure_one(deps, journal, node, known)
                except CloudError as error:
                    outcomes[key] = outcome_of_error(error)
        if OIDC in known and OIDC not in self.status:
            held = Held(known[OIDC].id, known[OIDC].target, carried=False, created=True)
            call = Call("store", "patch", Effect.STORE, lambda: self.status.update({OIDC: held}), "the object")
            await deps.port.send(call)
        return PassResult(journal, outcomes, 60.0 if all(isinstance(o, Ready) for o in outcomes.values()) else 15.0)

    async def _ensure_one(
        self, deps: EngineDeps, journal: Journal, node: Node, known: dict[NodeKey, Observed]
    ) -> Outcome:
        seen, _ = await self.use_or_create(deps, journal, node, known)
        if seen.state is not State.READY:
            return Waiting(Reason.PROVISIONING, 15.0, observed=seen)
        known[node.key] = seen
        parts = deps.registry[node.key.kind].parts.driver
        for part in sorted(node.parts(known), key=str) if parts and not node.given else ():
            if part not in (seen.parts or await parts.parts(Ref(seen.id))):  # type: ignore[attr-defined]  # of roles and entries
                await parts.add_part(Ref(seen.id, seen.target), part)
        return Ready(seen, Category.MANAGED)

    async def release(
        self,
        deps: EngineDeps,
        graph: Graph,
        journal: Journal,
        store: Store,
        state: ObjectState,
        decisions: tuple[Decision, ...] = (),
    ) -> PassResult:
        """Addons and access entries go with the cluster; then provider and role, then the group."""
        for key in (CLUSTER, OIDC, ROLE, *(key for key in graph.nodes if key.kind == GROUP)):
            seen = await self._doomed(deps, graph.nodes[key])
            if seen is not None:
                await self._remove(deps, key, seen)
                return PassResult(journal, {key: Waiting(Reason.DELETING, 15.0)}, 15.0)
        return PassResult(journal, {}, 15.0, released=True)

    async def _doomed(self, deps: EngineDeps, node: Node) -> Observed | None:
        if node.key == ROLE:
            role = await self._named(deps, node, {})
            return role if role and OWNED in (role.tags or ()) else None
        if node.key != OIDC:
            return await self._named(deps, node, {})
        if OIDC not in self.status:
            return None
        ident = self.status[OIDC].id
        return (await deps.registry[OIDC.kind].driver.observe([Ref(ident)])).get(ident)

    async def _remove(self, deps: EngineDeps, key: NodeKey, seen: Observed) -> None:
        """A refusal is tried again in the next pass."""
        parts, ref = deps.registry[key.kind].parts.driver, Ref(seen.id, seen.target)
        try:
            for part in sorted(await parts.parts(ref), key=str) if key == ROLE and parts else ():
                await parts.remove_part(ref, part)
            if seen.state is not State.DELETING:
                await deps.registry[key.kind].driver.delete(ref)
        except CloudError:
            return
