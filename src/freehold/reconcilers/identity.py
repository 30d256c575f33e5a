"""Whose object is this, decided from the raw object alone (docs/reference/capi-contract.md C32, C33, C34, C35).

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
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.ownership import Owner

Patch = Mapping[str, Any]
"""A JSON merge patch with the resourceVersion: written by compare-and-set."""


class IdentityProblem(StrEnum):
    """Why an object is read-only; the words appear in conditions."""

    LOST = "IdentityLost"
    COPIED = "IdentityCopied"
    CORRUPT = "JournalCorrupt"


@dataclass(frozen=True)
class Identified:
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

    reason: IdentityProblem
    message: str


@dataclass(frozen=True)
class KeyMissing:
    """The object names keys that the ring lacks, so nothing of it can be proved. Only its conditions may be written.

    It may be a copy that another operator, which has the key, looks after.
    """

    digests: tuple[str, ...]

    @property
    def message(self) -> str:
        missing = ", ".join(self.digests)
        return (
            f"it names key {missing}, which the operator's key ring lacks: nothing is read, created or deleted for "
            "it until the key is there; bring it from the operator or the backup that has it: freehold keys add FILE "
            f"(lost for ever: freehold keys accept {self.digests[0]})"
        )


Identity = Identified | Minted | Restored | ReadOnly | KeyMissing


def identify(raw: Mapping[str, Any], finalizer: str, ring: KeyRing) -> Identity:
    """The identity of ``raw``, or why it has none. Call it when the gate says Proceed or Release."""
    found = _identified(raw, finalizer, ring)
    if isinstance(found, Identified | Restored):
        missing = ring.missing(found.journal.keys, found.journal.owner.uuid)
        return KeyMissing(missing) if missing else found
    return found


def recorded(raw: Mapping[str, Any]) -> Journal | None:
    """What the object says of itself, unchecked: its journal, else its status. Raises CorruptJournal."""
    text = (raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
    return journals.loads(text) if text is not None else _in_status(raw)


def _identified(raw: Mapping[str, Any], finalizer: str, ring: KeyRing) -> Identified | Minted | Restored | ReadOnly:
    metadata = raw["metadata"]
    text = (metadata.get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
    if text is not None:
        return _recorded(raw, text, finalizer)
    deleting = bool(metadata.get("deletionTimestamp"))
    restored = _in_status(raw)
    if deleting or (restored is None and finalizer in (metadata.get("finalizers") or ())):
        return ReadOnly(
            IdentityProblem.LOST,
            f"annotation {names.JOURNAL_ANNOTATION} is gone, so what belongs to this object cannot be told; put it "
            f"back from a backup, or delete its resources by hand and remove finalizer {finalizer}",
        )
    if restored is not None:
        return Restored(restored, _patch(raw, finalizer, journals.dumps(restored)))
    journal = Journal(_owner(raw, metadata["uid"]), key=ring.writing)
    return Minted(journal, _patch(raw, finalizer, journals.dumps(journal)))


def in_status(raw: Mapping[str, Any], journal: Journal) -> Mapping[str, str]:
    """What status keeps of the identity (``status.identity``), with the UID that proves it is this object's."""
    held = {"uid": raw["metadata"]["uid"], "uuid": journal.owner.uuid}
    return {**held, "key": journal.key} if journal.key else held


def _recorded(raw: Mapping[str, Any], text: str, finalizer: str) -> Identified | ReadOnly:
    metadata = raw["metadata"]
    try:
        journal = journals.loads(text)
    except CorruptJournal as error:
        return ReadOnly(
            IdentityProblem.CORRUPT, f"{error}; put annotation {names.JOURNAL_ANNOTATION} back from a backup"
        )
    owner, own = journal.owner, _owner(raw, journal.owner.uuid)
    if owner != own:
        return ReadOnly(
            IdentityProblem.COPIED,
            f"annotation {names.JOURNAL_ANNOTATION} was copied from {owner.kind} {owner.namespace}/{owner.name}, whose "
            "resources it describes; remove the annotation from this copy to give it resources of its own",
        )
    if not journal.key:
        return ReadOnly(IdentityProblem.CORRUPT, _unkeyed(raw, finalizer))
    held = finalizer in (metadata.get("finalizers") or ())
    if held or metadata.get("deletionTimestamp"):
        return Identified(journal)
    return Identified(journal, _patch(raw, finalizer, text))


def _unkeyed(raw: Mapping[str, Any], finalizer: str) -> str:
    """Say what to do about a journal that anybody who may make objects can have written.

    Status brings the identity back once the annotation is gone, but not for an object that is being deleted.
    """
    metadata = raw["metadata"]
    otherwise = f"kubectl annotate {raw['kind'].lower()} {metadata['name']} -n {metadata.get('namespace', '')} "
    otherwise += f"{names.JOURNAL_ANNOTATION}-"
    if metadata.get("deletionTimestamp"):
        otherwise = f"delete its resources by hand and remove finalizer {finalizer}"
    return (
        f"annotation {names.JOURNAL_ANNOTATION} names no key of the operator's key ring, so somebody else wrote it: "
        "nothing is read, created, marked or deleted for it. Put the annotation back from a backup; if there is none: "
        f"{otherwise}"
    )


def _owner(raw: Mapping[str, Any], uuid: str) -> Owner:
    metadata = raw["metadata"]
    return Owner(uuid, raw["kind"], metadata.get("namespace", ""), metadata["name"])


def _in_status(raw: Mapping[str, Any]) -> Journal | None:
    """The identity that status holds, if that status is this very object's: a copied status names another UID."""
    held = (raw.get("status") or {}).get("identity") or {}
    uuid, key = held.get("uuid"), held.get("key")
    if not uuid or not key or held.get("uid") != raw["metadata"]["uid"]:
        return None
    return Journal(_owner(raw, uuid), key=str(key))


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
