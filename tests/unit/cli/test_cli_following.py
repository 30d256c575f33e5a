"""When to stop following: Ready, gone, or no progress and somebody must act."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from freehold.cli.commands import up
from freehold.cli.errors import CliError
from freehold.cli.objects.applying import Applied, ApplyEffect, Target
from freehold.cli.objects.following import Followed, UntilGone, UntilReady, ViewSnapshot, _LookReader, last_views
from freehold.cli.objects.kinds import OURS
from freehold.cli.objects.manifests import ManifestDocument
from freehold.controllers.observation_log import LookOutcome, LookRecord
from freehold.kube.errors import KubeError
from freehold.kube.resources import Json, Key
from freehold.kube.watch import ObjectChange, Origin

KEY = Key("n", "a")


def _picture(ready: str | None, *rows: dict[str, Any], reason: str = "NotReady") -> ViewSnapshot:
    picture = ViewSnapshot(((OURS[0], KEY),))
    conditions = [{"type": "Ready", "status": ready, "reason": reason, "observedGeneration": 1}] if ready else []
    obj = {
        "kind": "K", "metadata": {"namespace": "n", "name": "a", "generation": 1, "resourceVersion": "5"},
        "status": {"conditions": conditions, "resources": list(rows)},
    }  # fmt: skip
    picture.take(OURS[0], ObjectChange(KEY, None, obj, Origin.LIST))
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
    picture.take(OURS[0], ObjectChange(KEY, picture.present[OURS[0], KEY], None, Origin.WATCH))
    with pytest.raises(CliError, match="deleted meanwhile: n/a"):
        UntilReady()(picture, 0.0)
    assert UntilGone()(picture, 0.0)
    assert last_views(picture)[OURS[0], KEY].lines[0].name == "g", "the last state is kept for the closing words"


def test_a_deletion_that_somebody_asks_for_ends_the_wait_for_ready() -> None:
    """Nothing becomes Ready any more, and how long the deletion takes is another command's to show."""
    picture = _picture("False", MOVING)
    picture.present[OURS[0], KEY]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(CliError) as said:
        UntilReady()(picture, 0.0)
    assert "K n/a is being deleted: wait until it is gone (freehold down K/a -n n)" in said.value.more[0]


def test_other_objects_do_not_count() -> None:
    picture = _picture("True")
    picture.take(OURS[0], ObjectChange(Key("n", "b"), None, {"metadata": {"name": "b"}}, Origin.WATCH))
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
    picture.take(OURS[0], ObjectChange(KEY, None, obj, Origin.LIST))
    up._conclude(picture, [])
    printed = capsys.readouterr()
    assert "is Ready: 1 resources" in printed.out
    assert "differs from its spec: vpc v: zone is 'a', not 'b'" in printed.err
    assert "differs" not in printed.out


def _seen(picture: ViewSnapshot, seen: LookOutcome, version: str = "5") -> ViewSnapshot:
    picture.looks = {(OURS[0], KEY): LookRecord(seen, version)}
    return picture


@pytest.mark.parametrize(
    ("looks", "why"),
    [
        ({}, "the operator has not come to it: the load balancer may have gone since the last process looked"),
        (
            {(OURS[0], KEY): LookRecord(LookOutcome.STATUS_ONLY, "5")},
            "it is paused, for example: nothing of the cloud was looked at",
        ),
        (
            {(OURS[0], KEY): LookRecord(LookOutcome.FULL_LOOK, "6")},
            "the watch still shows the object from before that pass",
        ),
    ],
    ids=["not seen", "not looked at", "older than the look"],
)
def test_an_earlier_processs_ready_is_no_success(looks: dict[Followed, LookRecord], why: str) -> None:
    picture = _picture("True")
    picture.looks = looks
    assert not UntilReady()(picture, 0.0), why
    assert UntilReady()(_seen(picture, LookOutcome.FULL_LOOK), 0.0)


def test_an_earlier_processs_blockers_are_not_told() -> None:
    """The person may have run the command because they are mended: nothing is believed, and nothing ends the wait."""
    wall = Wall()
    verdict, picture = UntilReady(wall), _picture("False", BLOCKED)
    picture.looks = {}
    (shown,) = picture.views
    assert shown.blocked == () and shown.outdated and shown.moving
    for now in (0.0, 50.0):
        wall.now = now
        assert not verdict(picture, now)
    (shown,) = _seen(picture, LookOutcome.STATUS_ONLY).views
    assert shown.blocked == ("vpc v: ask IBM for more VPCs",)


def test_a_pause_is_told_also_where_the_object_was_ready() -> None:
    wall = Wall()
    verdict, picture = UntilReady(wall, alone=True), _seen(_picture("True"), LookOutcome.STATUS_ONLY)
    pause = {"type": "Paused", "status": "True", "message": "spec.paused is set", "observedGeneration": 1}
    picture.present[OURS[0], KEY]["status"]["conditions"].append(pause)
    assert not verdict(picture, 0.0)
    wall.now = 40.0
    with pytest.raises(CliError) as said:
        verdict(picture, 40.0)
    assert said.value.more == (
        "K n/a: paused: spec.paused is set", "kubectl reaches this state only while freehold serve runs",
    )  # fmt: skip


def test_an_object_that_is_left_to_somebody_else_is_not_waited_for() -> None:
    with pytest.raises(CliError, match="managed-by"):
        UntilReady()(_seen(_picture("True"), LookOutcome.LEFT_ALONE), 0.0)


class Server:
    """Answers with ``looks``, or refuses with a code. ``beside``: what a server of today tells beside them."""

    def __init__(self, *looks: Json | None, code: int = 0, **beside: Any) -> None:
        self.looks, self._code, self._beside = looks, code, beside
        self.asked: list[bool] = []

    async def request(self, method: str, path: str, *, body: Any) -> Json:
        self.asked.append(body["again"])
        if self._code:
            raise KubeError("refused", code=self._code)
        return {"looks": list(self.looks), **self._beside}


@dataclass
class Connected:
    """Of a session, what a reader of looks needs. ``running``: the operator of this process."""

    client: Server
    running: object | None = None


def _ignore(line: str) -> None:
    """Nobody reads it."""


@pytest.mark.parametrize("running", [None, object()], ids=["of another process", "of this process"])
async def test_only_the_operator_of_another_process_is_asked_to_look_again_and_once(running: object | None) -> None:
    """This command's own operator has begun with it; the first pass of a process looks at everything."""
    server, picture = Server(None), _picture("True")
    reader = _LookReader(Connected(server, running), picture, _ignore)
    for _ in range(2):
        await reader.refresh()
    assert server.asked == [running is None, False]
    assert not picture.is_news((OURS[0], KEY))


async def test_a_status_without_a_look_is_news_and_the_look_is_still_waited_for() -> None:
    """The first pass may get no answer from the cloud; the one that does must end the wait."""
    server, picture = Server({"seen": "told", "version": "5"}), _picture("True")
    reader = _LookReader(Connected(server), picture, _ignore)
    await reader.refresh()
    assert picture.is_news((OURS[0], KEY)) and not UntilReady()(picture, 0.0)
    server.looks = ({"seen": "looked", "version": "5"},)
    await reader.refresh()
    assert UntilReady()(picture, 0.0)
    await reader.refresh()
    assert server.asked == [True, False], "then nothing more is asked"


async def test_the_request_to_look_again_is_repeated_until_it_was_heard() -> None:
    server, picture = Server(code=500), _picture("True")
    reader = _LookReader(Connected(server), picture, _ignore)
    for _ in range(2):
        await reader.refresh()
    assert server.asked == [True, True] and picture.looks == {}


@pytest.mark.parametrize("code", [403, 404, 405])
async def test_where_nobody_can_tell_the_last_status_counts_and_up_says_so(
    code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """An API server of a cluster, whose operator is elsewhere, or a server of an earlier version."""
    picture = _picture("True")
    await _LookReader(Connected(Server(code=code)), picture, _ignore).refresh()
    assert UntilReady()(picture, 0.0)
    document = ManifestDocument({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}}, "a.yaml")
    up._conclude(picture, [Target(document, OURS[0], KEY)])
    assert f"note: {OURS[0].kind} n/a: this is its last status" in capsys.readouterr().out


# --- an operator that does not come to an object ----------------------------------------------------------------


def _silent(**known: Any) -> ViewSnapshot:
    """A status of an earlier process, and an operator that can be asked and has not come to the object."""
    picture = replace(_picture("True"), **known)
    picture.looks = {}
    return picture


def test_a_running_operator_that_does_not_come_to_the_object_is_not_waited_for_for_hours() -> None:
    """Its pass fails each time at the API server, say, and nothing of that is in the status."""
    wall = Wall()
    verdict, picture = UntilReady(wall, log=Path("freehold.log")), _silent()
    assert not verdict(picture, 0.0)
    wall.now = 61.0
    with pytest.raises(CliError) as said:
        verdict(picture, 61.0)
    assert f"has not finished a reconcile of {OURS[0].kind} n/a" in said.value.sentence
    assert said.value.more == ("the operator's log: freehold.log",)


def test_why_an_operator_serves_nothing_is_told_at_the_end() -> None:
    wall = Wall()
    verdict = UntilReady(wall)
    assert not verdict(_silent(), 0.0)
    wall.now = 61.0
    with pytest.raises(CliError, match=f"serves nothing, {OURS[0].kind} n/a neither: the key ring is missing"):
        verdict(_silent(problem="the key ring is missing"), 61.0)


async def test_why_an_operator_serves_nothing_is_told_once_and_at_once() -> None:
    lines: list[str] = []
    picture = _picture("True")
    server = Server(None, problem="the key ring is missing", queued=3)
    reader = _LookReader(Connected(server), picture, lines.append)
    for _ in range(2):
        await reader.refresh()
    assert lines == ["the operator serves nothing for now: the key ring is missing"]
    assert (picture.problem, picture.queued) == ("the key ring is missing", 3)


def test_an_operator_that_starts_with_many_objects_is_given_the_time_for_all_of_them() -> None:
    """They take turns; only a queue that does not become shorter is no progress."""
    wall = Wall()
    verdict = UntilReady(wall)
    for now, queued in ((0.0, 900), (50.0, 500), (100.0, 100), (150.0, 101)):
        wall.now = now
        assert not verdict(_silent(queued=queued), now)
    wall.now = 161.0
    with pytest.raises(CliError):
        verdict(_silent(queued=99 + 2), 161.0)


def test_a_new_connection_begins_the_minute_anew() -> None:
    """The server that was silent may have been killed meanwhile: the next one has only just begun."""
    wall = Wall()
    verdict = UntilReady(wall)
    assert not verdict(_silent(connections=1), 0.0)
    wall.now = 61.0
    assert not verdict(_silent(connections=2), 61.0)


def test_while_another_object_gets_on_the_silent_one_is_waited_for() -> None:
    wall = Wall()
    verdict, other = UntilReady(wall), Key("n", "b")
    for now, row in ((0.0, MOVING), (61.0, MOVING), (120.0, BLOCKED)):
        wall.now = now
        picture = _both(row, other)
        assert not verdict(picture, now)
    wall.now = 122.0
    with pytest.raises(CliError, match="n/a"):
        verdict(_both(BLOCKED, other), 122.0)


def _both(row: dict[str, Any], other: Key) -> ViewSnapshot:
    """``n/a`` is silent, ``other`` has a resource in this state."""
    picture = _silent()
    obj = _picture("False", row).present[OURS[0], KEY]
    obj["metadata"]["name"] = other.name
    both = replace(picture, wanted=((OURS[0], KEY), (OURS[0], other)))
    both.present[OURS[0], other] = obj
    both.looks = {(OURS[0], other): LookRecord(LookOutcome.FULL_LOOK, "5")}
    return both


@pytest.mark.parametrize("seen", [LookOutcome.LEFT_ALONE, LookOutcome.FULL_LOOK])
def test_what_was_seen_before_the_manifest_was_applied_counts_for_nothing(seen: LookOutcome) -> None:
    """The manifest takes away ``managed-by``, and the pass that was asked for still gets the object from before."""
    picture = _picture("True")
    picture.applied = {(OURS[0], KEY): "5"}
    picture.present[OURS[0], KEY]["metadata"]["resourceVersion"] = "6"
    assert not UntilReady()(_seen(picture, seen, "4"), 0.0)
    assert not picture.is_news((OURS[0], KEY))
    assert UntilReady()(_seen(picture, LookOutcome.FULL_LOOK, "5"), 0.0)


def test_only_what_was_changed_has_a_version_that_must_be_seen() -> None:
    """No pass follows where applying changed nothing."""
    target = Target(ManifestDocument({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}}, "f"), OURS[0], KEY)
    obj = {"metadata": {"resourceVersion": "5"}}
    assert up._versions([Applied(target, ApplyEffect.CONFIGURED, obj)]) == {(OURS[0], KEY): "5"}
    assert up._versions([Applied(target, ApplyEffect.UNCHANGED, obj)]) == {}
