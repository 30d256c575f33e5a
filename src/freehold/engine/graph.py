"""Wanted nodes and their edges: which of them can be created now."""

from __future__ import annotations

import graphlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from freehold.engine.resources import NodeKey, Observed, Part, Request

ReadyNodes = Mapping[NodeKey, Observed]
"""What is known of the nodes that are recorded and ready."""


class Naming(Enum):
    """Where a name comes from decides whether a stranger's namesake may be used (ADR 3)."""

    EXPLICIT = "explicit"  # in the spec: an unmarked namesake is used, never changed, never deleted
    DEFAULT = "default"  # ours: a namesake is somebody else's, NameTaken


def no_parts(known: ReadyNodes) -> frozenset[Part]:
    return frozenset()


def nowhere(part: Part) -> str:
    return ""


def no_problem(observed: Observed) -> str:
    return ""


MissingInside = Callable[[frozenset[Part]], str]
"""Why what is inside a resource will not do, and what to add to it; empty when it does."""


@dataclass(frozen=True)
class Node:
    """One wanted resource. What is computed takes what is known of the nodes that are ready."""

    key: NodeKey
    name: str
    request: Callable[[ReadyNodes], Request]
    """Computes the create request."""
    naming: Naming = Naming.DEFAULT
    requires: frozenset[NodeKey] = frozenset()
    given: Callable[[ReadyNodes], str] | None = None
    """Computes the id, where the spec names the resource by id."""
    may_outlive: frozenset[NodeKey] = field(default=frozenset(), kw_only=True)
    """The nodes of ``requires`` that it needs to be made, and that may be deleted before it."""
    attribute_fields: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """The fields of the spec that ask for single attributes of the request, for messages."""

    parts: Callable[[ReadyNodes], frozenset[Part]] = no_parts
    """The set wanted inside it."""
    parts_require: frozenset[NodeKey] = frozenset()
    """What the parts name beyond ``requires``: two nodes may name each other."""
    first_parts: Callable[[ReadyNodes], frozenset[Part]] = no_parts
    """Those put into one that is ``shared``, each once: what the in-cluster provider does with them is left."""

    field: str = ""
    """Where the spec names it, or asks for it, for messages; empty where that is nowhere."""
    part_field: Callable[[Part], str] = nowhere
    """Where the spec asks for one of its parts, or did."""
    given_problem: Callable[[Observed], str] = no_problem
    """Says why a resource of others, which is never changed, will not do; empty when it does."""
    missing_inside: MissingInside | None = None
    """Says the same of what is inside it."""
    traffic_via: tuple[NodeKey, MissingInside] | None = None
    """The resource that must let traffic through to it once it is ours; and why that one, if it is of others, will not
    do."""
    spec_noun: str = ""
    """What the spec calls it, where that is not its kind."""
    absent_advice: str = "correct the id"
    """The advice for a person where a given resource does not exist."""
    name_taken_advice: str = "name it in the spec to use it as it is, or choose another name for the cluster"
    """What a person can do where somebody else's resource has its name."""

    tags: frozenset[str] = frozenset()
    """Tags beside marks and the user's, and before a user's of the same key (its role,
    ``kubernetes.io/cluster/<name>``)."""
    given_tags: frozenset[str] = frozenset()
    """Tags for it if it is not ours, beside the user's where it is ``user_tagged``."""
    user_tagged: bool = True
    refused_tags: frozenset[str] = frozenset()
    """Keys under which no tag of the user's is put on it."""
    shared: bool = False
    """It is handed to the in-cluster provider (:attr:`outcomes.Category.SHARED`)."""
    place: str = ""
    """Tells it from others of its name, for people (a zone)."""
    label: str = ""
    """What people know it by, where its name in the cloud is too long for a row."""

    @property
    def title(self) -> str:
        return f"{self.label or self.name} {self.place}".rstrip()

    def absent(self, id_: str) -> str:
        """Return the sentence for an id that the cloud does not know."""
        where = self.field or f"the id that the spec gives for {self.key}"
        return (
            f"{where}: {self.spec_noun or self.key.kind} {id_.rpartition('/')[2]} does not exist: {self.absent_advice}"
        )


class Graph:
    """The wanted nodes of one object; refuses unknown requirements, cycles and two nodes of one key."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: dict[NodeKey, Node] = {}
        for node in nodes:
            if node.key in self.nodes:
                raise ValueError(f"there are two nodes {node.key}")
            self.nodes[node.key] = node
        for node in self.nodes.values():
            missing = (node.requires | node.parts_require) - self.nodes.keys()
            if missing:
                raise ValueError(f"{node.key} requires {', '.join(map(str, missing))}, which nothing wants")
        self._titles = Counter((node.key.kind, node.title) for node in self.nodes.values())
        self.order = tuple(graphlib.TopologicalSorter({k: n.requires for k, n in self.nodes.items()}).static_order())

    def leave_out(self, keys: Collection[NodeKey]) -> Graph:
        """Return the graph without these nodes, and without the edges to them."""
        left = (node for node in self.nodes.values() if node.key not in keys)
        cut = (
            replace(n, requires=n.requires.difference(keys), parts_require=n.parts_require.difference(keys))
            for n in left
        )
        return Graph(cut)

    def title(self, key: NodeKey) -> str:
        """Return what people know it by: no other of its kind has the same."""
        title = self.nodes[key].title
        return title if self._titles[key.kind, title] == 1 else f"{title} ({key.logical})"

    @cached_property
    def dependents(self) -> Mapping[NodeKey, frozenset[NodeKey]]:
        """The nodes that require each node."""
        found: dict[NodeKey, set[NodeKey]] = {key: set() for key in self.nodes}
        for key, node in self.nodes.items():
            for required in node.requires:
                found[required].add(key)
        return {key: frozenset(others) for key, others in found.items()}

    def wave(self, ready: Collection[NodeKey]) -> tuple[Node, ...]:
        """Return all nodes whose requirements are ready, in a stable order."""
        return tuple(self.nodes[key] for key in self.order if self.nodes[key].requires <= set(ready))
