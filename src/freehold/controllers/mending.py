"""What somebody took off an object of ours, and how it is put back. Pure.

``kubectl replace``, a forced apply or a patch can take the finalizer and the journal. A delete would then leave
everything in the cloud, so both are put back before anything else is done (ADR 21).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import CorruptJournal
from freehold.engine.keys import KeyRing
from freehold.kube.field_managers import Writer
from freehold.providers.objects import identity
from freehold.providers.objects.identity import Identified, Patch, ReadOnly, Restored


@dataclass(frozen=True)
class Mending:
    """``patch`` puts back what was ``taken``; ``is_remembered``: the journal is just the one that was there."""

    patch: Patch
    taken: tuple[str, ...]
    is_remembered: bool


def mending(raw: Mapping[str, Any], finalizer: str, ring: KeyRing, record: str) -> Mending | None:
    """What is to be put back; None where nothing was taken, or nothing proves what it was.

    ``record`` is the journal that this process last saw on the object, empty where it saw none.
    """
    metadata = raw["metadata"]
    annotations = metadata.get("annotations") or {}
    if names.DELETE_FOR_MOVE_ANNOTATION in annotations:
        return None  # the mover takes everything else off (docs/reference/capi-contract.md C29)
    finalizer_is_off = finalizer not in (metadata.get("finalizers") or ())
    taken = (f"finalizer {finalizer}",) if finalizer_is_off else ()
    if names.JOURNAL_ANNOTATION not in annotations:
        taken = (*taken, f"annotation {names.JOURNAL_ANNOTATION}")
        if record:
            return Mending(identity.record_patch(raw, finalizer, record), taken, is_remembered=True)
    found = identity.identify(raw, finalizer, ring)
    if isinstance(found, Identified | Restored) and found.patch is not None:
        return Mending(found.patch, taken, is_remembered=isinstance(found, Identified))
    if isinstance(found, ReadOnly) and record and finalizer_is_off and "deletionTimestamp" not in metadata:
        # Its journal is not its own, so nothing may be done for it; but it has resources, and must not go without them.
        return Mending(_finalizer_alone(raw, finalizer), taken, is_remembered=True)
    return None


def _finalizer_alone(raw: Mapping[str, Any], finalizer: str) -> Patch:
    metadata = raw["metadata"]
    finalizers = [*(metadata.get("finalizers") or ()), finalizer]
    return {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": finalizers}}


def told(found: Mending, before: Collection[Writer] | None, now: Collection[Writer]) -> str:
    """The sentence of the event: what was taken, where it comes from, and who wrote since we did."""
    source = "" if found.is_remembered else "; its resources are found by their marks"
    return f"somebody took {' and '.join(found.taken)} off; put back{source}. {_suspects(before, now)}"


def _suspects(before: Collection[Writer] | None, now: Collection[Writer]) -> str:
    fresh = sorted(set(now) - set(before or ()), key=lambda each: each[2])
    if not fresh:
        return "Who it was does not show: a write that only removes leaves no name in metadata.managedFields"
    shown = ", ".join(f"{name} ({operation}, {time})" for name, operation, time in fresh)
    return f"{'Written since by' if before is not None else 'Written by'} {shown}"


def left_behind(last: Mapping[str, Any], record: str) -> tuple[str, ...]:
    """What an object that is gone still owned: the ids on record, and the creates that were under way."""
    annotations = last["metadata"].get("annotations") or {}
    if names.DELETE_FOR_MOVE_ANNOTATION in annotations:
        return ()
    try:
        journal = journals.loads(record or annotations.get(names.JOURNAL_ANNOTATION) or "")
    except CorruptJournal:
        return ()
    open_ = (f"{key} (a create under way)" for key in journal.open)
    owned = (f"{key} {entry.id}" for key, entry in journal.entries.items() if entry.phase.ours and entry.id)
    return (*owned, *open_)


def orphaned(left: Collection[str]) -> str:
    """The sentence about what an object left behind that nothing of ours held."""
    return (
        f"it was deleted while its finalizer was off, and in the cloud are still: {', '.join(left)}. freehold orphans "
        "lists them, freehold recover puts the object back; if clusterctl move took it elsewhere, all is well"
    )
