"""The JSONPath of printer columns: fields, indexes, ``*`` and equality filters.

Source: https://kubernetes.io/docs/reference/kubectl/jsonpath/ (the API server allows only simple paths in columns).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Find = Callable[[Any], list[Any]]
_Step = Callable[[Any], Iterable[Any]]

_TOKEN = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\\])+)
      | \[(?P<index>-?\d+)\]
      | (?P<all>\[\*\])
      | \[(?P<quote>['"])(?P<key>.*?)(?P=quote)\]
      | \[\?\(\s*@(?P<inner>(?:\.(?:\\.|[^.\[\\=!<>\s])+)+)
        \s*(?P<op>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\]""",
    re.VERBOSE,
)


def compile_path(path: str) -> Find:
    """A function that finds every value at ``path``. Raises ValueError on a path outside the subset."""
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[_Step] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"cannot read JSONPath {path!r} at {text[position:]!r}")
        steps.append(_step(found))
        position = found.end()

    def find(obj: Any) -> list[Any]:
        values = [obj]
        for step in steps:
            values = [below for value in values for below in step(value)]
        return values

    return find


def _step(found: re.Match[str]) -> _Step:
    if found["field"] is not None:
        name = re.sub(r"\\(.)", r"\1", found["field"])
        return _children if name == "*" else _field(name)
    if found["key"] is not None:
        return _field(found["key"])
    if found["index"] is not None:
        index = int(found["index"])
        return lambda value: [value[index]] if isinstance(value, list) and -len(value) <= index < len(value) else []
    if found["all"] is not None:
        return _children
    inner, wanted, equal = compile_path(found["inner"]), found["value"].strip("\"'"), found["op"] == "=="
    return lambda value: (each for each in _children(value) if (_text(inner(each)) == wanted) is equal)


def _field(name: str) -> _Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _text(values: list[Any]) -> str:
    if not values:
        return ""
    first = values[0]
    return str(first).lower() if isinstance(first, bool) else str(first)
