"""CAPA's own way on AWS: names and tags find, one status at the end of a pass, relations decide what is deleted.

As docs/reference/aws.md has it: a VPC is found by its ``Name``, a gateway by its attachment, a route table by its
association, a load balancer by its name, a target group by the load balancer that leads to it, for its name is random;
what has the tag with the cluster's name is the cluster's. Of load balancers:
https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/elb/loadbalancer.go
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from uuid import uuid4

from freehold.engine.decisions import Decision
from freehold.engine.errors import CloudError
from freehold.engine.graph import Graph, Node, ReadyNodes
from freehold.engine.interface import EngineDeps, PassResult
from freehold.engine.journal import Journal, Store
from freehold.engine.outcomes import Category, Outcome, Ready, Reason, Waiting, outcome_of_error
from freehold.engine.port import Call, Effect
from freehold.engine.resources import Birth, NodeKey, Observed, Part, Ref, State, Want
from freehold.engine.state import ObjectState
from lab.baselines import FIXED, Held, Naive

VPC = NodeKey("vpc", "main")
OWNED = "sigs.k8s.io/cluster-api-provider-aws/cluster/demo=owned"
HOLDING = ("attachment", "route-table-association", "ingress-rule")
FRONT, TARGET_GROUP, LISTENER = "network-load-balancer", "target-group", "listener"
BY_NAME = ("classic-load-balancer", FRONT)
ORDER = (
    FRONT,
    "classic-load-balancer",
    "security-group",
    "route-table",
    "nat-gateway",
    "elastic-ip",
    "internet-gateway",
    "subnet",
)


class Capa(Naive):
    """It keeps the id of the VPC; everything else is found again."""

    async def use_or_create(
        self, deps: EngineDeps, journal: Journal, node: Node, known: ReadyNodes
    ) -> tuple[Observed, bool]:
        if (found := await self._found(deps, node, known)) is not None:
            return found, False
        await self._hold(deps)
        # Which node it is tells the oracle; the uuid, our own reconciler, which would refuse what has our name else.
        marks = frozenset(node.tags) | deps.codec.label(node.key) | deps.codec.owner(journal.owner)
        birth = Birth(str(uuid4()), FIXED, marks)  # the SDK's own token, another one for each call
        request = dict(node.request(known))
        if node.key.kind == TARGET_GROUP:
            request["name"] = f"apiserver-target-{uuid4().hex[:5]}"
        return await deps.registry[node.key.kind].driver.create(request, birth), True

    async def _found(self, deps: EngineDeps, node: Node, known: ReadyNodes) -> Observed | None:
        key, request = node.key, node.request(known)
        if key.kind in (*BY_NAME, LISTENER):
            return await self._by_name_alone(deps, node, known)
        if key == VPC and VPC in self.status:
            ident = self.status[VPC].id
            return (await deps.registry["vpc"].driver.observe([Ref(ident)])).get(ident)
        vpc = known[VPC].id if VPC in known else ""
        there = [seen for seen in await listed(deps, key.kind) if seen.state not in (State.DELETING, State.FAILED)]
        match key.kind:
            case "vpc":
                found = [seen for seen in there if f"Name={node.name}" in (seen.tags or ())]
            case "subnet":
                found = [s for s in there if s.attributes["vpc_id"] == vpc and s.attributes["cidr"] == request["cidr"]]
            case "internet-gateway":
                found = [seen for seen in there if _names(seen, vpc)]
            case "nat-gateway":
                found = [seen for seen in there if seen.attributes["subnet_id"] == request["subnet_id"]]
            case "route-table":
                wanted = [part.natural_key for part in node.parts(known) if part.kind == "route-table-association"]
                found = [seen for seen in there if any(_names(seen, subnet) for subnet in wanted)]
            case "target-group":
                front = known[_front_of(key)].id
                found = [s for s in there if _leads_to(front, s) and s.attributes["port"] == request["port"]]
            case "security-group":
                found = [seen for seen in there if seen.attributes["vpc_id"] == vpc and seen.name == node.name]
            case _:
                found = [seen for seen in there if OWNED in (seen.tags or ())]
        return next(iter(found), None)

    async def _by_name_alone(self, deps: EngineDeps, node: Node, known: ReadyNodes) -> Observed | None:
        want = Want(node.key, node.name, dict(node.request(known)), frozenset())
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
        for key in sorted(graph.order, key=_tables_last):
            node = graph.nodes[key]
            if not node.requires | _before(node) <= known.keys():
                outcomes[key] = Waiting(Reason.REQUIREMENT, 15.0)
                continue
            try:
                observed, _ = await self.use_or_create(deps, journal, node, known)
                if observed.state is State.READY or key.kind == "internet-gateway":
                    known[key] = observed
                    await self._fill(deps, node, observed, known)
                    outcomes[key] = Ready(observed, Category.MANAGED)
                else:
                    outcomes[key] = Waiting(Reason.PROVISIONING, 15.0, observed=observed)
            except CloudError as error:
                outcomes[key] = outcome_of_error(error)
        await self._patch(deps, known)
        return PassResult(journal, outcomes, 60.0 if all(isinstance(o, Ready) for o in outcomes.values()) else 15.0)

    async def _fill(self, deps: EngineDeps, node: Node, observed: Observed, known: ReadyNodes) -> None:
        """Attachment, routes, association, rules."""
        driver = deps.registry[node.key.kind].parts.driver
        if driver is None or node.key.kind in BY_NAME or not node.parts_require <= known.keys():
            return
        for part in sorted(node.parts(known) - (observed.parts or frozenset()), key=_routes_first):
            await driver.add_part(Ref(observed.id, observed.target), part)

    async def _patch(self, deps: EngineDeps, known: ReadyNodes) -> None:
        """What was learnt in this pass goes into the object at its end."""
        if VPC not in known or VPC in self.status:
            return
        held = Held(known[VPC].id, known[VPC].target, carried=False, created=True)
        await deps.port.send(
            Call("store", "patch", Effect.STORE, lambda: self.status.update({VPC: held}), "the object")
        )

    async def release(
        self,
        deps: EngineDeps,
        graph: Graph,
        journal: Journal,
        store: Store,
        state: ObjectState,
        decisions: tuple[Decision, ...] = (),
    ) -> PassResult:
        vpc = self.status[VPC].id if VPC in self.status else ""
        left: dict[NodeKey, Outcome] = {}
        for kind in ORDER:
            for seen in await self._doomed(deps, graph, kind, vpc):
                left[NodeKey(kind, seen.id)] = Waiting(Reason.DELETING, 15.0)
                if kind != FRONT or await self._empty(deps, graph, seen):
                    await self._remove(deps, kind, seen)
        if vpc and (seen_vpc := (await deps.registry["vpc"].driver.observe([Ref(vpc)])).get(vpc)):
            left[VPC] = Waiting(Reason.DELETING, 15.0)
            if len(left) == 1:
                await self._remove(deps, "vpc", seen_vpc)
        return PassResult(journal, left, 15.0, released=not left)

    async def _doomed(self, deps: EngineDeps, graph: Graph, kind: str, vpc: str) -> Sequence[Observed]:
        """Subnets are all of the VPC, gateways what is attached to it, addresses what has the cluster's name."""
        if kind in BY_NAME:
            nodes = [node for node in graph.nodes.values() if node.key.kind == kind]
            wants = [Want(node.key, node.name, {}, frozenset()) for node in nodes]
            found = await deps.registry[kind].driver.find(wants)
            return [seen for each in found.values() for seen in each]
        there = await listed(deps, kind)
        if kind == "elastic-ip":
            return [seen for seen in there if OWNED in (seen.tags or ())]
        if kind == "internet-gateway":
            return [seen for seen in there if vpc and _names(seen, vpc)]
        inside = [seen for seen in there if vpc and seen.attributes["vpc_id"] == vpc]
        return inside if kind in ("subnet", "nat-gateway") else [seen for seen in inside if OWNED in (seen.tags or ())]

    async def _empty(self, deps: EngineDeps, graph: Graph, front: Observed) -> bool:
        """Delete the listeners of a load balancer, and then the groups that it led to; whether all that was taken."""
        groups = [seen for seen in await listed(deps, TARGET_GROUP) if _leads_to(front.id, seen)]
        listeners, ports = deps.registry[LISTENER].driver, [key for key in graph.nodes if key.kind == LISTENER]
        wants = [Want(key, "", {"balancer": front.id, "port": _port_of(key)}, frozenset()) for key in ports]
        try:
            for seen in chain.from_iterable((await listeners.find(wants)).values()):
                await listeners.delete(Ref(seen.id, seen.target))
            for seen in groups:
                await deps.registry[TARGET_GROUP].driver.delete(Ref(seen.id, seen.target))
        except CloudError:
            return False
        return True

    async def _remove(self, deps: EngineDeps, kind: str, seen: Observed) -> None:
        """A refusal is tried again in the next pass."""
        parts, ref = deps.registry[kind].parts.driver, Ref(seen.id, seen.target)
        try:
            for part in seen.parts or ():
                if parts is not None and part.kind in HOLDING:
                    await parts.remove_part(ref, part)
            if seen.state is not State.DELETING:
                await deps.registry[kind].driver.delete(ref)
        except CloudError:
            return


async def listed(deps: EngineDeps, kind: str) -> Sequence[Observed]:
    """Those of a kind that has a list."""
    driver = deps.registry[kind].driver
    rows = await driver.read_rows(driver.list_of(Ref("")))  # type: ignore[attr-defined]  # all of these have lists
    return [row.observed for row in rows]


def _names(seen: Observed, natural_key: str) -> bool:
    return any(part.natural_key == natural_key for part in seen.parts or ())


def _routes_first(part: Part) -> tuple[bool, str]:
    return part.kind == "route-table-association", str(part)


def _tables_last(key: NodeKey) -> int:
    """CAPA makes route tables after the NAT gateways, and target groups when the load balancer is there."""
    return {"route-table": 1, "vpc-endpoint": 2, TARGET_GROUP: 3, LISTENER: 4}.get(key.kind, 0)


def _before(node: Node) -> frozenset[NodeKey]:
    """What it waits for beside what the node needs: it makes a route table with its routes."""
    if node.key.kind == TARGET_GROUP:
        return frozenset({_front_of(node.key)})
    return node.parts_require if node.key.kind == "route-table" else frozenset()


def _front_of(group: NodeKey) -> NodeKey:
    """The load balancer of a target group."""
    return NodeKey(FRONT, group.logical.partition(":")[0])


def _port_of(listener: NodeKey) -> int:
    return int(listener.logical.partition(":")[2])


def _leads_to(front: str, group: Observed) -> bool:
    return front in group.attributes["balancers"]
