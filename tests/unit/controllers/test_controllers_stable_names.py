"""List entries keep their logical names, however the list changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import assume, given
from hypothesis import strategies as st

from freehold.providers.objects import logical_names as stable_names
from freehold.providers.objects.logical_names import ListEntry, StableName

ZONES = ("z1", "z2", "z3")


def spelled(label: str, placement: str, chosen: bool = False, *, ours: bool = True) -> StableName:
    return StableName(
        f"{label}:{placement}", label, label if chosen else f"default-{label}", placement, chosen, was_created=ours
    )


def earlier(*logical: str) -> list[StableName]:
    return [spelled(label, zone, not label.isdecimal()) for label, _, zone in (one.partition(":") for one in logical)]


def assign(
    entries: Sequence[ListEntry], placements: Sequence[str], before: Sequence[StableName]
) -> tuple[StableName, ...]:
    return stable_names.assign_names(entries, placements, before, spelled)


_names = st.from_regex(r"[a-z][-a-z0-9]{0,5}", fullmatch=True)
_traits = st.sampled_from(("", *ZONES))
named = st.lists(st.builds(ListEntry, _names, _traits), max_size=8, unique_by=lambda entry: entry.name)
mixed = st.lists(
    st.builds(ListEntry, st.one_of(st.just(""), _names), _traits),
    max_size=8,
    unique_by=lambda entry: entry.name or object(),
)


@given(mixed)
def test_every_entry_has_its_own_logical_name(entries: list[ListEntry]) -> None:
    """Two entries with one logical name would be one resource."""
    slots = assign(entries, ZONES, ())
    assert len({slot.label for slot in slots}) == len(entries)
    assert all(
        slot.placement == (entry.placement or slot.placement) in ZONES
        for entry, slot in zip(entries, slots, strict=True)
    )
    assert slots == assign(entries, ZONES, ())


@given(mixed)
def test_assigned_names_stay(entries: list[ListEntry]) -> None:
    """The journal has the logical names: the next pass must want the same resources."""
    slots = assign(entries, ZONES, ())
    assert {slot.logical for slot in assign(entries, ZONES, slots)} == {slot.logical for slot in slots}


def _alike(traits: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[list[ListEntry], list[ListEntry]]]:
    entries = st.lists(
        st.builds(ListEntry, st.one_of(st.just(""), _names), traits),
        max_size=6,
        unique_by=lambda entry: entry.name or object(),
    )
    return st.tuples(entries, entries)


@given(st.one_of(_alike(st.just("")), _alike(st.sampled_from(ZONES))))
def test_what_an_edit_assigns_stays_assigned(edit: tuple[list[ListEntry], list[ListEntry]]) -> None:
    """The journal holds old and new ones in the next pass: no two may change places.

    But where a name is taken out and an entry is new in one edit: which of the two is meant by which cannot be told.
    """
    before, after = edit
    old = assign(before, ZONES, ())
    new = assign(after, ZONES, old)
    taken_out = any(one.is_chosen and not entry.name for one, entry in zip(new, after, strict=True))
    assume(not taken_out or all(one in old for one in new))
    assert assign(after, ZONES, [*old, *(one for one in new if one not in old)]) == new


@given(named, st.data())
def test_removing_an_entry_moves_no_other(entries: list[ListEntry], data: st.DataObject) -> None:
    """ADR 13: removing the first subnet must not rename or move the others."""
    if not entries:
        return
    slots = assign(entries, ZONES, ())
    gone = data.draw(st.integers(0, len(entries) - 1))
    rest = entries[:gone] + entries[gone + 1 :]
    assert assign(rest, ZONES, slots) == slots[:gone] + slots[gone + 1 :]


@given(named, st.data())
def test_the_order_of_the_list_does_not_matter(entries: list[ListEntry], data: st.DataObject) -> None:
    """A manifest that a tool has sorted is the same manifest."""
    shuffled = data.draw(st.permutations(entries))
    slots = {slot.logical for slot in assign(entries, ZONES, ())}
    assert {slot.logical for slot in assign(shuffled, ZONES, ())} == slots


@given(st.lists(_names, unique=True, max_size=9))
def test_entries_without_a_zone_are_spread(labels: list[str]) -> None:
    """Not everything should be in one zone."""
    slots = assign([ListEntry(label) for label in labels], ZONES, ())
    counts = Counter(slot.placement for slot in slots)
    assert max((counts[zone] for zone in ZONES), default=0) - min((counts[zone] for zone in ZONES), default=0) <= 1


def test_a_new_entry_takes_the_emptiest_zone() -> None:
    """Existing subnets are counted, so a growing list stays spread."""
    slots = assign([ListEntry("a"), ListEntry("b"), ListEntry("new")], ZONES, earlier("a:z1", "b:z2"))
    assert slots[2].logical == "new:z3"


def test_an_index_that_was_used_is_not_used_again() -> None:
    """A surplus subnet still has its name in the cloud."""
    slots = assign([ListEntry("", "z2"), ListEntry("", "z2")], ZONES, earlier("0:z1", "1:z2"))
    assert [slot.logical for slot in slots] == ["1:z2", "2:z2"]


def test_an_entry_whose_name_was_taken_out_is_the_same_subnet() -> None:
    (slot,) = assign([ListEntry()], ZONES, earlier("alpha:z1"))
    assert (slot.logical, slot.name) == ("alpha:z1", "alpha")


def test_an_entry_whose_default_name_was_written_out_is_the_same_subnet() -> None:
    (slot,) = assign([ListEntry("default-0", "z1")], ZONES, earlier("0:z1"))
    assert slot.logical == "0:z1"


def test_an_entry_without_a_name_does_not_get_what_others_made() -> None:
    """A subnet that was used by its name: without the name one of our own is wanted."""
    (slot,) = assign([ListEntry()], ZONES, [spelled("alpha", "z1", chosen=True, ours=False)])
    assert slot.label == "0"


def test_of_two_entries_without_a_name_each_keeps_its_own() -> None:
    """Those that never had a name first: the other one may have lost its."""
    slots = assign([ListEntry("", "z1"), ListEntry("", "z1")], ZONES, earlier("alpha:z1", "0:z1"))
    assert [slot.logical for slot in slots] == ["0:z1", "alpha:z1"]


def test_an_entry_of_another_zone_does_not_get_the_index_of_a_surplus_subnet() -> None:
    """The old subnet in zone 1 still exists under this logical name."""
    (slot,) = assign([ListEntry("", "z2")], ZONES, earlier("0:z1"))
    assert slot.logical == "1:z2"
