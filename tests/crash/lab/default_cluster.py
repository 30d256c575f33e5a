"""The network of a default cluster over three zones with NAT, in memory: 25 marked resources, 47 writes.

The writes are those of Cluster API's AWS provider: a VPC (2), six subnets (6 + 3), an internet gateway (2), three
addresses and NAT gateways (6), six route tables with a route and an association each (18), four groups (4 + 3), a load
balancer (3).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from freehold.engine.graph import Node, ReadyNodes
from freehold.engine.kinds import Dedupe, Kind
from freehold.engine.port import Port
from freehold.engine.resources import NodeKey, Part
from lab.cloud import Traits
from lab.network import ALLOW, EVERYWHERE, GATE, JOIN, ROUTE, TRAITS, NetworkWorld, attachment
from lab.spelling import PlainCodec
from lab.world import node

ZONES = ("a", "b", "c")
WRITES = 47
FLOOR = 57
"""With one read of each kind and one of the zones."""
GROUPS = ("apiserver", "controlplane", "node", "lb")


CLUSTER_TRAITS = {
    traits.name: replace(traits, create_time=0.0)  # so that nothing is polled
    for traits in (
        *TRAITS.values(),
        replace(TRAITS["vpc"], shows_parts=True),
        Traits("subnet", tags_on_create=True, parent="vpc", shows_parts=True, held_by=frozenset({JOIN})),
        Traits("address", tags_on_create=True),
        Traits("balancer", tags_on_create=True, parent="vpc", unique=True, shows_parts=True),
    )
}


def _with(key: str, *requires: str, parts: Iterable[Part]) -> Node:
    wanted = frozenset(parts)
    return replace(node(key, *requires), parts=lambda known: wanted)


def _table(zone: str, sort: str) -> Node:
    """A route table: of a public subnet to the internet gateway, of a private one to the NAT gateway of its zone."""
    way, subnet = (GATE if sort == "public" else NodeKey("nat", zone)), NodeKey("subnet", f"{sort}-{zone}")

    def parts(known: ReadyNodes) -> frozenset[Part]:
        return frozenset({Part(ROUTE, EVERYWHERE, behavior=known[way].id), Part(JOIN, known[subnet].id)})

    return replace(node(f"table/{sort}-{zone}", "vpc/main", str(way), str(subnet)), parts=parts)


def _group(name: str, other: str) -> Node:
    named = NodeKey("group", other)
    return replace(
        node(f"group/{name}", "vpc/main"),
        parts=lambda known: frozenset({Part(ALLOW, known[named].id)}),
        parts_require=frozenset({named}),
    )


def default_cluster() -> list[Node]:
    nats = [node(f"nat/{z}", "vpc/main", "gate/door", f"subnet/public-{z}", f"address/{z}") for z in ZONES]
    return [
        _with("vpc/main", parts=[Part("attribute", "dns-hostnames")]),
        replace(node("gate/door", "vpc/main"), parts=attachment),
        *(node(f"address/{zone}") for zone in ZONES),
        *(_with(f"subnet/public-{z}", "vpc/main", parts=[Part("attribute", "public-ip")]) for z in ZONES),
        *(node(f"subnet/private-{zone}", "vpc/main") for zone in ZONES),
        *nats,
        *(_table(zone, sort) for sort in ("public", "private") for zone in ZONES),
        *(_group(name, other) for name, other in itertools.pairwise(GROUPS)),
        node("group/lb", "vpc/main"),
        _with(
            "balancer/api",
            "vpc/main",
            "group/lb",
            *(f"subnet/public-{zone}" for zone in ZONES),
            parts=[Part("attribute", "health-check"), Part("attribute", "idle-timeout")],
        ),
    ]


@dataclass
class ClusterWorld(NetworkWorld):
    """``plain``: each seal is a tag of its own, and no kind is nameless."""

    nodes: Iterable[Node] = field(default_factory=default_cluster)
    traits: dict[str, Traits] = field(default_factory=lambda: dict(CLUSTER_TRAITS))
    plain: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plain:
            self.codec = PlainCodec()

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        network = {kind.name: kind for kind in super().kinds(port)}
        vpc = self.kind(port, "vpc", Dedupe.NONCE)
        found = (
            replace(vpc, parts=replace(vpc.parts, exclusive=frozenset({"attribute"}))),
            network["gate"],
            self.kind(port, "subnet", Dedupe.NONCE, "vpc"),
            self.kind(port, "address", Dedupe.NONCE),
            replace(network["nat"], requires=("vpc", "gate", "subnet", "address")),
            replace(network["table"], requires=("vpc", "nat", "gate", "subnet")),
            network["group"],
            self.kind(port, "balancer", Dedupe.KEY, "vpc", "subnet", "group"),
        )
        return (
            tuple(replace(kind, naming=replace(kind.naming, has_no_name=False)) for kind in found)
            if self.plain
            else found
        )
