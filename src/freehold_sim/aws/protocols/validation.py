"""Checks parameters against an input shape: required members, types, lengths, ranges, enumerations."""

from collections.abc import Iterator, Mapping
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


def validate(params: Any, shape: Shape | None) -> None:
    """Raise Invalid for the first parameter that contradicts the shape."""
    for invalid in problems(params, shape):
        raise invalid


def problems(params: Any, shape: Shape | None) -> Iterator[Invalid]:
    """Yield everything that contradicts the shape."""
    if shape is not None:
        yield from _check(params, shape, "")


def _has_type(value: Any, kind: str) -> bool:
    wanted = _TYPES[kind]
    return isinstance(value, wanted) and not (isinstance(value, bool) and bool not in wanted)


def _check(value: Any, shape: Shape, path: str) -> Iterator[Invalid]:
    kind = shape.type_name
    if not _has_type(value, kind):
        yield Invalid(Wrong.TYPE, path, f"must be of type {kind}")
    elif kind == "structure":
        yield from _check_structure(value, shape, path)
    elif kind == "list":
        yield from _check_size(len(value), shape, path)
        for number, each in enumerate(value, 1):
            yield from _check(each, member(shape), f"{path}.{number}")
    elif kind == "map":
        yield from _check_size(len(value), shape, path)
        for key, each in value.items():
            yield from _check(key, shape.key, f"{path}.key")
            yield from _check(each, shape.value, f"{path}.{key}")
    else:
        yield from _check_scalar(value, shape, path)


def _check_structure(value: Mapping[str, Any], shape: Shape, path: str) -> Iterator[Invalid]:
    known, dot = members(shape), "." if path else ""
    for name in shape.required_members:
        if name not in value:
            yield Invalid(Wrong.MISSING, f"{path}{dot}{name}")
    for name, each in value.items():
        if name not in known:
            yield Invalid(Wrong.UNKNOWN, f"{path}{dot}{name}")
            continue
        yield from _check(each, known[name], f"{path}{dot}{name}")
        most = most_characters(shape, name)
        if most is not None and isinstance(each, str) and len(each) > most:
            yield Invalid(Wrong.LENGTH, f"{path}{dot}{name}", f"has length {len(each)}, the most is {most}")


def _check_scalar(value: Any, shape: Shape, path: str) -> Iterator[Invalid]:
    limits = shape.metadata
    if isinstance(value, str | bytes):
        yield from _check_size(len(value), shape, path)
        if limits.get("enum") and value not in limits["enum"]:
            yield Invalid(Wrong.VALUE, path, f"{value!r} is not one of {', '.join(limits['enum'])}")
        return
    if "min" in limits and value < limits["min"]:
        yield Invalid(Wrong.VALUE, path, f"{value} is less than {limits['min']}")
    if "max" in limits and value > limits["max"]:
        yield Invalid(Wrong.VALUE, path, f"{value} is more than {limits['max']}")


def _check_size(size: int, shape: Shape, path: str) -> Iterator[Invalid]:
    limits = shape.metadata
    if size < limits.get("min", 0):
        yield Invalid(Wrong.LENGTH, path, f"has length {size}, the least is {limits['min']}")
    if "max" in limits and size > limits["max"]:
        yield Invalid(Wrong.LENGTH, path, f"has length {size}, the most is {limits['max']}")
