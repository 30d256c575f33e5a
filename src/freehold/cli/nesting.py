"""Which resource is in which, for people: a subnet in its VPC, a connection in its gateway. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.cli.view import Line
from freehold.lifecycle.journal import CorruptJournal, Journal, loads

INSIDE: Mapping[str, str] = {
    "dhcp-server": "workspace",
    "vpc-subnet": "vpc",
    "security-group": "vpc",
    "load-balancer": "vpc",
    "transit-gateway-connection": "transit-gateway",
    "cos-bucket": "cos-instance",
}
"""Of the kinds that a kind requires the one in which people look for it; the registry cannot say which that is, and
takes the clouds' SDKs to import."""


def parents(obj: Mapping[str, Any], lines: Sequence[Line]) -> list[int | None]:
    """For each line the index of the one that it is in; None for what is directly below the object.

    The journal's edges tell which of several; without them the only one of its kind is it.
    """
    edges = _edges(obj)
    return [_parent(line, lines, edges) for line in lines]


def _parent(line: Line, lines: Sequence[Line], edges: Mapping[tuple[str, str], frozenset[str]]) -> int | None:
    kind = INSIDE.get(line.kind)
    candidates = [index for index, each in enumerate(lines) if each.kind == kind]
    required = edges.get((line.kind, line.id), frozenset())
    known = [index for index in candidates if lines[index].id in required]
    chosen = known or candidates
    return chosen[0] if len(chosen) == 1 else None


def _edges(obj: Mapping[str, Any]) -> dict[tuple[str, str], frozenset[str]]:
    """By kind and vendor id of a resource the vendor ids of what it requires."""
    journal = _journal(obj)
    if journal is None:
        return {}
    ids = {str(key): entry.id.rpartition("/")[2] for key, entry in journal.entries.items() if entry.id}
    return {
        (key.kind, ids[str(key)]): frozenset(ids[each] for each in entry.requires or () if each in ids)
        for key, entry in journal.entries.items()
        if str(key) in ids
    }


def _journal(obj: Mapping[str, Any]) -> Journal | None:
    text = (obj["metadata"].get("annotations") or {}).get(JOURNAL_ANNOTATION)
    try:
        return loads(text) if text else None
    except CorruptJournal:  # the operator says so in a condition, which is shown too
        return None
