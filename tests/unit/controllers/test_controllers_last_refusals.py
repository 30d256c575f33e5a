"""What the cloud refused in the last pass is told beside what a plan would change of the same resource."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.controllers.plan.last_errors import add_last_errors
from freehold.controllers.plan.plan import PlanAction, PlanRow
from freehold.kube.resources import Json

NONE_YET = PlanRow("vpc", "main", "a-vpc", PlanAction.CREATE, "does not exist")
THERE = PlanRow("vpc", "main", "a-vpc", PlanAction.KEEP, "ours by its marks", "us-south/r006-1")
TAGGED = PlanRow("vpc", "main", "a-vpc", PlanAction.ADD_TAG, "the spec asks for it", "us-south/r006-1", "tag own=1")
DENIED = {
    "kind": "vpc", "name": "a-vpc", "state": "Blocked", "reason": "Denied", "message": "not allowed: grant it",
    "since": "2026-11-21T10:00:00Z",
}  # fmt: skip
MET = "the last try was refused (Denied, blocked since 2026-11-21T10:00:00Z): not allowed: grant it"


GOES = PlanRow("vpc", "main", "a-vpc", PlanAction.DELETE, "ours by its marks", "us-south/r006-1")
GOING = {"deletionTimestamp": "2026-11-21T11:00:00Z"}


def told(*rows: PlanRow, metadata: Json | None = None, of: str = "NotReady", **row: Any) -> list[str]:
    """``metadata`` of the object that is planned; ``of``: the reason of its Ready condition, ``row``: its resource."""
    ready = {"type": "Ready", "status": "False", "reason": of}
    status = {"observedGeneration": 1, "conditions": [ready], "resources": [DENIED | row]}
    raw = {"metadata": {"generation": 1, **(metadata or {})}, "status": status}
    return [row.reason for row in add_last_errors(rows, raw)]


def test_what_is_to_be_created_tells_of_the_last_try() -> None:
    assert told(NONE_YET) == [f"does not exist; {MET}"]


def test_of_what_exists_the_first_change_tells_and_the_row_that_keeps_it_does_not() -> None:
    assert told(THERE, TAGGED, TAGGED, id="r006-1") == [
        THERE.reason, f"the spec asks for it; {MET}", "the spec asks for it",
    ]  # fmt: skip


def test_a_try_with_an_earlier_spec_is_told_as_such() -> None:
    """The spec may have been changed because of it."""
    assert told(NONE_YET, metadata={"generation": 2}) == [
        f"does not exist; {MET.replace('last try was', 'last try, with an earlier spec, was')}"
    ]


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"id": "r006-0"}, id="an earlier resource of the name, or surplus"),
        pytest.param({"kind": "vpc-subnet"}, id="another kind"),
        pytest.param({"name": "b-vpc"}, id="another resource"),
        pytest.param({"reason": "NameTaken"}, id="what a plan finds out itself"),
        pytest.param({"reason": ""}, id="no reason"),
    ],
)
def test_what_is_not_a_refused_try_of_it_is_not_told(status: dict[str, str]) -> None:
    assert told(NONE_YET, **status) == ["does not exist"]


def test_an_update_that_was_refused_says_nothing_of_the_delete() -> None:
    """Deletes often need another permission, and none of the quota."""
    assert told(GOES, metadata=GOING, id="r006-1") == [GOES.reason]


def test_a_delete_that_was_refused_is_told_of_the_delete_alone() -> None:
    assert told(GOES, metadata=GOING, of="Deleting", id="r006-1") == [f"{GOES.reason}; {MET}"]
    assert told(TAGGED, of="Deleting", id="r006-1") == [TAGGED.reason]


def test_a_resource_that_is_ready_and_could_not_get_all_tags_has_no_time_of_the_refusal() -> None:
    """``since`` is when it became ready."""
    ready = {"id": "r006-1", "state": "Ready", "reason": "QuotaReached", "message": "too many tags"}
    assert told(TAGGED, **ready) == ["the spec asks for it; the last try was refused (QuotaReached): too many tags"]


def test_an_object_without_a_status_has_no_last_try() -> None:
    assert list(add_last_errors([NONE_YET], {"metadata": {}})) == [NONE_YET]
