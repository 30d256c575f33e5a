"""What an object asks for: operations, and what they come to for each key.

Operations are level-triggered (docs/reference/metadata-compat.md A13, A14): each says how a key should be for as long
as the object says so, and their order means nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from freehold.api.tag_sentences import UNKNOWN_OPCODE
from freehold.tags.policy.dialect import TagDialect


class Opcode(StrEnum):
    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class UnknownOpcode:
    text: str

    @property
    def message(self) -> str:
        return f"{UNKNOWN_OPCODE} ({self.text!r})"


def parse_opcode(text: str | None) -> Opcode | UnknownOpcode:
    """In any case; ``update`` where there is none (docs/reference/metadata-compat.md A3)."""
    if not text:
        return Opcode.UPDATE
    try:
        return Opcode(text.lower())
    except ValueError:
        return UnknownOpcode(text)


@dataclass(frozen=True)
class WantedTag:
    """How one key should be. ``value`` is None only in a delete: whatever the value is."""

    opcode: Opcode
    value: str | None

    def __post_init__(self) -> None:
        if self.value is None and self.opcode is not Opcode.DELETE:
            raise ValueError(f"{self.opcode} needs a value")

    def agrees_with(self, other: WantedTag) -> bool:
        """Compare effects: ``add`` and ``update`` of one value agree, both want it there."""
        both_present = Opcode.DELETE not in (self.opcode, other.opcode)
        same_effect = both_present or self.opcode is other.opcode
        return same_effect and self.value == other.value


@dataclass(frozen=True)
class ParsedOperation:
    """One opcode with its tags.

    ``at``: where it is in the spec, like ``.operations[0]``, empty for the spec's own; ``listed``: the field of each
    key that is not in ``resourcetags``.
    """

    opcode: Opcode
    tags: Mapping[str, str | None]
    at: str = field(default="", compare=False)
    listed: Mapping[str, str] = field(default_factory=dict, compare=False)

    def path(self, key: str) -> str:
        """Of the field that has the key, below the spec."""
        listed = self.listed.get(key)
        return f"{self.at}.{listed}" if listed else f"{self.at}.resourcetags[{key!r}]"

    @property
    def wants(self) -> Mapping[str, WantedTag]:
        return {key: WantedTag(self.opcode, value) for key, value in self.tags.items()}


def operation(
    opcode: Opcode,
    tags: Mapping[str, str],
    keys: Collection[str] = (),
    exact: Mapping[str, str] | None = None,
    at: str = "",
) -> ParsedOperation:
    """From ``resourcetags``, ``tagkeys`` and ``exactTags`` of a spec.

    In a delete an empty value of ``tags`` is any value, and one of ``exact`` is the empty value
    (docs/reference/metadata-compat.md A15).
    """
    if opcode is not Opcode.DELETE:
        return ParsedOperation(opcode, dict(tags), at)
    any_value: dict[str, str | None] = {key: value or None for key, value in tags.items()}
    listed = dict.fromkeys(keys, "tagkeys") | dict.fromkeys(exact or (), "exactTags")
    return ParsedOperation(opcode, any_value | dict.fromkeys(keys) | dict(exact or {}), at, listed)


Wants = Mapping[str, WantedTag]


@dataclass(frozen=True)
class Contradictions:
    """Keys that two operations of one object want differently. Nothing of the object is done."""

    keys: tuple[str, ...]

    @property
    def message(self) -> str:
        named = ", ".join(repr(key) for key in self.keys)
        return f"several operations want something different of {named}: name each key in one operation"


def merge(cloud: TagDialect, operations: Sequence[ParsedOperation]) -> Wants | Contradictions:
    """One want for each key, in the cloud's spelling; the order of operations means nothing."""
    wants: dict[str, WantedTag] = {}
    contradicted: set[str] = set()
    for each in operations:
        for key, want in each.wants.items():
            key, want = cloud.canonical(key), _canonical_want(cloud, want)
            if not wants.setdefault(key, want).agrees_with(want):
                contradicted.add(key)
            elif want.opcode is Opcode.UPDATE:
                wants[key] = want  # update and add of one value: update also takes a foreign value over
    return Contradictions(tuple(sorted(contradicted))) if contradicted else wants


def _canonical_want(cloud: TagDialect, want: WantedTag) -> WantedTag:
    return want if want.value is None else WantedTag(want.opcode, cloud.canonical(want.value))
