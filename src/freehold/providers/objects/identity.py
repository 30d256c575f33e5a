"""Whose object is this, decided from the raw object alone (docs/reference/capi-contract.md C32, C33, C34, C35).

The identity is minted once, from the object's first UID, and written with the finalizer in one patch
before the first cloud call. What was lost is never guessed: without proof the object is read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import CorruptJournal, Journal
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner

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
    """A new identity. Nothing may be created in the cloud before ``patch`` is stored.

    ``anew``: a person asked for it on an object that had another one, or had lost its own. What its status says is of
    that one.
    """

    journal: Journal
    patch: Patch
    anew: bool = False


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


def identify(raw: Mapping[str, Any], finalizer: str, ring: KeyRing, *, collects: bool = False) -> Identity:
    """The identity of ``raw``, or why it has none. Call it when the gate says Proceed or Release.

    ``collects``: garbage collection is on for its kind, which a new identity remembers.
    """
    found = _identified(raw, finalizer, ring, collects=collects)
    if isinstance(found, Identified | Restored):
        missing = ring.missing(found.journal.keys, found.journal.owner.uuid)
        return KeyMissing(missing) if missing else found
    return found


def recorded(raw: Mapping[str, Any]) -> Journal | None:
    """What the object says of itself, unchecked: its journal, else its status. Raises CorruptJournal."""
    text = (raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
    return journals.loads(text) if text is not None else proven_by_status(raw)


def never_began(raw: Mapping[str, Any], ring: KeyRing) -> bool:
    """Whether nothing was ever begun for ``raw``, by what only the operator can have written.

    An object whose journal was lost, emptied or put back from a backup is none of these: its journal has no such
    signature for its UID. Status says nothing for it, and may say something against it.
    """
    text = (raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
    if text is None:
        return False
    try:
        journal = journals.loads(text)
    except CorruptJournal:
        return False
    if not journal.is_empty:
        return False
    status = raw.get("status") or {}
    if status.get("ready") or any(row.get("id") for row in status.get("resources") or ()):
        return False
    if (status.get("identity") or {}).get("account"):  # written once something is on record
        return False
    keys = ring.of(journal.owner)
    return keys.vouches(journal.key, journal.untouched, "untouched", raw["metadata"]["uid"])


def _identified(
    raw: Mapping[str, Any], finalizer: str, ring: KeyRing, *, collects: bool
) -> Identified | Minted | Restored | ReadOnly:
    metadata = raw["metadata"]
    annotations = metadata.get("annotations") or {}
    text = annotations.get(names.JOURNAL_ANNOTATION)
    anew = annotations.get(names.IDENTITY_ANNOTATION) == names.NEW_IDENTITY
    restored = proven_by_status(raw)
    if text is not None:
        found = _recorded(raw, text, finalizer)
        is_copy = isinstance(found, ReadOnly) and found.reason is IdentityProblem.COPIED
        if not (is_copy and anew):
            return found
    elif (
        not anew
        and restored is None
        and (metadata.get("deletionTimestamp") or finalizer in (metadata.get("finalizers") or ()))
    ):
        return ReadOnly(
            IdentityProblem.LOST,
            f"annotation {names.JOURNAL_ANNOTATION} is gone, so what belongs to this object cannot be told: nothing is "
            "created or deleted for it. Put the annotation back from a backup; or, if nothing of it is left in the "
            f"cloud (freehold orphans lists what has no object), let it begin anew: {_begin_anew(raw)}",
        )
    if restored is not None:
        return Restored(restored, record_patch(raw, finalizer, journals.dumps(restored)))
    return _minted(raw, finalizer, ring, anew=anew, collects=collects)


def _minted(raw: Mapping[str, Any], finalizer: str, ring: KeyRing, *, anew: bool, collects: bool) -> Minted:
    """Its uuid is the UID of the stored object, so that it is nobody else's, whatever was copied into the object."""
    uid = raw["metadata"]["uid"]
    owner = _owner(raw, uid)
    # What was lost may have begun something: only of an object that comes without anything is it known.
    untouched = "" if anew else ring.of(owner).untouched(ring.writing, uid)
    journal = Journal(owner, key=ring.writing, untouched=untouched, collects=collects)
    patch = record_patch(raw, finalizer, journals.dumps(journal))
    return Minted(journal, {**patch, **_endpoint_off(raw)} if anew else patch, anew)


def _endpoint_off(raw: Mapping[str, Any]) -> Patch:
    """Take an endpoint out of the spec that an operator wrote there: it is of the cluster that was copied."""
    host = ((raw.get("spec") or {}).get("controlPlaneEndpoint") or {}).get("host")
    written = (raw["metadata"].get("annotations") or {}).get(names.ENDPOINT_ANNOTATION)
    return {"spec": {"controlPlaneEndpoint": None}} if host and host == written else {}


def _begin_anew(raw: Mapping[str, Any]) -> str:
    """The commands by which a person gives an object an identity of its own."""
    metadata = raw["metadata"]
    where = f" -n {metadata['namespace']}" if metadata.get("namespace") else ""
    annotate = f"kubectl annotate {str(raw['kind']).lower()} {metadata['name']}{where}"
    return (
        f"freehold resolve {metadata['name']}{where} --new-cluster (or: {annotate} "
        f"{names.IDENTITY_ANNOTATION}={names.NEW_IDENTITY})"
    )


def in_status(raw: Mapping[str, Any], journal: Journal) -> Mapping[str, str | bool]:
    """What status keeps of the identity (``status.identity``), with the UID that proves it is this object's."""
    held = {"uid": raw["metadata"]["uid"], "uuid": journal.owner.uuid}
    named = {"key": journal.key, "account": journal.account, "collects": journal.collects}
    return {**held, **{name: said for name, said in named.items() if said}}


def _recorded(raw: Mapping[str, Any], text: str, finalizer: str) -> Identified | Restored | ReadOnly:
    metadata = raw["metadata"]
    try:
        journal = journals.loads(text)
    except CorruptJournal as error:
        return ReadOnly(
            IdentityProblem.CORRUPT, f"{error}; put annotation {names.JOURNAL_ANNOTATION} back from a backup"
        )
    proven = proven_by_status(raw)
    if (
        proven is not None and proven.owner != journal.owner
    ):  # an old export, or another object's journal, written over it
        return Restored(proven, record_patch(raw, finalizer, journals.dumps(proven)))
    owner, own = journal.owner, _owner(raw, journal.owner.uuid)
    if owner != own:
        return ReadOnly(
            IdentityProblem.COPIED,
            f"annotation {names.JOURNAL_ANNOTATION} was copied from {owner.kind} {owner.namespace}/{owner.name}, whose "
            "resources it describes: nothing is created or deleted for this copy. To make it a cluster of its own, or "
            f"to delete it: {_begin_anew(raw)}. If {owner.namespace}/{owner.name} is lost for ever, create it again "
            f"with this spec and annotation: freehold resolve {own.kind}/{own.name} -n {own.namespace} --take-over",
        )
    if not journal.key:
        return ReadOnly(IdentityProblem.CORRUPT, _unkeyed(raw, finalizer))
    if proven is not None and proven.account:  # nobody but the operator writes status
        journal = replace(journal, account=proven.account)
    held = finalizer in (metadata.get("finalizers") or ())
    if held or metadata.get("deletionTimestamp"):
        return Identified(journal)
    return Identified(journal, record_patch(raw, finalizer, text))


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


def proven_by_status(raw: Mapping[str, Any]) -> Journal | None:
    """The identity that status holds, if that status is this very object's: a copied status names another UID."""
    held = (raw.get("status") or {}).get("identity") or {}
    uuid, key = held.get("uuid"), held.get("key")
    if not uuid or not key or held.get("uid") != raw["metadata"]["uid"]:
        return None
    account, collects = str(held.get("account") or ""), held.get("collects") is True
    return Journal(_owner(raw, uuid), account=account, key=str(key), collects=collects)


def record_patch(raw: Mapping[str, Any], finalizer: str, text: str) -> Patch:
    """Write finalizer and journal in one, and drop the annotation by which a person asked for a new identity."""
    metadata = raw["metadata"]
    finalizers = [name for name in metadata.get("finalizers") or () if name != finalizer]
    spent = {names.IDENTITY_ANNOTATION} & (metadata.get("annotations") or {}).keys()
    return {
        "metadata": {
            "resourceVersion": metadata["resourceVersion"],
            "finalizers": [*finalizers, finalizer],
            "annotations": {names.JOURNAL_ANNOTATION: text, **dict.fromkeys(spent)},
        }
    }
