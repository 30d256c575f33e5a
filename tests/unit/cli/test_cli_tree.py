"""The tree shows each resource in the one that it is in, and its state in colour where that is wanted."""

import re
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from freehold.cli.commands.tree import find_proofs
from freehold.cli.output.terminal import choose_painter, plain
from freehold.cli.output.tree import remarks, tree_lines
from freehold.engine.journal import Entry, Journal, RecordState, dumps
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.view.journal_view import parents, proofs
from freehold.view.object_view import View, view


def _row(
    kind: str, name: str, ident: str = "", state: str = "Ready", message: str = "", waits_for: tuple[str, ...] = ()
) -> dict[str, Any]:
    row = {"kind": kind, "name": name, "id": ident, "state": state, "message": message, "waitsFor": list(waits_for)}
    if waits_for:
        row |= {"reason": "WaitingForRequirement", "message": f"waits for {', '.join(waits_for)}"}
    return row


ROWS = [
    _row("vpc", "old", "r006-0", "Surplus", "is ours, and not wanted any more"),
    _row("vpc", "v", "r006-1"),
    _row("subnet", "s", "r006-2"),
    _row("subnet", "t", state="Waiting", waits_for=("vpc v",)),
    _row("balancer", "b", "r006-4"),
    _row("gateway", "g", "g-1", "Blocked", "a quota is reached"),
    _row("connection", "c", "c-1"),
    _row("connection", "d", state="Waiting", waits_for=("gateway g", "vpc v")),
]
ENTRIES = {
    NodeKey("vpc", "old"): Entry(RecordState.OWNED, id="us-south/r006-0", target="crn-0", requires=()),
    NodeKey("vpc", "main"): Entry(RecordState.OWNED, id="us-south/r006-1", target="crn-1", requires=()),
    NodeKey("subnet", "s"): Entry(RecordState.OWNED, id="us-south/r006-2", target="crn-2", requires=("vpc/main",)),
    NodeKey("balancer", "b"): Entry(RecordState.OWNED, id="r006-4", target="crn-4", requires=("subnet/s", "vpc/main")),
    NodeKey("gateway", "g"): Entry(RecordState.OWNED, id="g-1", target="crn-5", requires=()),
    NodeKey("connection", "c"): Entry(
        RecordState.OWNED, id="g-1/c-1", target="crn-5", carried=True, requires=("gateway/g", "vpc/main")
    ),
}


def _object(rows: list[dict[str, Any]], entries: Mapping[NodeKey, Entry] = ENTRIES) -> dict[str, Any]:
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


def _nesting(rows: list[dict[str, Any]], entries: Mapping[NodeKey, Entry] = ENTRIES) -> dict[str, str]:
    """By name the name of what a resource is in."""
    lines = view(_object(rows, entries)).lines
    inside = parents(_object(rows, entries), lines)
    return {
        line.name: lines[within].name if within is not None else "" for line, within in zip(lines, inside, strict=True)
    }


def test_a_resource_stands_below_the_one_that_it_is_in() -> None:
    """A load balancer is where its VPC and subnet have in common; a connection is where its mark is."""
    assert _nesting(ROWS) == {"old": "", "v": "", "s": "v", "t": "v", "b": "v", "g": "", "c": "g", "d": ""}


def test_the_tree_is_drawn_with_its_branches() -> None:
    _, lines = _lines([row for row in ROWS if row["name"] in ("v", "s", "g", "c")])
    assert [re.sub("  +(Ready|Blocked|Progressing).*", "", line) for line in lines if "/" in line] == [
        "K/a", "├─vpc/v", "│ └─subnet/s", "└─gateway/g", "  └─connection/c",
    ]  # fmt: skip


def test_without_a_journal_what_waits_is_in_what_it_waits_for() -> None:
    assert _nesting(ROWS, {}) == {"old": "", "v": "", "s": "", "t": "v", "b": "", "g": "", "c": "", "d": ""}


def test_a_forged_journal_with_a_circle_is_shown_all_the_same() -> None:
    circle = {
        NodeKey("vpc", "main"): Entry(RecordState.OWNED, id="r006-1", target="crn-1", requires=("subnet/s",)),
        NodeKey("subnet", "s"): Entry(RecordState.OWNED, id="r006-2", target="crn-2", requires=("vpc/main",)),
    }
    seen = view(_object(ROWS, circle))
    lines = tree_lines(seen, {}, parents(_object(ROWS, circle), seen.lines), 0.0)
    assert all(any(f"/{row['name']} " in line for line in lines) for row in ROWS)


def test_copied_journal_proves_nothing() -> None:
    """The operator deletes nothing of the copy, so its tree claims no proof."""
    obj = _object(ROWS)
    assert all("read back" in proof for proof in find_proofs(obj, None).values())
    obj["metadata"]["name"] = "copy"
    assert set(find_proofs(obj, None).values()) == {"none: its record is of K n/a"}


UUID = "0e9cf99a-6e3a-4d56-aaaf-bf534e81d45d"
NODES = "arn:aws:iam::111122223333:role/nodes.cluster-api-provider-aws.sigs.k8s.io"
ENTRY = f"arn:aws:eks:us-east-1:111122223333:access-entry/default_eks/role/111122223333/{NODES[31:]}/{UUID}"


@pytest.mark.parametrize("rows", [ROWS, [_row("eks-access-entry", NODES, ENTRY)]], ids=["short", "arn"])
@pytest.mark.parametrize("room", [60, 80, 120])
def test_a_tree_fits_its_terminal(rows: list[dict[str, Any]], room: int) -> None:
    assert max(map(len, _lines(rows, room)[1])) <= room


def test_names_of_the_cloud_are_whole_where_there_is_room() -> None:
    wide, narrow = ("\n".join(_lines([_row("eks-access-entry", NODES, ENTRY)], room)[1]) for room in (1000, 80))
    assert NODES in wide and ENTRY in wide
    assert "-aws.sigs.k8s.io  Ready" in narrow and "arn:" not in narrow and UUID not in narrow


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
    paint = choose_painter(env)
    assert (paint is not plain) is coloured
    seen, bare = _lines(ROWS)
    painted = tree_lines(seen, {}, parents(_object(ROWS), seen.lines), 0.0, paint=paint)
    assert any("\x1b[31mBlocked\x1b[0m" in line for line in painted) is coloured
    assert (painted == bare) is not coloured


def test_what_has_an_arn_is_in_what_it_requires_and_its_proof_is_told() -> None:
    """An ARN has slashes of its own, and is shown whole."""
    balancer, listener = (
        f"arn:aws:elasticloadbalancing:eu-west-1:1:{end}" for end in ("net/b/1", "listener/net/b/1/2")
    )
    entries = {
        NodeKey("balancer", "b"): Entry(RecordState.OWNED, id=balancer, target=balancer, requires=()),
        NodeKey("listener", "b:6443"): Entry(RecordState.OWNED, id=listener, target=listener, requires=("balancer/b",)),
    }
    obj = _object([_row("balancer", "b", balancer), _row("listener", "b:6443", listener)], entries)
    seen = view(obj)
    assert parents(obj, seen.lines) == [None, 0]
    for line in tree_lines(seen, proofs(obj, None), parents(obj, seen.lines), 0.0)[2:]:
        assert line.endswith("own marks, read back; record NOT signed by the operator: it names no key")
