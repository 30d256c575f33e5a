"""Reads form-encoded requests: `ec2` (flat lists, capitalized names) and `query` (lists with `.member.`)."""

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from botocore.model import Shape

from freehold_sim.aws.models import member, members
from freehold_sim.aws.protocols.invalid import Invalid, Wrong
from freehold_sim.aws.protocols.text import to_scalar

Tree = dict[str, Any]
"""Parameter names split at their dots: a node has children, a leaf is text."""

_COMMON = ("Action", "Version")


def form(body: bytes, query: Mapping[str, str]) -> dict[str, str]:
    """Return the form fields of a request, from its body and its query string."""
    return {**query, **dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))}


def read(fields: Mapping[str, str], shape: Shape | None, *, ec2: bool) -> dict[str, Any]:
    """Return the parameters of a request; raises Invalid for a name that the shape lacks, or a wrong type."""
    tree: Tree = {}
    for name, text in fields.items():
        if name not in _COMMON:
            _plant(tree, name, text)
    if shape is None:
        if tree:
            raise Invalid(Wrong.UNKNOWN, next(iter(tree)))
        return {}
    found: dict[str, Any] = _structure(tree, shape, "", ec2)
    return found


def _plant(tree: Tree, name: str, text: str) -> None:
    *above, last = name.split(".")
    node = tree
    for part in above:
        node = node.setdefault(part, {})
        if not isinstance(node, dict):
            raise Invalid(Wrong.TYPE, name, "has both a value and members")
    if last in node:
        raise Invalid(Wrong.TYPE, name, "is given twice")
    node[last] = text


def _value(node: Any, shape: Shape, path: str, ec2: bool, flat: bool) -> Any:
    kind = shape.type_name
    if kind == "structure":
        return _structure(_children(node, path), shape, path, ec2)
    if kind == "list":
        return _list(node, shape, path, ec2, flat)
    if kind == "map":
        return _map(_children(node, path), shape, path, ec2)
    if isinstance(node, dict):
        raise Invalid(Wrong.TYPE, path, "has no members")
    return to_scalar(kind, node, path)


def _children(node: Any, path: str) -> Tree:
    if not isinstance(node, dict):
        raise Invalid(Wrong.TYPE, path, "needs members")
    return node


def _structure(tree: Tree, shape: Shape, path: str, ec2: bool) -> dict[str, Any]:
    names, found = _names(shape, ec2), {}
    for given, node in tree.items():
        if given not in names:
            raise Invalid(Wrong.UNKNOWN, f"{path}{given}")
        name, inner, flat = names[given]
        found[name] = _value(node, inner, f"{path}{given}.", ec2, flat)
    return found


def _list(node: Any, shape: Shape, path: str, ec2: bool, flat: bool) -> list[Any]:
    if node == "":
        return []  # botocore and the CLI send an empty list as an empty value
    rows = _children(node, path)
    if not flat:
        inner_name = member(shape).serialization.get("name", "member")
        unknown = rows.keys() - {inner_name}
        if unknown:
            raise Invalid(Wrong.UNKNOWN, f"{path}{min(unknown)}")
        path, rows = f"{path}{inner_name}.", _children(rows.get(inner_name, {}), path)
    if strange := [key for key in rows if not key.isdigit() or key == "0"]:
        raise Invalid(Wrong.UNKNOWN, f"{path}{strange[0]}")
    return [_value(rows[key], member(shape), f"{path}{key}.", ec2, ec2) for key in sorted(rows, key=int)]


def _map(tree: Tree, shape: Shape, path: str, ec2: bool) -> dict[str, Any]:
    entries = _children(tree.get("entry", tree), path)
    found = {}
    for number, entry in entries.items():
        pair = _children(entry, f"{path}{number}.")
        if set(pair) != {"key", "value"}:
            raise Invalid(Wrong.TYPE, f"{path}{number}.", "needs a key and a value")
        found[str(pair["key"])] = _value(pair["value"], shape.value, f"{path}{number}.value.", ec2, ec2)
    return found


@cache
def _names(shape: Shape, ec2: bool) -> dict[str, tuple[str, Shape, bool]]:
    """Return for each name on the wire the member's name, its shape, and whether it is a flat list."""
    found = {}
    for name, inner in members(shape).items():
        wire = inner.serialization.get("queryName")
        if not wire:
            wire = inner.serialization.get("name", name)
            wire = wire[0].upper() + wire[1:] if ec2 else wire
        flat = ec2 or bool(inner.serialization.get("flattened"))
        if not ec2 and flat and inner.type_name == "list":
            wire = member(inner).serialization.get("name", wire)
        found[wire] = (name, inner, flat)
    return found
