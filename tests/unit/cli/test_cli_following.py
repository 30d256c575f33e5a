"""When to stop following: Ready, gone, or no progress and somebody must act."""

from pathlib import Path
from typing import Any

import pytest

from freehold.cli import up
from freehold.cli.errors import CliError
from freehold.cli.following import UntilGone, UntilReady, ViewSnapshot, last_views
from freehold.cli.kinds import OURS
from freehold.kube.resources import Key
from freehold.kube.watch import Change, Origin

KEY = Key("n", "a")


def _picture(ready: str | None, *rows: dict[str, Any], reason: str = "NotReady") -> ViewSnapshot:
    picture = ViewSnapshot(((OURS[0], KEY),))
    conditions = [{"type": "Ready", "status": ready, "reason": reason, "observedGeneration": 1}] if ready else []
    obj = {
        "kind": "K", "metadata": {"namespace": "n", "name": "a", "generation": 1},
        "status": {"conditions": conditions, "resources": list(rows)},
    }  # fmt: skip
    picture.take(OURS[0], Change(KEY, None, obj, Origin.LIST))
    return picture


BLOCKED = {"kind": "vpc", "name": "v", "state": "Blocked", "reason": "QuotaReached", "message": "ask IBM for more VPCs"}
MOVING = {"kind": "gateway", "name": "g", "state": "Waiting", "reason": "Provisioning"}


class Wall:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_ready_ends_the_wait() -> None:
    assert UntilReady()(_picture("True"), 0.0)
    assert not UntilReady()(_picture("False", MOVING), 0.0)


def test_the_wait_continues_while_others_make_progress() -> None:
    """A quota may stop the VPC while the workspace is still being created: nothing is reported too early."""
    wall = Wall()
    verdict = UntilReady(wall)
    for now in (0.0, 1000.0, 2000.0):
        wall.now = now
        assert not verdict(_picture("False", BLOCKED, MOVING), now)


def test_a_blocked_node_ends_the_wait_although_the_cloud_does_not_answer_for_another() -> None:
    """Only a person can resolve it, and must not be kept waiting for hours."""
    wall = Wall()
    verdict = UntilReady(wall)
    retried = {**MOVING, "reason": "Retrying"}
    assert not verdict(_picture("False", BLOCKED, retried), 0.0)
    wall.now = 40.0
    with pytest.raises(CliError, match="somebody must act"):
        verdict(_picture("False", BLOCKED, retried), 40.0)


def test_an_outage_is_waited_out() -> None:
    """The user cannot repair it: it is retried until the timeout of the caller."""
    wall = Wall()
    verdict = UntilReady(wall)
    for now in (0.0, 1000.0, 6000.0):
        wall.now = now
        assert not verdict(_picture("False", reason="Retrying"), now)


def test_a_deletion_that_needs_a_person_is_not_followed_for_hours() -> None:
    """The cause of a held delete may go away by itself: that gets minutes, a blocked one gets seconds."""
    wall = Wall()
    verdict, held = UntilGone(wall), UntilGone(wall)
    in_use = {**MOVING, "reason": "InUse", "message": "holds vm-1, which is not ours"}
    assert not verdict(_picture("False", BLOCKED), 0.0)
    assert not held(_picture("False", in_use), 0.0)
    wall.now = 40.0
    with pytest.raises(CliError, match="somebody must act"):
        verdict(_picture("False", BLOCKED), 40.0)
    assert not held(_picture("False", in_use), 40.0)
    wall.now = 301.0
    with pytest.raises(CliError) as said:
        held(_picture("False", in_use), 301.0)
    assert said.value.more == ("K n/a: gateway g: holds vm-1, which is not ours",)


def test_no_progress_is_explained_after_a_grace_period() -> None:
    wall = Wall()
    verdict = UntilReady(wall)
    stuck = _picture("False", BLOCKED)
    assert not verdict(stuck, 0.0)
    wall.now = 1.0
    assert not verdict(stuck, 300.0), "simulated time alone is no grace"
    wall.now = 10.0
    with pytest.raises(CliError) as said:
        verdict(stuck, 310.0)
    assert "somebody must act" in said.value.sentence
    assert said.value.more == ("K n/a: vpc v: ask IBM for more VPCs",)


def test_a_change_restarts_the_grace_period() -> None:
    wall = Wall()
    verdict = UntilReady(wall)
    assert not verdict(_picture("False", BLOCKED), 0.0)
    wall.now = 100.0
    assert not verdict(_picture("False", {**BLOCKED, "message": "another"}), 100.0)
    assert not verdict(_picture("False", {**BLOCKED, "message": "another"}), 101.0)


def test_an_object_that_no_operator_serves_is_not_waited_for_for_ever() -> None:
    wall = Wall()
    verdict = UntilReady(wall, log=Path("freehold.log"))
    assert not verdict(_picture(None), 0.0)
    wall.now = 61.0
    with pytest.raises(CliError, match="no operator has looked") as said:
        verdict(_picture(None), 61.0)
    assert said.value.more == ("the operator's log: freehold.log",), "an operator that fails leaves no word but there"


def test_a_deletion_while_waiting_for_ready_is_reported() -> None:
    picture = _picture("False", MOVING)
    picture.take(OURS[0], Change(KEY, picture.present[OURS[0], KEY], None, Origin.WATCH))
    with pytest.raises(CliError, match="deleted meanwhile: n/a"):
        UntilReady()(picture, 0.0)
    assert UntilGone()(picture, 0.0)
    assert last_views(picture)[OURS[0], KEY].lines[0].name == "g", "the last state is kept for the closing words"


def test_other_objects_do_not_count() -> None:
    picture = _picture("True")
    picture.take(OURS[0], Change(Key("n", "b"), None, {"metadata": {"name": "b"}}, Origin.WATCH))
    assert len(picture.views) == 1


def test_up_warns_of_drift_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A script that reads standard output gets Ready; a person sees the drift, too."""
    row = {
        "kind": "vpc",
        "name": "v",
        "state": "Ready",
        "reason": "Drifted",
        "message": "zone is 'a', not 'b'",
    }
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "observedGeneration": 1}
    obj = {
        "kind": OURS[0].kind,
        "metadata": {"name": KEY.name, "namespace": KEY.namespace, "generation": 1},
        "status": {"conditions": [ready], "resources": [row]},
    }
    picture = ViewSnapshot(((OURS[0], KEY),))
    picture.take(OURS[0], Change(KEY, None, obj, Origin.LIST))
    up._conclude(picture)
    printed = capsys.readouterr()
    assert "is Ready: 1 resources" in printed.out
    assert "differs from its spec: vpc v: zone is 'a', not 'b'" in printed.err
    assert "differs" not in printed.out
