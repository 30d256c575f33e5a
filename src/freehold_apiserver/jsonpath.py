"""JSONPath as kubectl and the printer columns of a CRD have it.

Fields, indexes and slices, unions, ``*``, ``..`` and filters that compare or ask for existence. Source:
https://kubernetes.io/docs/reference/kubectl/jsonpath/, and what kubectl 1.32 prints. Unlike there an index outside a
list finds nothing, which kubectl calls an error, and a key in brackets may have dots that are not escaped.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

Find = Callable[[Any], list[Any]]
_Step = Callable[[Any], Iterable[Any]]

_NAME = r"(?:\\.|[^.\[\\])+"
_QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_TOKEN = re.compile(
    rf"""\.\.(?P<deep>{_NAME})|\.(?P<field>{_NAME})|\[(?P<inside>(?:{_QUOTED}|[^\[\]"']|\[[^\[\]]*\])+)\]"""
)
_SLICE = re.compile(r"(?P<first>-?\d*)(?:(?P<colon>:)(?P<last>-?\d*)(?::(?P<step>\d*))?)?")
_UNION = re.compile(rf"\s*(?P<item>{_QUOTED}|[^,\s]+)\s*(?:,|$)")
_OPERAND = rf"{_QUOTED}|@[^\s=!<>&|]*|[^\s@=!<>&|]+"
_FILTER = re.compile(
    rf"\?\(\s*(?P<left>{_OPERAND})\s*(?:(?P<sign>==|!=|<=|>=|<|>)\s*(?P<right>{_OPERAND})\s*)?\)", re.DOTALL
)
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@lru_cache(maxsize=1024)  # a CRD is checked twice and served, and its columns are mostly those of the others
def compile_path(path: str) -> Find:
    """Compile a function that finds every value at ``path``. Raises ValueError on what is no path."""
    text = path.strip().removeprefix("{").removesuffix("}").strip().removeprefix("$")
    steps: list[_Step] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        step = _step(found) if found else None
        if found is None or step is None:
            raise ValueError(
                f"cannot read JSONPath {path!r} at {text[position:]!r}; a path has .field, ..field, [index], "
                '[first:end:step], [*], ["key"] and [?(@.field=="value")]'
            )
        steps.append(step)
        position = found.end()

    def find(obj: Any) -> list[Any]:
        values = [obj]
        for step in steps:
            values = [below for value in values for below in step(value)]
        return values

    return find


def _step(found: re.Match[str]) -> _Step | None:
    """None for what kubectl has no step for."""
    if found["deep"] is not None:
        return None if found["deep"] == "*" else _descent(_unescaped(found["deep"]))
    if found["field"] is not None:
        name = _unescaped(found["field"])
        return _children if name == "*" else _field(name)
    inside = found["inside"].strip()
    if inside == "*":
        return _children
    if inside.startswith("?"):
        return _filter(inside)
    return _union(inside)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _field(name: str) -> _Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _descent(name: str) -> _Step:
    """Find the fields of that name anywhere below, outermost first."""

    def find(value: Any) -> Iterator[Any]:
        yield from _field(name)(value)
        for child in _children(value):
            yield from find(child)

    return find


def _union(inside: str) -> _Step | None:
    """Indexes, slices and quoted keys, separated by commas."""
    steps: list[_Step] = []
    position = 0
    while position < len(inside):
        found = _UNION.match(inside, position)
        item = found["item"] if found else ""
        step = _key(item[1:-1]) if item[:1] in ("'", '"') else _part(item)
        if found is None or step is None:
            return None
        steps.append(step)
        position = found.end()
    return lambda value: (each for step in steps for each in step(value))


def _key(text: str) -> _Step:
    """Read what is quoted in brackets: a key, or the fields that lead to one."""
    whole, below = _field(_unescaped(text)), compile_path(f".{text}")
    return lambda value: whole(value) or below(value)


def _part(text: str) -> _Step | None:
    """Read an index or a slice of a list; None for what is neither."""
    found = _SLICE.fullmatch(text)
    if not text or found is None or "-" in (found["first"], found["last"]):
        return None
    if found["colon"] is None:
        index = int(found["first"])
        return lambda value: [value[index]] if isinstance(value, list) and -len(value) <= index < len(value) else []
    first, last, step = (int(found[name]) if found[name] else None for name in ("first", "last", "step"))
    return None if step == 0 else lambda value: value[first:last:step] if isinstance(value, list) else []


def _filter(inside: str) -> _Step | None:
    found = _FILTER.fullmatch(inside)
    if found is None:
        return None
    left = _operand(found["left"])
    if not found["sign"]:
        return lambda value: (each for each in _children(value) if left(each))
    compare, right = _SIGNS[found["sign"]], _operand(found["right"])
    return lambda value: (each for each in _children(value) if _holds(compare, left(each), right(each)))


def _operand(text: str) -> Find:
    """Read a path from the element, or a literal."""
    if text.startswith("@"):
        return compile_path(text[1:])
    literal = _unescaped(text[1:-1]) if text[:1] in ("'", '"') else text
    return lambda element: [literal]


def _holds(compare: Callable[[Any, Any], bool], left: list[Any], right: list[Any]) -> bool:
    """Numbers as numbers, everything else as text; what is not there is empty, and only equal or not."""
    if not (left and right) and compare not in (operator.eq, operator.ne):
        return False
    first, second = (each[0] if each else "" for each in (left, right))
    if isinstance(first, int | float) and not isinstance(first, bool):
        try:
            return compare(float(first), float(second))
        except (TypeError, ValueError):
            pass  # the other is no number
    return compare(_text(first), _text(second))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
