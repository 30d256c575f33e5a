"""Edges between the resources of one object: what requires what, and what waits for what. Pure.

A resource has a key within its object, of its kind and its name as the status has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from freehold.api.vendor_ids import vendor_id
from freehold.engine.journal import Journal
from freehold.kube.resources import Json
from freehold.page.stored_object import as_mapping, as_texts, cut_name
from freehold.view.journal_view import find_requirements, read_journal
from freehold.view.object_view import Line


def resource_key(kind: object, name: object) -> str:
    """Return the key of a resource within its object, in the page."""
    return f"{cut_name(kind)}/{cut_name(name)}"


def choose_keys(lines: Sequence[Line]) -> list[str]:
    """Choose the keys of resources within their object: kind and name, with the id where two have one name."""
    chosen: dict[str, None] = {}
    for index, line in enumerate(lines):
        key = resource_key(line.kind, line.name)
        if key in chosen:
            key = f"{key}~{cut_name(vendor_id(line.id)) or index}"
        if key in chosen:
            key = f"{key}~{index}"
        chosen[key] = None
    return list(chosen)


def find_edges(journal: Journal | None, lines: Sequence[Line], keys: Sequence[str]) -> dict[str, list[str]]:
    """Find what each resource requires, by key: as on record; of what has no record yet, what it waits for.

    What something that it requires requires too is left out: it can be seen without.
    """
    recorded = {} if journal is None else find_requirements(journal, lines)
    waits = find_waits(lines, keys)
    edges = {
        key: [keys[each] for each in recorded[index] if each != index] if index in recorded else waits.get(key, [])
        for index, key in enumerate(keys)
    }
    return _leave_out_indirect(edges)


def _leave_out_indirect(edges: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Leave out the edges that lead over others; all stay where they go round in a circle."""
    try:
        order = list(TopologicalSorter(edges).static_order())
    except CycleError:
        return dict(edges)
    bits = {key: 1 << number for number, key in enumerate(order)}
    beyond: dict[str, int] = {}
    direct: dict[str, int] = {}
    for key in order:
        direct[key] = _join_bits(bits[each] for each in edges[key])
        beyond[key] = _join_bits(beyond[each] | direct[each] for each in edges[key])
    return {key: [each for each in those if not bits[each] & beyond[key]] for key, those in edges.items()}


def _join_bits(several: Iterable[int]) -> int:
    joined = 0
    for each in several:
        joined |= each
    return joined


def find_waits(lines: Sequence[Line], keys: Sequence[str]) -> dict[str, list[str]]:
    """Find what each resource waits for now, by key, as the status says it."""
    titles = {f"{line.kind} {line.name}": key for line, key in zip(lines, keys, strict=True)}
    return {
        key: [titles[each] for each in dict.fromkeys(line.waits_for) if each in titles]
        for line, key in zip(lines, keys, strict=True)
        if line.waits_for
    }


def read_edges(raw: Json, lines: Sequence[Line]) -> dict[str, list[str]]:
    """Read what resources require from the journal of a stored object, whatever that has in it; only what requires."""
    annotations = as_texts(as_mapping(raw.get("metadata")).get("annotations"))
    found = find_edges(read_journal({"metadata": {"annotations": annotations}}), lines, choose_keys(lines))
    return {key: those for key, those in found.items() if those}
