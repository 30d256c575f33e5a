"""Checks parameters against an input shape: required members, types, lengths, ranges, enumerations."""

from collections.abc import Mapping
from typing import Any

from botocore.model import Shape

from freehold_sim.aws.models import member, members
from freehold_sim.aws.protocols.invalid import Invalid, Wrong

_TYPES: Mapping[str, tuple[type, ...]] = {
    "structure": (dict,), "map": (dict,), "list": (list,), "string": (str,), "character": (str,),
    "integer": (int,), "long": (int,), "float": (int, float), "double": (int, float), "boolean": (bool,),
    "timestamp": (int, float), "blob": (bytes,),
}  # fmt: skip


def validate(params: Any, shape: Shape | None) -> None:
    """Raise Invalid for the first parameter that contradicts the shape."""
    if shape is not None:
        _check(params, shape, "")


def _has_type(value: Any, kind: str) -> bool:
    wanted = _TYPES[kind]
    return isinstance(value, wanted) and not (isinstance(value, bool) and bool not in wanted)


def _check(value: Any, shape: Shape, path: str) -> None:
    kind = shape.type_name
    if not _has_type(value, kind):
        raise Invalid(Wrong.TYPE, path, f"must be of type {kind}")
    if kind == "structure":
        _check_structure(value, shape, path)
    elif kind == "list":
        _check_size(len(value), shape, path)
        for number, each in enumerate(value, 1):
            _check(each, member(shape), f"{path}.{number}")
    elif kind == "map":
        _check_size(len(value), shape, path)
        for key, each in value.items():
            _check(key, shape.key, f"{path}.key")
            _check(each, shape.value, f"{path}.{key}")
    else:
        _check_scalar(value, shape, path)


def _check_structure(value: Mapping[str, Any], shape: Shape, path: str) -> None:
    known, dot = members(shape), "." if path else ""
    for name in shape.required_members:
        if name not in value:
            raise Invalid(Wrong.MISSING, f"{path}{dot}{name}")
    for name, each in value.items():
        if name not in known:
            raise Invalid(Wrong.UNKNOWN, f"{path}{dot}{name}")
        _check(each, known[name], f"{path}{dot}{name}")


def _check_scalar(value: Any, shape: Shape, path: str) -> None:
    limits = shape.metadata
    if isinstance(value, str | bytes):
        _check_size(len(value), shape, path)
        if limits.get("enum") and value not in limits["enum"]:
            raise Invalid(Wrong.VALUE, path, f"{value!r} is not one of {', '.join(limits['enum'])}")
        return
    if "min" in limits and value < limits["min"]:
        raise Invalid(Wrong.VALUE, path, f"{value} is less than {limits['min']}")
    if "max" in limits and value > limits["max"]:
        raise Invalid(Wrong.VALUE, path, f"{value} is more than {limits['max']}")


def _check_size(size: int, shape: Shape, path: str) -> None:
    limits = shape.metadata
    if size < limits.get("min", 0):
        raise Invalid(Wrong.LENGTH, path, f"has length {size}, the least is {limits['min']}")
    if "max" in limits and size > limits["max"]:
        raise Invalid(Wrong.LENGTH, path, f"has length {size}, the most is {limits['max']}")
