"""Output to the terminal has no control characters and no keys."""

import sys

import pytest

from freehold.cli.output import terminal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, größer ✓", "plain text, größer ✓"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("bell\x07 back\x08 \r", "bell\\x07 back\\x08 \\r"),
        ("c1\x9b2J", "c1\\x9b2J"),
        ("right\u202eleft", "right\\u202eleft"),
        ("line\u2028separator", "line\\u2028separator"),
    ],
    ids=["harmless", "escape sequence", "c0", "c1", "bidi override", "line separator"],
)
def test_control_characters_are_shown_not_sent(text: str, shown: str) -> None:
    assert terminal.escape_text(text) == shown


def test_the_api_key_is_never_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A vendor's error text may contain the key that it was sent."""
    monkeypatch.setenv("IBMCLOUD_API_KEY", "very-secret-key")
    terminal.say("refused: apikey=very-secret-key")
    terminal.warn("refused: apikey=very-secret-key")
    seen = capsys.readouterr()
    assert "very-secret-key" not in seen.out + seen.err
    assert "refused: apikey=***" in seen.out


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (0.9, "0s"), (59, "59s"), (60, "1m00s"), (3725, "1h02m"), (90_000, "1d01h")],
)
def test_durations_are_two_units_at_most(seconds: float, text: str) -> None:
    assert terminal.duration(seconds) == text


def test_columns_are_aligned_and_escaped() -> None:
    assert terminal.columns([("A", "B"), ("long", "x\x1b")]) == ["A      B", "long   x\\x1b"]
    assert terminal.columns([]) == []


def test_a_cloud_resource_name_is_cut_to_the_part_that_differs() -> None:
    crn = "crn:v1:bluemix:public:is:us-south:a/0123::vpc:r006-1"
    assert terminal.shorten_names(f"{crn} is there") == "vpc:r006-1 is there"
    assert terminal.shorten_names("crn:v1:bluemix:public:power-iaas:dal10:a/0123:guid-1::") == "guid-1"
    arn = "arn:aws:ec2:us-east-1:111122223333:vpc/vpc-1"
    assert terminal.shorten_names(f"{arn} is there, and so is {arn}.") == "vpc/vpc-1 is there, and so is vpc/vpc-1."
    addon = "arn:aws:eks:us-east-1:111122223333:addon/prod/vpc-cni/71500688-9e44-479c-ab1d-231f44371574"
    assert terminal.shorten_names(addon) == "addon/prod/vpc-cni"
    assert terminal.shorten_names("(arn:aws-cn:s3:::bucket): no") == "(bucket): no"


def test_an_error_message_is_wrapped_between_words_on_a_terminal_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An id that a terminal breaks cannot be copied with the mouse; a log keeps a sentence in one line."""
    sentence = "vpc r006-d0bd571d-c19c-483d-a2f0-23c9666c5574 exists and is not ours\x1b"
    monkeypatch.setenv("COLUMNS", "50")
    terminal.print_error(sentence, "  - ")
    assert capsys.readouterr().err == f"  - {sentence[:-1]}\\x1b\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    terminal.print_error(sentence, "  - ")
    assert capsys.readouterr().err.splitlines() == [
        "  - vpc r006-d0bd571d-c19c-483d-a2f0-23c9666c5574",
        "    exists and is not ours\\x1b",
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "b"), ("longer", "")],
        [("├─", "größer ✓"), ("", "x…")],
        [("名前", "e\u0301"), ("a", "👩‍🔧 ｆｕｌｌ")],
        [("\u1100", "\u200b"), ("ab\x1b", "z")],
    ],
    ids=["ascii", "one cell each", "wide and combining", "escaped"],
)
def test_columns_are_those_of_rich(rows: list[tuple[str, str]]) -> None:
    """Which costs a hundred milliseconds, and draws the tables on a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 3, 0, 0))
    for row in rows:
        table.add_row(*(Text(terminal.escape_text(cell), no_wrap=True) for cell in row))
    console = Console(width=200, color_system=None, force_terminal=False, legacy_windows=False)
    drawn = ["".join(part.text for part in line).rstrip() for line in console.render_lines(table)]
    assert terminal.columns(rows) == drawn


def test_columns_are_aligned_by_display_width() -> None:
    """A wide character takes two cells: if it counted as one, every column after it would be shifted."""
    lines = terminal.columns([("NAME", "STATE"), ("名前", "Ready"), ("a", "Blocked")])
    assert lines == ["NAME   STATE", "名前   Ready", "a      Blocked"]
