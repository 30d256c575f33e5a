"""Each row of requirements (but M) and of the readings of metadata names what shows it, or says: not yet."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "reference" / name for name in ("requirements.md", "metadata-compat.md")]
TOPICS = ("T", "I", "W", "G", "A")
NOT_YET = ("not served yet", "not built yet")
_ROW = re.compile(r"^\| ([A-Z]\d+) \|(.*)\|$", re.MULTILINE)
_TEST = re.compile(r"`(test_\w+\.py)::((?:test_|Test)\w+)`")
_DEFINED = re.compile(r"^(?:(?:async )?def|class) (\w+)", re.MULTILINE)
_DECISION = re.compile(r"\[ADR \d+\]\(\.\./adr/([\w-]+\.md)\)")


def _rows(page: str) -> dict[str, str]:
    """The last cell of each row of the checked topics, by its number."""
    found = {no: cells.rpartition("|")[2].strip() for no, cells in _ROW.findall(page) if no[0] in TOPICS}
    assert found
    return found


@cache
def _functions() -> dict[str, set[str]]:
    """The tests of each file, by its name, which is unique."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        assert path.name not in found, f"two files are called {path.name}"
        found[path.name] = set(_DEFINED.findall(path.read_text()))
    return found


def _wrong(page: str) -> Iterator[str]:
    functions, decisions = _functions(), {path.name for path in (ROOT / "docs" / "adr").glob("*.md")}
    for no, shown in _rows(page).items():
        tests, pages = _TEST.findall(shown), _DECISION.findall(shown)
        if not tests and not pages and shown not in NOT_YET:
            yield f"{no} names no test and no decision"
        yield from (f"{no}: there is no {file}::{test}" for file, test in tests if test not in functions.get(file, ()))
        yield from (f"{no}: there is no {decision}" for decision in pages if decision not in decisions)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_row_is_shown_by_a_test_or_a_decision_that_exists(page: Path) -> None:
    assert list(_wrong(page.read_text())) == []


@pytest.mark.parametrize(
    ("cell", "wrong"),
    [
        ("", ["T1 names no test and no decision"]),
        ("derived anew", ["T1 names no test and no decision"]),
        ("not served yet", []),
        ("`test_meta_citations.py::TestNothing`", ["T1: there is no test_meta_citations.py::TestNothing"]),
        ("`test_scenario_default.py::test_nothing`", ["T1: there is no test_scenario_default.py::test_nothing"]),
        ("`test_nowhere.py::test_nothing`", ["T1: there is no test_nowhere.py::test_nothing"]),
        ("[ADR 1](../adr/0099-none.md)", ["T1: there is no 0099-none.md"]),
        ("`test_meta_requirement_rows.py::test_the_check_finds_what_is_missing`", []),
    ],
    ids=[
        "empty",
        "words only",
        "not served",
        "no such class",
        "no such test",
        "no such file",
        "no such decision",
        "a test",
    ],
)
def test_the_check_finds_what_is_missing(cell: str, wrong: list[str]) -> None:
    """A check that accepts everything would be worth nothing."""
    assert list(_wrong(f"| T1 | a requirement | how | {cell} |")) == wrong
