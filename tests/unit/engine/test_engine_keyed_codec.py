"""The spelling of marks where tags are a map (ADR 5). What one version writes every later one must read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.engine.keyed_codec import LONGEST_KEY, LONGEST_VALUE, KeyedCodec
from freehold.engine.ownership import CarriedMark, NodeMark, Owner
from freehold.engine.resources import NodeKey
from freehold.engine.tag_text import key_and_value, tag_map, text, texts

CODEC = KeyedCodec()
UUID = "0f1e2d3c-aaaa-4bbb-8ccc-1234567890ab"
OWNER = Owner(UUID, "AWSCluster", "team-a", "Prod")
SUBNET = NodeKey("subnet", "public-eu-west-1A")


def test_the_spelling_is_that_of_adr_27() -> None:
    assert CODEC.owner(OWNER) == {"freehold.dev/owner=team-a/Prod", f"freehold.dev/owner-uuid={UUID}"}
    assert CODEC.label(SUBNET) == {"freehold.dev/node=subnet/public-eu-west-1A"}
    assert CODEC.node(SUBNET, "abcd2345") == "freehold.dev/seal=abcd2345"
    assert CODEC.birth(SUBNET, "fnonce") == "freehold.dev/birth=fnonce"
    carried = CODEC.spell_carrier_mark(OWNER, "route", "rtb-1/r-9", "abcd2345")
    assert carried == f"freehold.dev/carried.route.rtb-1/r-9={UUID} abcd2345"


def test_what_is_written_is_read() -> None:
    tags = CODEC.owner(OWNER) | CODEC.label(SUBNET) | {CODEC.birth(SUBNET, "fnonce"), CODEC.node(SUBNET, "abcd2345")}
    marks = CODEC.read(tags | {CODEC.spell_carrier_mark(OWNER, "route", "r-9", "seal2345"), "Name=prod-vpc"})
    assert (marks.owners, marks.uuids) == ({"team-a/Prod"}, {UUID})
    assert marks.nodes == {NodeMark(SUBNET, "abcd2345"), NodeMark(SUBNET, "fnonce")}
    assert marks.carried == {CarriedMark("route", UUID, "r-9", "seal2345")}


def test_one_value_holds_the_seals_of_a_wave_and_each_is_found_in_it() -> None:
    seals = [f"seal{n:04}" for n in range(CODEC.seals_together)]
    [value] = CODEC.join_seals([CODEC.node(SUBNET, seal) for seal in seals])
    assert len(key_and_value(value)[1]) <= LONGEST_VALUE
    assert all(CODEC.fold([CODEC.node(SUBNET, seal)]) <= CODEC.fold([value]) for seal in seals)
    assert CODEC.fold([CODEC.node(SUBNET, "seal")]).isdisjoint(CODEC.fold([value])), "part of a seal is none"
    assert {mark.word for mark in CODEC.read(CODEC.label(SUBNET) | {value}).nodes} == set(seals)


def test_a_carriers_mark_may_have_the_seals_of_two_keys() -> None:
    old, new = (CODEC.spell_carrier_mark(OWNER, "route", "r-9", seal) for seal in ("old-seal", "new-seal"))
    [both] = CODEC.join_seals([old, new])
    assert CODEC.fold([old, new]) == CODEC.fold([both])


def test_case_tells_tags_apart() -> None:
    assert CODEC.fold(["Team=red"]).isdisjoint(CODEC.fold(["team=red", "Team=Red"]))
    assert CODEC.key("Team=red") != CODEC.key("team=red")


@given(st.text(), st.text())
def test_every_key_and_value_are_told_apart(key: str, value: str) -> None:
    assert key_and_value(text(key, value)) == (key, value)


@given(st.dictionaries(st.text(), st.text()))
def test_a_map_of_tags_is_the_same_after_it_was_texts(tags: dict[str, str]) -> None:
    assert tag_map(texts(tags)) == tags


KEYS_WITH_SIGNS = ("team", "a=b", "kubernetes.io/cluster/c1", "with space", "=", "a==b", "a\\", "a\\=", "\\\\")


@pytest.mark.parametrize("key", KEYS_WITH_SIGNS)
def test_a_tag_is_one_text_whatever_its_key(key: str) -> None:
    assert key_and_value(text(key, "x=y")) == (key, "x=y")
    assert CODEC.user(key, "") == text(key, "")


def test_long_names_are_cut_and_stay_apart() -> None:
    one, two = ({*CODEC.label(NodeKey("subnet", "s" * 300 + end)), *_owned("n" * 300 + end)} for end in "12")
    assert one.isdisjoint(two)
    assert all(len(key_and_value(tag)[1]) <= LONGEST_VALUE for tag in one)
    carried = [CODEC.spell_carrier_mark(OWNER, "route", "r" * 200 + end) for end in "12"]
    assert len(set(carried)) == 2 and all(len(CODEC.key(tag)) <= LONGEST_KEY for tag in carried)


@pytest.mark.parametrize("logical", ("a\nb", "a\tb", "größe", "a\x00b", "a,b"), ids=repr)
def test_only_what_every_service_takes_is_written(logical: str) -> None:
    """A control character would make AWS refuse the whole call, and with it the create."""
    [(_, value)] = map(key_and_value, CODEC.label(NodeKey("subnet", logical)))
    assert re.fullmatch(r"subnet/[a-z-]*-[0-9a-f]{8}", value)


def test_marks_leave_out_the_last_character_that_the_api_takes() -> None:
    """The guides of load balancers allow keys of 127 and values of 255 characters (docs/reference/aws.md#tags)."""
    assert (LONGEST_KEY, LONGEST_VALUE) == (127, 255)
    [(_, value)] = map(key_and_value, CODEC.label(NodeKey("subnet", "s" * 249)))
    assert len(value) == 255 and value != "subnet/" + "s" * 249
    assert len(CODEC.key(CODEC.spell_carrier_mark(OWNER, "route", "r" * 108))) == 127


def test_two_resources_in_one_carrier_do_not_share_a_key() -> None:
    """An attach of the one's mark would overwrite the other's."""
    idents = ("rtb-1/10.0.0.0/16", "rtb-2/10.1.0.0/16", "rtb-1/10.1.0.0/16")
    assert len({CODEC.key(CODEC.spell_carrier_mark(OWNER, "route", ident)) for ident in idents}) == 3
    assert [CODEC.carried_id("route", ident) for ident in idents] == list(idents)


def _owned(name: str) -> set[str]:
    return {tag for tag in CODEC.owner(Owner(UUID, "AWSCluster", "ns", name)) if CODEC.read([tag]).owners}


def test_every_part_of_a_mark_is_known_as_one() -> None:
    tags = CODEC.owner(OWNER) | CODEC.label(SUBNET) | {CODEC.birth(SUBNET, "f"), CODEC.node(SUBNET, "s")}
    assert all(CODEC.is_mark(tag) for tag in tags)
    assert not CODEC.is_mark("sigs.k8s.io/cluster-api-provider-aws/role=common")
