"""One careless edit of one safety line, found in today's source by parsing it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Moved(Exception):
    """A row no longer fits the source: find what the line has become, and correct or remove the row."""


@dataclass(frozen=True)
class Mutant:
    """In ``file`` (below ``src/freehold``), within ``function``, the text ``old`` becomes ``new``.

    ``function`` is a function, ``Class.function``, a class, or a name that the module assigns. ``old`` occurs in it
    exactly once, unless ``nth`` (from 1) names which one is meant. ``why``: what goes wrong without the line.
    ``equivalent`` is the reason why no test can detect the edit; the row is listed so that it is not tried again.
    ``killed_by`` names a quick test of the sample in ``make test``.
    """

    file: str
    function: str
    old: str
    new: str
    why: str
    nth: int = 0
    equivalent: str = ""
    killed_by: str = ""

    def __str__(self) -> str:
        return f"{self.file} {self.function}: {self.why}"


@dataclass(frozen=True)
class Edit:
    """A mutant in one source: the changed text, and the lines by which tests are chosen."""

    text: str
    lines: frozenset[int]


def edit(mutant: Mutant, package: Path) -> Edit:
    """Apply ``mutant`` to the file in ``package``, in memory. Raises Moved."""
    path = package / mutant.file
    if not path.is_file():
        raise Moved(f"{mutant}: there is no such file")
    source = path.read_text()
    tree = _parsed(source)
    start, end = _extent(mutant, tree, source)
    at = _position(mutant, source, start, end)
    changed = source[:at] + mutant.new + source[at + len(mutant.old) :]
    try:
        after = ast.parse(changed)
    except SyntaxError as error:
        raise Moved(f"{mutant}: the changed source does not parse: {error}") from error
    if len(after.body) == len(tree.body) and _top(after, source, at) == _top(tree, source, at):
        raise Moved(f"{mutant}: the edit changes nothing")
    return Edit(changed, frozenset(_reached_by(mutant, tree, source, at)))


@functools.lru_cache(maxsize=8)
def _parsed(source: str) -> ast.Module:
    """Rows of one file follow each other."""
    return ast.parse(source)


def _top(tree: ast.Module, source: str, at: int) -> str:
    """The code of the module's statement in which an edit begins, without comments; the others are unchanged."""
    line = source.count("\n", 0, at) + 1
    return next((ast.dump(each) for each in reversed(tree.body) if _begin(each) <= line), "")


def _begin(statement: ast.stmt) -> int:
    decorators = statement.decorator_list if isinstance(statement, Definition) else []
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _position(mutant: Mutant, source: str, start: int, end: int) -> int:
    found = []
    at = source.find(mutant.old, start, end)
    while at >= 0:
        found.append(at)
        at = source.find(mutant.old, at + 1, end)
    if len(found) < max(mutant.nth, 1):
        raise Moved(f"{mutant}: the function no longer has {mutant.old!r}")
    if len(found) > 1 and not mutant.nth:
        raise Moved(f"{mutant}: {mutant.old!r} occurs {len(found)} times; say which with nth")
    return found[max(mutant.nth, 1) - 1]


def _extent(mutant: Mutant, tree: ast.Module, source: str) -> tuple[int, int]:
    """Where the named function begins and ends in the source."""
    scope: ast.Module | Definition = tree
    found: ast.stmt | None = None
    for name in mutant.function.split("."):
        found = next((each for each in _within(scope) if name in _names(each)), None)
        if found is None:
            raise Moved(f"{mutant}: there is no {mutant.function} in {mutant.file}")
        if isinstance(found, Definition):
            scope = found
    assert found is not None
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    assert found.end_lineno is not None
    return lines[found.lineno - 1], lines[found.end_lineno]


def _within(scope: ast.AST) -> Iterator[ast.stmt]:
    """Statements of a scope, and those inside its ``if`` and ``try``."""
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


def _reached_by(mutant: Mutant, tree: ast.Module, source: str, at: int) -> Iterator[int]:
    """The lines of the edited statements; for code that runs at import, all lines of the file's functions."""
    text = mutant.old.strip()
    first = source.count("\n", 0, at + mutant.old.index(text)) + 1
    edited = range(first, first + text.count("\n") + 1)
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    around = [each for each in functions if each.body[0].lineno <= edited.start and edited.start <= _end(each)]
    if not around:
        for each in functions:
            yield from range(each.body[0].lineno, _end(each) + 1)
        return
    statements = [each for each in ast.walk(around[-1]) if isinstance(each, ast.stmt) and each is not around[-1]]
    for line in edited:
        covering = [each for each in statements if each.lineno <= line <= _end(each)]
        if covering:
            innermost = min(covering, key=lambda each: _end(each) - each.lineno)
            yield from range(innermost.lineno, _head(innermost) + 1)


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _head(statement: ast.stmt) -> int:
    """The last line before the body of a compound statement; of a simple one its last line."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return _end(statement)
    first = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
    return max(statement.lineno, first - 1)
