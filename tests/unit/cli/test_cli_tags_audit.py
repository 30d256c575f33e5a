"""``freehold tags audit``: from what to what, by whom, and what became of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from freehold.cli.commands import tags_audit
from freehold.cli.commands.audit import documents
from freehold.cli.errors import CliError
from freehold.cli.local.state_directory import StateDirectory
from freehold.cli.local.user_audit import log_decision
from freehold.engine.clock import ManualClock, SystemClock
from freehold.engine.errors import Denied
from freehold.engine.port import Call, Effect
from freehold.providers.access.audit import FileAudit

SUBJECT = "CloudMetadata team/tags"


def written(path: Path, *, ends: bool = True) -> None:
    """One call on two resources, of which the service refuses one."""
    call = Call("ec2", "create_tags", Effect.WRITE, lambda: None, "arn-a and 1 more")
    with FileAudit(path, ManualClock(1_790_000_000.0)) as audit:
        audit.log_changes(SUBJECT, {"arn-a": {"env": ("prod", "test")}, "arn-b": {"env": (None, "test")}})
        audit.log_sent(SUBJECT, call)
        if ends:
            audit.log_done(SUBJECT, call, None)
            audit.log_refused(SUBJECT, "arn-b", Denied("not allowed", code="AccessDenied"))


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_each_tag_has_a_row_with_both_values_and_its_outcome(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "audit.jsonl")
    tags_audit.run((), False, "", "", "json", tmp_path)
    rows = [(each["resource"], each["from"], each["to"], each["outcome"], each["why"]) for each in told(capsys)]
    assert rows == [("arn-a", "prod", "test", "done", ""), ("arn-b", None, "test", "refused", "not allowed")]


def test_a_call_that_was_cut_off_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "audit.jsonl", ends=False)
    tags_audit.run((), False, "", "env", "table", tmp_path)
    lines = capsys.readouterr().out.splitlines()[1:]
    assert len(lines) == 2 and all("not known" in line and "done" not in line for line in lines)


@pytest.mark.parametrize("several", [" and 1 more", ", arn-b"], ids=["as AWS is called", "as IBM Cloud is called"])
def test_calls_that_are_in_flight_together_have_each_its_own_outcome(tmp_path: Path, several: str) -> None:
    """The first one that was sent is answered last."""
    first = Call("ec2", "create_tags", Effect.WRITE, lambda: None, f"arn-a{several}")
    second = Call("resourcegroupstaggingapi", "tag_resources", Effect.WRITE, lambda: None, "arn-c")
    with FileAudit(tmp_path / "audit.jsonl", ManualClock(1_790_000_000.0)) as audit:
        audit.log_changes(SUBJECT, {each: {"env": (None, "test")} for each in ("arn-a", "arn-b")})
        audit.log_sent(SUBJECT, first)
        audit.log_changes(SUBJECT, {"arn-c": {"env": (None, "test")}})
        audit.log_sent(SUBJECT, second)
        audit.log_done(SUBJECT, second, Denied("not allowed", code="AccessDenied"))
        audit.log_done(SUBJECT, first, None)
    rows = tags_audit.changes(documents(tmp_path / "audit.jsonl"))
    assert {each.resource: each.outcome for each in rows} == {"arn-a": "done", "arn-b": "done", "arn-c": "refused"}


def test_what_people_do_is_told_with_their_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = StateDirectory.open(tmp_path)
    written(state.audit)
    log_decision(state, SystemClock(), SUBJECT, "edited (tags edit)", {"spec": {"a": "b"}})
    tags_audit.run((), False, "", "", "json", tmp_path)
    rows = told(capsys)
    person = next(each for each in rows if not each["resource"])
    assert "@" in person["who"] and person["object"] == SUBJECT and '"a": "b"' in person["why"]
    assert {each["who"] for each in rows} == {person["who"], "freehold"}


def test_both_logs_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has its own chain: two processes cannot write one file."""
    state = StateDirectory.open(tmp_path)
    written(state.audit)
    log_decision(state, SystemClock(), SUBJECT, "edited (tags edit)")
    tags_audit.run((), True, "", "", "table", tmp_path)
    assert capsys.readouterr().out.count("none changed, taken out or added") == 2
    log = state.audit_of_people
    log.write_text(log.read_text().replace("edited", "looked at"))
    with pytest.raises(CliError, match="not whole"):
        tags_audit.run((), True, "", "", "table", tmp_path)


def test_nothing_was_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tags_audit.run((), False, "", "", "table", tmp_path)
    assert capsys.readouterr().out == "no tag was changed from here\n"


def test_the_log_of_an_operator_in_a_cluster_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has no state directory; the file is what ``freehold operator --audit`` wrote."""
    moved = tmp_path / "of-the-operator.jsonl"
    written(moved)
    tags_audit.run((moved,), False, "", "", "json", None)
    assert [each["resource"] for each in told(capsys)] == ["arn-a", "arn-b"]
