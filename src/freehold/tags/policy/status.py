"""The status of ``CloudMetadata`` and of the providers' objects: conditions, and the flat fields of the proposal. Pure.

Source: docs/reference/metadata-compat.md A5 to A7, A17. Equal outcomes give equal statuses, so that nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from freehold.api import conditions as api_conditions
from freehold.api.conditions import Observation
from freehold.engine.errors import CloudError, NeedsPerson
from freehold.tags.policy.applied_tags import active_list
from freehold.tags.policy.key_decision import LeaveReason
from freehold.tags.policy.outcome import Outcome
from freehold.tags.policy.plan import Note
from freehold.tags.policy.references import Refused

READY, APPROVED, POLICY, REQUEST, APPLIED = "Ready", "Approved", "Policy", "Request", "Applied"
SHOWN: Final = 5
"""Resources that a message names; the others are counted. All of them are in the audit log."""

NOT_APPLIED: Final = (
    LeaveReason.LIMIT_EXCEEDED,
    LeaveReason.CONFLICT,
    LeaveReason.TAG_EXISTS,
    LeaveReason.FOREIGN_VALUE,
    LeaveReason.VALUE_DIFFERS,
    LeaveReason.PROTECTED,
    LeaveReason.CLASSIFIER,
)
"""Why something that an object asks for is not so, in the order in which they are told."""

APPLYING: Final = "Applying"
"""The reason while a pass brings a new generation about."""
_APPLYING: Final = "the tags are being brought to what is asked for now; resources may still have those of before"
_TRIMMED: Final = "Trimmed"
_CLOUD_READY = "tags are applied successfully and can be referred by users"
_PROVIDER_READY = "tags are applied successfully to cloud resources"
_NOTHING_FOUND: Final = "NothingFound"
NONE_FOUND: Final = (
    "no resource with these classifiers was found, so no tag is written: compare their keys and values, character by "
    "character, and regions, accounts and kinds; the index of the cloud shows what is new some seconds late"
)
_LOST: Final = (
    "part of the record of what was written cannot be read: what it had counts as somebody else's, so nothing of it is "
    "removed as ours. Put its ConfigMaps back from the newest backup before tags are written there again"
)
_UNREFERRED: Final = Refused(
    "NotReferred",
    "no CloudMetadata refers to this object, so nothing is done for it; what was written stays on the resources. Name "
    "it in spec.cloudprovider of a CloudMetadata, or delete it",
)
_NOWHERE: Final = (
    "carry tags of this object and are in no account and region that it names, so nothing is removed there: name them "
    "again in its spec (regions, role, identityRef), or set spec.deletionPolicy: Retain, and the tags stay"
)
_TOLD: Final = (
    LeaveReason.AWAITED,
    LeaveReason.TRIMMED,
    LeaveReason.SKIPPED,
    LeaveReason.IGNORED,
    LeaveReason.NOT_GRANTED,
    LeaveReason.EXEMPT,
    LeaveReason.CLASSIFIER_KEPT,
)
"""What is said though all that is asked for is so."""

Status = dict[str, Any]


Parts = Mapping[str, Outcome | Refused]
"""What each provider's object came to, by its name for people."""


def of_cloud(raw: Mapping[str, Any], parts: Parts, now: datetime) -> Status:
    """Return the status of the CloudMetadata, which sums up those of the providers' objects."""
    observed = _merge_conditions({name: _observations(outcome) for name, outcome in parts.items()})
    applied = next(each for each in observed if each.type == APPLIED)
    ready = Observation(READY, applied.status, _ready_reason(applied), _ready_message(applied, _CLOUD_READY))
    if applied.status != "True" and _was_ready(raw) and all(_passes_by(raw, each, now) for each in parts.values()):
        ready = Observation(READY, "True", "Retrying", _CLOUD_READY)
    return _status(raw, [ready, *observed], ready, now)


def of_provider(raw: Mapping[str, Any], outcome: Outcome | Refused, now: datetime) -> Status:
    """Return the status of a provider's object: the active list, and what of it every resource has (A5, A31)."""
    observed = _observations(outcome)
    applied = next(each for each in observed if each.type == APPLIED)
    flat = Observation(APPLIED, applied.status, applied.reason, _ready_message(applied, _PROVIDER_READY))
    status = _status(raw, observed, flat, now)
    if isinstance(outcome, Outcome):
        status["resourcetags"] = active_list(status.get("resourcetags") or {}, outcome)
        status["activeTags"] = dict(outcome.active)
    return status


def of_applying(raw: Mapping[str, Any], types: Sequence[str], now: datetime) -> Status:
    """Return the status from before the first call for a new generation until what it asks for is so.

    ``types``: the conditions that sum up, the first one for people.
    """
    observed = [Observation(each, "False", APPLYING, _APPLYING) for each in types]
    return _status(raw, observed, observed[0], now)


def has_observed(raw: Mapping[str, Any], type_: str) -> bool:
    """Say whether a condition is about the generation that the object has now."""
    found = api_conditions.find_condition((raw.get("status") or {}).get("conditions") or (), type_) or {}
    return found.get("observedGeneration") == int(raw["metadata"].get("generation", 0))


def of_unreferred(raw: Mapping[str, Any], now: datetime) -> Status:
    """Return the status of a provider's object to which no CloudMetadata refers any more."""
    return {**of_provider(raw, _UNREFERRED, now), "resourcetags": {}, "activeTags": {}}


def _status(raw: Mapping[str, Any], observed: Sequence[Observation], flat: Observation, now: datetime) -> Status:
    before: Mapping[str, Any] = raw.get("status") or {}
    generation = int(raw["metadata"].get("generation", 0))
    merged = api_conditions.merge(before.get("conditions") or (), observed, generation=generation, now=now)
    summed = api_conditions.find_condition(merged, flat.type) or {}
    return {
        **before,
        "conditions": merged,
        "type": flat.type.lower(),
        "status": flat.status,
        "lastTransitionTime": summed["lastTransitionTime"],
        "reason": "none" if flat.status == "True" and flat.reason != _TRIMMED else flat.reason,
        "message": api_conditions.cut_message(flat.message),
        "observedGeneration": generation,
    }


def _passes_by(raw: Mapping[str, Any], outcome: Outcome | Refused, now: datetime) -> bool:
    """Whether all that is in the way, if anything is, is trouble of a moment: Ready does not flap by it (A17).

    What lasts longer than a sync period is none: tags would be wrong for as long, and nobody would be told.
    """
    if isinstance(outcome, Refused) or outcome.approval or outcome.problem or _policy(outcome).status == "False":
        return False
    if _failing_for(raw, now) > outcome.period:
        return False
    return not any(isinstance(each, NeedsPerson) for each in outcome.errors)


def _failing_for(raw: Mapping[str, Any], now: datetime) -> float:
    """Seconds since Applied became false."""
    applied = api_conditions.find_condition((raw.get("status") or {}).get("conditions") or (), APPLIED) or {}
    if applied.get("status") != "False":
        return 0.0
    return (now - datetime.fromisoformat(str(applied["lastTransitionTime"]))).total_seconds()


def _was_ready(raw: Mapping[str, Any]) -> bool:
    """Of this generation."""
    return has_observed(raw, READY) and is_ready(raw.get("status") or {})


def is_ready(status: Mapping[str, Any]) -> bool:
    """Say what the condition Ready says."""
    ready = api_conditions.find_condition(status.get("conditions") or (), READY) or {}
    return bool(ready.get("status") == "True")


def _ready_reason(applied: Observation) -> str:
    return "Applied" if _is_good(applied) else applied.reason


def _ready_message(applied: Observation, good: str) -> str:
    return good if _is_good(applied) else applied.message


def _is_good(applied: Observation) -> bool:
    """Whether tags were applied, all of them, to anything at all."""
    return applied.status == "True" and applied.reason not in (_NOTHING_FOUND, _TRIMMED)


_WORST: Final = ("False", "Unknown", "True")


def _merge_conditions(parts: Mapping[str, Sequence[Observation]]) -> list[Observation]:
    """Each condition as bad as the worst part has it, with what those parts say."""
    if len(parts) == 1:
        return list(next(iter(parts.values())))
    found: list[Observation] = []
    for type_ in (APPROVED, POLICY, REQUEST, APPLIED):
        each = [(name, seen) for name, part in parts.items() for seen in part if seen.type == type_]
        status = min((seen.status for _, seen in each), key=_WORST.index)
        worst = [(name, seen) for name, seen in each if seen.status == status]
        worst.sort(key=lambda part: part[1].reason != _NOTHING_FOUND)
        message = _join_first(f"{name}: {seen.message}" for name, seen in worst)
        found.append(Observation(type_, status, worst[0][1].reason, message))
    return found


def _observations(outcome: Outcome | Refused) -> list[Observation]:
    if isinstance(outcome, Refused):
        return _observe_refusal(outcome)
    policy, request = _policy(outcome), _request(outcome)
    approved = _observe_approval(outcome)
    wrong = next((each for each in (approved, request, policy) if each.status == "False"), None)
    if wrong is None and outcome.later:
        wrong = Observation(APPLIED, "False", "Retrying", _name_first(sorted(outcome.later), "are tried again soon"))
    if wrong is not None:
        return [approved, policy, request, Observation(APPLIED, "False", wrong.reason, wrong.message)]
    return [approved, policy, request, _observe_applied(outcome)]


def _observe_refusal(refused: Refused) -> list[Observation]:
    """Nothing was looked at; what was true of requests and policies before is not known to be so now."""
    untried = [Observation(each, "Unknown", refused.reason, "nothing is done") for each in (POLICY, REQUEST)]
    approved = Observation(APPROVED, "False", refused.reason, refused.message)
    return [approved, *untried, Observation(APPLIED, "False", refused.reason, refused.message)]


def _observe_approval(outcome: Outcome) -> Observation:
    if outcome.approval is not None:
        return Observation(APPROVED, "False", "ApprovalNeeded", outcome.approval.message)
    if outcome.granted:
        return Observation(APPROVED, "True", "Granted", outcome.granted)
    message = "there are no grants: every namespace may do what the operator may"
    return Observation(APPROVED, "True", "NoGrants", message)


def _policy(outcome: Outcome) -> Observation:
    for reason in NOT_APPLIED:
        if notes := [each for each in outcome.notes if each.reason is reason]:
            return Observation(POLICY, "False", reason.value, _join_messages(notes))
    if outcome.lost:
        return Observation(POLICY, "True", "RecordLost", _LOST)
    for reason in _TOLD:
        if notes := [each for each in outcome.notes if each.reason is reason]:
            return Observation(POLICY, "True", reason.value, _join_messages(notes))
    return Observation(POLICY, "True", "AsAsked", "nothing prevents what is asked for")


def _request(outcome: Outcome) -> Observation:
    """Say what the cloud refused, with its own code as the reason (docs/reference/metadata-compat.md A6)."""
    for errors in (outcome.unasked, outcome.failed):
        if errors:
            first = errors[min(errors)]
            told = [f"{place}: {errors[place].message}" for place in sorted(errors)]
            return Observation(REQUEST, "False", code_of(first), _join_first(told))
    if outcome.problem:
        return Observation(REQUEST, "False", "RecordFull", outcome.problem)
    if outcome.nowhere:
        return Observation(REQUEST, "False", "NotInSpec", _name_first(sorted(outcome.nowhere), _NOWHERE))
    return Observation(REQUEST, "True", "Answered", "the cloud refused nothing")


def _observe_applied(outcome: Outcome) -> Observation:
    found = outcome.selected + outcome.exempt
    counted = f"the tags are as wanted on {_resources(outcome.selected)}" if found else NONE_FOUND
    if outcome.exempt:
        counted += f"; {_resources(outcome.exempt)} exempt by tag and left alone"
    if outcome.released:
        counted += f"; {_resources(outcome.released)} lost the classifier and keep what was written"
    if trimmed := [each for each in outcome.notes if each.reason is LeaveReason.TRIMMED]:
        return Observation(
            APPLIED, "True", _TRIMMED, f"{counted}, but for what there is no room for: {_join_messages(trimmed)}"
        )
    if outcome.repairs:
        told = _join_first(each.message for each in outcome.repairs)
        return Observation(APPLIED, "True", "Repaired", f"{counted}; {told}")
    return Observation(APPLIED, "True", "Applied" if found else _NOTHING_FOUND, counted)


def left_of(outcome: Outcome, reasons: Sequence[LeaveReason] = NOT_APPLIED) -> dict[str, str]:
    """Find the resources on which something is not as asked for and no pass will change that, and why."""
    left: dict[str, str] = {}
    for ident, plan in outcome.plans.items():
        notes = sorted(
            (each for each in plan.notes if each.reason in reasons),
            key=lambda note: reasons.index(note.reason),
        )
        if notes:
            left[ident] = _join_first(f"{each.reason.value}: {each.message}" for each in notes)
    return left


def code_of(error: CloudError) -> str:
    """Spell a code as a reason: one word of letters and digits."""
    word = re.sub(r"[^A-Za-z0-9]", "", error.code) or type(error).__name__
    return word if word[0].isalpha() else f"Code{word}"


def _join_messages(notes: Sequence[Note]) -> str:
    return _join_first(note.message for note in notes)


def _join_first(sentences: Iterable[str]) -> str:
    """Join the first ones; the others are counted."""
    found = list(dict.fromkeys(sentences))
    more = len(found) - SHOWN
    return "; ".join(found[:SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _name_first(resources: Sequence[str], what: str) -> str:
    more = len(resources) - SHOWN
    return f"{', '.join(resources[:SHOWN])}{f' and {more} more' if more > 0 else ''} {what}".rstrip()


def _resources(count: int) -> str:
    return f"{count} resource{'' if count == 1 else 's'}"
