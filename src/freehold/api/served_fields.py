"""Lists of the fields of a kind that are acted on, the source of notes in ``plan``, a condition and a page of docs.

Data, and functions that find the fields in an object. Does not import pydantic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Serving(Enum):
    """The treatment of a field that somebody sets."""

    SERVED = "yes"
    """It is acted on."""
    IGNORED = "no"
    """It is accepted and kept, and not acted on."""
    REFUSED = "refused"
    """It stops every create, because without the field something else would be created than was asked for."""


@dataclass(frozen=True)
class ServedField:
    """A field, or all fields below it. ``sentence`` says why it is not acted on, or what a person may not expect."""

    path: str
    serving: Serving = Serving.SERVED
    sentence: str = ""


def serve_field(path: str, sentence: str = "") -> ServedField:
    """Declare a field that is acted on."""
    return ServedField(path, Serving.SERVED, sentence)


def ignore_field(path: str, sentence: str) -> ServedField:
    """Declare a field that is kept and not acted on."""
    return ServedField(path, Serving.IGNORED, sentence)


def refuse_field(path: str, sentence: str) -> ServedField:
    """Declare a field that stops every create."""
    return ServedField(path, Serving.REFUSED, sentence)


def find_covering(fields: Sequence[ServedField], path: str) -> ServedField | None:
    """Find the entry for a field: its own, or that of the nearest field above it."""
    above = [field for field in fields if path == field.path or path.startswith((f"{field.path}.", f"{field.path}["))]
    return max(above, key=lambda field: len(field.path), default=None)


def find_occurrences(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Find where a field is set, with its value: ``spec.network.subnets[0].tags`` for ``…subnets[*].tags``.

    Empty and false values count as not set.
    """
    return _find_below(value, tuple(path.replace("[*]", ".[*]").split(".")), "")


def _find_below(value: Any, segments: tuple[str, ...], at: str) -> Iterator[tuple[str, Any]]:
    if not segments:
        if value not in (None, False, "", [], {}):
            yield at, value
        return
    head, *rest = segments
    if head == "[*]":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _find_below(item, tuple(rest), f"{at}[{index}]")
    elif isinstance(value, Mapping) and head in value:
        yield from _find_below(value[head], tuple(rest), f"{at}.{head}" if at else head)
