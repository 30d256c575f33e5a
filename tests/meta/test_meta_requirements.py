"""Every import is pinned: an old environment would hide what a fresh checkout lacks."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


_IMPORT = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)


def _imported(folder: Path) -> Iterator[tuple[str, str]]:
    """Lines are read, not trees: to parse all takes two CPU-seconds. No line imports two modules (ruff: E401)."""
    for path in folder.rglob("*.py"):
        yield from ((module, str(path)) for module in _IMPORT.findall(path.read_text(encoding="utf-8")))


def _pinned(file: str) -> set[str]:
    return {_plain(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / file).read_text(), re.MULTILINE)}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize(
    ("folder", "requirements"),
    [
        ("src", ["requirements/runtime.txt"]),
        ("tests", ["requirements/dev.txt", "requirements/browser.txt"]),
        ("benchmarks", ["requirements/dev.txt"]),
    ],
)
def test_every_import_is_pinned(folder: str, requirements: list[str]) -> None:
    pinned, provided = set().union(*map(_pinned, requirements)), packages_distributions()
    missing = {
        f"{module} in {Path(path).relative_to(ROOT)}"
        for module, path in _imported(ROOT / folder)
        if module not in sys.stdlib_module_names and module in provided
        if not {_plain(name) for name in provided[module]} & (pinned | {"freehold"})
    }
    assert missing == set()
