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
    """An entry of the list: the user's name and the user's placement, empty if left out."""

    name: str = ""
    placement: str = ""


@dataclass(frozen=True)
class StableName:
    """The name that an entry was given.

    ``name`` is the resource's name; ``is_chosen``: a person gave it. ``was_created``: a create of it was
    sent, so an entry that has lost its name is still this resource.
    """

    logical: str
    label: str
    name: str
    placement: str
    is_chosen: bool = False
    was_created: bool = False


Fresh = Callable[[str, str, bool], StableName]
"""Builds a new name from label, placement, and whether a person chose the label."""


def assign_names(
    entries: Sequence[ListEntry], placements: Sequence[str], earlier: Collection[StableName], fresh: Fresh
) -> tuple[StableName, ...]:
    """Assign a name to each entry, in the order of the entries.

    ``placements`` are the possible ones; ``earlier`` are the names in the journal. An entry that had a resource keeps
    it, even if the spec has another placement now.
    """
    left = sorted(earlier, key=_build_sort_key)
    assigned: dict[int, StableName] = {}

    def take(index: int, found: StableName | None) -> None:
        if found is not None:
            assigned[index] = found
            left.remove(found)

    for index, entry in enumerate(entries):
        if entry.name:
            named = [one for one in left if one.name == entry.name]
            take(index, min(named, key=lambda one: _rank_match(entry, one), default=None))
    unnamed = [index for index, entry in enumerate(entries) if not entry.name]
    # Entries with a placement choose first, because fewer names fit them.
    for index in sorted(unnamed, key=lambda i: (not entries[i].placement, i)):
        take(index, next((one for one in left if _may_mean(entries[index], one)), None))
    return _add_new_names(entries, placements, assigned, left, fresh)


def _rank_match(entry: ListEntry, one: StableName) -> tuple[bool, bool, bool]:
    """Rank records with the entry's name: first one that was created, then the same placement, then a chosen name."""
    return not one.was_created, entry.placement not in ("", one.placement), not one.is_chosen


def _may_mean(entry: ListEntry, earlier: StableName) -> bool:
    """Return whether an entry without a name may be this one, as when a chosen name was removed from the spec."""
    return entry.placement in ("", earlier.placement) and (earlier.was_created or not earlier.is_chosen)


def _add_new_names(
    entries: Sequence[ListEntry],
    placements: Sequence[str],
    assigned: dict[int, StableName],
    leftover: Collection[StableName],
    fresh: Fresh,
) -> tuple[StableName, ...]:
    """Name the remaining entries. They get the least used placement, in an order that depends on their names.

    A default name is used by no other entry and no record. Its number is the entry's index, or higher
    than those of the other entries, because the next pass assigns names in the order of numbers.
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
    for index, label in sorted(labels.items(), key=lambda item: _hash_name(names[item[0]])):
        placement = entries[index].placement
        if not placement and placements:
            placement = min(placements, key=lambda each: (used[each], placements.index(each)))
            used[placement] += 1
        assigned[index] = fresh(label, placement, bool(entries[index].name))
    return tuple(assigned[index] for index in range(len(entries)))


def _build_sort_key(one: StableName) -> tuple[bool, bool, int, str]:
    """Build the order of names: default ones first, first those of an omitted list, then by index."""
    return one.is_chosen, one.label.isdecimal(), int(one.label) if one.label.isdecimal() else 0, one.logical


def _hash_name(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
