"""Derived subnets: upstream's blocks at first, and each keeps its zone and block for life."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.providers.aws.cluster.address_plan import Layout, NoRoom, Slot, derive

ZONES = tuple(f"eu-central-1{letter}" for letter in "abcdef")
DEFAULT = Layout("10.0.0.0/16")


def slots(layout: Layout, zones: tuple[str, ...] = ZONES, recorded: tuple[Slot, ...] = ()) -> tuple[Slot, ...]:
    found = derive(layout, zones, recorded)
    assert not isinstance(found, NoRoom), found
    return found


def blocks(found: tuple[Slot, ...]) -> dict[str, tuple[str, int]]:
    return {f"{'public' if each.public else 'private'} {each.zone[-1]}": (each.block, each.number) for each in found}


def test_the_default_network_has_upstreams_blocks_and_numbers() -> None:
    """As documented for CAPA: 3 zones of a /16 are three private /18 and three public /20 in the first /18."""
    assert blocks(slots(DEFAULT)) == {
        "public a": ("10.0.0.0/20", 5),
        "public b": ("10.0.16.0/20", 6),
        "public c": ("10.0.32.0/20", 7),
        "private a": ("10.0.64.0/18", 2),
        "private b": ("10.0.128.0/18", 3),
        "private c": ("10.0.192.0/18", 4),
    }


def test_prefer_public_is_the_other_way_round() -> None:
    found = blocks(slots(Layout("10.0.0.0/16", limit=2, prefer_public=True)))
    assert found == {
        "private a": ("10.0.0.0/19", 4),
        "private b": ("10.0.32.0/19", 5),
        "public a": ("10.0.64.0/18", 2),
        "public b": ("10.0.128.0/18", 3),
    }


def test_one_zone_halves_the_range() -> None:
    found = blocks(slots(Layout("10.1.0.0/16", limit=1)))
    assert found == {"public a": ("10.1.0.0/17", 3), "private a": ("10.1.128.0/17", 2)}


def test_the_zones_are_the_first_by_name_in_whatever_order_the_cloud_lists_them() -> None:
    assert slots(DEFAULT, ZONES[::-1]) == slots(DEFAULT, ZONES)


def test_a_shuffle_picks_the_same_zones_each_time_and_not_for_each_cluster_the_same() -> None:
    picks = {name: {each.zone for each in slots(Layout("10.0.0.0/16", shuffle=name))} for name in "abcdefgh"}
    again = {
        name: {each.zone for each in slots(Layout("10.0.0.0/16", shuffle=name), ZONES[::-1])} for name in "abcdefgh"
    }
    assert picks == again
    assert len({tuple(sorted(pick)) for pick in picks.values()}) > 1


TOO_SMALL = {"/26 for three zones": ("10.0.0.0/26", 3), "/28": ("10.0.0.0/28", 1), "/24 for six": ("10.0.0.0/24", 6)}


@pytest.mark.parametrize(("cidr", "limit"), TOO_SMALL.values(), ids=TOO_SMALL.keys())
def test_a_range_that_is_too_small_is_said_so(cidr: str, limit: int) -> None:
    assert derive(Layout(cidr, limit), ZONES, ()) == NoRoom(2 * limit)


def test_more_zones_leave_the_others_as_they_are_and_fit_into_what_is_free() -> None:
    two = slots(Layout("10.0.0.0/16", limit=2))
    three = slots(DEFAULT, ZONES, two)
    assert set(two) < set(three)
    assert {each.zone for each in three} == set(ZONES[:3])


def test_a_lower_limit_and_a_zone_that_the_cloud_does_not_list_take_nothing_away() -> None:
    three = slots(DEFAULT)
    assert slots(Layout("10.0.0.0/16", limit=1), ZONES, three) == three
    assert slots(DEFAULT, ZONES[3:], three) == three


def test_a_lost_half_is_derived_as_it_was() -> None:
    """A journal that was rebuilt from marks holds those that were created; the others get what they had been given."""
    whole = slots(DEFAULT)
    for known in (whole[:1], whole[2:5], whole[::2]):
        assert slots(DEFAULT, ZONES, tuple(known)) == whole


NAMES = ("public:eu-central-1a:10.0.0.0/20:5", "private:us-gov-west-1b:172.16.64.0/18:2")


@pytest.mark.parametrize("logical", NAMES)
def test_a_logical_name_holds_the_whole_choice(logical: str) -> None:
    slot = Slot.parse_name(logical)
    assert slot is not None and slot.logical == logical


@pytest.mark.parametrize("other", ["subnet-zone-1", "public:a:10.0.0.0/33:1", "public:a:10.0.0.1/20:1", "a:b:c:d", ""])
def test_other_names_are_not_of_derived_subnets(other: str) -> None:
    assert Slot.parse_name(other) is None


layouts = st.builds(
    Layout,
    st.sampled_from(["10.0.0.0/16", "172.31.0.0/17", "192.168.0.0/20", "10.9.0.0/22"]),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from(["", "prod"]),
)
zone_lists = st.lists(st.sampled_from(ZONES), min_size=1, max_size=6, unique=True).map(tuple)


@given(layout=layouts, edits=st.lists(st.tuples(layouts, zone_lists), min_size=1, max_size=4), zones=zone_lists)
def test_no_edit_moves_a_subnet_and_none_overlaps(
    layout: Layout, edits: list[tuple[Layout, tuple[str, ...]]], zones: tuple[str, ...]
) -> None:
    """Whatever the limit, the schema and the list of zones become: the range of the VPC stays, as it must in AWS."""
    held = derive(layout, zones, ())
    for edit, available in edits:
        if isinstance(held, NoRoom):
            return
        found = derive(Layout(layout.cidr, edit.limit, edit.prefer_public, edit.shuffle), available, held)
        if not isinstance(found, NoRoom):
            assert set(held) <= set(found)
            assert derive(Layout(layout.cidr, edit.limit, edit.prefer_public, edit.shuffle), available, found) == found
            networks = [IPv4Network(each.block) for each in found]
            assert not any(a.overlaps(b) for i, a in enumerate(networks) for b in networks[:i])
            assert all(each.subnet_of(IPv4Network(layout.cidr)) and each.prefixlen <= 28 for each in networks)
            assert len({each.number for each in found}) == len(found)
            assert len({(each.public, each.zone) for each in found}) == len(found)
            held = found
