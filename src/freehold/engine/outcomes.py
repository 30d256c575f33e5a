"""What became of one wanted or owned resource in one pass. Named, never a bare boolean."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from freehold.engine import errors
from freehold.engine.reasons import Reason as Reason
from freehold.engine.resources import NodeKey, Observed


class Category(Enum):
    """The ownership categories of docs/reference/requirements.md W12 to W14."""

    MANAGED = "managed"  # created by us, marked, kept in sync, deleted
    SHARED = "shared"  # created, marked and deleted by us; what it is and has in it is the in-cluster provider's
    UNMANAGED = "unmanaged"  # given: never changed, never deleted


@dataclass(frozen=True, slots=True)
class Ready:
    """As wanted. ``note`` is for a person, although nothing is wrong."""

    observed: Observed
    category: Category
    reason: Reason | None = None
    note: str = ""


@dataclass(frozen=True)
class Waiting:
    """Nothing to do for a person; look again ``after`` seconds of domain time. ``waits_for`` must be ready first."""

    reason: Reason
    after: float
    message: str = ""
    observed: Observed | None = None
    waits_for: tuple[NodeKey, ...] = ()


@dataclass(frozen=True)
class Blocked:
    """A person must act; ``message`` tells what to do. Checked again after ``after`` seconds."""

    reason: Reason
    message: str
    after: float = 300.0
    observed: Observed | None = None


@dataclass(frozen=True)
class Surplus:
    """Ours, but the spec no longer wants it: reported, and pruned only where that is provably safe."""

    observed: Observed | None
    message: str


@dataclass(frozen=True)
class Kept:
    """Not ours to delete; stays, and this is why."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Repair:
    """Something that was changed from outside and is brought back, for a person: from which value to which.

    The values are texts of bounded length; a value that is no text is written as JSON.
    """

    field: str
    before: str
    after: str


LONGEST_VALUE = 200
"""Characters of a value that a repair shows."""


def describe_repair(field: str, before: Any, after: Any) -> Repair:
    """Describe a repair of one attribute."""
    return Repair(field, _describe_value(before), _describe_value(after))


def _describe_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


Outcome = Ready | Waiting | Blocked | Surplus | Kept

_BLOCKING: dict[type[errors.CloudError], Reason] = {
    errors.NameTaken: Reason.NAME_TAKEN,
    errors.NotOwned: Reason.NOT_OWNED,
    errors.Quota: Reason.QUOTA,
    errors.NoCapacity: Reason.NO_CAPACITY,
    errors.Denied: Reason.DENIED,
    errors.NotOffered: Reason.DENIED,
    errors.Invalid: Reason.INVALID,
    errors.NotFound: Reason.NOT_FOUND,
    errors.Frozen: Reason.FROZEN,
    errors.Held: Reason.IN_USE,
}


def outcome_of_error(error: errors.CloudError) -> Waiting | Blocked:
    """Turn a failed call into the outcome of its resource: the error's class says what to do next."""
    match error:
        case errors.Throttled():
            return Waiting(Reason.THROTTLED, error.retry_after or 10.0, error.message)
        case errors.InUse():
            return Waiting(Reason.IN_USE, 10.0, error.message)
        case errors.NotReady():
            return Waiting(Reason.UPDATING, error.after, error.message)
        case errors.Retryable() | errors.Unknown():
            return Waiting(Reason.RETRYING, 5.0, error.message)
    return Blocked(_BLOCKING.get(type(error), Reason.INVALID), error.message)
