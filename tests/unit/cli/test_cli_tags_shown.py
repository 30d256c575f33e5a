"""Tags are anybody's words: on a terminal they stay words."""

from __future__ import annotations

import pytest

from freehold.cli.commands import tags_report
from freehold.cli.output import tags_text
from freehold.tags.pass_summary import TagStanding
from freehold.tags.tag_plan import ResourceChanges, TagAction, TagCall, TagPlan, TagRow

SG = "arn:aws:ec2:eu-central-1:111122223333:security-group/sg-1"
HOSTILE = "\x1b[31m</td><script>alert(1)</script>\n‮"


def plan(key: str, before: str, after: str, cause: str = "Drifted") -> TagPlan:
    row = TagRow(TagAction.CHANGE, key, (before,), after, cause)
    left = TagRow(TagAction.LEAVE, "owner", ("x",), None, "Foreign")
    changes = ResourceChanges(SG, "ec2:security-group", "111122223333", "eu-central-1", (row, left), (before,))
    call = TagCall("CreateTags", "111122223333", "eu-central-1", (SG,), ((key, after),))
    return TagPlan("team/tags", 3, (changes,), (call,), kinds={"ec2:security-group": 2, "ec2:volume": 1})


def report(*plans: TagPlan) -> tags_report.Report:
    return tags_report.report_of(plans, "2026-11-23 00:00:00 UTC", "a cloud")


# -- on a terminal -------------------------------------------------------------------------------------------------


def test_a_plan_shows_no_character_that_acts_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither of a key nor of a value: else a tag could hide the lines of a plan that somebody approves."""
    tags_text.print_plan(plan(f"k{HOSTILE}", f"a{HOSTILE}", f"b{HOSTILE}"))
    out = capsys.readouterr().out
    assert not set(out) & {"\x1b", "‮"}
    assert all(line.startswith((" ", "CloudMetadata team/tags")) for line in out.splitlines())


@pytest.mark.parametrize("room", [80, 160])
def test_the_reasons_of_a_plan_fit_the_terminal(
    room: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tags_text, "width", lambda: room)
    tags_text.print_plan(plan("a-key-of-thirty-two-characters-", "before", "after"))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[1:])) <= room, "a terminal folds the first line"
    assert "~ a-key-of-thirty-two-characters-: before → after" in out and "somebody changed it" in out


def fleet(*changes: tuple[str, int]) -> TagPlan:
    """So many resources that get this value."""
    left = TagRow(TagAction.LEAVE, "owner", ("x",), None, "Foreign")
    values = [value for value, count in changes for _ in range(count)]
    resources = tuple(
        ResourceChanges(
            f"{SG[:-1]}{number:03}", "ec2:security-group", "111122223333", "eu-central-1",
            (TagRow(TagAction.ADD, "env", (), value, "Missing"), left),
        )
        for number, value in enumerate(values)
    )  # fmt: skip
    return TagPlan("team/tags", len(values), resources)


def test_a_plan_of_a_fleet_can_be_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What is to be done to many is told once, and each resource that is to be treated otherwise stands out."""
    monkeypatch.setattr(tags_text, "width", lambda: 80)
    tags_text.print_plan(fleet(("test", 3), ("prod", 1), ("test", 197)))
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 15 and max(map(len, out.splitlines()[1:])) <= 80
    many, one = out.split("  security-group/sg-003\n")
    assert "  200 resources\n    + env: test   it is missing\n" in many and "188 more" in many
    assert "on security-group/sg-000, " in many and "sg-003" not in many
    assert one == "    + env: prod   it is missing\n    = stays as it is: owner: x\n"


def test_what_stands_against_many_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The same conflict on each resource of a fleet: the resource is not part of the sentence."""
    resources = tuple(
        ResourceChanges(
            arn, "ec2:security-group", "1", "r",
            (TagRow(TagAction.LEAVE, "env", ("test",), None, "Conflict", f"it is another's on {arn}: no"),),
            (f"the limit is reached on {arn}",),
        )
        for arn in (f"{SG}{number}" for number in range(30))
    )  # fmt: skip
    tags_text.print_plan(TagPlan("team/tags", 30, resources))
    out = capsys.readouterr().out
    assert out.count("it is another's: no") == 1 and out.count("the limit is reached") == 1
    findings = report(TagPlan("team/tags", 30, resources, kinds={"ec2:security-group": 30})).findings
    assert {each.why for each in findings} == {"it is another's: no", "the limit is reached"}


@pytest.mark.parametrize(
    ("value", "told"), [("", '""'), ("a b", '"a b"'), ("a=b", '"a=b"'), ("a", "a"), ('say "x"', '"say \\"x\\""')]
)
def test_where_a_value_ends_can_be_seen(value: str, told: str) -> None:
    assert tags_text.quote_tag_text(value) == told


# -- what is counted -----------------------------------------------------------------------------------------------


def test_a_report_counts_each_resource_once_by_its_most_urgent_row() -> None:
    found = report(plan("env", "prod", "test"), plan("env", "prod", "test", "Missing"))
    assert [dict(each.counts) for each in found.objects] == [
        {TagStanding.AS_WANTED: 2, TagStanding.DRIFTED: 1},
        {TagStanding.AS_WANTED: 2, TagStanding.DIFFERS: 1},
    ]
    assert [(each.name, each.total, each.percent) for each in found.kinds] == [
        ("ec2:security-group", 4, "50 %"),
        ("ec2:volume", 2, "100 %"),
    ]
    assert found.whole.percent == "66 %"
    assert {each.standing for each in found.findings} == {"drifted", "differs", "left"}


def test_foreign_tags_beside_ours_are_no_finding() -> None:
    changes = ResourceChanges(SG, "ec2:volume", "1", "r", (TagRow(TagAction.LEAVE, "owner", ("x",), None, "Foreign"),))
    assert tags_report.standing(changes) is TagStanding.AS_WANTED
    assert report(TagPlan("a/b", 1, (changes,), kinds={"ec2:volume": 1})).findings == ()


def test_nothing_selected_is_not_a_hundred_percent() -> None:
    assert report(TagPlan("a/b")).whole.percent == "-"


def test_what_could_not_be_read_is_not_as_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    """It has the classifiers, so it counts; nobody knows its tags, so nothing claims that every tag is right."""
    unread = {f"{SG}1": "ec2:security-group", f"{SG}2": "ec2:security-group"}
    found = report(TagPlan("team/tags", 1, kinds={"ec2:volume": 1}, unanswered=("no answer",), unread=unread))
    assert found.whole.percent == "33 %" and found.whole.counts[TagStanding.UNKNOWN] == 2
    assert [(each.name, each.percent) for each in found.kinds] == [
        ("ec2:security-group", "0 %"),
        ("ec2:volume", "100 %"),
    ]
    assert [(each.resource, each.standing) for each in found.findings] == [(name, "not known") for name in unread]
    tags_report._print(found)
    head, row = capsys.readouterr().out.splitlines()[:2]
    assert head.endswith("NOT KNOWN") and row.split()[-1] == "2"
