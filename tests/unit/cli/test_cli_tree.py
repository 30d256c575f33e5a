"""The tree shows each resource in the one that it is in, and its state in colour where that is wanted."""

import sys
from typing import Any

import pytest

from freehold.cli.nesting import INSIDE, parents
from freehold.cli.terminal import painter, plain
from freehold.cli.tree import remarks, tree_lines
from freehold.cli.view import View, view
from freehold.lifecycle.journal import Entry, Journal, Phase, dumps
from freehold.lifecycle.kinds import NodeKey
from freehold.lifecycle.ownership import Owner
from harness.account import Account

ROWS = [
    {"kind": "vpc", "name": "old", "id": "r006-0", "state": "Surplus", "message": "is ours, and not wanted any more"},
    {"kind": "vpc", "name": "v", "id": "r006-1", "state": "Ready"},
    {"kind": "vpc-subnet", "name": "s", "id": "r006-2", "state": "Ready"},
    {"kind": "vpc-subnet", "name": "t", "state": "Waiting", "message": "waits for vpc v"},
    {"kind": "transit-gateway", "name": "g", "id": "g-1", "state": "Blocked", "message": "a quota is reached"},
    {"kind": "transit-gateway-connection", "name": "c", "state": "Waiting"},
]


def _object(rows: list[dict[str, Any]]) -> dict[str, Any]:
    entries = {
        NodeKey("vpc", "old"): Entry(Phase.OWNED, id="us-south/r006-0", target="crn"),
        NodeKey("vpc", "main"): Entry(Phase.OWNED, id="us-south/r006-1", target="crn"),
        NodeKey("vpc-subnet", "s"): Entry(Phase.OWNED, id="us-south/r006-2", target="crn", requires=("vpc/main",)),
    }
    journal = dumps(Journal(Owner("u", "K", "n", "a"), entries))
    ready = {"type": "Ready", "status": "False", "reason": "NotReady", "observedGeneration": 1}
    return {
        "kind": "K",
        "metadata": {"name": "a", "namespace": "n", "generation": 1, "annotations": {"freehold.dev/journal": journal}},
        "status": {"resources": rows, "conditions": [ready]},
    }


def _lines(rows: list[dict[str, Any]], room: int = sys.maxsize) -> tuple[View, list[str]]:
    seen = view(_object(rows))
    return seen, tree_lines(seen, {}, parents(_object(rows), seen.lines), 0.0, room)


def test_a_resource_stands_below_the_one_that_it_is_in() -> None:
    _, lines = _lines(ROWS)
    drawn = [line.removeprefix("  ").split("  ")[0].rstrip() for line in lines]
    assert drawn == [
        "NAME",
        "K/a",
        "├─vpc/old",
        "│",  # the surplus' reason
        "├─vpc/v",
        "│ └─vpc-subnet/s",
        "├─vpc-subnet/t",
        "│",
        "└─transit-gateway/g",
        "│ a quota is reached",
        "└─transit-gateway-connection/c",
    ], "of two VPCs the journal tells which; a subnet without a record may be of either"


def test_an_only_parent_needs_no_record() -> None:
    """While resources are being created, the journal has no edges of those that wait."""
    rows = ROWS[1:]
    assert parents({"metadata": {}}, view(_object(rows)).lines) == [None, 0, 0, None, 3]


def test_what_people_look_for_in_a_resource_requires_it() -> None:
    kinds = Account().kinds
    for kind, within in INSIDE.items():
        required = {*kinds[kind].requires, kinds[kind].carrier}
        beyond = {each for name in required if name for each in kinds[name].requires}
        assert within in required | beyond, kind


@pytest.mark.parametrize("room", [60, 80, 120])
def test_a_tree_fits_its_terminal(room: int) -> None:
    assert max(map(len, _lines(ROWS, room)[1])) <= room


def test_a_reason_stands_once(capsys: pytest.CaptureFixture[str]) -> None:
    seen, lines = _lines(ROWS)
    told = "\n".join([*lines, *remarks(seen, simulated=False)])
    assert told.count("a quota is reached") == 1
    assert "somebody must act before n/a is Ready" in told


@pytest.mark.parametrize(
    ("terminal", "env", "coloured"),
    [(True, {}, True), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False), (False, {}, False)],
    ids=["terminal", "NO_COLOR", "dumb terminal", "pipe"],
)
def test_states_have_colours_where_they_are_wanted(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, env: dict[str, str], coloured: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    paint = painter(env)
    assert (paint is not plain) is coloured
    seen, bare = _lines(ROWS)
    painted = tree_lines(seen, {}, parents(_object(ROWS), seen.lines), 0.0, paint=paint)
    assert any("\x1b[31mBlocked\x1b[0m" in line for line in painted) is coloured
    assert (painted == bare) is not coloured
