"""Careless edits of safety lines: those of ``rows.txt``, found in today's source by parsing it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROWS = Path(__file__).with_name("rows.txt")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Moved(Exception):
    """A row no longer fits the source: find what the line has become, and correct or remove the row."""


@dataclass(frozen=True)
class Mutant:
    """In ``file`` (below ``src/freehold``), within ``function``, the text ``old`` becomes ``new``.

    ``function`` is a function, ``Class.function``, a class, or a name that the module assigns. ``old`` occurs in it
    exactly once, unless ``nth`` (from 1) names which one is meant. ``why``: what goes wrong without the line.
    """

    file: str
    function: str
    old: str
    new: str
    why: str
    nth: int = 0

    def __str__(self) -> str:
        place = f"{self.file} {self.function}{f' #{self.nth}' if self.nth else ''}"
        return f"{place}: {self.why or f'{self.old} => {self.new}'}"


@dataclass(frozen=True)
class Edit:
    """A mutant in one source: the changed text, and the lines by which tests are chosen."""

    text: str
    lines: frozenset[int]


def read(path: Path = ROWS) -> list[Mutant]:
    """Parse a list of edits: ``== FILE``, then for each edit ``FUNCTION: WHY``, lines of the old and the new text.

    The lines of the old text begin with ``- ``, those of the new one with ``+ ``. ``FUNCTION #2`` means the second
    place in the function that has the old text.
    """
    found: list[Mutant] = []
    file, texts, head = "", {"-": list[str](), "+": list[str]()}, None

    def add() -> None:
        if head:
            found.append(
                Mutant(file, head[1], "\n".join(texts["-"]), "\n".join(texts["+"]), head[3], int(head[2] or 0))
            )

    for line in path.read_text().splitlines():
        if line[:2] in ("- ", "+ "):
            texts[line[0]].append(line[2:])
            continue
        add()
        texts, head = {"-": [], "+": []}, None
        if line.startswith("== "):
            file = line[3:]
        elif line and not line.startswith("#"):
            head = re.fullmatch(r"([\w.]+)(?: #(\d+))?: (.+)", line)
            if head is None:
                raise ValueError(f"{path.name}: neither a file, nor a function and a reason: {line!r}")
    add()
    return found


def edit(mutant: Mutant, package: Path) -> Edit:
    """Apply ``mutant`` to the file in ``package``, in memory. Raises Moved."""
    path = package / mutant.file
    if not path.is_file():
        raise Moved(f"{mutant}: there is no such file")
    source = path.read_text()
    tree = _parsed(source)
    at = _position(mutant, source, *_extent(mutant, tree, source))
    changed = source[:at] + mutant.new + source[at + len(mutant.old) :]
    try:
        after = ast.parse(changed)
    except SyntaxError as error:
        raise Moved(f"{mutant}: the changed source does not parse: {error}") from error
    if ast.dump(after) == _dumped(source):
        raise Moved(f"{mutant}: the edit changes nothing")
    first = source.count("\n", 0, at + len(mutant.old) - len(mutant.old.lstrip())) + 1
    return Edit(changed, reached_by(tree, range(first, first + mutant.old.strip().count("\n") + 1)))


@functools.lru_cache(maxsize=8)
def _parsed(source: str) -> ast.Module:
    """Parse a source once for all rows of its file, which follow each other."""
    return ast.parse(source)


@functools.lru_cache(maxsize=8)
def _dumped(source: str) -> str:
    return ast.dump(_parsed(source))


def _position(mutant: Mutant, source: str, start: int, end: int) -> int:
    found = [each.start() + start for each in re.finditer(f"(?={re.escape(mutant.old)})", source[start:end])]
    if len(found) < max(mutant.nth, 1):
        raise Moved(f"{mutant}: the function no longer has {mutant.old!r}")
    if len(found) > 1 and not mutant.nth:
        raise Moved(f"{mutant}: {mutant.old!r} occurs {len(found)} times; say which with a number")
    return found[max(mutant.nth, 1) - 1]


def _extent(mutant: Mutant, tree: ast.Module, source: str) -> tuple[int, int]:
    """Return where the named function begins and ends in the source."""
    scope: ast.Module | Definition = tree
    found: ast.stmt | None = None
    for name in mutant.function.split("."):
        found = next((each for each in _within(scope) if name in _names(each)), None)
        if found is None:
            raise Moved(f"{mutant}: there is no {mutant.function} in {mutant.file}")
        if isinstance(found, Definition):
            scope = found
    assert found is not None and found.end_lineno is not None
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: found.lineno - 1])), sum(map(len, lines[: found.end_lineno]))


def _within(scope: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a scope, and those inside its ``if`` and ``try``."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.stmt):
            yield child
            if not isinstance(child, Definition):
                yield from _within(child)


def _names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, Definition):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def reached_by(tree: ast.Module, edited: range) -> frozenset[int]:
    """Return the lines of the edited statements; for code that runs at import, all lines of the file's functions."""
    functions = _functions(tree)
    around = [each for each in functions if each.body[0].lineno <= edited.start <= _end(each)]
    if not around:
        return frozenset(line for each in functions for line in range(each.body[0].lineno, _end(each) + 1))
    statements = [each for each in ast.walk(around[-1]) if isinstance(each, ast.stmt) and each is not around[-1]]
    found: set[int] = set()
    for line in edited:
        if covering := [each for each in statements if each.lineno <= line <= _end(each)]:
            innermost = min(covering, key=lambda each: _end(each) - each.lineno)
            found.update(range(innermost.lineno, _head(innermost) + 1))
    return frozenset(found)


@functools.lru_cache(maxsize=8)
def _functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Walk a tree once for all its edits, none of which adds a function or takes one away."""
    return [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _head(statement: ast.stmt) -> int:
    """Return the last line before the body of a compound statement; of a simple one its last line."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return _end(statement)
    first = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
    return max(statement.lineno, first - 1)
