"""Parents: an object that is part of another one (a machine of a cluster) is in that one's account (ADR 25). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freehold.api import names
from freehold.api.served import ParentName, ServedName
from freehold.engine import journal as journals
from freehold.engine.journal import CorruptJournal, Journal
from freehold.kube.resources import Json
from freehold.providers.objects import identity
from freehold.providers.objects.identity import ParentStanding


def kind_of_parent(parent: Mapping[str, Any], kinds: Sequence[ParentName]) -> ParentName:
    """Return which of the kinds a raw parent is of."""
    return next((each for each in kinds if each.kind == parent.get("kind")), kinds[0])


def read_standing(parent: Mapping[str, Any], kind: ParentName) -> ParentStanding | None:
    """Read where the children of ``parent`` stand; None as long as it has no identity of its own.

    One that something else manages never has one: its children are within nothing of ours.
    """
    metadata = parent["metadata"]
    spec = parent.get("spec") or {}
    place = {name: spec[name] for name in kind.place if spec.get(name)}
    if (metadata.get("annotations") or {}).get(names.MANAGED_BY_ANNOTATION, names.MANAGED_BY_FREEHOLD) != (
        names.MANAGED_BY_FREEHOLD
    ):
        return ParentStanding("", place)
    record = _read_own_record(parent)
    return ParentStanding(record.owner.uuid, place) if record else None


def find_standing(
    raw: Mapping[str, Any], served: ServedName, parent: Mapping[str, Any] | None
) -> ParentStanding | None:
    """Find where an object stands: as its parent says while that is there, else as its own record says.

    Of another parent of the same name only a new identity learns. None if nothing says it.
    """
    if not served.parents:
        return ParentStanding()
    anew = (raw["metadata"].get("annotations") or {}).get(names.IDENTITY_ANNOTATION) == names.NEW_IDENTITY
    record = None if anew else _read_own_record(raw)
    said = read_standing(parent, kind_of_parent(parent, served.parents)) if parent else None
    if said is not None and (record is None or record.owner.within == said.within):
        return said
    return ParentStanding(record.owner.within, record.place) if record and record.place else None


def put_in_place(raw: Mapping[str, Any], standing: ParentStanding) -> Json:
    """Return the object with the fields in its spec that say its account."""
    if not standing.place:
        return dict(raw)
    return {**raw, "spec": {**(raw.get("spec") or {}), **standing.place}}


def _read_own_record(raw: Mapping[str, Any]) -> Journal | None:
    """Read the record of the object itself; None without one. What its status says of it outweighs the annotation."""
    record, proven = _read_annotation(raw), identity.read_proven_status(raw)
    if record is None or proven is None:
        return record or proven
    is_cut = record.owner.within and not proven.owner.within  # by the CRD of an earlier version
    return replace(record, owner=record.owner if is_cut else proven.owner, place=proven.place or record.place)


def _read_annotation(raw: Mapping[str, Any]) -> Journal | None:
    text = (raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
    try:
        record = journals.loads(text) if text is not None else None
    except CorruptJournal:
        return None
    return record if record and identity.is_own(raw, record) else None
