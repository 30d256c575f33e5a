"""Whose tag it is: the record of what we wrote on one resource, against what is there.

Only keys that the record says we wrote are changed or removed (docs/reference/metadata-compat.md A11). A record is
stored before the write that it is about, so it can say more than was done, never less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Proof(StrEnum):
    INTENDED = "Intended"
    """Stored before the first write of the key; nothing shows that the write had an effect."""
    CONFIRMED = "Confirmed"
    """A write of the key succeeded, or its value was read back."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What we wrote under one key. Two values while one replaces the other: a crash can leave either."""

    writer: str
    """The uid of the object that asked for it."""
    values: frozenset[str]
    proof: Proof

    def about_to_write(self, writer: str, value: str) -> LedgerEntry:
        return LedgerEntry(writer, self.values | {value}, self.proof)


@lru_cache(maxsize=4096)
def entry_of(writer: str, value: str, proof: Proof) -> LedgerEntry:
    """Of one value. A fleet has a hundred thousand equal ones, which are one object here."""
    return LedgerEntry(writer, frozenset({value}), proof)


Record = Mapping[str, LedgerEntry]
"""Of one resource, by key."""


class Holder(StrEnum):
    """Who set the value that is there."""

    NOBODY = "Nobody"
    OURS = "Ours"
    DRIFTED = "Drifted"
    """The key is ours; somebody else changed its value."""
    FOREIGN = "Foreign"
    """We never wrote the key."""


def holder(entry: LedgerEntry | None, seen: frozenset[str]) -> Holder:
    if not seen:
        return Holder.NOBODY
    if entry is None:
        return Holder.FOREIGN
    if seen <= entry.values:
        return Holder.OURS
    return Holder.DRIFTED if entry.proof is Proof.CONFIRMED else Holder.FOREIGN


class ForeignValuePolicy(StrEnum):
    """What to do about a value that somebody else set under a key that the spec updates."""

    FAIL = "Fail"
    SKIP = "Skip"
    TAKE_OVER = "TakeOver"
