"""Events of a pass for people: a condition that changed, a resource created, kept or deleted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.api import conditions, names
from freehold.controllers.events import Severity

Status = Mapping[str, Any]


@dataclass(frozen=True)
class EventSpec:
    """One event: ``reason`` is stable UpperCamelCase, ``message`` a sentence."""

    severity: Severity
    reason: str
    message: str


def find_events(before: Status, after: Status, notes: Sequence[str] = ()) -> Iterator[EventSpec]:
    """Find the events of a pass from the statuses before and after it, and its notes."""
    yield from _find_condition_events(before.get("conditions") or (), after.get("conditions") or ())
    yield from _find_resource_events(before.get("resources") or (), after.get("resources") or ())
    for note in notes:
        yield EventSpec(Severity.WARNING, "ResourceChangedOutside", note)


def _find_condition_events(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> Iterator[EventSpec]:
    parts = {each["reason"] for each in after if each["type"] != names.READY and each["status"] == "False"}
    for condition in after:
        if condition["type"] == names.READY and condition["status"] == "False" and condition["reason"] in parts:
            continue  # the part says it
        old = conditions.find_condition(before, condition["type"])
        verb = (condition["status"], condition["reason"])
        if condition["status"] == "Unknown" or (old and (old.get("status"), old.get("reason")) == verb):
            continue
        good = condition["status"] == "True" or condition["reason"] in _CALM
        if good and (old is None or condition["status"] == "False"):
            continue  # how it begins, and steps on the way: the resources' own events tell of those
        message = str(condition.get("message") or condition["reason"])
        yield EventSpec(
            Severity.NORMAL if good else Severity.WARNING,
            _to_camel_case(condition["type"] if condition["status"] == "True" else condition["reason"]),
            message if condition["status"] == "False" else f"{condition['type']} is True",
        )


_CALM = frozenset(
    {
        *("NotPaused", "NotDeleting", "Deleting", "Provisioning", "Creating", "NotReady", "Marking"),
        *("WaitingForRequirement", names.REASON_OPTED_OUT, names.REASON_NOT_MARKED, names.REASON_NOT_SELECTED),
        *(names.REASON_FEATURE_GATE_OFF, names.REASON_NOT_AVAILABLE),
    }
)
"""Reasons of a False condition that nobody has to act on."""


def _find_resource_events(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> Iterator[EventSpec]:
    old = {_identify_row(row): row for row in before}
    for row in after:
        was = old.get(_identify_row(row), {})
        if row.get("id") and not was.get("id"):
            verb = "Created" if row.get("ownership") in names.OURS else "Found"
            yield EventSpec(Severity.NORMAL, f"Resource{verb}", f"{row['kind']} {row['name']} ({row['id']})")
        if row.get("state") == "Kept" and was.get("state") != "Kept":
            yield EventSpec(
                Severity.NORMAL, "ResourceKept", f"{row['kind']} {row['name']} stays: {row.get('message', '')}"
            )
    now = {_identify_row(row) for row in after}
    for identity, row in old.items():
        if identity not in now and row.get("id") and row.get("ownership") in names.OURS:
            yield EventSpec(Severity.NORMAL, "ResourceDeleted", f"{row['kind']} {row['name']} ({row['id']}) is gone")


def _identify_row(row: Mapping[str, Any]) -> tuple[str, str]:
    return str(row.get("kind", "")), str(row.get("name", ""))


def _to_camel_case(verb: str) -> str:
    letters = re.sub(r"[^A-Za-z0-9]", "", verb)
    return letters[:1].upper() + letters[1:]
