"""The audit log on the page: who sees which line, newest first, and whether the log is whole while it grows."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from freehold.engine.clock import ManualClock
from freehold.page import audit_lines, chain_watch, log_lines
from freehold.page.audit import AuditReader
from freehold.page.audit_lines import AuditQuery
from freehold.page.chain_watch import ChainWatch
from freehold.providers.access.audit import Changes, FileAudit

NOW = 1_790_000_000.0


def write(path: Path, *resources: str, subject: str = "AWSCluster team/c1", at: float = NOW) -> None:
    with FileAudit(path, ManualClock(at)) as audit:
        for resource in resources:
            audit.log_kept(subject, resource, "found by its name")


def write_changes(path: Path, changes: Changes, subject: str = "CloudMetadata team/tags") -> None:
    with FileAudit(path, ManualClock(NOW)) as audit:
        audit.log_changes(subject, changes)


def see_all(kind: str, namespace: str) -> bool:
    return True


def see_only(kind: str, namespace: str) -> Callable[[str, str], bool]:
    return lambda *place: place == (kind, namespace)


def read(
    *paths: Path, may_see: Callable[[str, str], bool] = see_all, reader: AuditReader | None = None, **query: str
) -> dict[str, Any]:
    async def answer() -> dict[str, Any]:
        found = await (reader or AuditReader(paths)).read_lines(AuditQuery(**query), may_see)
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        json.dumps(found, ensure_ascii=False).encode()
        return found

    return asyncio.run(answer())


def resources(answer: Mapping[str, Any]) -> list[str]:
    return [each["resource"] for each in answer["lines"]]


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


# -- what is shown -------------------------------------------------------------------------------------------------


def test_lines_of_both_logs_come_newest_first(log: Path) -> None:
    people = log.with_name("audit-people.jsonl")
    write(log, "a", at=NOW)
    with FileAudit(people, ManualClock(NOW + 1)) as audit:
        audit.log_decided("AWSCluster team/c1", "", "ann@laptop", done=True, why="approved")
    write(log, "b", at=NOW + 2)
    found = read(log, people)
    assert [(each["resource"], each["by"]) for each in found["lines"]] == [
        ("b", "freehold"), ("", "ann@laptop"), ("a", "freehold"),
    ]  # fmt: skip
    assert found["next"] is None and found["chain"]["verified"] is True and found["chain"]["lines"] == 3


def test_rotated_files_are_read_on_from_where_the_newer_one_begins(log: Path) -> None:
    write(log, "a", "b")
    log.rename(log.with_name("audit.jsonl.1"))
    write(log, "c")
    found = read(log)
    assert resources(found) == ["c", "b", "a"], "the line that links both files is no news"
    assert found["chain"] == {"verified": True, "lines": 4, "unsealed": 0, "wrong": 0, "problems": []}


def test_a_change_of_a_tag_is_told_from_what_to_what(log: Path) -> None:
    write_changes(log, {"arn-a": {"env": ("prod", "test"), "new": (None, "1"), "gone": ("x", None)}})
    [line] = read(log)["lines"]
    assert (line["key"], line["time"]) == ("CloudMetadata/team/tags", NOW)
    assert {(each["tag"], each["before"], each["after"]) for each in line["changes"]} == {
        ("env", "prod", "test"), ("new", None, "1"), ("gone", "x", None),
    }  # fmt: skip


def test_changes_beyond_the_list_are_counted(log: Path) -> None:
    write_changes(log, {"arn": {f"k{number}": (None, "v") for number in range(audit_lines.MOST_CHANGES + 5)}})
    [line] = read(log)["lines"]
    assert (len(line["changes"]), line["more_changes"]) == (audit_lines.MOST_CHANGES, 5)


def test_filters_by_object_and_by_text_of_any_part(log: Path) -> None:
    write(log, "VPC-1", "subnet-2")
    write(log, "vpc-3", subject="AWSCluster team/c2")
    write_changes(log, {"arn-a": {"env": ("prod", "Ünlü")}})
    assert resources(read(log, object="AWSCluster/team/c1")) == ["subnet-2", "VPC-1"]
    assert resources(read(log, text="vpc")) == ["vpc-3", "VPC-1"]
    assert resources(read(log, text="ünlü")) == ["arn-a"], "also what JSON spells as escapes"
    assert resources(read(log, text="vpc", object="AWSCluster/team/c2")) == ["vpc-3"]


def test_pages_follow_each_other_without_a_gap_while_the_log_grows_and_rotates(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_lines, "MOST_ROWS", 3)
    write(log, *map(str, range(8)))
    found, cursor = [], ""
    while cursor is not None:
        page = read(log, before=cursor)
        found += resources(page)
        cursor = page["next"]
        if len(found) == 3:
            write(log, "later")
            log.rename(log.with_name("audit.jsonl.1"))
            write(log, "latest")
    assert found == [str(number) for number in reversed(range(8))]


def test_a_search_that_looks_at_much_says_so_and_goes_on(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_lines, "MOST_LINES", 4)
    write(log, "wanted", *map(str, range(6)))
    first = read(log, text="wanted")
    assert (first["lines"], first["searched"]) == ([], 4) and first["next"]
    assert resources(read(log, text="wanted", before=first["next"])) == ["wanted"]


# -- who sees it ---------------------------------------------------------------------------------------------------


def test_a_reader_of_a_kind_in_a_namespace_sees_only_its_lines(log: Path) -> None:
    write(log, "a")
    write(log, "b", subject="AWSCluster other/c1")
    write(log, "c", subject="login aws")
    with log.open("a") as file:
        file.write("no line at all\n")
    write(log, "d", subject="AWSMachine team/m1")
    assert resources(read(log, may_see=see_only("AWSCluster", "team"))) == ["a"]
    assert resources(read(log)) == ["d", "", "c", "b", "a"]
    assert resources(read(log, may_see=see_only("AWSCluster", "other"), text="a")) == ["b"]


@pytest.mark.parametrize("subject", ["AWSCluster team", "team/c1", " team/c1", "X /c1", "", "login aws"])
def test_what_is_of_no_namespace_is_for_those_who_see_all(log: Path, subject: str) -> None:
    write(log, "a", subject=subject)
    assert resources(read(log, may_see=lambda kind, namespace: bool(kind or namespace))) == []
    assert resources(read(log)) == ["a"]


# -- files and lines that are not as they should be ----------------------------------------------------------------


def test_without_a_log_the_page_says_what_to_do() -> None:
    found = read()
    assert not found["available"] and "--audit FILE" in found["why"]


def test_a_log_that_has_not_begun_is_no_problem(log: Path) -> None:
    found = read(log)
    assert found["available"] and found["lines"] == [] and found["chain"]["verified"] is None


def test_a_log_that_cannot_be_read_is_told(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(log))

    write(log, "a")
    monkeypatch.setattr(Path, "open", refuse)
    found = read(log)
    assert not found["available"] and found["why"] == "the audit log audit.jsonl cannot be read: Permission denied"


HOSTILE = {
    "binary": b"\x00\xff\xfe" * 1000,
    "a line of 10 MB": b'{"object": "' + b"x" * 10_000_000 + b'"}',
    "cut off": b'{"object": "AWSClus',
    "deeply nested": b"[" * 200_000,
    "not a number": b'{"object": "AWSCluster team/c1", "resource": "nan", "time": NaN}',
    "a huge number": b'{"object": "AWSCluster team/c1", "resource": "big", "time": 1' + b"0" * 400 + b"}",
    "half a surrogate pair": b'{"object": "AWSCluster team/c1", "resource": "\\ud800"}',
    "other types": b'{"object": ["a"], "time": "x", "changes": {"r": 5, "s": {"k": 5}}, "error": {"a": 1}}',
    "no object": b"[1, 2]",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_line_hides_no_other_and_is_told(log: Path, line: bytes) -> None:
    write(log, "a")
    with log.open("ab") as file:
        file.write(line + b"\n")
    write(log, "b")
    found = read(log)
    assert resources(found)[0] == "b" and resources(found)[-1] == "a" and len(found["lines"]) == 3
    assert found["chain"]["verified"] is False and any("line 2:" in each for each in found["chain"]["problems"])


def test_a_first_line_that_is_sealed_and_no_json_is_told(log: Path) -> None:
    log.write_text('{begun, "chain": "' + "0" * 32 + '"}\n')
    assert read(log)["chain"]["verified"] is False


def test_markup_and_marks_stay_text_and_are_cut_at_a_length(log: Path) -> None:
    evil = "<script>alert(1)</script>\u202e"
    write(log, evil + "x" * 20_000)
    [found] = resources(read(log))
    assert found.startswith(evil) and len(found) < 11_000


def test_a_line_that_is_being_written_is_left_out_and_read_when_it_is_whole(log: Path) -> None:
    write(log, "a", "b")
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    reader = AuditReader([log])
    assert resources(found := read(reader=reader)) == ["a"] and found["chain"]["verified"] is True
    log.write_bytes(whole)
    assert resources(found := read(reader=reader)) == ["b", "a"] and found["chain"]["verified"] is True


@pytest.mark.parametrize("cursor", ["x", "1.2.3", "0.0.0_0.0.0", "9" * 99, "-1.0.0"])
def test_a_cursor_that_is_of_no_place_begins_again(log: Path, cursor: str) -> None:
    write(log, "a")
    found = read(log, before=cursor)
    assert found["lines"] == [] and "begin again" in found["why"]


def test_a_cursor_into_a_line_shows_nothing_of_it(log: Path) -> None:
    """Whoever writes a cursor must not make a line of what is only a part of one."""
    write(log, "a", "b")
    place = log.stat()
    for offset in range(1, place.st_size):
        found = read(log, before=f"{place.st_dev}.{place.st_ino}.{offset}")
        assert resources(found) in ([], ["a"])


# -- the check of the chain ----------------------------------------------------------------------------------------


def check(watch: ChainWatch) -> chain_watch.ChainState:
    while watch.check_part():
        pass
    return watch.describe()


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted = [0]

    def counting(file: Any) -> Any:
        counted[0] += 1
        return log_lines.read_line(file)

    monkeypatch.setattr(chain_watch, "read_line", counting)
    return counted


def test_only_new_lines_are_read_again(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, *map(str, range(100)))
    watch, counted = ChainWatch(log), count_reads(monkeypatch)
    assert check(watch).verified is True and counted[0] == 101
    assert check(watch).lines == 100 and counted[0] == 101, "nothing is new, nothing is read"
    write(log, "new")
    assert check(watch).lines == 101 and counted[0] == 103


def test_a_large_log_is_checked_in_parts_and_not_called_whole_before_its_end(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_watch, "PART_BYTES", 1000)
    write(log, *map(str, range(30)))
    watch = ChainWatch(log)
    assert watch.check_part() and watch.describe().verified is None
    assert check(watch).verified is True


def _change(log: Path) -> None:
    log.write_text(log.read_text().replace('"b"', '"B"'))


def _cut(log: Path) -> None:
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))


def _remove(log: Path) -> None:
    log.unlink()


def _replace(log: Path) -> None:
    fresh = log.with_name("fresh")
    write(fresh, "a", "b", "d")
    fresh.replace(log)


@pytest.mark.parametrize("meddle", [_change, _cut, _remove, _replace])
def test_what_becomes_of_a_log_that_was_checked_is_seen(log: Path, meddle: Callable[[Path], None]) -> None:
    """Also a tail that is cut off, which the file alone cannot show."""
    write(log, "a", "b", "c")
    watch = ChainWatch(log)
    assert check(watch).verified is True
    os.utime(log, ns=(0, 0))
    check(watch)
    meddle(log)
    found = check(watch)
    assert found.verified is False and found.problems


def test_an_old_line_that_is_edited_before_a_new_one_is_written_is_seen_within_a_minute(log: Path) -> None:
    write(log, "a", "b", "c")
    now = [1000.0]
    watch = ChainWatch(log, lambda: now[0])
    assert check(watch).verified is True
    new = log.with_name("new")
    new.write_bytes(log.read_bytes())
    write(new, "d")
    log.write_text(new.read_text().replace('"b"', '"B"'))
    assert check(watch).verified is True, "only what is new is checked at once"
    now[0] += chain_watch.COMPARE_SECONDS
    found = check(watch)
    assert found.verified is False and any("line 2:" in each for each in found.problems), found.problems


@pytest.mark.parametrize("copies", [False, True], ids=["renamed", "copied and truncated"])
def test_a_rotation_is_no_trouble(log: Path, copies: bool) -> None:
    watch, rotated = ChainWatch(log), log.with_name("audit.jsonl.1")
    with FileAudit(log, ManualClock(NOW)) as audit:
        audit.log_kept("X team/c1", "a", "")
        assert check(watch).verified is True
        if copies:
            rotated.write_bytes(log.read_bytes())
            check(watch)
            os.truncate(log, 0)
            audit.log_kept("X team/c1", "b", "")
    if not copies:
        log.rename(rotated)
        write(log, "b")
    assert check(watch).verified is True
    lines = watch.describe().lines
    rotated.unlink()
    write(log, "c")
    assert (check(watch).verified, watch.describe().lines) == (True, lines + 1), "old files go, and were checked"


def test_what_a_rotation_compressed_or_is_no_file_is_passed_over(log: Path) -> None:
    write(log, "a")
    log.with_name("audit.jsonl.2.gz").write_bytes(b"\x1f\x8b")
    log.with_name("audit.jsonl.d").mkdir()
    found = read(log)
    assert resources(found) == ["a"] and found["chain"]["verified"] is True


def test_many_problems_are_counted_and_some_are_listed(log: Path) -> None:
    log.write_text("garbage\n" * 1000)
    found = read(log)["chain"]
    assert (found["verified"], found["wrong"], len(found["problems"])) == (False, 1000, chain_watch.MOST_LISTED)


def test_a_reader_that_is_closed_leaves_no_task(log: Path) -> None:
    async def use() -> int:
        write(log, "a")
        reader = AuditReader([log])
        await reader.read_lines(AuditQuery(), see_all)
        await reader.close()
        return len(asyncio.all_tasks())

    assert asyncio.run(use()) == 1
