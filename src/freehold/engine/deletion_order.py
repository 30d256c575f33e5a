"""In which order owned resources are deleted: what depends on others first.

The edges are those that the nodes had when they were wanted, kept in the journal. Where none are on record, as after
recovery from marks or in an older version's journal, the kinds say what must outlive what.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache

from freehold.engine.graph import Graph, Node
from freehold.engine.journal import Entry, Journal
from freehold.engine.kinds import Registry
from freehold.engine.resources import NodeKey

Entries = Mapping[NodeKey, Entry]


def with_edges(entry: Entry, node: Node, before: Collection[str] | None = None) -> Entry:
    """Add the edges of ``node`` to its record: it may still depend on what today's spec connects it with no more.

    ``before``: the edges that it had, if they are not those on record.
    """
    had = entry.requires or () if before is None else before
    edges = tuple(sorted({str(key) for key in node.requires - node.may_outlive} | set(had)))
    return entry if edges == entry.requires else replace(entry, requires=edges)


def add_edges(journal: Journal, graph: Graph, as_wanted: Collection[NodeKey] = ()) -> Journal:
    """Return the journal with the edges that an edit of the spec has added.

    What is ``as_wanted``, inside too, depends on nothing but what today's spec connects it with. Where none are on
    record none are added, so that an upgrade writes nothing to objects at rest.
    """
    known = {key: entry for key, entry in journal.claimed.items() if entry.requires is not None and key in graph.nodes}
    edited = {
        key: changed
        for key, entry in known.items()
        if (changed := with_edges(entry, graph.nodes[key], () if key in as_wanted else None)) is not entry
    }
    return replace(journal, entries={**journal.entries, **edited}) if edited else journal


def next_delete_wave(keys: Collection[NodeKey], entries: Entries, registry: Registry) -> frozenset[NodeKey]:
    """Return those of ``keys`` that nothing else of them depends on.

    If the recorded edges form a cycle (users can edit them), the order by kind is used.
    """
    free = frozenset(keys) - find_needed_keys(keys, entries, registry)
    return free or frozenset(keys) - find_needed_keys(keys, {}, registry)


def find_needed_keys(keys: Collection[NodeKey], entries: Entries, registry: Registry) -> set[NodeKey]:
    """Return those of ``keys`` that another one of them depends on, directly or not."""
    each = requirements_of_each(keys, keys, entries, registry)
    return {other for key, needed in each.items() for other in needed if other != key}


def requirements(key: NodeKey, keys: Collection[NodeKey], entries: Entries, registry: Registry) -> set[NodeKey]:
    """Return those of ``keys`` that ``key`` depends on, directly or not."""
    return requirements_of_each([key], keys, entries, registry)[key]


def requirements_of_each(
    some: Collection[NodeKey], keys: Collection[NodeKey], entries: Entries, registry: Registry
) -> dict[NodeKey, set[NodeKey]]:
    """Return the :func:`requirements` of several: they share most of their chains."""
    edges: dict[NodeKey, set[NodeKey]] = {}

    def follow(key: NodeKey) -> set[NodeKey]:
        found: set[NodeKey] = set()
        todo = [key]
        while todo:
            current = todo.pop()
            if current not in edges:
                edges[current] = _find_edges(current, keys, entries, registry)
            todo += edges[current] - found
            found |= edges[current]
        return found.intersection(keys)

    return {key: follow(key) for key in some}


def _find_edges(key: NodeKey, keys: Collection[NodeKey], entries: Entries, registry: Registry) -> set[NodeKey]:
    """Return what it depends on directly: as its record says, else as the kinds do."""
    entry = entries.get(key)
    if entry is not None and entry.requires is not None:
        edges: Collection[NodeKey] = _parse_edges(entry.requires)
    else:
        kinds = _required_kinds(key.kind, registry)
        edges = [other for other in keys if other.kind in kinds]
    return {other for other in edges if not _is_only_to_begin(other, registry)}


@lru_cache(maxsize=1024)  # a pass asks for the same ones many times
def _parse_edges(texts: tuple[str, ...]) -> frozenset[NodeKey]:
    return frozenset(map(NodeKey.parse, texts))


def _is_only_to_begin(key: NodeKey, registry: Registry) -> bool:
    """Return whether who requires it does so only until it exists (:mod:`consumed`)."""
    return key.kind in registry and bool(registry[key.kind].creation.consumer)


def _required_kinds(kind: str, registry: Registry) -> set[str]:
    found: set[str] = set()
    todo = [kind]
    while todo:
        current = todo.pop()
        required = set(registry[current].requires) if current in registry else set()
        todo += required - found
        found |= required
    return found
