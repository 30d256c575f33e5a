"""One key of one resource: what is wanted of it, against who set it.

The table of docs/reference/metadata-compat.md A11, A13, A14 and A30 is here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from freehold.tags.policy.ledger import ForeignValuePolicy, Holder, LedgerEntry, Proof, holder
from freehold.tags.policy.operations import Opcode, WantedTag
from freehold.tags.policy.protected import IgnoreList, KeyAccess, access
from freehold.tags.policy.resources import TaggedResource


@dataclass(frozen=True)
class Rules:
    ignored: IgnoreList = field(default_factory=IgnoreList)
    classifier_keys: Mapping[str, str] = field(default_factory=dict)
    """By which the resource is found: they are read only (docs/reference/metadata-compat.md A22).

    Those of the acting object and of older ones, with the name of the object for people.
    """
    cluster_keys: Mapping[str, str] = field(default_factory=dict)
    """Keys that a cluster's spec asks for on this resource, with the cluster's name for people."""
    granted: Callable[[str], bool] = lambda key: True
    """Whether the acting object's namespace may touch a key."""


class LeaveReason(StrEnum):
    """Why a key, or a whole resource, is left as it is. The words appear in conditions and must not change."""

    TAG_EXISTS = "TagExists"
    FOREIGN_VALUE = "ForeignValue"
    SKIPPED = "Skipped"
    VALUE_DIFFERS = "ValueDiffers"
    PROTECTED = "Protected"
    IGNORED = "Ignored"
    CLASSIFIER = "Classifier"
    CLASSIFIER_KEPT = "ClassifierKept"
    """Ours, named by no object any more, and a classifier by now: it stays."""
    CONFLICT = "Conflict"
    LIMIT_EXCEEDED = "LimitExceeded"
    TRIMMED = "Trimmed"
    AWAITED = "Awaited"
    """An older object asks for the same, and has not written it yet."""
    EXEMPT = "Exempt"
    NOT_GRANTED = "NotGranted"


class Cause(StrEnum):
    """Why a key is written or removed; the audit log has it."""

    MISSING = "Missing"
    STRIPPED = "Stripped"
    """We wrote it, and somebody took it off."""
    OUTDATED = "Outdated"
    """What is there is ours, and the spec has changed."""
    DRIFTED = "Drifted"
    """The key is ours, and somebody changed its value."""
    FOREIGN = "Foreign"
    """Somebody else's value is taken over."""
    DELETED = "Deleted"
    """An operation lists it for deletion."""
    DROPPED = "Dropped"
    """It is ours, and no object names it any more."""
    TRIMMED = "Trimmed"
    """It is ours, and beyond the limit: what sorts before it needs the room."""


@dataclass(frozen=True, slots=True)
class Upsert:
    """``seen``: the values that are replaced; empty where there is none."""

    key: str
    value: str
    seen: frozenset[str]
    cause: Cause


@dataclass(frozen=True, slots=True)
class Removal:
    """``seen``: the values to remove, as they were read."""

    key: str
    seen: frozenset[str]
    cause: Cause


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Left as it is."""

    reason: LeaveReason
    message: str


@dataclass(frozen=True, slots=True)
class AsWanted:
    """Nothing to do; ``values`` are there."""

    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class KeySituation:
    """A key of a resource, as it was found. ``entry`` is our record of it."""

    resource: TaggedResource
    key: str
    seen: frozenset[str]
    entry: LedgerEntry | None
    rules: Rules

    @property
    def subject(self) -> str:
        return f"the tag {self.key!r} on {self.resource.id}"


def decide_wanted(
    at: KeySituation, want: WantedTag, policy: ForeignValuePolicy
) -> Upsert | Removal | LeftAlone | AsWanted:
    if untouchable := _untouchable(at):
        return untouchable
    if want.opcode is Opcode.DELETE or want.value is None:
        return _decide_delete(at, want.value)
    return _decide_present(at, want.opcode, want.value, policy)


_OF_KEPT: Final = {LeaveReason.CLASSIFIER: LeaveReason.CLASSIFIER_KEPT, LeaveReason.TAG_EXISTS: LeaveReason.SKIPPED}
"""What prevents an object from having what it names is only told of what it does not name."""


def decide_kept(at: KeySituation, value: str, policy: ForeignValuePolicy) -> Upsert | Removal | LeftAlone | AsWanted:
    """Decide on a key of the active list that its object does not name: nothing is taken over for it."""
    decision = decide_wanted(at, WantedTag(Opcode.ADD, value), policy)
    if isinstance(decision, LeftAlone):
        return replace(decision, reason=_OF_KEPT.get(decision.reason, decision.reason))
    return decision


def decide_dropped(at: KeySituation, entry: LedgerEntry) -> Removal | LeftAlone | AsWanted:
    """Only the values that we wrote go; a value that somebody set since then stays."""
    if untouchable := _untouchable(at):
        kept = untouchable.reason is LeaveReason.CLASSIFIER
        return replace(untouchable, reason=LeaveReason.CLASSIFIER_KEPT) if kept else untouchable
    ours = at.seen & entry.values
    if not ours:
        return AsWanted(at.seen)
    return Removal(at.key, ours, Cause.DROPPED)


def _untouchable(at: KeySituation) -> LeftAlone | None:
    classifiers = {at.resource.cloud.canonical(key): name for key, name in at.rules.classifier_keys.items()}
    if at.key in classifiers:
        message = (
            f"{at.subject} is a classifier of {classifiers[at.key]}, by which the resource is found: it is read only"
        )
        return LeftAlone(LeaveReason.CLASSIFIER, message)
    if not at.rules.granted(at.key):
        return LeftAlone(
            LeaveReason.NOT_GRANTED, f"{at.subject} may not be touched: no MetadataGrant of the namespace names it"
        )
    match access(at.resource.cloud, at.key, at.rules.ignored):
        case KeyAccess.PROTECTED:
            return LeftAlone(LeaveReason.PROTECTED, f"{at.subject} is protected: no metadata object may change it")
        case KeyAccess.IGNORED:
            return LeftAlone(LeaveReason.IGNORED, f"{at.subject} is on the ignore list")
        case KeyAccess.ALLOWED:
            return None


def _decide_delete(at: KeySituation, value: str | None) -> Removal | LeftAlone | AsWanted:
    if not at.seen:
        return AsWanted(at.seen)
    if value is None:
        return Removal(at.key, at.seen, Cause.DELETED)
    if value in at.seen:
        return Removal(at.key, frozenset({value}), Cause.DELETED)
    if at.resource.cloud.has_several_values:  # other values of the key are other tags
        return AsWanted(at.seen)
    found = ", ".join(repr(each) for each in sorted(at.seen))
    message = f"{at.subject} is to be deleted with the value {value!r} and has {found}: it is left as it is"
    return LeftAlone(LeaveReason.VALUE_DIFFERS, message)


def _decide_present(
    at: KeySituation, opcode: Opcode, value: str, policy: ForeignValuePolicy
) -> Upsert | LeftAlone | AsWanted:
    if at.seen == {value} or (opcode is Opcode.ADD and value in at.seen):
        return AsWanted(frozenset({value}))
    match holder(at.entry, at.seen):
        case Holder.NOBODY:
            written = at.entry is not None and at.entry.proof is Proof.CONFIRMED
            return Upsert(at.key, value, at.seen, Cause.STRIPPED if written else Cause.MISSING)
        case Holder.OURS:
            return Upsert(at.key, value, at.seen, Cause.OUTDATED)
        case Holder.DRIFTED:
            return _foreign_value(at, value, policy, Cause.DRIFTED)
        case Holder.FOREIGN if opcode is Opcode.ADD:
            advice = "delete it there, or use the opcode update to take it over"
            return LeftAlone(LeaveReason.TAG_EXISTS, f"{at.subject} exists already with another value: {advice}")
        case Holder.FOREIGN:
            return _foreign_value(at, value, policy, Cause.FOREIGN)


def _foreign_value(at: KeySituation, value: str, policy: ForeignValuePolicy, cause: Cause) -> Upsert | LeftAlone:
    match policy:
        case ForeignValuePolicy.TAKE_OVER:
            return Upsert(at.key, value, at.seen, cause)
        case ForeignValuePolicy.SKIP:
            return LeftAlone(LeaveReason.SKIPPED, f"{at.subject} has a value that somebody else set: it is skipped")
        case ForeignValuePolicy.FAIL:
            return LeftAlone(
                LeaveReason.FOREIGN_VALUE, f"{at.subject} has a value that somebody else set: clear it there"
            )
