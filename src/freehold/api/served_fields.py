"""Which fields of a kind are acted on: one list from which notes in ``plan``, a condition and a page of docs come.

Data only, and what finds the fields of the list in an object. Does not import pydantic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Serving(Enum):
    """What becomes of a field that somebody sets."""

    SERVED = "yes"
    """It is acted on."""
    IGNORED = "no"
    """It is accepted and kept, and not acted on."""
    REFUSED = "refused"
    """Nothing is created: without the field something else would come to be than was asked for."""


@dataclass(frozen=True)
class ServedField:
    """One field, or all fields below one. ``sentence``: why it is not acted on, or what a person may not expect."""

    path: str
    serving: Serving = Serving.SERVED
    sentence: str = ""


def covering(fields: Sequence[ServedField], path: str) -> ServedField | None:
    """The entry that speaks for a field: its own, or that of the nearest field above it."""
    above = [field for field in fields if path == field.path or path.startswith((f"{field.path}.", f"{field.path}["))]
    return max(above, key=lambda field: len(field.path), default=None)


def occurrences(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Where a field is set in an object, with its value: ``spec.network.subnets[0].tags`` for ``…subnets[*].tags``.

    What is empty or false says nothing, and is left out.
    """
    return _occurrences(value, tuple(path.replace("[*]", ".[*]").split(".")), "")


def _occurrences(value: Any, segments: tuple[str, ...], at: str) -> Iterator[tuple[str, Any]]:
    if not segments:
        if value not in (None, False, "", [], {}):
            yield at, value
        return
    head, *rest = segments
    if head == "[*]":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _occurrences(item, tuple(rest), f"{at}[{index}]")
    elif isinstance(value, Mapping) and head in value:
        yield from _occurrences(value[head], tuple(rest), f"{at}.{head}" if at else head)
