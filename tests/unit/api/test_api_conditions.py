"""Conditions: deterministic, ordered, with times that change only with the status."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.api import names
from freehold.api.conditions import (
    MESSAGE_LIMIT,
    Observation,
    Status,
    choose_phase,
    find_condition,
    format_time,
    merge,
    observe_unknown,
    remove_types,
    summarize,
)
from freehold.api.parse import parse
from freehold.api.patterns import CONDITION_REASON
from freehold.providers.aws import api_names as aws_names
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs.types.status import IBMPowerVSClusterStatus

EARLY = datetime(2026, 1, 1, 12, 0, 0, 999_000, tzinfo=UTC)
LATE = EARLY + timedelta(hours=1)
VPC_READY = Observation("VPCReady", "True", "Ready")


def test_the_time_of_a_condition_changes_only_with_its_status() -> None:
    """docs/reference/capi-contract.md C11: `lastTransitionTime` is that of the last change, not of the last pass."""
    first = merge([], [Observation("VPCReady", "False", "NotReady", "creating")], generation=1, now=EARLY)
    second = merge(first, [Observation("VPCReady", "False", "Quota", "no VPC left")], generation=2, now=LATE)
    assert second[0]["lastTransitionTime"] == first[0]["lastTransitionTime"] == "2026-01-01T12:00:00Z"
    assert (second[0]["reason"], second[0]["message"], second[0]["observedGeneration"]) == ("Quota", "no VPC left", 2)
    third = merge(second, [VPC_READY], generation=2, now=LATE)
    assert third[0]["lastTransitionTime"] == "2026-01-01T13:00:00Z"


def test_equal_conditions_change_nothing() -> None:
    """docs/reference/capi-contract.md C14: an idle pass writes no status."""
    seen = [VPC_READY, Observation("Ready", "True", "Ready")]
    before = merge([], seen, generation=1, now=EARLY)
    assert merge(before, seen, generation=1, now=LATE) == before


def test_the_argument_is_not_changed_in_place() -> None:
    before = merge([], [VPC_READY], generation=1, now=EARLY)
    copy = [dict(condition) for condition in before]
    merge(before, [Observation("VPCReady", "False", "NotReady")], generation=2, now=LATE)
    assert before == copy


def test_a_message_that_is_no_longer_given_is_removed() -> None:
    """An old error beside a new True would mislead; upstream's schema refuses an empty message, so it is omitted."""
    before = merge([], [Observation("VPCReady", "False", "NotReady", "broken")], generation=1, now=EARLY)
    assert "message" not in merge(before, [VPC_READY], generation=1, now=LATE)[0]


def test_a_condition_without_a_time_gets_one() -> None:
    """An object that was restored by hand may lack it; the schema requires it."""
    (written,) = merge([{"type": "VPCReady", "status": "True"}], [VPC_READY], generation=1, now=EARLY)
    assert written["lastTransitionTime"] == "2026-01-01T12:00:00Z"


def test_foreign_conditions_are_kept_as_they_are() -> None:
    foreign = {"type": "example.com/Audited", "status": "True", "severity": "Info", "lastTransitionTime": "x"}
    assert foreign in merge([foreign], [VPC_READY], generation=1, now=EARLY)


def test_ready_comes_first_and_paused_last() -> None:
    """docs/reference/capi-contract.md C11; parts in the order of creation, ours and foreign ones between."""
    types = ["Paused", "Zebra", "LoadBalancerReady", "Deleting", "Ready", "Alpha", "ServiceInstanceReady"]
    parts = ibm_names.POWERVS_PART_CONDITIONS
    ordered = merge([], [Observation(each, "True", "Yes") for each in types], generation=1, now=EARLY, parts=parts)
    assert [condition["type"] for condition in ordered] == [
        "Ready",
        "ServiceInstanceReady",
        "LoadBalancerReady",
        "Alpha",
        "Zebra",
        "Deleting",
        "Paused",
    ]


def test_a_long_message_is_cut_to_the_limit_of_the_schema() -> None:
    (written,) = merge([], [Observation("VPCReady", "False", "NotReady", "x" * 20_000)], generation=1, now=EARLY)
    assert len(written["message"]) == MESSAGE_LIMIT and written["message"].endswith("…")


@pytest.mark.parametrize("reason", ["", "two words", "9lives", "a/b", "Trailing:", "x" * 300, "Line\n"])
def test_an_illegal_reason_is_refused(reason: str) -> None:
    """docs/reference/capi-contract.md C10: core mirrors it, and its own patch would be refused."""
    with pytest.raises(ValueError, match="not a valid reason"):
        Observation("Ready", "False", reason)


def test_every_reason_of_ours_is_legal() -> None:
    reasons = [value for name, value in vars(names).items() if name.startswith("REASON_")]
    assert len(reasons) > 10
    assert all(re.fullmatch(CONDITION_REASON, reason) for reason in reasons)


def part(type_: str, status: Status, message: str = "") -> Observation:
    return Observation(type_, status, "Ready" if status == "True" else "NotReady", message)


SUMMARIES: dict[str, tuple[list[Observation], Status, str, str]] = {
    "all true": ([part("A", "True"), part("B", "True")], "True", "Ready", ""),
    "one false": (
        [part("B", "False", "quota"), part("A", "True")],
        "False",
        "NotReady",
        "B: quota",
    ),
    "false before unknown": (
        [part("A", "Unknown", "creating"), part("B", "False", "quota")],
        "False",
        "NotReady",
        "B: quota; A: creating",
    ),
    "one unknown": ([part("A", "Unknown"), part("B", "True")], "Unknown", "ReadyUnknown", "A: NotReady"),
    "one missing": ([part("B", "True")], "Unknown", "ReadyUnknown", "A: not reconciled yet"),
}


@pytest.mark.parametrize("parts, status, reason, message", SUMMARIES.values(), ids=SUMMARIES.keys())
def test_ready_summarises_the_other_conditions(
    parts: list[Observation], status: Status, reason: str, message: str
) -> None:
    """docs/reference/capi-contract.md C12: the message lists the parts that fail, in a fixed order."""
    assert summarize(parts, ("A", "B")) == Observation("Ready", status, reason, message)


def test_a_deleting_object_is_never_ready() -> None:
    """docs/reference/capi-contract.md C9: Ready also covers the deletion."""
    assert summarize([part("A", "True")], ("A",), deleting=True) == Observation(
        "Ready", "False", "Deleting", "being deleted"
    )
    assert summarize([part("A", "False", "in use")], ("A",), deleting=True).message == "A: in use"


def test_known_types_are_set_from_the_first_pass() -> None:
    """docs/reference/capi-contract.md C11; existing ones do not become unknown."""
    seen = observe_unknown([{"type": "VPCReady", "status": "True"}], ["VPCReady", "NetworkReady"])
    assert [(each.type, each.status) for each in seen] == [("NetworkReady", "Unknown")]


def test_find_and_without() -> None:
    held = merge([], [VPC_READY, Observation("Ready", "True", "Ready")], generation=1, now=EARLY)
    found = find_condition(held, "VPCReady")
    assert found is not None and found["status"] == "True"
    assert find_condition(remove_types(held, ["VPCReady"]), "VPCReady") is None
    assert len(remove_types(held, ["VPCReady"])) == 1


def test_times_are_utc_with_seconds() -> None:
    """Kubernetes' metav1.Time; a naive time is an error of the caller."""
    assert format_time(EARLY.astimezone(timezone(timedelta(hours=5)))) == "2026-01-01T12:00:00Z"
    with pytest.raises(ValueError, match="without a zone"):
        format_time(datetime(2026, 1, 1))


observations = st.lists(
    st.builds(
        Observation,
        st.sampled_from([*ibm_names.POWERVS_PART_CONDITIONS, names.READY, names.PAUSED, "Own"]),
        st.sampled_from(["True", "False", "Unknown"]),
        st.sampled_from(["Ready", "NotReady"]),
        st.text(max_size=20),
    ),
    max_size=8,
)


@given(st.lists(observations, max_size=4))
def test_any_sequence_of_passes_gives_a_list_that_the_schema_accepts(passes: list[list[Observation]]) -> None:
    """One entry for each type, and repeating the last pass changes nothing."""
    held: list[dict[str, Any]] = []
    for generation, seen in enumerate(passes):
        held = merge(held, seen, generation=generation, now=EARLY + timedelta(minutes=generation))
        assert merge(held, seen, generation=generation, now=LATE) == held
    assert len({condition["type"] for condition in held}) == len(held)
    assert len(parse(IBMPowerVSClusterStatus, {"conditions": held}, at="status").conditions) == len(held)


@pytest.mark.parametrize(
    ("observations", "resources", "deleting", "expected"),
    [
        ([], [], False, "Progressing"),
        ([Observation("Ready", "True", "Ready")], [], False, "Ready"),
        ([Observation("Ready", "False", "NotReady", "creating")], [], False, "Progressing"),
        ([Observation("Ready", "False", "NotReady")], [{"state": "Blocked"}], False, "Blocked"),
        ([Observation("Ready", "False", "InvalidSpec", "spec.zone: …")], [], False, "Blocked"),
        ([Observation("Ready", "Unknown", "ReadyUnknown"), Observation("Paused", "True", "Paused")], [], False,
         "Paused"),
        ([Observation("Ready", "True", "Ready"), Observation("Paused", "True", "Paused")], [], False, "Paused"),
        ([Observation("Ready", "True", "Ready")], [], True, "Deleting"),
        ([Observation("Ready", "False", "NotReady"), Observation("Paused", "True", "Paused")], [], True, "Paused"),
    ],
    ids=["nothing is known", "ready", "on its way", "a resource is blocked", "the spec is refused", "paused",
         "paused when it was ready", "being deleted", "deleted while paused: it goes on when the pause ends"],
)  # fmt: skip
def test_the_phase_says_who_has_to_act(
    observations: list[Observation], resources: list[dict[str, str]], deleting: bool, expected: str
) -> None:
    conditions = merge([], observations, generation=1, now=EARLY)
    assert choose_phase(conditions, resources, deleting=deleting) == expected


def test_the_parts_of_an_awscluster_come_in_the_order_of_upstreams_steps() -> None:
    """Between Ready and Deleting, also where a part has the same name as one of another kind."""
    parts = [
        Observation(part, "True", "Ready") for part in aws_names.AWS_PART_CONDITIONS if part != "LoadBalancerReady"
    ]
    seen = [Observation("Deleting", "False", "NotDeleting"), *reversed(parts), Observation("Ready", "True", "Ready")]
    merged = merge([], seen, generation=1, now=EARLY, parts=aws_names.AWS_PART_CONDITIONS)
    found = [str(each["type"]) for each in merged]
    assert found == ["Ready", *(part.type for part in parts), "Deleting"]
