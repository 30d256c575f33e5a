"""What a status means to a waiting user: in progress, done, or action needed."""

from typing import Any

import pytest

from freehold.api import names
from freehold.api.conditions import choose_phase
from freehold.cli.output.highlights import attention
from freehold.view.object_view import ViewPhase, view


def _object(
    *conditions: dict[str, Any], rows: list[dict[str, Any]] | None = None, generation: int = 1, **metadata: Any
) -> dict[str, Any]:
    return {
        "kind": "IBMPowerVSCluster",
        "metadata": {"name": "a", "namespace": "n", "generation": generation, **metadata},
        "status": {"conditions": list(conditions), "resources": rows or []},
    }


def _condition(kind: str, status: str, reason: str = "Ready", message: str = "", seen: int = 1) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": seen}


WAITING = {"kind": "vpc", "name": "v", "state": "Waiting", "reason": "Provisioning", "message": "is pending"}
IDLE = {"kind": "vpc-subnet", "name": "s", "state": "Waiting", "reason": "WaitingForRequirement"}
BLOCKED = {"kind": "vpc", "name": "v", "state": "Blocked", "reason": "QuotaReached", "message": "ask for more"}


def test_an_object_that_was_not_reconciled_yet_is_in_progress() -> None:
    seen = view({"kind": "A", "metadata": {"name": "a", "generation": 1}})
    assert (seen.phase, seen.moving, seen.has_status, seen.blocked) == (ViewPhase.PROGRESSING, True, False, ())


def test_a_recovered_object_that_nobody_has_served_yet_waits_for_a_person() -> None:
    """Nothing is at work on it: it must not look as if something were."""
    obj = {
        "kind": "AWSCluster",
        "metadata": {"name": "c", "annotations": {names.PAUSED_ANNOTATION: names.RECOVERED}, "generation": 1},
    }
    shown = view(obj)
    assert (shown.phase, shown.moving) == (ViewPhase.PAUSED, False)
    assert "freehold up -f FILE" in shown.blocked[0]


def test_ready_counts_only_for_the_observed_generation() -> None:
    """Right after a second apply the status still has the old Ready."""
    assert view(_object(_condition("Ready", "True"))).phase is ViewPhase.READY
    assert view(_object(_condition("Ready", "True"), generation=2)).phase is ViewPhase.PROGRESSING


def test_what_blocked_an_earlier_generation_is_not_told_of_the_new_one() -> None:
    """Right after the edit that mends it, ``up`` must not ask for somebody to act."""
    retried = {**WAITING, "name": "w", "reason": "Retrying"}
    seen = view(_object(_condition("Ready", "False", "QuotaReached"), rows=[BLOCKED, retried], generation=2))
    assert (seen.blocked, seen.retrying, seen.outdated, seen.moving) == ((), (), True, True)


def test_a_pause_that_was_seen_of_the_new_generation_blocks_it() -> None:
    """Nothing but the pause is reported while it lasts; Ready is still that of the earlier generation."""
    pause = _condition("Paused", "True", "Paused", "spec.paused is set", seen=2)
    seen = view(_object(_condition("Ready", "True"), pause, generation=2))
    assert (seen.phase, seen.blocked, seen.moving) == (ViewPhase.PAUSED, ("paused: spec.paused is set",), False)


@pytest.mark.parametrize("metadata", [{}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}], ids=["kept", "deleted"])
def test_paused_is_one_word_here_and_in_kubectl(metadata: dict[str, str]) -> None:
    """Also of an object that is being deleted: nothing of it goes before the pause ends."""
    obj = _object(_condition("Ready", "True"), _condition("Paused", "True", "Paused", "it is"), **metadata)
    conditions, seen = obj["status"]["conditions"], view(obj)
    assert seen.phase.value == choose_phase(conditions, (), deleting=bool(metadata)) == "Paused"
    aim = "gone" if metadata else "Ready"
    assert attention(seen) == ["blocked: paused: it is", f"somebody must act before n/a is {aim}"]


def test_a_node_that_waits_for_another_makes_no_progress_by_itself() -> None:
    moving = view(_object(_condition("Ready", "False", "NotReady"), rows=[WAITING, IDLE]))
    assert (moving.phase, moving.moving) == (ViewPhase.PROGRESSING, True)
    stuck = view(_object(_condition("Ready", "False", "NotReady"), rows=[BLOCKED, IDLE]))
    assert (stuck.phase, stuck.moving) == (ViewPhase.BLOCKED, False)
    assert stuck.blocked == ("vpc v: ask for more",)


def test_drift_and_surplus_of_a_ready_object_are_reported() -> None:
    """An exit code of 0 must not hide a difference from the spec."""
    rows = [
        {
            "kind": "vpc",
            "name": "v",
            "state": "Ready",
            "reason": "Drifted",
            "message": "zone is 'a', not 'b'",
        },
        {"kind": "vpc-subnet", "name": "s", "state": "Surplus", "message": "is ours and the spec no longer wants it"},
        {"kind": "workspace", "name": "w", "state": "Ready"},
    ]
    seen = view(_object(_condition("Ready", "True"), rows=rows))
    assert seen.deviations == (
        "vpc v: zone is 'a', not 'b'",
        "vpc-subnet s: is ours and the spec no longer wants it",
    )


def test_every_finding_in_a_spec_is_a_separate_sentence() -> None:
    message = "spec.zone: there is no zone 'x'; choose one of a, b; spec.vpc.region: it is missing"
    seen = view(
        _object(
            _condition("Ready", "False", "InvalidSpec", message),
            _condition("SpecValid", "False", "InvalidSpec", message),
        )
    )
    assert seen.blocked == ("spec.zone: there is no zone 'x'; choose one of a, b", "spec.vpc.region: it is missing")


@pytest.mark.parametrize(
    ("conditions", "sentence"),
    [
        ([_condition("Paused", "True", "Paused", "spec.paused is set")], "paused: spec.paused is set"),
        ([_condition("Ready", "False", "OwnedByOther", "another object owns it")], "another object owns it"),
    ],
    ids=["paused", "held"],
)
def test_an_object_on_hold_reports_it(conditions: list[dict[str, Any]], sentence: str) -> None:
    assert view(_object(*conditions)).blocked == (sentence,)


def test_a_deleting_object_shows_what_stays() -> None:
    rows = [
        {"kind": "vpc", "name": "given", "state": "Kept", "ownership": "unmanaged", "message": "given by id"},
        {"kind": "vpc-subnet", "name": "ours", "state": "Gone", "ownership": "managed"},
        {"kind": "load-balancer", "name": "never made", "state": "Waiting", "ownership": "unknown"},
    ]
    seen = view(_object(_condition("Ready", "False", "Deleting"), rows=rows, deletionTimestamp="2026-01-01T00:00:00Z"))
    assert seen.phase is ViewPhase.DELETING
    assert [line.name for line in seen.not_ours] == ["given"]


def test_an_annotation_of_garbage_collection_that_cannot_be_read_is_a_note() -> None:
    """Else nobody would hear of it before a deletion waits for it. Who has opted out knows it."""
    unreadable = _condition("ExternalResourceGC", "False", "InvalidCollectionPolicy", "annotation x is 'y'")
    assert view(_object(unreadable)).notes == ("annotation x is 'y'",)
    assert view(_object(_condition("ExternalResourceGC", "False", "OptedOut", "left"))).notes == ()


def test_ignored_fields_are_notes() -> None:
    message = "spec.ignition: not acted on; it concerns machines; spec.vpc.name: not used"
    seen = view(_object(_condition("FieldsServed", "False", "FieldsIgnored", message)))
    assert seen.notes == ("spec.ignition: not acted on; it concerns machines", "spec.vpc.name: not used")


@pytest.mark.parametrize("reason", ["Retrying", "Throttled"])
def test_an_outage_does_not_count_as_blocked(reason: str) -> None:
    """It is retried automatically: a person who reads "somebody must act" would search for something to change."""
    seen = view(_object(_condition("Ready", "False", reason, "IBM Cloud did not answer; it is asked again")))
    assert (seen.phase, seen.blocked) == (ViewPhase.PROGRESSING, ())
    assert seen.retrying == ("IBM Cloud did not answer; it is asked again",)


def test_a_machine_whose_cluster_is_not_ready_is_held_and_not_blocked() -> None:
    seen = view(_object(_condition("Ready", "False", "WaitingForClusterInfrastructure", "AWSCluster 'c' is not ready")))
    assert (seen.phase, seen.blocked, seen.moving) == (ViewPhase.PROGRESSING, (), True)
    assert seen.held == ("AWSCluster 'c' is not ready",)


def test_machines_that_hold_the_collection_are_told_at_once_while_it_goes_on() -> None:
    row = {**WAITING, "kind": "external resources", "name": "machines", "reason": "CollectingExternalResources"}
    seen = view(_object(_condition("Ready", "False", "Deleting"), rows=[{**row, "message": "i-1 runs"}]))
    assert (seen.held, seen.blocked, seen.moving) == (("external resources machines: i-1 runs",), (), True)


def test_a_held_delete_is_distinguished_from_a_blocked_node() -> None:
    row = {"kind": "vpc", "name": "v", "state": "Waiting", "reason": "InUse", "message": "holds vm-1"}
    seen = view(_object(_condition("Ready", "False", "Deleting"), rows=[row], deletionTimestamp="2026-01-01T00:00:00Z"))
    assert (seen.held, seen.blocked, seen.moving) == (("vpc v: holds vm-1",), (), False)


def test_a_wrong_spec_does_not_hold_a_delete_up() -> None:
    """Nobody must act: the object goes, whatever its spec says."""
    wrong = _condition("SpecValid", "False", "InvalidSpec", "spec.zone: there is no PowerVS zone 'dal99'")
    ready = _condition("Ready", "False", "Deleting")
    assert view(_object(ready, wrong)).blocked != ()
    assert view(_object(ready, wrong, deletionTimestamp="2026-11-21T00:00:00Z")).blocked == ()


def test_what_waits_behind_a_refusal_is_named() -> None:
    """Otherwise a person mends one thing and does not know what else is to come."""
    seen = view(_object(_condition("Ready", "False", "NotReady"), rows=[BLOCKED, IDLE, {**IDLE, "name": "t"}]))
    assert seen.behind == "vpc-subnet s, vpc-subnet t"
    assert view(_object(_condition("Ready", "True"))).behind == ""
