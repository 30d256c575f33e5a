"""Templates of ``-o jsonpath=``, as in kubectl: text, paths, quoted text, and range to end.

Source: https://kubernetes.io/docs/reference/kubectl/jsonpath/. Paths are those of :mod:`freehold_apiserver.jsonpath`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from freehold.cli.terminal import escaped
from freehold_apiserver.jsonpath import compile_path

Render = Callable[[Any], str]

_QUOTED = r"""\"(?:\\.|[^"\\])*\"|'(?:\\.|[^'\\])*'"""
_PART = re.compile(rf"""\{{\s*(?P<block>(?:[^{{}}"']|{_QUOTED})*?)\s*\}}|(?P<text>[^{{]+)""")
_ESCAPES = {"n": "\n", "t": "\t"}


def compile_template(template: str) -> Render:
    """What renders an object. Raises ValueError with what cannot be read."""
    if not template.strip():
        raise ValueError("the template is empty: write -o jsonpath='{.metadata.name}'")
    whole = template if "{" in template else f"{{{template if template[0] in '.[$@' else f'.{template}'}}}"
    render, rest = _sequence(_parts(whole), nested=False)
    assert not list(rest)
    return render


def _parts(template: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(template):
        found = _PART.match(template, position)
        if found is None:
            raise ValueError(f"there is no closing brace for {template[position:]!r}")
        yield found
        position = found.end()


def _sequence(parts: Iterator[re.Match[str]], *, nested: bool) -> tuple[Render, Iterator[re.Match[str]]]:
    """Up to the ``{end}`` of a range, or the end of the template."""
    pieces: list[Render] = []
    for part in parts:
        block = part["block"]
        if block is None:
            pieces.append(_constant(part["text"]))
        elif block == "end":
            if not nested:
                raise ValueError("there is an {end} without a {range}")
            return _joined(pieces), parts
        elif block == "range" or block.startswith("range "):
            body, parts = _sequence(parts, nested=True)
            pieces.append(_repeated(_path(block.removeprefix("range").strip()), body))
        elif block[:1] in ("'", '"'):
            pieces.append(_constant(_unquoted(block)))
        else:
            pieces.append(_values(_path(block)))
    if nested:
        raise ValueError("a {range} has no {end}")
    return _joined(pieces), parts


def _path(text: str) -> Callable[[Any], list[Any]]:
    if text[:1] not in (".", "[", "$", "@"):
        raise ValueError(f"{{{text}}} is no path; it begins with a dot, as in {{.metadata.name}}")
    return compile_path(text.removeprefix("@") or "$")


def _constant(text: str) -> Render:
    return lambda obj: text


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])


def _joined(pieces: Iterable[Render]) -> Render:
    return lambda obj: "".join(piece(obj) for piece in pieces)


def _repeated(path: Callable[[Any], list[Any]], body: Render) -> Render:
    return lambda obj: "".join(body(each) for each in path(obj))


def _values(path: Callable[[Any], list[Any]]) -> Render:
    return lambda obj: " ".join(_text(each) for each in path(obj))


def _text(value: Any) -> str:
    shown = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), sort_keys=True)
    return "\n".join(map(escaped, shown.split("\n")))
