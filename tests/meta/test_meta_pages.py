"""Pages say what is so: each is in its index, and each command on them is one that the command line takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from freehold.cli.main import cli

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "adr"
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?<![\w./-])freehold (?P<words>[a-z][a-z-]*(?: [a-z][a-z-]*)?)(?P<rest>[^`\n#;)]*)")


def _pages() -> Iterator[Path]:
    yield from ROOT.glob("*.md")
    yield from (ROOT / "docs").rglob("*.md")


def _problem(words: list[str], rest: str) -> str:
    """Say what is wrong with a command; empty if nothing is."""
    found: click.Command | None = cli.commands.get(words[0])
    if isinstance(found, click.Group) and len(words) > 1:
        found = found.commands.get(words[1])
    if found is None:
        return f"there is no freehold {' '.join(words)}"
    taken = {name for each in found.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
    unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest)) - taken
    return f"freehold {' '.join(words)} has no {', '.join(sorted(unknown))}" if unknown else ""


def test_every_command_on_a_page_exists_with_its_options() -> None:
    problems = {
        f"{page.relative_to(ROOT)}: {problem}"
        for page in _pages()
        for code in CODE.findall(page.read_text(encoding="utf-8"))
        for hit in COMMAND.finditer(code)
        if (problem := _problem(hit["words"].split(), hit["rest"]))
    }
    assert problems == set()


@pytest.mark.parametrize("line", ["freehold fly", "freehold keys fly", "freehold get --fly"])
def test_a_command_that_does_not_exist_is_found(line: str) -> None:
    hit = COMMAND.search(line)
    assert hit is not None
    assert "fly" in _problem(hit["words"].split(), hit["rest"])


def test_decisions_are_numbered_without_holes_and_listed() -> None:
    names = sorted(path.name for path in DECISIONS.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    titles = [(DECISIONS / name).read_text(encoding="utf-8").splitlines()[0] for name in names]
    assert [title.split(".")[0] for title in titles] == [f"# {int(name[:4])}" for name in names]
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[\d+\]\(([\w-]+\.md)\)", index, re.MULTILINE) == names


def test_every_page_for_users_is_listed() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [page for folder in ("howto", "explanation") for page in (ROOT / "docs" / folder).glob("*.md")]
    assert [page.name for page in pages if f"({page.parent.name}/{page.name})" not in index] == []
