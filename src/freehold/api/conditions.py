"""Pure functions over ``status.conditions``: merge, order, summarize. Time is a parameter. Does not import pydantic.

Rules (docs/reference/capi-contract.md C9, C10, C11, C12): a reason is always set and is one word;
``lastTransitionTime`` changes only with the status; ``observedGeneration`` is the generation that was
reconciled; ``Ready`` is first, ``Deleting`` and ``Paused`` are last. Equal observations always give an equal list, so
a pass without changes writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from freehold.api.names import (
    DELETING,
    PAUSED,
    READY,
    REASON_DELETING,
    REASON_NOT_READY,
    REASON_READY,
    REASON_READY_UNKNOWN,
)
from freehold.api.patterns import CONDITION_REASON

Status = Literal["True", "False", "Unknown"]
Condition = dict[str, Any]
"""One entry of ``status.conditions`` as JSON."""

MESSAGE_LIMIT: Final = 10240
"""The limit in characters of upstream's v1beta2 schema, which stays installed in take-over mode."""
REASON_LIMIT: Final = 256
"""The limit of a reason in characters, from the same schema."""


_LAST: Final = (DELETING, PAUSED)
_REASON = re.compile(CONDITION_REASON)


@dataclass(frozen=True)
class Observation:
    """The new content of one condition. Raises ``ValueError`` for an invalid reason."""

    type: str
    status: Status
    reason: str
    message: str = ""

    def __post_init__(self) -> None:
        if not _REASON.fullmatch(self.reason) or len(self.reason) > REASON_LIMIT:
            raise ValueError(f"condition {self.type}: {self.reason!r} is not a valid reason ({CONDITION_REASON})")


def merge(
    existing: Sequence[Mapping[str, Any]],
    observations: Iterable[Observation],
    *,
    generation: int,
    now: datetime,
    parts: Sequence[str] = (),
) -> list[Condition]:
    """Return the conditions after a pass: ``Ready``, the ``parts`` in their order, others by name, then the rest.

    Conditions without an observation stay unchanged (those of another controller or of an earlier pass). ``now`` is
    timezone-aware; it is written with seconds and ``Z``. The last of several observations of a type counts.
    """
    held = {str(condition["type"]): dict(condition) for condition in existing if condition.get("type")}
    latest = {observed.type: observed for observed in observations}
    for observed in latest.values():
        held[observed.type] = _build_condition(held.get(observed.type), observed, generation, now)
    first = (READY, *parts)
    return sorted(held.values(), key=lambda condition: _rank(condition["type"], first))


def remove_types(existing: Sequence[Mapping[str, Any]], types: Iterable[str]) -> list[Condition]:
    """Remove the conditions of these types, which no longer apply (their field was removed)."""
    gone = frozenset(types)
    return [dict(condition) for condition in existing if condition.get("type") not in gone]


def find_condition(conditions: Sequence[Mapping[str, Any]], type_: str) -> Mapping[str, Any] | None:
    """Find the condition of this type, or None."""
    return next((condition for condition in conditions if condition.get("type") == type_), None)


def summarize(observations: Iterable[Observation], parts: Sequence[str], *, deleting: bool = False) -> Observation:
    """Summarize the parts as ``Ready``: False if any is False, else Unknown if any is Unknown or missing, else True.

    The message lists the parts that are not True, in the order of ``parts``. An object in deletion is never Ready;
    its message lists what still exists. ``parts`` are those that the spec requires.
    """
    by_type = {observed.type: observed for observed in observations}
    held = [
        by_type.get(part) or Observation(part, "Unknown", REASON_READY_UNKNOWN, "not reconciled yet") for part in parts
    ]
    failing = [observed for observed in held if observed.status == "False"]
    open_ = [observed for observed in held if observed.status == "Unknown"]
    if deleting:
        return Observation(READY, "False", REASON_DELETING, _join_messages(failing or open_) or "being deleted")
    if failing:
        return Observation(READY, "False", REASON_NOT_READY, _join_messages(failing + open_))
    if open_:
        return Observation(READY, "Unknown", REASON_READY_UNKNOWN, _join_messages(open_))
    return Observation(READY, "True", REASON_READY)


Phase = Literal["Progressing", "Ready", "Blocked", "Paused", "Deleting"]

_ON_THE_WAY: Final = frozenset({REASON_READY, REASON_NOT_READY, REASON_READY_UNKNOWN, REASON_DELETING})
"""Reasons of ``Ready`` that require no action of a person."""


def choose_phase(
    conditions: Sequence[Mapping[str, Any]], resources: Sequence[Mapping[str, Any]], *, deleting: bool
) -> Phase:
    """Choose one word for the whole object. ``Blocked``: a person must act, or the cloud must answer again.

    ``Paused`` outranks ``Deleting``, because a deletion waits for the end of a pause (docs/reference/capi-contract.md
    C23).
    """
    if (find_condition(conditions, PAUSED) or {}).get("status") == "True":
        return "Paused"
    if deleting:
        return "Deleting"
    ready = find_condition(conditions, READY) or {}
    if ready.get("status") == "True":
        return "Ready"
    blocked = any(row.get("state") == "Blocked" for row in resources)
    held = bool(ready) and ready.get("reason") not in _ON_THE_WAY
    return "Blocked" if blocked or held else "Progressing"


def observe_unknown(existing: Sequence[Mapping[str, Any]], types: Iterable[str]) -> tuple[Observation, ...]:
    """Build an Unknown for each type without a condition, so that every type is present from the first pass on."""
    present = {condition.get("type") for condition in existing}
    return tuple(
        Observation(type_, "Unknown", REASON_READY_UNKNOWN, "not reconciled yet")
        for type_ in types
        if type_ not in present
    )


def format_time(moment: datetime) -> str:
    """Format a time as Kubernetes does: RFC 3339 in UTC with seconds and ``Z``. ``moment`` must be timezone-aware."""
    if moment.tzinfo is None:
        raise ValueError("a time without a zone cannot be written to the API")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _build_condition(before: Condition | None, observed: Observation, generation: int, now: datetime) -> Condition:
    kept = before is not None and before.get("status") == observed.status and before.get("lastTransitionTime")
    written: Condition = {
        "type": observed.type,
        "status": observed.status,
        "observedGeneration": generation,
        "lastTransitionTime": kept or format_time(now),
        "reason": observed.reason,
    }
    if observed.message:
        written["message"] = cut_message(observed.message)
    return written


def cut_message(message: str) -> str:
    """Cut a message to the limit of a condition."""
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…"


def _join_messages(observations: Sequence[Observation]) -> str:
    return "; ".join(f"{observed.type}: {observed.message or observed.reason}" for observed in observations)


def _rank(type_: str, first: Sequence[str]) -> tuple[int, int, str]:
    if type_ in first:
        return 0, first.index(type_), ""
    if type_ in _LAST:
        return 2, _LAST.index(type_), ""
    return 1, 0, type_
