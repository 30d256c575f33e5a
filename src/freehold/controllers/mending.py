"""Repairs of objects whose finalizer or journal somebody removed. Pure.

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
from freehold.providers.objects.identity import KnownIdentity, Patch, RestoredIdentity, UnusableIdentity


@dataclass(frozen=True)
class Mending:
    """A repair of one object: ``patch`` puts ``taken_parts`` back.

    ``is_remembered``: the journal in the patch is the one that this process last saw on the object.
    """

    patch: Patch
    taken_parts: tuple[str, ...]
    is_remembered: bool


def find_mending(raw: Mapping[str, Any], finalizer: str, ring: KeyRing, record: str) -> Mending | None:
    """Find what must be put back; None if nothing was removed, or if nothing proves what it was.

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
            return Mending(identity.build_record_patch(raw, finalizer, record), taken, is_remembered=True)
    found = identity.identify(raw, finalizer, ring)
    if isinstance(found, KnownIdentity | RestoredIdentity) and found.patch is not None:
        return Mending(found.patch, taken, is_remembered=isinstance(found, KnownIdentity))
    if isinstance(found, UnusableIdentity) and record and finalizer_is_off and "deletionTimestamp" not in metadata:
        # Its journal is not its own, so nothing may be done for it; but it has resources, and must not go without them.
        return Mending(_build_finalizer_patch(raw, finalizer), taken, is_remembered=True)
    return None


def _build_finalizer_patch(raw: Mapping[str, Any], finalizer: str) -> Patch:
    metadata = raw["metadata"]
    finalizers = [*(metadata.get("finalizers") or ()), finalizer]
    return {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": finalizers}}


def describe_mending(found: Mending, before: Collection[Writer] | None, now: Collection[Writer]) -> str:
    """Describe the repair for the event: what was removed, where the journal comes from, and who wrote since we did."""
    source = "" if found.is_remembered else "; its resources are found by their marks"
    return f"somebody took {' and '.join(found.taken_parts)} off; put back{source}. {_describe_suspects(before, now)}"


def _describe_suspects(before: Collection[Writer] | None, now: Collection[Writer]) -> str:
    fresh = sorted(set(now) - set(before or ()), key=lambda each: each[2])
    if not fresh:
        return "Who it was does not show: a write that only removes leaves no name in metadata.managedFields"
    shown = ", ".join(f"{name} ({operation}, {time})" for name, operation, time in fresh)
    return f"{'Written since by' if before is not None else 'Written by'} {shown}"


def find_left_behind(last: Mapping[str, Any], record: str) -> tuple[str, ...]:
    """List what a deleted object still owned: the ids on record, and the creates that were under way."""
    annotations = last["metadata"].get("annotations") or {}
    if names.DELETE_FOR_MOVE_ANNOTATION in annotations:
        return ()
    try:
        journal = journals.loads(record or annotations.get(names.JOURNAL_ANNOTATION) or "")
    except CorruptJournal:
        return ()
    open_ = (f"{key} (a create under way)" for key in journal.open)
    owned = (f"{key} {entry.id}" for key, entry in journal.entries.items() if entry.state.is_claimed and entry.id)
    return (*owned, *open_)


def describe_left_behind(left: Collection[str]) -> str:
    """Describe the resources of an object that was deleted without our finalizer."""
    return (
        f"it was deleted while its finalizer was off, and in the cloud are still: {', '.join(left)}. freehold orphans "
        "lists them, freehold recover puts the object back; if clusterctl move took it elsewhere, all is well"
    )
