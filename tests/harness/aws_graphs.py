"""A graph as plain data: every request, part and tag that it comes to, with ids made up for what is ready."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from freehold.engine.graph import Graph, Node, ReadyNodes
from freehold.engine.resources import NodeKey, Observed, Part, State
from freehold.engine.tag_text import key_and_value

VPC_RANGE, VPC_RANGE_6 = "10.0.0.0/16", "2600:1f14:e08:7400::/56"
_ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "vpc": {"cidr": VPC_RANGE, "ipv6_cidrs": (VPC_RANGE_6,)},
    "instance": {"image_id": "ami-of-the-one-that-is-there"},
}


def ready(graph: Graph) -> ReadyNodes:
    """Everything of a graph, there."""
    return {key: _seen(key, number) for number, key in enumerate(sorted(graph.nodes), 1)}


def _seen(key: NodeKey, number: int) -> Observed:
    attributes = dict(_ATTRIBUTES.get(key.kind, {}))
    if key.kind == "elastic-ip":
        attributes["address"] = f"198.51.100.{number}"
    return Observed(str(key), str(key), State.READY, attributes=attributes)


def before(graph: Graph, key: NodeKey) -> ReadyNodes:
    """What is ready when a node is created: what it requires, and nothing else."""
    known = ready(graph)
    return {each: known[each] for each in graph.nodes[key].requires}


def requests(graph: Graph) -> dict[str, Mapping[str, Any]]:
    """The create request of each node that is not given."""
    return {str(key): node.request(before(graph, key)) for key, node in graph.nodes.items() if not node.given}


def parts(graph: Graph, key: str) -> frozenset[Part]:
    """What is wanted inside, made of no more than the node says that it needs."""
    node, known = graph.nodes[NodeKey.parse(key)], ready(graph)
    return node.parts({each: known[each] for each in node.requires | node.parts_require})


def tags(node: Node) -> dict[str, str]:
    return dict(map(key_and_value, sorted(node.tags or node.given_tags)))


def counts(graph: Graph) -> Counter[str]:
    """How many of each kind."""
    return Counter(key.kind for key in graph.nodes)


def plain(graph: Graph) -> dict[str, Any]:
    """All of it."""
    asked = requests(graph)
    return {
        str(key): {
            "request": asked.get(str(key)),
            "given": node.given(ready(graph)) if node.given else "",
            "name": node.name,
            "requires": sorted(map(str, node.requires)),
            "parts": sorted((str(part), part.behavior, str(part.request)) for part in parts(graph, str(key))),
            "tags": tags(node),
            "shared": node.shared,
        }
        for key, node in graph.nodes.items()
    }
