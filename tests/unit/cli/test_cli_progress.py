"""Progress shows each change once, with the time that it took, and no control characters."""

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from freehold.cli.output.progress import ElapsedTimer, LiveDisplay, PlainDisplay, _fit_rows, cut
from freehold.cli.output.tree import tree_lines
from freehold.engine.journal import Entry, Journal, RecordState, dumps
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.view.journal_view import proofs
from freehold.view.object_view import View, view

T0 = 1_800_000_000
STAMP = "2027-01-15T08:00:00Z"  # T0 in UTC


def _view(state: str, since: str = STAMP, *, deleting: bool = False, **row: Any) -> View:
    metadata: dict[str, Any] = {"name": "a", "namespace": "n", "generation": 1}
    if deleting:
        metadata["deletionTimestamp"] = STAMP
    line = {"kind": "vpc", "name": "v", "state": state, "since": since, **row}
    seen = {"type": "Ready", "status": "False", "reason": "NotReady", "observedGeneration": 1}
    return view({"kind": "K", "metadata": metadata, "status": {"resources": [line], "conditions": [seen]}})


def test_what_blocked_before_a_delete_is_not_shown_as_if_it_held_the_delete(capsys: pytest.CaptureFixture[str]) -> None:
    """The operator has not looked at the object since: a person would act in vain."""
    row = {"kind": "vpc", "name": "v", "state": "Blocked", "reason": "NameTaken", "message": "choose another name"}
    old = {"type": "Ready", "status": "False", "reason": "NameTaken", "observedGeneration": 1}
    metadata = {"name": "a", "namespace": "n", "generation": 2, "deletionTimestamp": STAMP}
    seen = view({"kind": "K", "metadata": metadata, "status": {"resources": [row], "conditions": [old]}})
    with PlainDisplay() as show:
        show.show([seen], T0)
    assert not capsys.readouterr().out


def test_a_state_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainDisplay() as show:
        for now in (T0, T0 + 5, T0 + 9):
            show.show([_view("Waiting", reason="Provisioning")], now)
        show.show([_view("Ready", "2027-01-15T08:00:12Z")], T0 + 20)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[3:5] for line in lines] == [["Waiting", "0s"], ["Ready", "12s"]]


def test_a_row_that_vanishes_while_it_is_deleted_is_shown_as_gone(capsys: pytest.CaptureFixture[str]) -> None:
    empty = view({"kind": "K", "metadata": {"name": "a", "namespace": "n"}})
    with PlainDisplay() as show:
        show.show([_view("Deleting")], T0)
        show.show([empty], T0 + 1)
        show.show([empty], T0 + 2)
    assert [line.split()[3] for line in capsys.readouterr().out.splitlines()] == ["Deleting", "Gone"]


def test_a_row_that_vanishes_for_another_reason_is_not_called_gone(capsys: pytest.CaptureFixture[str]) -> None:
    """The spec may not want it any more; nobody saw it go."""
    empty = view({"kind": "K", "metadata": {"name": "a", "namespace": "n"}})
    with PlainDisplay() as show:
        show.show([_view("Blocked", reason="NameTaken")], T0)
        show.show([empty], T0 + 1)
    assert "Gone" not in capsys.readouterr().out


def test_states_from_before_a_deletion_are_not_shown_as_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainDisplay() as show:
        show.show([_view("Ready", deleting=True)], T0)
        show.show([_view("Deleting", deleting=True)], T0 + 3)
    assert [line.split()[3] for line in capsys.readouterr().out.splitlines()] == ["Deleting"]


def test_the_elapsed_time_is_that_of_the_present_operation() -> None:
    """A deletion does not count the hours since the creation; the time of a new operation starts again."""
    watch = ElapsedTimer()

    def elapsed(seen: View, now: float) -> float | None:
        return watch.measure_elapsed(seen, seen.lines[0], now)

    assert elapsed(_view("Waiting"), T0 + 10) == 10
    assert elapsed(_view("Ready", "2027-01-15T08:00:30Z"), T0 + 40) == 30
    assert elapsed(_view("Ready", "2027-01-15T08:00:30Z"), T0 + 400) == 30
    assert elapsed(_view("Waiting", "2027-01-15T08:10:00Z"), T0 + 605) == 5
    assert elapsed(_view("Deleting", "2027-01-15T08:16:40Z", deleting=True), T0 + 1000) == 0
    assert elapsed(_view("Gone", "2027-01-15T08:17:00Z", deleting=True), T0 + 1100) == 20


def test_operations_from_before_the_start_have_no_elapsed_time() -> None:
    seen = _view("Ready")
    assert ElapsedTimer().measure_elapsed(seen, seen.lines[0], T0 + 400) is None


def test_hostile_names_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    seen = _view("Blocked", message="\x1b]0;owned\x07")
    with PlainDisplay() as show:
        show.show([seen], T0)
    assert "\x1b" not in capsys.readouterr().out
    assert all("\x1b" not in line for line in tree_lines(seen, {}, [None], T0))


RING = KeyRing.single(b"k" * 32)
OWNER = Owner("u", "K", "n", "a")


def _signed(kind: str, ident: str, **fields: Any) -> Entry:
    signature = RING.derive_keys(OWNER).signature(RING.writing, kind, ident)
    return Entry(RecordState.OWNED, id=ident, target="crn", signature=signature, key=RING.writing, **fields)


def _recorded() -> dict[str, Any]:
    """An object whose records are signed, forged, without a key, or of another operator."""
    entries = {
        NodeKey("vpc", "main"): _signed("vpc", "us-south/r006-1"),
        NodeKey("vpc", "forged"): replace(_signed("vpc", "us-south/r006-1"), id="us-south/r006-2"),
        NodeKey("vpc", "no-key"): Entry(RecordState.RECORDED, id="us-south/r006-3"),
        NodeKey("vpc", "elsewhere"): Entry(RecordState.RECORDED, id="us-south/r006-4", key="elsewhere2"),
        NodeKey("connection", "vpc"): _signed("connection", "gw/c-1", carried=True),
        NodeKey("workspace", "main"): Entry(RecordState.GIVEN, id="w-1"),
    }
    return {"metadata": {"annotations": {"freehold.dev/journal": dumps(Journal(OWNER, entries))}}}


def test_without_the_key_ring_no_record_is_called_signed() -> None:
    """Anybody who may edit the object may have written it: only the key shows that."""
    proven = proofs(_recorded(), None)
    assert proven["r006-1"] == proven["r006-2"] == "own marks, read back; record not checked: no key ring here"
    assert proven["r006-3"] == "marks not read back yet; record NOT signed by the operator: it names no key"


def test_the_tree_shows_ownership_and_its_proof() -> None:
    proven = proofs(_recorded(), RING)
    assert proven == {
        "r006-1": "own marks, read back; record signed",
        "r006-2": "own marks, read back; record NOT signed by the operator",
        "r006-3": "marks not read back yet; record NOT signed by the operator: it names no key",
        "r006-4": "marks not read back yet; record not checked: the key ring lacks key elsewhere2",
        "c-1": "mark on its carrier, read back; record signed",
        "w-1": "given, not made here",
    }
    lines = tree_lines(_view("Ready", id="r006-1", ownership="managed", message="a note"), proven, [None], T0 + 60)
    assert "managed" in lines[2]
    assert "own marks, read back" in lines[2]
    assert lines[3].endswith("a note")


@pytest.mark.parametrize("annotation", [None, "", "{", "[]"])
def test_a_journal_that_cannot_be_read_proves_nothing(annotation: str | None) -> None:
    assert proofs({"metadata": {"annotations": {"freehold.dev/journal": annotation}}}, RING) == {}


@pytest.mark.parametrize("width", [200, 76, 60, 36])
def test_a_live_table_fits_its_terminal(width: int) -> None:
    """A wrapped line breaks the redrawing; state and time are important, and names differ at their ends."""
    rows = [
        ("", "KIND", "NAME", "STATE", "ELAPSED", "NOTE"),
        ("…", "transit-gateway-connection", "demo-transitgateway-vpc-con", "Waiting", "2m05s", "waits " * 20),
        ("✓", "transit-gateway-connection", "demo-transitgateway-pvs-con", "Deleting", "2m05s", ""),
    ]
    fitted = _fit_rows(rows, width)
    assert len({row[2] for row in fitted}) == len(rows)
    for row, given in zip(fitted, rows, strict=True):
        assert (row[0], *row[3:5]) == (given[0], *given[3:5])
        taken = sum(max(len(each[index]) for each in fitted) + 2 for index in range(len(row)))
        assert taken <= max(width, 40)


def test_a_narrow_tree_has_the_same_content() -> None:
    seen = _view("Ready", id="r006-1", ownership="managed", message="a note")
    wide, narrow = (tree_lines(seen, {"r006-1": "own marks, read back"}, [None], T0 + 60, room) for room in (200, 40))
    for said in ("vpc", "Ready", "1m00s", "managed", "own marks, read back", "r006-1", "a note"):
        assert any(said in line for line in wide), said
        assert any(said in line for line in narrow), said
    assert max(map(len, narrow)) <= 40


def test_a_blocked_node_is_reported_at_once_in_full_and_the_others_continue(capsys: pytest.CaptureFixture[str]) -> None:
    """The rest may take a quarter of an hour: a person who must act should not wait for it, or see a cut message."""
    message = "the name is taken: " + "x" * 200
    rows = [
        {"kind": "vpc", "name": "v", "state": "Blocked", "reason": "NameTaken", "message": message},
        {"kind": "workspace", "name": "w", "state": "Waiting", "reason": "Provisioning"},
        {"kind": "vpc-subnet", "name": "s", "state": "Waiting", "reason": "WaitingForRequirement"},
    ]
    ready = {"type": "Ready", "status": "False", "reason": "NotReady", "observedGeneration": 1}
    metadata = {"name": "a", "namespace": "n", "generation": 1}
    seen = view({"kind": "K", "metadata": metadata, "status": {"resources": rows, "conditions": [ready]}})
    with PlainDisplay() as show:
        show.show([seen], T0)
        show.show([seen], T0 + 1)
    said = capsys.readouterr().out.splitlines()
    assert said[3:] == [
        f"  blocked: vpc v: {message}",
        "  somebody must act before n/a is Ready; meanwhile at work: workspace w",
    ]
    with LiveDisplay() as show:
        show.show([seen], T0)
    drawn = " ".join(capsys.readouterr().out.split())
    assert drawn.index("somebody must act before n/a is Ready") < drawn.index("ELAPSED"), (
        "a short terminal cuts the end"
    )


@pytest.mark.parametrize(("height", "shown"), [(40, "everything"), (20, "what is not done"), (6, "the objects")])
def test_a_short_terminal_shows_every_object(height: int, shown: str) -> None:
    """A longer table is cut at its end: of six clusters only the first two would be visible."""
    rows = [{"kind": "vpc", "name": f"r{n}", "state": "Ready"} for n in range(6)]
    rows.append({"kind": "gateway", "name": "late", "state": "Waiting", "reason": "Provisioning"})
    views = [
        view({"kind": "K", "metadata": {"name": name, "namespace": "n"}, "status": {"resources": rows}})
        for name in ("a", "b", "c")
    ]
    console = Console(width=100, height=height, file=StringIO())
    console.print(LiveDisplay()._render_views(views, T0, 96, height))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]  # a StringIO
    assert len(lines) <= height
    assert sum("6/7 ready" in line for line in lines) == 3
    assert any("r0" in line for line in lines) is (shown == "everything")
    assert any("late" in line for line in lines) is (shown != "the objects")


LONG = (
    "vpc prod-vpc (us-south/r006-f4201c65) exists and is not ours: " + "name it in the spec to use it as it is, or " * 3
)


def _blocked(*more: dict[str, Any], message: str = LONG) -> View:
    rows = [{"kind": "vpc", "name": "v", "state": "Blocked", "reason": "NameTaken", "message": message}, *more]
    ready = {"type": "Ready", "status": "False", "reason": "NotReady", "observedGeneration": 1}
    metadata = {"name": "a", "namespace": "n", "generation": 1}
    return view({"kind": "K", "metadata": metadata, "status": {"resources": rows, "conditions": [ready]}})


def test_a_refusal_is_printed_once_and_whole_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A log has no width, and the advice stands at the end of the sentence."""
    second = {"kind": "vpc", "name": "w", "state": "Blocked", "reason": "QuotaReached", "message": "ask for more"}
    with PlainDisplay() as show:
        show.show([_blocked()], T0)
        show.show([_blocked(second)], T0 + 5)
    said = capsys.readouterr().out
    assert said.count(LONG.strip()) == 1
    assert said.count("ask for more") == 1
    assert "…" not in said


def test_a_note_is_not_cut_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    note = "waits for " + ", ".join(f"vpc-subnet subnet-{number}" for number in range(20))
    with PlainDisplay() as show:
        show.show([_view("Waiting", reason="WaitingForRequirement", message=note)], T0)
    assert note in capsys.readouterr().out


def _drawn(seen: View, columns: int, *, tell: bool = True) -> str:
    console = Console(width=columns, height=50, file=StringIO())
    console.print(LiveDisplay()._render_views([seen], T0, columns - 4, 50, tell=tell))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    return text


@pytest.mark.parametrize("columns", [80, 160])
def test_the_reason_is_visible_on_a_terminal_of_any_width(columns: int) -> None:
    """With 80 columns there is no room beside long names."""
    names = {"kind": "transit-gateway-connection", "name": "freehold-demo-transitgateway-vpc-con", "state": "Waiting"}
    seen = _blocked({**names, "reason": "Provisioning", "message": "its state is pending"})
    drawn = _drawn(seen, columns)
    assert "its state is pending" in drawn
    assert " ".join(drawn.split()).count(LONG.strip()) == 1
    assert max(map(len, drawn.splitlines())) <= columns


def test_the_last_table_leaves_a_refusal_to_the_error_below_it() -> None:
    drawn = _drawn(_blocked(), 80, tell=False)
    assert "NameTaken" in drawn
    assert "is not ours" not in drawn


def test_a_text_is_cut_between_words() -> None:
    assert cut("waits for vpc freehold-demo-vpc, vpc-subnet a", 35) == "waits for vpc freehold-demo-vpc…"
    assert cut("short", 35) == "short"
    assert cut("x" * 50, 10) == "x" * 9 + "…"
