"""Events are for people: what became bad, what was created, what is gone, and not each step."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.controllers.events import Severity
from freehold.controllers.pass_events import find_events


def condition(type_: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": reason, "message": message}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        pytest.param(None, condition("Paused", "False", "NotPaused"), [], id="the first state has no event"),
        pytest.param(None, condition("VPCReady", "False", "Provisioning"), [], id="a step of progress has no event"),
        pytest.param(
            condition("Ready", "False", "NotReady"),
            condition("Ready", "True", "Ready"),
            [(Severity.NORMAL, "Ready", "Ready is True")],
            id="Ready is what people wait for",
        ),
        pytest.param(
            None,
            condition("VPCReady", "False", "NameTaken", "prod-vpc is not ours"),
            [(Severity.WARNING, "NameTaken", "prod-vpc is not ours")],
            id="what a person must fix is reported at once, also in the first pass",
        ),
        pytest.param(
            condition("VPCReady", "False", "NameTaken", "a"),
            condition("VPCReady", "False", "NameTaken", "b"),
            [],
            id="another message with the same reason changes only the condition",
        ),
    ],
)
def test_events_of_condition_changes(before: Any, after: Any, said: list[tuple[Severity, str, str]]) -> None:
    found = list(find_events({"conditions": [before] if before else []}, {"conditions": [after]}))
    assert [(event.severity, event.reason, event.message) for event in found] == said


def test_what_ready_says_of_a_part_is_one_event() -> None:
    after = [condition("Ready", "False", "NameTaken", "VPCReady: a"), condition("VPCReady", "False", "NameTaken", "a")]
    assert [event.message for event in find_events({}, {"conditions": after})] == ["a"]


def test_created_and_deleted_resources_have_events() -> None:
    made = {"kind": "vpc", "name": "prod-vpc", "id": "r006-1", "ownership": "managed"}
    found = {"kind": "workspace", "name": "team", "id": "w", "ownership": "unmanaged"}
    up = [event.reason for event in find_events({}, {"resources": [made, found]})]
    down = [event.reason for event in find_events({"resources": [made, found]}, {})]
    assert (up, down) == (["ResourceCreated", "ResourceFound"], ["ResourceDeleted"])


def test_a_kept_resource_has_one_event_with_the_reason() -> None:
    """The status is deleted with the object; a user of kubectl learns it from the event."""
    stays = {"kind": "vpc", "name": "prod-vpc", "id": "r006-1", "ownership": "unmanaged", "state": "Ready"}
    kept = {**stays, "state": "Kept", "message": "r006-1 was given, not made here"}
    said = list(find_events({"resources": [stays]}, {"resources": [kept]}))
    assert [(event.severity, event.reason, event.message) for event in said] == [
        (Severity.NORMAL, "ResourceKept", "vpc prod-vpc stays: r006-1 was given, not made here")
    ]
    assert list(find_events({"resources": [kept]}, {"resources": [kept]})) == []
