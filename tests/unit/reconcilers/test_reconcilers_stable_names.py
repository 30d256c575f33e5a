"""List entries keep what they were given, whatever happens to the list."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from freehold.reconcilers.stable_names import ListEntry, StableName, assign

ZONES = ("z1", "z2", "z3")
_names = st.from_regex(r"[a-z][-a-z0-9]{0,5}", fullmatch=True)
_traits = st.sampled_from(("", *ZONES))
named = st.lists(st.builds(ListEntry, _names, _traits), max_size=8, unique_by=lambda entry: entry.name)
mixed = st.lists(
    st.builds(ListEntry, st.one_of(st.just(""), _names), _traits),
    max_size=8,
    unique_by=lambda entry: entry.name or object(),
)


@given(mixed)
def test_every_entry_has_a_slot_of_its_own(entries: list[ListEntry]) -> None:
    """Two entries with one logical name would be one resource."""
    slots = assign(entries, ZONES, ())
    assert len({slot.label for slot in slots}) == len(entries)
    assert all(
        slot.placement == (entry.placement or slot.placement) in ZONES
        for entry, slot in zip(entries, slots, strict=True)
    )
    assert slots == assign(entries, ZONES, ())


@given(mixed)
def test_what_was_assigned_stays(entries: list[ListEntry]) -> None:
    """The journal holds the logical names: the next pass must want the same resources, no other."""
    slots = {slot.logical for slot in assign(entries, ZONES, ())}
    assert {slot.logical for slot in assign(entries, ZONES, slots)} == slots


@given(named, st.data())
def test_removing_an_entry_moves_no_other(entries: list[ListEntry], data: st.DataObject) -> None:
    """ADR 8: removing the first subnet must not rename or move the others."""
    if not entries:
        return
    slots = assign(entries, ZONES, ())
    gone = data.draw(st.integers(0, len(entries) - 1))
    rest = entries[:gone] + entries[gone + 1 :]
    assert assign(rest, ZONES, [s.logical for s in slots]) == slots[:gone] + slots[gone + 1 :]


@given(named, st.data())
def test_the_order_of_the_list_does_not_matter(entries: list[ListEntry], data: st.DataObject) -> None:
    """A manifest that a tool has sorted again is the same manifest."""
    shuffled = data.draw(st.permutations(entries))
    slots = {slot.logical for slot in assign(entries, ZONES, ())}
    assert {slot.logical for slot in assign(shuffled, ZONES, ())} == slots


@given(st.lists(_names, unique=True, max_size=9))
def test_entries_without_a_wish_are_spread(labels: list[str]) -> None:
    """Zones exist so that not everything is in one of them."""
    slots = assign([ListEntry(label) for label in labels], ZONES, ())
    counts = Counter(slot.placement for slot in slots)
    assert max((counts[zone] for zone in ZONES), default=0) - min((counts[zone] for zone in ZONES), default=0) <= 1


def test_a_new_entry_takes_the_emptiest_zone() -> None:
    """What exists is counted, so growing a list keeps it spread."""
    slots = assign([ListEntry("a"), ListEntry("b"), ListEntry("new")], ZONES, ["a:z1", "b:z2"])
    assert slots[2] == StableName("new", "z3")


def test_an_index_that_was_used_is_not_used_again() -> None:
    """A surplus subnet still has its name in the cloud."""
    slots = assign([ListEntry("", "z2"), ListEntry("", "z2")], ZONES, ["0:z1", "1:z2"])
    assert [slot.logical for slot in slots] == ["1:z2", "2:z2"]


def test_an_entry_without_a_name_takes_over_no_named_one() -> None:
    """The named subnet is another resource, surplus now; its name in the cloud is its own."""
    (slot,) = assign([ListEntry()], ZONES, ["alpha:z1"])
    assert slot.label == "0"


def test_an_entry_of_another_zone_does_not_take_the_index_of_a_subnet_that_is_left_over() -> None:
    """The old subnet in zone 1 still exists under this logical name."""
    (slot,) = assign([ListEntry("", "z2")], ZONES, ["0:z1"])
    assert slot.logical == "1:z2"
