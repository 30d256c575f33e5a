"""Stable logical names for the entries of a list (ADR 8).

The logical name is the assignment: ``<label>:<trait>``, where the label is the user's name or, without one,
the index that the entry had first, and the trait is what was chosen for it and must not change (its zone).
Since the journal, and the mark in the cloud, hold logical names, nothing else has to be persisted: an entry
is matched with its earlier logical name, and removing the first entry neither renames nor moves the others.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ListEntry:
    """One entry of the list: the user's name and the user's choice of trait, empty when left out."""

    name: str = ""
    placement: str = ""


@dataclass(frozen=True)
class StableName:
    """What an entry was given."""

    label: str
    placement: str

    @property
    def logical(self) -> str:
        return f"{self.label}:{self.placement}"

    @classmethod
    def parse(cls, logical: str) -> StableName:
        label, _, placement = logical.partition(":")
        return cls(label, placement)


def assign(entries: Sequence[ListEntry], placements: Sequence[str], earlier: Collection[str]) -> tuple[StableName, ...]:
    """One slot per entry, in the order of the entries.

    ``placements`` are those to choose from; ``earlier`` the logical names that the journal holds. An entry with
    an earlier slot keeps it, whatever the spec says of its trait today: it is still the same resource.
    """
    old = {slot.label: slot for slot in sorted(map(StableName.parse, earlier), key=_order)}
    chosen: dict[int, StableName] = {}
    for index, entry in enumerate(entries):
        if entry.name in old:
            chosen[index] = old.pop(entry.name)
    unnamed = [index for index, entry in enumerate(entries) if not entry.name]
    # Those whose trait the user gave choose first among the old ones: only one of them can be meant.
    for index in sorted(unnamed, key=lambda i: (not entries[i].placement, i)):
        match = next(
            (s for s in old.values() if s.label.isdecimal() and entries[index].placement in ("", s.placement)), None
        )
        if match:
            chosen[index] = old.pop(match.label)
    return _fresh(entries, placements, chosen, old.values())


def _fresh(
    entries: Sequence[ListEntry],
    placements: Sequence[str],
    chosen: dict[int, StableName],
    leftover: Collection[StableName],
) -> tuple[StableName, ...]:
    """Slots for the entries that never had one: the least used trait, in an order that the names decide."""
    taken = {slot.label for slot in (*chosen.values(), *leftover)}
    for index, entry in enumerate(entries):
        if index not in chosen:
            label = entry.name or next(n for i in range(index, index + len(taken) + 1) if (n := str(i)) not in taken)
            taken.add(label)
            chosen[index] = StableName(label, entry.placement)
    used = Counter(slot.placement for slot in chosen.values() if slot.placement)
    for index, slot in sorted(chosen.items(), key=lambda item: _digest(item[1].label)):
        if not slot.placement and placements:
            placement = min(placements, key=lambda t: (used[t], placements.index(t)))
            used[placement] += 1
            chosen[index] = replace(slot, placement=placement)
    return tuple(chosen[index] for index in range(len(entries)))


def _order(slot: StableName) -> tuple[bool, int, str]:
    return (not slot.label.isdecimal(), int(slot.label) if slot.label.isdecimal() else 0, slot.logical)


def _digest(label: str) -> str:
    return hashlib.sha256(label.encode()).hexdigest()
