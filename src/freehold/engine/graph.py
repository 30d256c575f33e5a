"""Wanted nodes and their edges: which of them can be created now."""

from __future__ import annotations

import graphlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

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


def fits(observed: Observed) -> str:
    return ""


Lacks = Callable[[frozenset[Part]], str]
"""Why what is inside a resource will not do, and what to add to it; empty when it does."""


@dataclass(frozen=True)
class Node:
    """One wanted resource.

    ``request`` computes the create request from what is known of the requirements; ``given`` likewise
    the id, when the spec names the resource by id. ``field`` is where the spec does, or asks for it, for messages, and
    ``part_field`` where it asks for one of its parts, or did; empty where that is nowhere. ``parts`` is the set
    wanted inside it, and ``parts_require`` what they name beyond ``requires``: two nodes may name each other.
    ``first_parts`` are put into one that is ``shared``, each once: what the in-cluster provider does with them is left.
    ``unfit`` says why a resource of others, which is never changed, will not do; empty when it does. ``lacks`` says the
    same of what is inside it. ``through`` is the resource that must let traffic through to it once it is ours, and why
    that one, if it belongs to others, will not do. ``noun`` is what the spec calls it, where that is not its kind.
    ``tags`` belong on the resource beside marks and the user's tags, and before a user's of the same key (its role,
    ``kubernetes.io/cluster/<name>``); ``given_tags`` do if it is not ours, beside the user's where it is
    ``user_tagged``. ``refused_tags``: keys under which no tag of the user's is put on it. ``shared``: it is handed to
    the in-cluster provider (:attr:`outcomes.Category.SHARED`). ``place`` tells it from others of its name, for people
    (a zone). ``if_taken``: what a person can do where somebody else's resource has its name.
    """

    key: NodeKey
    name: str
    request: Callable[[ReadyNodes], Request]
    naming: Naming = Naming.DEFAULT
    requires: frozenset[NodeKey] = frozenset()
    given: Callable[[ReadyNodes], str] | None = None
    parts: Callable[[ReadyNodes], frozenset[Part]] = no_parts
    parts_require: frozenset[NodeKey] = frozenset()
    first_parts: Callable[[ReadyNodes], frozenset[Part]] = no_parts
    field: str = ""
    part_field: Callable[[Part], str] = nowhere
    unfit: Callable[[Observed], str] = fits
    lacks: Lacks | None = None
    through: tuple[NodeKey, Lacks] | None = None
    noun: str = ""
    tags: frozenset[str] = frozenset()
    given_tags: frozenset[str] = frozenset()
    user_tagged: bool = True
    shared: bool = False
    place: str = ""
    refused_tags: frozenset[str] = frozenset()
    if_taken: str = "name it in the spec to use it as it is, or choose another name for the cluster"

    @property
    def title(self) -> str:
        return f"{self.name} {self.place}".rstrip()

    def absent(self, id_: str) -> str:
        """The sentence for an id that the cloud does not know."""
        where = self.field or f"the id that the spec gives for {self.key}"
        return f"{where}: {self.noun or self.key.kind} {id_.rpartition('/')[2]} does not exist: correct the id"


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

    def title(self, key: NodeKey) -> str:
        """What people know it by: no other of its kind has the same."""
        title = self.nodes[key].title
        return title if self._titles[key.kind, title] == 1 else f"{title} ({key.logical})"

    def wave(self, ready: Collection[NodeKey]) -> tuple[Node, ...]:
        """All nodes whose requirements are ready, in a stable order."""
        return tuple(self.nodes[key] for key in self.order if self.nodes[key].requires <= set(ready))
