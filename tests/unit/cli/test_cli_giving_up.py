"""``freehold down`` says what it keeps and how it goes; ``resolve --not-mine`` gives up what is owned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from freehold.cli.commands import down
from freehold.cli.local.state_directory import Lock, StateDirectory
from freehold.kube.client import KubeClient
from harness.commands import freehold_in

GATEWAY = "transit-gateway/minimal-transitgateway"


def _tags_of(state: Path, type_: str) -> tuple[Path, dict[str, object], list[tuple[float, dict[str, str]]]]:
    """The tags of the one resource of that type in the saved world, oldest first."""
    saved = state / "simulated-cloud.json"
    world = json.loads(saved.read_text())
    (tags,) = (history for crn, history in world["clouds"]["ibm"]["data"]["tags"].items() if f":{type_}:" in crn)
    return saved, world, tags


def _strip(state: Path, type_: str, mark: str) -> None:
    """Somebody takes a tag off while no server runs."""
    saved, world, history = _tags_of(state, type_)
    for _, tags in history:
        for folded in [each for each in tags if f".{mark}:" in each]:
            del tags[folded]
    saved.write_text(json.dumps(world))


@pytest.fixture(name="works")
def _works(state: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether an operator works on the state, at each question and each request of a deletion."""
    found: list[bool] = []

    def look() -> None:
        server = Lock(StateDirectory(state).lock).read()
        assert server is not None
        found.append(server.operator)

    async def ask(question: str, *, otherwise: str) -> None:
        look()

    async def delete(*given: Any) -> Any:
        look()
        return await really(*given)

    really = KubeClient.delete
    monkeypatch.setattr(down, "ask", ask)
    monkeypatch.setattr(KubeClient, "delete", delete)
    return found


@pytest.mark.parametrize("option", [["--yes"], []], ids=["at once", "asked"])
def test_no_operator_heals_a_mark_before_the_delete_is_requested(
    state: Path, works: list[bool], option: list[str]
) -> None:
    _strip(state, "gateway", "owner")
    shown = freehold_in(state, "down", "minimal", *option, "--speed", "2000")
    assert shown.returncode == 0, shown.stderr
    assert works and not any(works)
    assert "kept: transit-gateway minimal-transitgateway" in shown.stdout
    assert option or "keep     transit-gateway" in shown.stdout, "the plan says it before"


def test_the_last_lines_of_a_delete_name_what_is_kept_with_the_commands_that_delete_it(state: Path) -> None:
    _strip(state, "gateway", "owner")
    down = freehold_in(state, "down", "minimal", "--yes", "--speed", "2000")
    assert down.returncode == 0, down.stderr
    ending = down.stdout[down.stdout.rindex("is gone, and all else that it owned") :]
    assert "kept: transit-gateway minimal-transitgateway: " in ending and "is kept" in ending
    assert "minimal -n default transit-gateway/main --mine --yes" in ending
    assert "once the object has gone: ibmcloud tg gateway-delete" in ending
    audit = [json.loads(line) for line in (state / "audit.jsonl").read_text().splitlines()]
    assert any("is kept" in str(line) and "transit-gateway" in line["resource"] for line in audit)


def test_the_plan_of_a_delete_shows_what_would_be_kept(state: Path) -> None:
    _strip(state, "gateway", "cluster-uuid")
    shown = freehold_in(state, "plan", "--down", "minimal")
    assert "keep" in shown.stdout and "is kept" in shown.stdout and "gateway-delete" in shown.stdout


def test_what_is_owned_is_given_up_after_a_plan_that_says_what_comes_instead(state: Path) -> None:
    plan = freehold_in(state, "resolve", "minimal", GATEWAY, "--not-mine")
    assert plan.returncode == 0, plan.stderr
    assert "would be given up: our marks are taken off it" in plan.stdout
    assert "the spec still wants transit-gateway minimal-transitgateway. The next pass would refuse" in plan.stdout
    assert "nothing was done" in plan.stdout and "on record as this object's own" in plan.stdout

    done = freehold_in(state, "resolve", "minimal", GATEWAY, "--not-mine", "--yes", "--speed", "2000")
    assert done.returncode == 0, done.stderr
    assert "is not this object's any more" in done.stdout
    _, _, history = _tags_of(state, "gateway")
    assert not [tag for tag in history[-1][1] if ".owner:" in tag or ".cluster-uuid:" in tag or ".node:" in tag]

    down = freehold_in(state, "down", "minimal", "--yes", "--speed", "2000")
    assert down.returncode == 0, down.stderr
    assert "was given up by a person" in down.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["load-balancer/none", "--not-mine"], "is neither to be decided nor on record"),
        ([GATEWAY, "--mine"], "is this object's own already"),
    ],
)
def test_what_is_not_to_be_decided_is_said(state: Path, words: list[str], said: str) -> None:
    told = freehold_in(state, "resolve", "minimal", *words)
    assert said in told.stdout + told.stderr
