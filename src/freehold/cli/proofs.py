"""What the ownership of a resource rests on, for people: read from the journal that the object carries. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.api.vendor_ids import vendor_id
from freehold.engine.journal import CorruptJournal, Entry, Journal, Phase, loads
from freehold.engine.keys import KeyRing
from freehold.engine.resources import NodeKey


def proofs(obj: Mapping[str, Any], ring: KeyRing | None) -> dict[str, str]:
    """By vendor id, as the status reports it; empty where there is no journal that can be read.

    ``ring``: the operator's, None where this command cannot read it: an editor of the object may have written
    the records, and only the key tells.
    """
    text = (obj["metadata"].get("annotations") or {}).get(JOURNAL_ANNOTATION)
    if not text:
        return {}
    try:
        journal = loads(text)
    except CorruptJournal:  # the operator says so in a condition, which is shown too
        return {}
    return {
        vendor_id(entry.id): _phrase(key, entry, journal, ring) for key, entry in journal.entries.items() if entry.id
    }


def _phrase(key: NodeKey, entry: Entry, journal: Journal, ring: KeyRing | None) -> str:
    match entry.phase:
        case Phase.OWNED:
            marks = "mark on its carrier, read back" if entry.carried else "own marks, read back"
            return f"{marks}; {_record(key, entry, journal, ring)}"
        case Phase.RECORDED:
            return f"marks not read back yet; {_record(key, entry, journal, ring)}"
        case Phase.INTENDED:
            return "create sent, outcome open"
        case Phase.GIVEN:
            return "given by id in the spec"
        case Phase.THEIRS:
            return "only another owner's marks"
        case Phase.GIVEN_UP:
            return "given up by a person; no mark"
        case Phase.REUSED:
            return "found by its name; no mark"
        case Phase.VACANT:
            return "none: earlier attempts came to nothing"


def _record(key: NodeKey, entry: Entry, journal: Journal, ring: KeyRing | None) -> str:
    """Whether the operator itself wrote this id into the journal."""
    if not entry.key:
        return "record NOT signed by the operator: it names no key"
    if ring is None:
        return "record not checked: no key ring here"
    keys = ring.of(journal.owner)
    if entry.key not in keys.derived:
        return f"record not checked: the key ring lacks key {entry.key}"
    signed = keys.vouches(entry.key, entry.signature, key.kind, entry.id, entry.incarnation)
    return "record signed" if signed else "record NOT signed by the operator"
