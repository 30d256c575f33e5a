"""Stable logical names for the entries of a list (ADR 13).

An entry is the same resource however it is spelled: with its default name written out or left out, at another place in
the list, with the zone that was chosen for it or without. The logical name is the record of what was chosen,
``<label>:<placement>``: the label is the user's name or, without one, the index that the entry had first; the placement
(a zone) must not change. The journal, and the mark in the cloud, hold logical names, so nothing else has to be
persisted: each entry is matched with the resource that it had earlier.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ListEntry:
    """One entry of the list: the user's name and the user's choice of placement, empty when left out."""

    name: str = ""
    placement: str = ""


@dataclass(frozen=True)
class StableName:
    """What an entry was given.

    ``name`` is what the resource is called, ``chosen`` whether a person called it so. ``ours``: a create of it was
    sent; an entry that has lost its name is then still this resource.
    """

    logical: str
    label: str
    name: str
    placement: str
    chosen: bool = False
    ours: bool = False


Fresh = Callable[[str, str, bool], StableName]
"""Spells a new one: label, placement, and whether the label is a name that a person chose."""


def assign(
    entries: Sequence[ListEntry], placements: Sequence[str], earlier: Collection[StableName], fresh: Fresh
) -> tuple[StableName, ...]:
    """One for each entry, in the order of the entries.

    ``placements`` are those to choose from; ``earlier`` is what the journal holds. An entry that had a resource keeps
    it, also where the spec gives another placement today.
    """
    left = sorted(earlier, key=_order)
    assigned: dict[int, StableName] = {}

    def take(index: int, found: StableName | None) -> None:
        if found is not None:
            assigned[index] = found
            left.remove(found)

    for index, entry in enumerate(entries):
        if entry.name:
            named = [one for one in left if one.name == entry.name]
            take(index, min(named, key=lambda one: _fitness(entry, one), default=None))
    unnamed = [index for index, entry in enumerate(entries) if not entry.name]
    # Those whose placement the user gave choose first: only one of them can be meant.
    for index in sorted(unnamed, key=lambda i: (not entries[i].placement, i)):
        take(index, next((one for one in left if _may_be(entries[index], one)), None))
    return _with_new(entries, placements, assigned, left, fresh)


def _fitness(entry: ListEntry, one: StableName) -> tuple[bool, bool, bool]:
    """Of several records of one name the one that exists, then that of the entry's placement, then a chosen name."""
    return not one.ours, entry.placement not in ("", one.placement), not one.chosen


def _may_be(entry: ListEntry, earlier: StableName) -> bool:
    """Whether an entry without a name may mean it. A name that a person chose may have been taken out of the spec."""
    return entry.placement in ("", earlier.placement) and (earlier.ours or not earlier.chosen)


def _with_new(
    entries: Sequence[ListEntry],
    placements: Sequence[str],
    assigned: dict[int, StableName],
    leftover: Collection[StableName],
    fresh: Fresh,
) -> tuple[StableName, ...]:
    """New ones get the least used placement, in an order that their names decide.

    A default name is one that no other entry has, and nothing on record. Its number is the entry's index, or higher
    than those of the other entries: in the next pass entries get theirs by number.
    """
    known = (*assigned.values(), *leftover)
    taken = {one.label for one in assigned.values()}
    used_names = {one.name for one in known} | {entry.name for entry in entries}
    labels: dict[int, str] = {}
    for index, entry in enumerate(entries):
        if index not in assigned:
            least = max((index, *(int(label) + 1 for label in taken if label.isdecimal())))
            numbers = [str(least + more) for more in range(len(used_names) + 1)]
            free = (number for number in numbers if fresh(number, "", False).name not in used_names)
            labels[index] = entry.name or next(free, numbers[0])
            taken.add(labels[index])
    used = Counter(one.placement for one in assigned.values())
    used.update(entries[index].placement for index in labels)
    names = {index: fresh(label, "", bool(entries[index].name)).name for index, label in labels.items()}
    for index, label in sorted(labels.items(), key=lambda item: _digest(names[item[0]])):
        placement = entries[index].placement
        if not placement and placements:
            placement = min(placements, key=lambda each: (used[each], placements.index(each)))
            used[placement] += 1
        assigned[index] = fresh(label, placement, bool(entries[index].name))
    return tuple(assigned[index] for index in range(len(entries)))


def _order(one: StableName) -> tuple[bool, bool, int, str]:
    """Those without a chosen name first: those of an omitted list, which were there before any index, then by index."""
    return one.chosen, one.label.isdecimal(), int(one.label) if one.label.isdecimal() else 0, one.logical


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
