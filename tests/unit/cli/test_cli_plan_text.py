"""How a plan reads: one row for what belongs together, values of what is made, and reasons at any width."""

import pytest

from freehold.cli.output.plan_text import plan_table, print_plan
from freehold.controllers.plan.plan import Plan, PlanAction, PlanRow

ROWS = (
    PlanRow("workspace", "main", "team-a", PlanAction.REUSE, "found by the name in the spec", "7ae595e3-0fda"),
    PlanRow("vpc", "main", "prod-vpc", PlanAction.CREATE, "does not exist"),
)


def tagged(action: PlanAction, tag: str, *kinds: str, mark: bool = False) -> list[PlanRow]:
    before, after = ("env=old", tag) if action is PlanAction.CHANGE_TAG else (None, tag)
    return [
        PlanRow(kind, str(number), f"{kind}-{number}", action, "why", f"id-{number}", tag, before, after, mark)
        for number, kind in enumerate(kinds)
    ]


def words(*rows: PlanRow, room: int = 500) -> list[str]:
    """The lines below the heads, with single spaces."""
    return [" ".join(line.split()) for line in plan_table(rows, room)[1:]]


def printed(capsys: pytest.CaptureFixture[str], *rows: PlanRow, writes: dict[str, int] | None = None) -> list[str]:
    print_plan(Plan("team/prod", rows, kind="AWSCluster", writes=writes or {}))
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("room", [200, 76, 40])
def test_reasons_are_beside_or_below_and_fit(room: int) -> None:
    lines = plan_table(ROWS, room)
    text = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= room
    for row in ROWS:
        assert row.reason in text
        assert row.id in text


def test_without_ids_there_is_no_column_for_them() -> None:
    assert plan_table(ROWS[1:], 200)[0].split() == ["ACTION", "KIND", "NAME", "WHY"]


def test_an_id_that_is_the_name_is_not_repeated() -> None:
    row = PlanRow(
        "classic-load-balancer", "main", "prod-apiserver", PlanAction.DELETE, "with its object", "prod-apiserver"
    )
    assert words(row) == ["delete classic-load-balancer prod-apiserver with its object"]


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        (PlanAction.ADD_TAG, "add tag 4 resources env=new why (subnet 3, vpc 1)"),
        (PlanAction.CHANGE_TAG, "change tag 4 resources env=old → env=new why (subnet 3, vpc 1)"),
        (PlanAction.REMOVE_TAG, "remove tag 4 resources env=new why (subnet 3, vpc 1)"),
    ],
)
def test_a_tag_is_one_row_with_its_resources_counted(
    action: PlanAction, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tagged(action, "env=new", "vpc", "subnet", "subnet", "subnet")
    assert words(*rows) == [shown]
    assert printed(capsys, *rows)[0] == f"AWSCluster team/prod: 1 tag to {action.partition(' ')[0]}"


def test_a_tag_of_few_resources_names_them() -> None:
    (row,) = words(*tagged(PlanAction.ADD_TAG, "env=new", "vpc", "subnet"))
    assert row == "add tag 2 resources env=new vpc vpc-0, subnet subnet-1: why"


def test_marks_are_one_row_although_their_seals_differ() -> None:
    rows = [row for seal in "abcd" for row in tagged(PlanAction.ADD_TAG, f"seal:{seal}", "vpc", mark=True)]
    assert words(*rows) == ["add tag 4 resources marks of ours vpc vpc-0: why"]


def test_what_stays_for_the_same_reason_is_one_row() -> None:
    kept = [PlanRow("subnet", name, name, PlanAction.KEEP, "ours by its marks", f"subnet-{name}") for name in "ab"]
    given = PlanRow("vpc", "main", "theirs", PlanAction.KEEP, "surplus: not ours", "vpc-1")
    assert words(*kept, given) == [
        "keep 2 resources ours by its marks (subnet 2)",
        "keep vpc theirs vpc-1 surplus: not ours",
    ]


def test_a_create_shows_its_values_and_its_parts() -> None:
    values = {"name": "a", "cidr": "10.0.0.0/24", "public": True, "ipv6": False, "listeners": [{"port": 6443}]}
    rows = (
        PlanRow("subnet", "a", "a", PlanAction.CREATE, "after vpc prod-vpc", values=values),
        PlanRow("subnet", "a", "a", PlanAction.ADD_PART, "the spec asks for it", attribute="rule tcp 6443"),
        PlanRow("subnet", "a", "a", PlanAction.ADD_PART, "the spec asks for it", attribute="rule tcp 22"),
    )
    made = "cidr 10.0.0.0/24, public, listeners (port 6443); with rule tcp 6443, rule tcp 22; after vpc prod-vpc"
    assert words(*rows) == [f"create subnet a {made}"]


def test_a_part_of_what_is_there_already_has_a_row_of_its_own() -> None:
    rows = (
        PlanRow("security-group", "a", "a", PlanAction.KEEP, "ours by its marks", "sg-1"),
        PlanRow("security-group", "a", "a", PlanAction.REMOVE_PART, "not asked for", "sg-1", "rule tcp 22"),
    )
    assert words(*rows)[1] == "remove part security-group a sg-1 rule tcp 22: not asked for"


def test_a_long_value_is_cut() -> None:
    row = PlanRow("instance", "a", "a", PlanAction.CREATE, "does not exist", values={"user_data": "x" * 4000})
    assert len(words(row)[0]) < 120


def test_calls_are_counted_by_api(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, *ROWS, writes={"elb": 3, "ec2": 44})[-1] == "  up to 47 write calls: ec2 44, elb 3"
    assert printed(capsys, *ROWS, writes={"ec2": 1})[-1] == "  up to 1 write call: ec2 1"
    assert printed(capsys)[0] == "AWSCluster team/prod: nothing to do"


def test_tags_come_after_resources_and_deletions_last() -> None:
    kept, other = (PlanRow("subnet", name, name, PlanAction.KEEP, name) for name in "ab")
    gone = PlanRow("vpc", "c", "c", PlanAction.DELETE, "with its object")
    rows = words(kept, *tagged(PlanAction.ADD_TAG, "env=new", "subnet"), other, gone)
    assert [row.split()[0] for row in rows] == ["keep", "keep", "add", "delete"]
