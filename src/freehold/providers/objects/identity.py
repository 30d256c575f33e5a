"""Identity of an object, decided from the raw object alone (docs/reference/capi-contract.md C32, C33, C34, C35).

The identity is minted once, from the object's first UID, and written with the finalizer in one patch
before the first cloud call. A lost identity is never guessed: without proof the object is read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import CorruptJournal, Journal
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner

Patch = Mapping[str, Any]
"""A JSON merge patch with the resourceVersion: written by compare-and-set."""


@dataclass(frozen=True)
class ParentStanding:
    """The uuid of the identity that a new one is part of, and the spec fields that say its account (Journal.place)."""

    within: str = ""
    place: Mapping[str, Any] = field(default_factory=dict)


class IdentityProblem(StrEnum):
    """The reasons why an object is read-only; the words appear in conditions."""

    LOST = "IdentityLost"
    COPIED = "IdentityCopied"
    CORRUPT = "JournalCorrupt"


@dataclass(frozen=True)
class KnownIdentity:
    """The identity that the object has. ``patch`` restores a removed finalizer; None: nothing to write."""

    journal: Journal
    patch: Patch | None = None


@dataclass(frozen=True)
class MintedIdentity:
    """A new identity. Nothing may be created in the cloud before ``patch`` is stored.

    ``anew``: a person asked for it on an object that had another identity, or had lost its own. Its status is that of
    the earlier identity.
    """

    journal: Journal
    patch: Patch
    anew: bool = False


@dataclass(frozen=True)
class RestoredIdentity:
    """An identity that was restored from status, because the annotation was lost. The cloud's marks show the rest."""

    journal: Journal
    patch: Patch


@dataclass(frozen=True)
class UnusableIdentity:
    """No valid identity: nothing may be created, marked or deleted for the object until a person has acted."""

    reason: IdentityProblem
    message: str


@dataclass(frozen=True)
class KeyMissing:
    """An identity under keys that the ring lacks, so that nothing can be proved. Only conditions may be written.

    Another operator, which has the key, may serve the object.
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


Identity = KnownIdentity | MintedIdentity | RestoredIdentity | UnusableIdentity | KeyMissing


def identify(
    raw: Mapping[str, Any],
    finalizer: str,
    ring: KeyRing,
    *,
    collects: bool = False,
    defaults: int = 0,
    standing: ParentStanding = ParentStanding(),
) -> Identity:
    """Identify ``raw``, or say why it has no identity. Call it if the gate says Proceed or Release.

    A new identity remembers ``collects`` (garbage collection is on for its kind), ``defaults`` (their generation) and
    ``standing``.
    """
    found = _identify_unchecked(raw, finalizer, ring, standing, collects=collects, defaults=defaults)
    if isinstance(found, KnownIdentity | RestoredIdentity):
        missing = ring.missing(found.journal.keys, found.journal.owner.uuid)
        return KeyMissing(missing) if missing else found
    return found


def read_record(raw: Mapping[str, Any]) -> Journal | None:
    """Read the object's journal, else the identity in its status, without checks. Raises CorruptJournal."""
    text = (raw["metadata"].get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
    return journals.loads(text) if text is not None else read_proven_status(raw)


def never_began(raw: Mapping[str, Any], ring: KeyRing) -> bool:
    """Return whether a signature of the operator proves that nothing was ever created for ``raw``.

    It is False for an object whose journal was lost, emptied or restored from a backup: that journal has no such
    signature for its UID. Status cannot prove it, but can disprove it.
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
    keys = ring.derive_keys(journal.owner)
    return keys.vouches(journal.key, journal.untouched, "untouched", raw["metadata"]["uid"])


def _identify_unchecked(
    raw: Mapping[str, Any], finalizer: str, ring: KeyRing, standing: ParentStanding, *, collects: bool, defaults: int
) -> KnownIdentity | MintedIdentity | RestoredIdentity | UnusableIdentity:
    metadata = raw["metadata"]
    annotations = metadata.get("annotations") or {}
    text = annotations.get(names.JOURNAL_ANNOTATION)
    anew = annotations.get(names.IDENTITY_ANNOTATION) == names.NEW_IDENTITY
    restored = read_proven_status(raw)
    if text is not None:
        found = _check_record(raw, text, finalizer)
        is_copy = isinstance(found, UnusableIdentity) and found.reason is IdentityProblem.COPIED
        if not (is_copy and anew):
            return found
    elif (
        not anew
        and restored is None
        and (metadata.get("deletionTimestamp") or finalizer in (metadata.get("finalizers") or ()))
    ):
        return UnusableIdentity(
            IdentityProblem.LOST,
            f"annotation {names.JOURNAL_ANNOTATION} is gone, so what belongs to this object cannot be told: nothing is "
            "created or deleted for it. Put the annotation back from a backup; or, if nothing of it is left in the "
            f"cloud (freehold orphans lists what has no object), let it begin anew: {_build_new_identity_command(raw)}",
        )
    if restored is not None:
        return RestoredIdentity(restored, build_record_patch(raw, finalizer, journals.dumps(restored)))
    journal = Journal(
        _build_owner(raw, metadata["uid"], standing.within), key=ring.writing, collects=collects, place=standing.place,
        defaults=defaults,
    )  # fmt: skip
    return _mint(raw, finalizer, ring, journal, anew=anew)


def _mint(raw: Mapping[str, Any], finalizer: str, ring: KeyRing, journal: Journal, *, anew: bool) -> MintedIdentity:
    """Mint an identity. Its uuid is the UID of the stored object, unique whatever was copied into the object."""
    # An earlier identity may have created something, so only a first identity is signed as untouched.
    untouched = "" if anew else ring.derive_keys(journal.owner).sign_untouched(ring.writing, raw["metadata"]["uid"])
    journal = replace(journal, untouched=untouched)
    patch = build_record_patch(raw, finalizer, journals.dumps(journal))
    return MintedIdentity(journal, {**patch, **_remove_copied_endpoint(raw)} if anew else patch, anew)


def _remove_copied_endpoint(raw: Mapping[str, Any]) -> Patch:
    """Remove an endpoint that an operator wrote into the spec: it is that of the copied cluster."""
    host = ((raw.get("spec") or {}).get("controlPlaneEndpoint") or {}).get("host")
    written = (raw["metadata"].get("annotations") or {}).get(names.ENDPOINT_ANNOTATION)
    return {"spec": {"controlPlaneEndpoint": None}} if host and host == written else {}


def _build_new_identity_command(raw: Mapping[str, Any]) -> str:
    """Build the commands with which a person gives an object an identity of its own."""
    metadata = raw["metadata"]
    where = f" -n {metadata['namespace']}" if metadata.get("namespace") else ""
    annotate = f"kubectl annotate {str(raw['kind']).lower()} {metadata['name']}{where}"
    return (
        f"freehold resolve {metadata['name']}{where} --new-cluster (or: {annotate} "
        f"{names.IDENTITY_ANNOTATION}={names.NEW_IDENTITY})"
    )


def build_status_identity(raw: Mapping[str, Any], journal: Journal) -> Mapping[str, Any]:
    """Build ``status.identity``, a copy of the identity with the UID that proves it is this object's."""
    held = {"uid": raw["metadata"]["uid"], "uuid": journal.owner.uuid}
    named = {"key": journal.key, "account": journal.account, "collects": journal.collects}
    named |= {"within": journal.owner.within, "place": dict(journal.place), "defaults": journal.defaults}
    return {**held, **{name: said for name, said in named.items() if said}}


def _check_record(
    raw: Mapping[str, Any], text: str, finalizer: str
) -> KnownIdentity | RestoredIdentity | UnusableIdentity:
    metadata = raw["metadata"]
    try:
        journal = journals.loads(text)
    except CorruptJournal as error:
        return UnusableIdentity(
            IdentityProblem.CORRUPT, f"{error}; put annotation {names.JOURNAL_ANNOTATION} back from a backup"
        )
    proven = read_proven_status(raw)
    if proven is not None and not _is_same_owner(
        proven.owner, journal.owner
    ):  # an old export, or another object's journal, written over it
        return RestoredIdentity(proven, build_record_patch(raw, finalizer, journals.dumps(proven)))
    owner, own = journal.owner, _build_owner(raw, journal.owner.uuid)
    if not is_own(raw, journal):
        return UnusableIdentity(
            IdentityProblem.COPIED,
            f"annotation {names.JOURNAL_ANNOTATION} was copied from {owner.kind} {owner.namespace}/{owner.name}, whose "
            "resources it describes: nothing is created or deleted for this copy. To make it a cluster of its own, or "
            f"to delete it: {_build_new_identity_command(raw)}. If {owner.namespace}/{owner.name} is lost for ever, "
            f"create it again with this spec and annotation: freehold resolve {own.kind}/{own.name} "
            f"-n {own.namespace} --take-over",
        )
    if not journal.key:
        return UnusableIdentity(IdentityProblem.CORRUPT, _explain_unkeyed(raw, finalizer))
    if proven is not None and proven.account:  # nobody but the operator writes status
        place = proven.place or journal.place
        if (journal.account, journal.place) != (proven.account, place):
            journal = replace(journal, account=proven.account, place=place)
    held = finalizer in (metadata.get("finalizers") or ())
    if held or metadata.get("deletionTimestamp"):
        return KnownIdentity(journal)
    return KnownIdentity(journal, build_record_patch(raw, finalizer, text))


def _explain_unkeyed(raw: Mapping[str, Any], finalizer: str) -> str:
    """Explain what to do about a journal without a key, which anybody who may create objects can have written.

    Without the annotation the identity is restored from status, but not for an object that is being deleted.
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


def _is_same_owner(proven: Owner, said: Owner) -> bool:
    """Return whether a journal is of the owner that status names; a status without ``within`` does not deny one."""
    return proven == (said if proven.within or not said.within else replace(said, within=""))


def is_own(raw: Mapping[str, Any], journal: Journal) -> bool:
    """Return whether a journal names the object itself as its owner: it can be a copy of another object's."""
    return journal.owner == _build_owner(raw, journal.owner.uuid, journal.owner.within)


def _build_owner(raw: Mapping[str, Any], uuid: str, within: str = "") -> Owner:
    metadata = raw["metadata"]
    return Owner(uuid, raw["kind"], metadata.get("namespace", ""), metadata["name"], within)


def read_proven_status(raw: Mapping[str, Any]) -> Journal | None:
    """Read the identity in status, if it is this object's own: a copied status has another UID."""
    held = (raw.get("status") or {}).get("identity") or {}
    uuid, key = held.get("uuid"), held.get("key")
    if not uuid or not key or held.get("uid") != raw["metadata"]["uid"]:
        return None
    account, collects = str(held.get("account") or ""), held.get("collects") is True
    owner = _build_owner(raw, uuid, str(held.get("within") or ""))
    place, defaults = held.get("place") or {}, int(held.get("defaults") or 0)
    return Journal(owner, account=account, key=str(key), collects=collects, place=place, defaults=defaults)


def build_record_patch(raw: Mapping[str, Any], finalizer: str, text: str) -> Patch:
    """Build the patch that writes finalizer and journal together, and removes the request for a new identity."""
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
