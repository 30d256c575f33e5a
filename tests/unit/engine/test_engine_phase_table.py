"""The docstring of :mod:`freehold.engine.phases` says what each phase reads and writes, as the sources do."""

from __future__ import annotations

import ast
import dataclasses
import textwrap
from collections.abc import Iterator
from pathlib import Path

from freehold.engine import phases
from freehold.engine.context import PassContext
from freehold.engine.state import NodeState, ObjectState

_GIVEN = {"deps", "graph", "store", "state", "user_tags", "decisions", "journal", "outcomes", "notes"}
PASS = {field.name for field in dataclasses.fields(PassContext)} - _GIVEN
OBJECT = {field.name for field in dataclasses.fields(ObjectState)} - {"nodes"}
NODE = {field.name for field in dataclasses.fields(NodeState)}
CHANGES = {"add", "append", "clear", "discard", "pop", "setdefault", "update"}


def _name(node: ast.Attribute) -> str:
    """Return the field that an attribute is, by what it is an attribute of; empty for others."""
    owner = ast.unparse(node.value)
    if owner == "ctx":
        return node.attr if node.attr in PASS else ""
    if owner in ("ctx.state", "state"):
        return f"object.{node.attr}" if node.attr in OBJECT else ""
    of_node = owner.startswith("ctx.node(") or owner in ("node", "known")
    return f"node.{node.attr}" if of_node and node.attr in NODE else ""


def _is_written(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Return whether the field, or something in it, is assigned or changed by a method."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        above = parents[node]
        if not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.Attribute) and node.attr in CHANGES and isinstance(above, ast.Call):
            return True
        node = above
    return False


def _uses(source: str) -> tuple[set[str], set[str]]:
    """Return the fields that a source writes, and those that it only reads."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    named = [(name, node) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and (name := _name(node))]
    written = {name for name, node in named if _is_written(node, parents)}
    if "ctx.record(" in source or "ctx.journal = " in source:
        written.add("journal")
    return written, {name for name, _ in named} - written


def _table() -> Iterator[str]:
    assert phases.__file__ is not None
    for file in sorted(Path(phases.__file__).parent.glob("[a-z]*.py")):
        yield file.stem
        for verb, names in zip(("writes", "reads"), _uses(file.read_text()), strict=True):
            if names:
                line = f"{verb} {', '.join(sorted(names, key=lambda name: ('.' in name, name)))}"
                yield from textwrap.wrap(line, 116, initial_indent="    ", subsequent_indent="        ")


def test_the_table_of_phases_says_what_the_sources_do() -> None:
    assert phases.__doc__ is not None
    shown = textwrap.dedent(phases.__doc__.partition("::\n\n")[2]).strip().splitlines()
    assert shown == list(_table())
