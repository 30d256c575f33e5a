"""Edits of every line of the files that decide what is ours and what is deleted, made from their syntax trees.

mutmut and cosmic-ray were tried. mutmut also edits each word of each message and each argument, without a choice of
operators: 863 edits of three files here, of which a third survive for no loss; it leaves properties out, and numbers
its edits, so that no list of equivalents lasts. cosmic-ray edits the tree in place and imports everything again for
each edit, by one list of tests for all.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mutants.rows import Edit, Mutant, reached_by, read

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
SAFETY = (
    "collection/policy.py",
    "collection/rules.py",
    "engine/deletion_order.py",
    "engine/journal.py",
    "engine/ownership.py",
    "engine/phases/delete.py",
    "engine/phases/final_check.py",
    "engine/proofs.py",
    "tags/policy/ledger.py",
)

NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip
BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
(NOTHING,) = ast.parse("pass").body
NO_CODE = ("annotation", "returns", "decorator_list", "type_params")

Key = tuple[str, str, str, str, int]


def key(mutant: Mutant) -> Key:
    """Return what names an edit for as long as its code says the same, wherever the line or the file moves."""
    return Path(mutant.file).stem, mutant.function, mutant.old, mutant.new, mutant.nth


def equivalents(path: Path = EQUIVALENT) -> dict[Key, str]:
    """Read the edits that no test can tell from the source, each with the reason."""
    return {key(each): each.why for each in read(path)}


def edits(file: str, package: Path) -> Iterator[tuple[Mutant, Edit]]:
    """Yield every edit of one file. The changed text has no comments, and other line numbers."""
    for mutant, changed, lines in made(file, package):
        yield mutant, Edit(ast.unparse(ast.fix_missing_locations(changed)), lines)


def made(file: str, package: Path) -> Iterator[tuple[Mutant, ast.Module, frozenset[int]]]:
    """Yield every edit of one file, its tree (changed until the next one is asked for), and the edited lines."""
    tree = ast.parse((package / file).read_text())
    times: Counter[tuple[str, str, str]] = Counter()
    for name, parent, field, place, node in _places(tree, ""):
        instead = list(_instead(node, field))
        last = node.lineno if isinstance(node, ast.stmt) else node.end_lineno or node.lineno
        lines = reached_by(tree, range(node.lineno, last + 1)) if instead else frozenset[int]()
        for new in instead:
            text = name, ast.unparse(node), ast.unparse(new)
            times[text] += 1
            _put(parent, field, place, new)
            yield Mutant(file, *text, "", times[text] if times[text] > 1 else 0), tree, lines
            _put(parent, field, place, node)


def _put(parent: ast.AST, field: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[place] = node


def _places(
    parent: ast.AST, name: str, runs: bool = False
) -> Iterator[tuple[str, ast.AST, str, int | None, ast.stmt | ast.expr]]:
    """Yield the statements and expressions within functions: the function, and where the node is in its parent.

    What an f-string shows is left out, and the message of a ``raise``: words are no safety line.
    """
    for field, value in ast.iter_fields(parent):
        if field in NO_CODE:
            continue
        for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _places(node, f"{name}.{node.name}".lstrip("."), not isinstance(node, ast.ClassDef))
            elif isinstance(node, ast.AST) and not _is_no_decision(node):
                if runs and isinstance(node, ast.stmt | ast.expr):
                    yield name, parent, field, place, node
                if not isinstance(node, ast.Raise):
                    yield from _places(node, name, runs)


def _is_no_decision(node: ast.AST) -> bool:
    """Whether a node holds words, defaults, or the flag of a ``zip`` that was never of two lengths."""
    return isinstance(node, ast.JoinedStr | ast.arguments) or (isinstance(node, ast.keyword) and node.arg == "strict")


def _instead(node: ast.AST, field: str) -> Iterator[ast.AST]:
    """Yield what a careless author may have written instead of ``node``."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=others):
            for table in (NEGATED, BOUNDARY):
                if type(op) in table:
                    yield ast.Compare(left, [table[type(op)]()], others)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for place in range(len(values)):
                rest = [*values[:place], *values[place + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.BinOp(left=left, op=ast.Sub() | ast.BitAnd()):
            yield left
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from (left, right)
        case ast.Constant(value=bool() as truth):
            yield ast.Constant(not truth)
        case ast.Constant(value=int() | float() as number):
            yield ast.Constant(number + 1)
        case ast.Return(value=value) if value is not None and ast.unparse(value) != "None":
            yield ast.Return(ast.Constant(None))
            if _is_condition(value):
                yield ast.Return(ast.Constant(True))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Continue() | ast.Break() | ast.AugAssign():
            yield NOTHING
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield NOTHING
    if field in ("test", "ifs", "guard") and isinstance(node, ast.expr) and not _is_condition(node):
        yield ast.UnaryOp(ast.Not(), node)


def _is_condition(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )
