"""Checks parameters against an input shape: required members, types, lengths, ranges, enumerations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from botocore.model import Shape

from freehold_sim.aws.models import member, members
from freehold_sim.aws.protocols.invalid import Invalid, Wrong
from freehold_sim.aws.protocols.lengths import most_characters

_TYPES: Mapping[str, tuple[type, ...]] = {
    "structure": (dict,), "map": (dict,), "list": (list,), "string": (str,), "character": (str,),
    "integer": (int,), "long": (int,), "float": (int, float), "double": (int, float), "boolean": (bool,),
    "timestamp": (int, float), "blob": (bytes,),
}  # fmt: skip

_Path = tuple[Any, ...]
"""The path of what contains a value, and its name or number there: few paths are ever written out."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """Hold what a shape demands: of `members` their shapes, and the most characters where only AWS's pages tell."""

    kind: str
    types: tuple[type, ...]
    least: float | None
    most: float | None
    enum: Sequence[str]
    required: Sequence[str]
    members: Mapping[str, tuple[Shape, int | None]]


@cache
def _limits(shape: Shape) -> _Limits:
    told: Mapping[str, Any] = shape.metadata
    known = members(shape) if shape.type_name == "structure" else {}
    return _Limits(
        shape.type_name,
        _TYPES[shape.type_name],
        told.get("min"),
        told.get("max"),
        told.get("enum") or (),
        shape.required_members if known else (),
        {name: (inner, most_characters(shape, name)) for name, inner in known.items()},
    )


def validate(params: Any, shape: Shape | None) -> None:
    """Raise Invalid for the first parameter that contradicts the shape."""
    for invalid in problems(params, shape):
        raise invalid


def problems(params: Any, shape: Shape | None) -> list[Invalid]:
    """Return everything that contradicts the shape. A member that is None is not sent."""
    found: list[Invalid] = []
    if shape is not None:
        _check(params, shape, (), found)
    return found


def _has_type(value: Any, limits: _Limits) -> bool:
    return isinstance(value, limits.types) and not (isinstance(value, bool) and limits.kind != "boolean")


def _check(value: Any, shape: Shape, path: _Path, found: list[Invalid]) -> None:
    limits = _limits(shape)
    kind = limits.kind
    if not _has_type(value, limits):
        found.append(Invalid(Wrong.TYPE, _written(path), f"must be of type {kind}"))
    elif kind == "structure":
        _check_structure(value, limits, path, found)
    elif kind == "list":
        _check_size(len(value), limits, path, found)
        inner = member(shape)
        for number, each in enumerate(value, 1):
            _check(each, inner, (path, number), found)
    elif kind == "map":
        _check_size(len(value), limits, path, found)
        for key, each in value.items():
            _check(key, shape.key, (path, "key"), found)
            _check(each, shape.value, (path, key), found)
    else:
        _check_scalar(value, limits, path, found)


def _check_structure(value: Mapping[str, Any], limits: _Limits, path: _Path, found: list[Invalid]) -> None:
    for name in limits.required:
        if value.get(name) is None:
            found.append(Invalid(Wrong.MISSING, _written((path, name))))
    for name, each in value.items():
        if each is None:
            continue
        if name not in limits.members:
            found.append(Invalid(Wrong.UNKNOWN, _written((path, name))))
            continue
        inner, most = limits.members[name]
        _check(each, inner, (path, name), found)
        if most is not None and isinstance(each, str) and len(each) > most:
            detail = f"has length {len(each)}, the most is {most}"
            found.append(Invalid(Wrong.LENGTH, _written((path, name)), detail))


def _check_scalar(value: Any, limits: _Limits, path: _Path, found: list[Invalid]) -> None:
    if isinstance(value, str | bytes):
        _check_size(len(value), limits, path, found)
        if limits.enum and value not in limits.enum:
            found.append(Invalid(Wrong.VALUE, _written(path), f"{value!r} is not one of {', '.join(limits.enum)}"))
        return
    if limits.least is not None and value < limits.least:
        found.append(Invalid(Wrong.VALUE, _written(path), f"{value} is less than {limits.least}"))
    if limits.most is not None and value > limits.most:
        found.append(Invalid(Wrong.VALUE, _written(path), f"{value} is more than {limits.most}"))


def _check_size(size: int, limits: _Limits, path: _Path, found: list[Invalid]) -> None:
    if limits.least is not None and size < limits.least:
        found.append(Invalid(Wrong.LENGTH, _written(path), f"has length {size}, the least is {limits.least}"))
    if limits.most is not None and size > limits.most:
        found.append(Invalid(Wrong.LENGTH, _written(path), f"has length {size}, the most is {limits.most}"))


def _written(path: _Path) -> str:
    """`Filters.1.Values.2`."""
    if not path:
        return ""
    above, last = path
    return f"{_written(above)}.{last}" if above else str(last)
