"""Attention: what of an object needs somebody, since when, what to do, and the command to copy. Pure.

It is decided by reasons, which are values. The sentences are the operator's own; no text of one is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from shlex import quote
from typing import Any, Final

from freehold.api import names
from freehold.api.conditions import find_condition
from freehold.api.served import ClusterLink
from freehold.engine.reasons import Reason
from freehold.kube.resources import Json
from freehold.page.stored_object import cut_text
from freehold.providers.objects.gate import owner_of
from freehold.providers.objects.identity import IdentityProblem
from freehold.tags.policy.key_decision import LeaveReason
from freehold.view.object_view import Blocker, Line, View, read_seconds, sentence

MOST_NEEDS: Final = 5
"""Needs of one object that are shown one by one; the others are counted."""
LONGEST_SENTENCE: Final = 600
STUCK_SECONDS: Final = 1800.0
"""A delete without news for so long, of domain time, needs somebody: nothing of a cloud takes that long to go."""


class Urgency(StrEnum):
    """Why somebody is needed, the most urgent first."""

    CREDENTIALS = "credentials"
    CONFLICT = "conflict"
    BLOCKED = "blocked"
    STUCK_DELETE = "stuck-delete"
    PAUSED = "paused"


_RANKS: Final = {urgency: rank for rank, urgency in enumerate(Urgency)}


@dataclass(frozen=True)
class Need:
    """Something that needs somebody. ``since`` is domain time, None when unknown; ``command`` can be pasted."""

    urgency: Urgency
    what: str
    do: str = ""
    command: str = ""
    since: float | None = None

    def to_json(self) -> Json:
        return {
            "urgency": self.urgency.value,
            "what": self.what,
            "do": self.do,
            "command": self.command,
            "since": self.since,
        }


@dataclass(frozen=True)
class Attention:
    """The needs of an object, the most urgent first. ``changes_at``: when there is one more without any news."""

    needs: tuple[Need, ...] = ()
    changes_at: float | None = None


@dataclass(frozen=True)
class Subject:
    """The subject of a command: an object, by ``raw``, and one of its resources; None for all of it."""

    raw: Json
    line: Line | None = None

    @property
    def kind(self) -> str:
        return str(self.raw["kind"])

    @property
    def name(self) -> str:
        return str(self.raw["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.raw["metadata"]["namespace"])

    @property
    def cluster(self) -> str:
        """The name of the Cluster that owns it; its own if it has none."""
        owner = owner_of(self.raw, ClusterLink.INFRASTRUCTURE)
        return owner.name if owner else self.name


def build_command(subject: Subject, *words: str, name: str | None = None) -> str:
    """Build a command of ours about an object: the words, and its name."""
    named = f"{subject.kind}/{subject.name}" if name is None else name
    return _join("freehold", *words, named, *_namespace(subject)) if _is_word(named) else ""


def _join(*words: str) -> str:
    """Join words to a command. It is empty where one of them is none."""
    return " ".join(map(quote, words)) if all(map(str.isprintable, words)) else ""


def _is_word(text: str) -> bool:
    """Return whether somebody's text can be a word of a command that is pasted.

    A terminal acts on control characters whatever quotes are around them, and what begins with ``-`` is an option.
    """
    return text.isprintable() and not text.startswith("-")


def _namespace(subject: Subject) -> tuple[str, ...]:
    return ("-n", subject.namespace) if subject.namespace else ()


def _look_at_tree(subject: Subject) -> str:
    return build_command(subject, "tree")


def _resolve(subject: Subject) -> str:
    line = subject.line
    named = "" if line is None else line.id or line.name
    resource = (named,) if named and _is_word(named) else ()  # without it, the command says what there is to resolve
    return _join("freehold", "resolve", f"{subject.kind}/{subject.name}", *resource, *_namespace(subject))


def _begin_anew(subject: Subject) -> str:
    return build_command(subject, "resolve", "--new-cluster")


def _plan_collection(subject: Subject) -> str:
    return build_command(subject, "gc", "plan", name=subject.cluster)


def _enable_collection(subject: Subject) -> str:
    words = ("freehold", "gc", "enable", "--cluster-name", subject.cluster, *_namespace(subject))
    return _join(*words) if _is_word(subject.cluster) else ""


def _list_keys(subject: Subject) -> str:
    return _join("freehold", "keys", "list")


def _plan_tags(subject: Subject) -> str:
    return build_command(subject, "tags", "plan", name=subject.name)


def _get_yaml(subject: Subject) -> str:
    return _join("freehold", "get", subject.kind, subject.name, *_namespace(subject), "-o", "yaml")


def _unpause(subject: Subject) -> str:
    if names.PAUSED_ANNOTATION in subject.raw["metadata"]["annotations"]:
        where = (subject.kind.lower(), subject.name, *_namespace(subject))
        return _join("kubectl", "annotate", *where, f"{names.PAUSED_ANNOTATION}-")
    if not _is_word(subject.cluster):
        return ""
    patch = '{"spec":{"paused":null}}'
    clusters = f"clusters.{names.CLUSTER_API_GROUP}"
    return _join("kubectl", "patch", clusters, subject.cluster, *_namespace(subject), "--type=merge", "-p", patch)


@dataclass(frozen=True)
class Advice:
    """Advice about a reason."""

    urgency: Urgency
    do: str
    command: Callable[[Subject], str] = _look_at_tree


_BLOCKED, _CONFLICT, _CREDENTIALS = Urgency.BLOCKED, Urgency.CONFLICT, Urgency.CREDENTIALS
_DECIDE: Final = "Look at the evidence, and decide whether it is this object's own."
_CORRECT: Final = "Correct the manifest and apply it again."

ADVICE: Final[Mapping[str, Advice]] = {
    Reason.NAME_TAKEN: Advice(_CONFLICT, "Choose another name in the spec, or remove what has it: it is not ours."),
    Reason.NOT_OWNED: Advice(_CONFLICT, _DECIDE, _resolve),
    Reason.TAG_TAKEN: Advice(_CONFLICT, "Agree with the owner of that tag, and take it out of one of the two."),
    Reason.AMBIGUOUS: Advice(_CONFLICT, _DECIDE, _resolve),
    Reason.PRESUMED_ONLY: Advice(_BLOCKED, _DECIDE, _resolve),
    Reason.VANISHING: Advice(_BLOCKED, "Find out who deletes it; then decide whether it is made again.", _resolve),
    Reason.GONE: Advice(_BLOCKED, "It is gone and is not made again by itself: decide what becomes of it.", _resolve),
    Reason.UNMARKABLE: Advice(_BLOCKED, _DECIDE, _resolve),
    Reason.NOT_FOUND: Advice(_BLOCKED, "Correct what the spec names, or bring it back in the cloud."),
    Reason.UNFIT: Advice(_BLOCKED, "Change it in the cloud, or name another one in the spec."),
    Reason.FAILED: Advice(_BLOCKED, "See in the cloud's console why it failed; delete it there to have it made anew."),
    Reason.QUOTA: Advice(_BLOCKED, "Ask the cloud for a higher quota, or remove what nobody needs."),
    Reason.NO_CAPACITY: Advice(_BLOCKED, "Choose another type or zone in the spec, or wait until the cloud has room."),
    Reason.DENIED: Advice(_CREDENTIALS, "Give the operator's credentials the permission that the message names."),
    Reason.INVALID: Advice(_BLOCKED, _CORRECT),
    Reason.IN_USE: Advice(_BLOCKED, "Remove what is in it or uses it, if nobody needs that any more."),
    Reason.UNKNOWN_KIND: Advice(_BLOCKED, "A newer version made it: run that version, or a later one."),
    Reason.KEY_MISSING: Advice(_CREDENTIALS, "Bring the key: freehold keys add FILE.", _list_keys),
    Reason.DRIFTED: Advice(_BLOCKED, "Write into the spec what is there, or change it back in the cloud."),
    Reason.FROZEN: Advice(_BLOCKED, "Nothing can be changed on it now: follow what the message says."),
    Reason.COLLECTION_HELD: Advice(_BLOCKED, "Remove what holds the collection, then it goes on.", _plan_collection),
    Reason.COLLECTION_UNREADABLE: Advice(_BLOCKED, "Say whether its leftovers are collected.", _enable_collection),
    names.REASON_NO_CREDENTIALS: Advice(_CREDENTIALS, "Give the operator credentials, or correct the identity."),
    names.REASON_INVALID_SPEC: Advice(_BLOCKED, _CORRECT),
    names.REASON_WAITING_FOR_CLUSTER: Advice(_BLOCKED, "Create the Cluster that refers to it.", _get_yaml),
    names.REASON_FOREIGN: Advice(_CONFLICT, "Rename or remove that Secret: it is not this object's.", _get_yaml),
    IdentityProblem.LOST: Advice(_BLOCKED, "Put the annotation back from a backup, or let it begin anew.", _begin_anew),
    IdentityProblem.COPIED: Advice(
        _CONFLICT, "Decide: a cluster of its own, or in place of its original.", _begin_anew
    ),
    IdentityProblem.CORRUPT: Advice(_BLOCKED, "Put the annotation back from a backup.", _get_yaml),
    "AccountChanged": Advice(_CREDENTIALS, "Give the operator the credentials of the account that has its resources."),
    "InternalError": Advice(_BLOCKED, "A defect of Freehold: report it with what the operator logs."),
    names.RECOVERED: Advice(Urgency.PAUSED, "Apply its manifest, or delete it.", _look_at_tree),
    names.REASON_PAUSED: Advice(Urgency.PAUSED, "Lift the pause when its work is done.", _unpause),
}
"""Advice by the reason of a condition or a resource."""
UNKNOWN_REASON: Final = Advice(_BLOCKED, "Follow what the message says.")

_TAG_CONFLICTS: Final = frozenset(
    {LeaveReason.CONFLICT, LeaveReason.TAG_EXISTS, LeaveReason.FOREIGN_VALUE, LeaveReason.VALUE_DIFFERS,
     LeaveReason.PROTECTED, LeaveReason.CLASSIFIER}
)  # fmt: skip


def find_attention(seen: View, raw: Json, now: float, deleting_since: float) -> Attention:
    """Find what of an object needs somebody. ``raw`` is sanitized; ``deleting_since`` is domain time, 0 if it is not.

    A delete that goes on needs nobody until it had no news for :data:`STUCK_SECONDS`.
    """
    needs = [_build_need(each, raw) for each in seen.blockers]
    changes_at = None
    if seen.deleting and not needs:
        stuck_at = max(deleting_since, max((line.since for line in seen.lines), default=0.0)) + STUCK_SECONDS
        changes_at = stuck_at if stuck_at > now else None
        needs = [_describe_stuck(seen, raw, deleting_since)] if stuck_at <= now else []
    return Attention(_sort_and_cut(needs), changes_at)


def find_tag_attention(raw: Json) -> Attention:
    """Find what of an object of the metadata controller needs somebody."""
    return Attention(_sort_and_cut(list(_find_tag_needs(raw))))


def _build_need(blocker: Blocker, raw: Json) -> Need:
    advice = ADVICE.get(blocker.reason, UNKNOWN_REASON)
    command = advice.command(Subject(raw, blocker.line))
    return Need(
        advice.urgency, cut_text(blocker.sentence, LONGEST_SENTENCE), advice.do, _cut_command(command),
        blocker.since or None,
    )  # fmt: skip


def _cut_command(command: str) -> str:
    """Leave a command out that nobody can paste."""
    return command if len(command) <= LONGEST_SENTENCE else ""


def _describe_stuck(seen: View, raw: Json, since: float) -> Need:
    """Describe a delete that gets on no more by what it waits for."""
    left = [line for line in seen.lines if line.state in ("Waiting", "Deleting")]
    held = [line for line in left if line.reason == Reason.IN_USE] or left
    subject = Subject(raw, held[0] if held else None)
    waits = find_condition(raw["status"]["conditions"], names.DELETING) or {}
    waits = waits if waits.get("message") else find_condition(raw["status"]["conditions"], names.READY) or {}
    what = sentence(held[0]) if held else str(waits.get("message") or "nothing is reported of it")
    more = f" (and {len(held) - 1} more)" if len(held) > 1 else ""
    in_use = held and held[0].reason == Reason.IN_USE
    do = ADVICE[Reason.IN_USE].do if in_use else "See what it waits for; the operator goes on by itself once it can."
    told = f"deleting for long: {what}{more}"
    return Need(
        Urgency.STUCK_DELETE, cut_text(told, LONGEST_SENTENCE), do, _cut_command(_look_at_tree(subject)), since or None
    )


def _find_tag_needs(raw: Json) -> Iterable[Need]:
    """Find what is in the way of tags: the condition of the part says it, so that ``Ready`` is not told twice."""
    conditions: Sequence[Mapping[str, Any]] = raw["status"]["conditions"]
    command = _cut_command(_plan_tags(Subject(raw)))
    said = ((find_condition(conditions, type_) or {}) for type_ in ("Approved", "Policy", "Request"))
    for condition in (each for each in said if each.get("status") == "False"):
        reason = str(condition.get("reason") or "")
        advice = _advise_on_tags(str(condition.get("type")), reason)
        what = cut_text(condition.get("message") or reason, LONGEST_SENTENCE)
        yield Need(advice.urgency, what, advice.do, command, read_seconds(condition.get("lastTransitionTime")) or None)


def _advise_on_tags(type_: str, reason: str) -> Advice:
    """Return what to do about a condition that is False. A cloud's own code says nothing of what to do."""
    if reason == names.REASON_NO_CREDENTIALS:
        return ADVICE[reason]
    if type_ == "Policy" and reason in _TAG_CONFLICTS:
        return _AGREE_ON_TAG
    if type_ == "Approved" and reason == "ApprovalNeeded":
        return _APPROVE
    return UNKNOWN_REASON


_AGREE_ON_TAG: Final = Advice(_CONFLICT, "Agree with who wrote that tag, or take it out of the spec.")
_APPROVE: Final = Advice(_BLOCKED, "Look at the plan, and approve it or take it back.")


def _sort_and_cut(needs: list[Need]) -> tuple[Need, ...]:
    needs.sort(key=lambda need: (_RANKS[need.urgency], need.since or 0.0))
    if len(needs) <= MOST_NEEDS:
        return tuple(needs)
    more = len(needs) - MOST_NEEDS
    rest = Need(needs[MOST_NEEDS].urgency, f"and {more} more like these: open it to see all", "", "", None)
    return (*needs[:MOST_NEEDS], rest)
