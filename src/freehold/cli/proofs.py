"""What the ownership of a resource rests on, for people: read from the journal that the object carries. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.lifecycle.journal import CorruptJournal, Entry, Phase, loads


def proofs(obj: Mapping[str, Any]) -> dict[str, str]:
    """By vendor id, as the status reports it; empty where there is no journal that can be read."""
    text = (obj["metadata"].get("annotations") or {}).get(JOURNAL_ANNOTATION)
    if not text:
        return {}
    try:
        entries = loads(text).entries.values()
    except CorruptJournal:  # the operator says so in a condition, which is shown too
        return {}
    return {entry.id.rpartition("/")[2]: _said(entry) for entry in entries if entry.id}


def _said(entry: Entry) -> str:
    match entry.phase:
        case Phase.OWNED:
            return "mark on its carrier, read back" if entry.carried else "own marks, read back"
        case Phase.RECORDED:
            return "recorded; marks not read back yet"
        case Phase.INTENDED:
            return "create sent, outcome open"
        case Phase.GIVEN:
            return "given by id in the spec"
        case Phase.THEIRS:
            return "only another owner's marks"
        case Phase.REUSED:
            return "found by its name; no mark"
        case Phase.VACANT:
            return "none: earlier attempts came to nothing"
