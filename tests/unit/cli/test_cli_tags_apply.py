"""``freehold tags apply`` calls done only what the cloud shows to be done."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.cli.commands import tags_apply
from freehold.cli.errors import CliError
from freehold.tags.tag_plan import ResourceChanges, TagAction, TagPlan, TagRow

SG = "arn:aws:ec2:eu-central-1:111122223333:security-group/sg-"


class Session:
    """A server of a state directory whose operator has not come to the object; annotations are taken and forgotten."""

    embedded = True

    def __init__(self) -> None:
        self.client = self

    async def request(self, method: str, path: str, **given: Any) -> Any:
        return {"passes": 0, "objects": {}}

    async def patch(self, *given: Any, **more: Any) -> None:
        return None


def changes(number: int) -> ResourceChanges:
    row = TagRow(TagAction.ADD, "env", (), "test", "Missing")
    return ResourceChanges(f"{SG}{number}", "ec2:security-group", "111122223333", "eu-central-1", (row,))


PLANNED = TagPlan("team/tags", 2, (changes(1), changes(2)))
BOTH = frozenset({f"{SG}1", f"{SG}2"})
UNREAD = TagPlan(
    "team/tags",
    1,
    unanswered=(f"{SG}2: AWS did not answer",),
    unread={f"{SG}2": "ec2:security-group"},
    found=frozenset({f"{SG}1"}),
)
UNASKED = TagPlan("team/tags", 0, unanswered=("eu-central-1: AWS did not answer",), blind=True)
DONE = TagPlan("team/tags", 2, found=BOTH)
DISABLED = TagPlan("team/tags", 2, problems=("me-south-1: not enabled",), found=BOTH, blind=True)
GONE = TagPlan("team/tags", 1, found=frozenset({f"{SG}1"}))


async def seen(monkeypatch: pytest.MonkeyPatch, *looks: TagPlan, patience: float = 30.0, session: Any = None) -> int:
    """See it done, with these plans one after the other, of which the last one stays; how often it looked."""
    made: list[TagPlan] = []

    async def plans_of(*given: Any) -> list[TagPlan]:
        made.append([*looks, *[looks[-1]] * 100][len(made)])
        return made[-1:]

    monkeypatch.setattr(tags_apply, "plans_of", plans_of)
    monkeypatch.setattr(tags_apply, "_LOOK_SECONDS", 0.0)
    session = session or Session()
    await tags_apply.see_done(session, session, [PLANNED], {}, patience)
    return len(made)


@pytest.mark.parametrize("look", [UNREAD, UNASKED], ids=["a resource", "a region"])
async def test_what_could_not_be_read_for_a_moment_is_looked_at_again(
    look: TagPlan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan that lacks a resource because nobody answered has nothing to do there: that is not done."""
    assert await seen(monkeypatch, look, PLANNED, DONE) == 3
    assert "2 tagged" in capsys.readouterr().out


@pytest.mark.parametrize(("look", "tagged"), [(UNREAD, 1), (UNASKED, 0)], ids=["a resource", "a region"])
async def test_what_cannot_be_read_is_no_success(
    look: TagPlan, tagged: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CliError, match=r"not known.*AWS did not answer"):
        await seen(monkeypatch, look)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("security-group/")]
    assert [" not known " in row for row in rows] == [number >= tagged for number in range(2)]


async def test_what_was_tagged_is_said_though_a_region_is_not_enabled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CliError, match=r"2 tagged.*me-south-1: not enabled"):
        await seen(monkeypatch, DISABLED)
    rows = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith("security-group/")]
    assert rows == ["tagged", "tagged"]


async def test_what_is_gone_is_not_tagged(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    await seen(monkeypatch, GONE)
    shown = capsys.readouterr()
    rows = [line.split()[1] for line in shown.out.splitlines() if line.startswith("security-group/")]
    assert rows == ["tagged", "gone"]
    assert "1 gone, 1 tagged" in shown.out + shown.err


async def test_what_is_left_out_for_want_of_room_is_said_and_is_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """POLICY_APPLY_PARTIAL asks for that."""
    await seen(monkeypatch, TagPlan("team/tags", 2, found=BOTH, trimmed={f"{SG}2": "Trimmed: no room for 'env'"}))
    shown = capsys.readouterr()
    assert "1 in part, 1 tagged" in shown.out + shown.err
    assert "no room for 'env'" in shown.out


class InCluster(Session):
    """An operator in a cluster, of which only conditions tell, and which is at work all the time."""

    embedded = False

    async def get(self, *given: Any) -> Any:
        ready = {"type": "Ready", "status": "False", "reason": "Applying", "message": "", "observedGeneration": 1}
        return {"metadata": {"generation": 1}, "status": {"conditions": [ready]}}


async def test_an_operator_that_is_at_work_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ready is false then, and that is no refusal."""
    await seen(monkeypatch, *[PLANNED] * 20, DONE, session=InCluster())
    assert "2 tagged" in capsys.readouterr().out


async def test_where_nothing_was_found_nothing_is_called_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tags_apply, "_LOOK_SECONDS", 0.0)

    async def plans_of(*given: Any) -> list[TagPlan]:
        return [TagPlan("team/tags")]

    monkeypatch.setattr(tags_apply, "plans_of", plans_of)
    session: Any = Session()
    await tags_apply.see_done(session, session, [TagPlan("team/tags")], {}, 1.0)
    said = capsys.readouterr().out
    assert "no resource was found" in said and "all tags are" not in said


@pytest.mark.parametrize("approve", ["d1", "d1,d2"])
async def test_the_digest_that_a_condition_names_approves_though_another_provider_waits_too(approve: str) -> None:
    asked = tags_apply.TagsApplyRequest((), "", create_namespace=False, approve=approve, yes=True, patience=0.0)
    waits = [TagPlan("team/tags", digest="d1,d2"), TagPlan("team/other", digest="d3")]
    assert await tags_apply._obtain_approval(waits, asked) == {"team/tags": approve}


async def test_a_digest_of_no_plan_approves_nothing() -> None:
    asked = tags_apply.TagsApplyRequest((), "", create_namespace=False, approve="d9", yes=True, patience=0.0)
    with pytest.raises(CliError, match="no plan has the digest d9"):
        await tags_apply._obtain_approval([TagPlan("team/tags", digest="d1,d2"), TagPlan("team/none")], asked)
