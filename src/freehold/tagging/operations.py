"""What an object asks for: operations, and what they come to for each key.

Operations are level-triggered (docs/reference/metadata-compat.md A13, A14): each says how a key should be for as long
as the object says so, and their order means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from freehold.tagging.resources import Cloud, canonical


class Opcode(StrEnum):
    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class UnknownOpcode:
    text: str

    @property
    def message(self) -> str:
        return f"unknown opcode {self.text!r}: use one of {', '.join(Opcode)}"


def parse_opcode(text: str | None) -> Opcode | UnknownOpcode:
    """In any case; ``update`` where there is none (docs/reference/metadata-compat.md A3)."""
    if not text:
        return Opcode.UPDATE
    try:
        return Opcode(text.lower())
    except ValueError:
        return UnknownOpcode(text)


@dataclass(frozen=True)
class Want:
    """How one key should be. ``value`` is None only in a delete: whatever the value is."""

    opcode: Opcode
    value: str | None

    def __post_init__(self) -> None:
        if self.value is None and self.opcode is not Opcode.DELETE:
            raise ValueError(f"{self.opcode} needs a value")

    def agrees_with(self, other: Want) -> Agreement:
        """``add`` and ``update`` of one value agree: both want it there."""
        both_present = Opcode.DELETE not in (self.opcode, other.opcode)
        same_effect = both_present or self.opcode is other.opcode
        return Agreement.AGREE if same_effect and self.value == other.value else Agreement.DISAGREE


class Agreement(StrEnum):
    AGREE = "Agree"
    DISAGREE = "Disagree"


@dataclass(frozen=True)
class Operation:
    """One opcode with its tags."""

    opcode: Opcode
    tags: Mapping[str, str | None]

    @property
    def wants(self) -> Mapping[str, Want]:
        return {key: Want(self.opcode, value) for key, value in self.tags.items()}


def operation(opcode: Opcode, tags: Mapping[str, str], keys: Collection[str] = ()) -> Operation:
    """From ``resourcetags`` and ``tagkeys`` of a spec; in a delete an empty value is any value.

    Source: docs/reference/metadata-compat.md A15. To delete only an empty value, see :func:`delete_exactly`.
    """
    if opcode is not Opcode.DELETE:
        return Operation(opcode, dict(tags))
    return Operation(opcode, {key: value or None for key, value in tags.items()} | dict.fromkeys(keys))


def delete_exactly(tags: Mapping[str, str]) -> Operation:
    """Delete keys that have just these values, the empty one too."""
    return Operation(Opcode.DELETE, dict(tags))


Wants = Mapping[str, Want]


@dataclass(frozen=True)
class Contradictions:
    """Keys that two operations of one object want differently. Nothing of the object is done."""

    keys: tuple[str, ...]

    @property
    def message(self) -> str:
        named = ", ".join(repr(key) for key in self.keys)
        return f"several operations want something different of {named}: name each key in one operation"


def merge(cloud: Cloud, operations: Sequence[Operation]) -> Wants | Contradictions:
    """One want for each key, in the cloud's spelling; the order of operations means nothing."""
    wants: dict[str, Want] = {}
    contradicted: set[str] = set()
    for each in operations:
        for key, want in each.wants.items():
            key, want = canonical(cloud, key), _canonical_want(cloud, want)
            if wants.setdefault(key, want).agrees_with(want) is Agreement.DISAGREE:
                contradicted.add(key)
            elif want.opcode is Opcode.UPDATE:
                wants[key] = want  # update and add of one value: update also takes a foreign value over
    return Contradictions(tuple(sorted(contradicted))) if contradicted else wants


def _canonical_want(cloud: Cloud, want: Want) -> Want:
    return want if want.value is None else Want(want.opcode, canonical(cloud, want.value))
