"""The engine with our drivers: marks, renames and proofs with IBM's lags, from nothing to Ready and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from freehold.engine.durations import Durations
from freehold.engine.engine import ensure, release
from freehold.engine.graph import Graph, Node, ReadyNodes
from freehold.engine.interface import EngineDeps
from freehold.engine.inventory import Inventory
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Ready
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Request
from freehold.engine.state import ObjectState
from freehold.providers.ibm.marks import IbmCodec

OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "IBMPowerVSCluster", "default", "demo")
WORKSPACE, NETWORK, VPC = NodeKey("workspace", "main"), NodeKey("dhcp-server", "main"), NodeKey("vpc", "main")
SUBNET, GATEWAY = NodeKey("vpc-subnet", "us-south-1"), NodeKey("transit-gateway", "main")
STORAGE, BUCKET = NodeKey("cos-instance", "main"), NodeKey("cos-bucket", "main")
LINK = NodeKey("transit-gateway-connection", "vpc")
HOUR = 3600.0


class _Store:
    """The annotation, in memory."""

    async def save(self, journal: Journal) -> None:
        """The pass passes the journal on."""


def _graph(account: Any) -> Graph:
    """One node of most kinds, with the edges that the reconciler makes."""

    def node(key: NodeKey, request: Callable[[ReadyNodes], Request], *requires: NodeKey) -> Node:
        return Node(key, f"demo-{key.kind}"[:40], request, requires=frozenset(requires))

    def named(request: dict[str, Any]) -> Callable[[ReadyNodes], Request]:
        return lambda known: request

    return Graph(
        [
            node(WORKSPACE, named(account.workspace("demo-workspace"))),
            Node(
                NETWORK, "DHCPSERVERnet_Private", lambda known: account.dhcp(known[WORKSPACE]),
                requires=frozenset({WORKSPACE}),
            ),
            node(VPC, named(account.vpc("demo-vpc"))),
            node(SUBNET, lambda known: account.subnet(known[VPC], "demo-vpc-subnet"), VPC),
            node(GATEWAY, named(account.gateway("demo-transit-gateway"))),
            node(
                LINK, lambda known: {**account.connection(known[GATEWAY], known[VPC]),
                                     "name": "demo-transit-gateway-connection"}, GATEWAY, VPC,
            ),
            node(STORAGE, named(account.cos("demo-cos-instance"))),
            node(BUCKET, lambda known: account.bucket(known[STORAGE], "demo-cos-bucket"), STORAGE),
        ]
    )  # fmt: skip


async def test_the_resources_of_a_cluster_are_created_and_deleted(account: Any) -> None:
    """With IBM's lags everything is created once, marked and named as wanted, and nothing is left behind."""
    clock, graph = account.clock, _graph(account)
    inventory = Inventory(account.tagger, clock)
    ring = KeyRing.single(b"k" * 32)
    deps = EngineDeps(
        account.kinds, IbmCodec(), account.tagger, inventory, account.port, clock, ring=ring, durations=Durations(clock)
    )
    state = ObjectState(first_seen=clock.monotonic(), minted=True)
    journal, start, notes = Journal(OWNER), clock.now(), []
    while clock.now() - start < HOUR:
        done = await ensure(deps, graph, journal, _Store(), state)
        journal = done.journal
        notes += done.notes
        if all(isinstance(outcome, Ready) for outcome in done.outcomes.values()):
            break
        account.clock.advance(max(done.after, 1.0))
    assert {key for key, outcome in done.outcomes.items() if isinstance(outcome, Ready)} == graph.nodes.keys()
    assert [o.note for o in done.outcomes.values() if isinstance(o, Ready) and o.note] == []
    assert clock.now() - start <= 1.15 * (150 + 300)
    names = {record["name"] for record in _standing(account)}
    assert {"demo-workspace", "demo-vpc", "demo-vpc-subnet", "demo-transit-gateway", "demo-cos-instance"} <= names
    assert {"DHCPSERVERnet_Private", "demo-cos-bucket"} <= names

    while not done.released and clock.now() - start < 3 * HOUR:
        done = await release(deps, graph, journal, _Store(), state)
        journal = done.journal
        account.clock.advance(max(done.after, 1.0))
    assert done.released
    assert {record["kind"] for record in _standing(account)} <= {"instance"}  # storage, in reclamation
    assert [r["name"] for r in _standing(account) if r["state"] != "pending_reclamation"] == []


def _standing(account: Any) -> list[Any]:
    """The resources in the account, without removed ones that it still lists."""
    kinds = ("instance", "dhcp", "network", "vpc", "subnet", "gateway", "connection", "bucket")
    records = [record for kind in kinds for record in account.cloud.world.all(kind)]
    gone_with_storage = {r["id"] for r in records if r.get("state") == "pending_reclamation"}
    return [r for r in records if r.get("state") != "removed" and r.get("instance") not in gone_with_storage]
