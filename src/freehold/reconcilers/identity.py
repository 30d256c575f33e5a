"""Whose object is this: the rules of design §4.1, decided from the raw object alone.

The identity is minted once, from the object's first UID, and written with the finalizer in one patch
before the first cloud call. What was lost is never guessed: without proof the object is read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from freehold.api import names
from freehold.lifecycle import journal as journals
from freehold.lifecycle.journal import CorruptJournal, Journal
from freehold.lifecycle.ownership import Owner

Patch = Mapping[str, Any]
"""A JSON merge patch with the resourceVersion: written by compare-and-set."""


class Why(StrEnum):
    """Why an object is read-only; the words appear in conditions."""

    LOST = "IdentityLost"
    COPIED = "IdentityCopied"
    CORRUPT = "JournalCorrupt"


@dataclass(frozen=True)
class Known:
    """The object has its identity. ``patch`` puts the finalizer back where someone took it; None: nothing to write."""

    journal: Journal
    patch: Patch | None = None


@dataclass(frozen=True)
class Minted:
    """A new identity. Nothing may be called in the cloud before ``patch`` is stored."""

    journal: Journal
    patch: Patch


@dataclass(frozen=True)
class Restored:
    """The annotation was lost, and status proves whose it was. The cloud's marks tell the rest."""

    journal: Journal
    patch: Patch


@dataclass(frozen=True)
class ReadOnly:
    """Nothing may be created, marked or deleted for this object until a person has acted."""

    reason: Why
    message: str


Identity = Known | Minted | Restored | ReadOnly


def identify(raw: Mapping[str, Any], finalizer: str) -> Identity:
    """The identity of ``raw``, or why it has none. Call it when the gate says Proceed or Release."""
    metadata = raw["metadata"]
    text = (metadata.get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
    if text is not None:
        return _recorded(raw, text, finalizer)
    deleting = bool(metadata.get("deletionTimestamp"))
    uuid = _uuid_in_status(raw)
    if deleting or (uuid is None and finalizer in (metadata.get("finalizers") or ())):
        return ReadOnly(
            Why.LOST,
            f"annotation {names.JOURNAL_ANNOTATION} is gone, so what belongs to this object cannot be told; put it "
            f"back from a backup, or delete its resources by hand and remove finalizer {finalizer}",
        )
    journal = Journal(_owner(raw, uuid or metadata["uid"]))
    patch = _patch(raw, finalizer, journals.dumps(journal))
    return Restored(journal, patch) if uuid else Minted(journal, patch)


def in_status(raw: Mapping[str, Any], owner: Owner) -> Mapping[str, str]:
    """What status keeps of the identity (``status.identity``), with the UID that proves it is this object's."""
    return {"uid": raw["metadata"]["uid"], "uuid": owner.uuid}


def _recorded(raw: Mapping[str, Any], text: str, finalizer: str) -> Identity:
    metadata = raw["metadata"]
    try:
        journal = journals.loads(text)
    except CorruptJournal as error:
        return ReadOnly(Why.CORRUPT, f"{error}; put annotation {names.JOURNAL_ANNOTATION} back from a backup")
    owner, own = journal.owner, _owner(raw, journal.owner.uuid)
    if owner != own:
        return ReadOnly(
            Why.COPIED,
            f"annotation {names.JOURNAL_ANNOTATION} was copied from {owner.kind} {owner.namespace}/{owner.name}, whose "
            "resources it describes; remove the annotation from this copy to give it resources of its own",
        )
    held = finalizer in (metadata.get("finalizers") or ())
    if held or metadata.get("deletionTimestamp"):
        return Known(journal)
    return Known(journal, _patch(raw, finalizer, text))


def _owner(raw: Mapping[str, Any], uuid: str) -> Owner:
    metadata = raw["metadata"]
    return Owner(uuid, raw["kind"], metadata.get("namespace", ""), metadata["name"])


def _uuid_in_status(raw: Mapping[str, Any]) -> str | None:
    """The uuid that status holds, if that status is this very object's: a copied status names another UID."""
    held = (raw.get("status") or {}).get("identity") or {}
    uuid = held.get("uuid")
    return uuid if uuid and held.get("uid") == raw["metadata"]["uid"] else None


def _patch(raw: Mapping[str, Any], finalizer: str, text: str) -> Patch:
    metadata = raw["metadata"]
    finalizers = [name for name in metadata.get("finalizers") or () if name != finalizer]
    return {
        "metadata": {
            "resourceVersion": metadata["resourceVersion"],
            "finalizers": [*finalizers, finalizer],
            "annotations": {names.JOURNAL_ANNOTATION: text},
        }
    }
