"""``freehold logs``: what the operator of a state directory has logged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freehold.cli.commands import logs
from freehold.cli.main import cli


def test_the_log_is_shown_with_what_is_added_while_it_is_followed(tmp_path: Path) -> None:
    """Also where it begins later, and where a line is written in two parts."""
    log = tmp_path / "freehold.log"

    def written() -> Iterator[bool]:
        for text in ("one\ntw", "o\n", "", "three"):
            with log.open("a") as file:
                file.write(text)
            yield True
        yield False

    steps = written()
    assert list(logs.lines(log, lambda: next(steps))) == ["one", "two", "three"]


def test_the_log_of_a_state_directory_is_printed_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a cloud has answered is in it."""
    (tmp_path / "freehold.log").write_text("INFO a\nWARNING \x1b[31mred\n")
    cli.main(["logs", "--state", str(tmp_path)], standalone_mode=False)
    assert capsys.readouterr().out == "INFO a\nWARNING \\x1b[31mred\n"


def test_a_state_on_which_nothing_has_worked_has_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["logs", "--state", str(tmp_path)], standalone_mode=False)
    shown = capsys.readouterr()
    assert "nothing has worked on" in shown.err and not shown.out


@pytest.mark.parametrize("word", ["apply", "delete", "destroy", "describe", "diff", "status"])
def test_a_word_of_other_programs_names_a_command_that_there_is(word: str) -> None:
    with cli.make_context("freehold", [word]) as context:
        with pytest.raises(Exception, match=f"No such command '{word}'") as refused:
            cli.resolve_command(context, [word])
        named = [each.split()[0] for each in str(refused.value).split("freehold ")[1:]]
    assert named and set(named) <= cli.commands.keys()
