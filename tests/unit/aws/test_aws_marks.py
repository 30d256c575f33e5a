"""Our marks as AWS tags: what is written is legal in every service, can be read, and is not taken for another's."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from freehold.engine.keyed_codec import BIRTH, NODE, OWNER, SEAL, UUID, KeyedCodec
from freehold.engine.ownership import CarriedMark, NodeMark, Owner
from freehold.engine.resources import NodeKey
from freehold.engine.tag_text import tag_map, texts
from freehold.providers.aws.types.rules import aws_tag_problems

CODEC = KeyedCodec()
ID = "0d0f1e2a-1111-4222-8333-444455556666"
LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
NAME = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", fullmatch=True)
UUIDS = st.uuids().map(str)
OWNERS = st.builds(Owner, UUIDS, st.just("AWSCluster"), LABEL, NAME)
KEYS = st.builds(NodeKey, st.sampled_from(["vpc", "nat-gateway"]), st.text(min_size=1, max_size=300))
SEALS = st.from_regex(r"[a-z2-7]{8}", fullmatch=True)
LEGAL = re.compile(r"[A-Za-z0-9 +\-=._:/@]*")


def _assert_legal(written: frozenset[str]) -> None:
    for key, value in tag_map(written).items():
        assert list(aws_tag_problems(key, value)) == []
        assert len(key) <= 127 and len(value) <= 255, "the guide of load balancers allows one less than their API"
        assert LEGAL.fullmatch(key + value), "in every service, without letters of other languages"


@given(OWNERS, KEYS, SEALS, SEALS, UUIDS)
def test_what_is_written_is_legal_and_can_be_read(
    owner: Owner, key: NodeKey, seal: str, nonce: str, cluster: str
) -> None:
    machine = Owner(owner.uuid, "AWSMachine", owner.namespace, owner.name, within=cluster)
    written = CODEC.owner(machine) | CODEC.label(key) | CODEC.spell_parent_mark(machine)
    written |= {CODEC.birth(key, nonce), CODEC.node(key, seal)}
    _assert_legal(written)
    assert set(tag_map(written)) == {OWNER, UUID, NODE, SEAL, BIRTH, "freehold.dev/cluster-uuid"}, (
        "six, as ADR 5 counts"
    )
    read = CODEC.read(written)
    assert (read.owners, read.uuids) == (CODEC.read(CODEC.owner(owner)).owners, {owner.uuid})
    assert {node.word for node in read.nodes} == {seal, nonce}
    assert {CODEC.label(node.key) for node in read.nodes} == {CODEC.label(key)}, "cut or not, it names this node"


@given(st.tuples(OWNERS, OWNERS).filter(lambda two: two[0] != two[1]))
def test_two_owners_are_not_taken_for_each_other(two: tuple[Owner, Owner]) -> None:
    assert CODEC.owner(two[0]) != CODEC.owner(two[1])


@given(st.tuples(KEYS, KEYS).filter(lambda two: two[0] != two[1]))
def test_two_nodes_are_not_taken_for_each_other(two: tuple[NodeKey, NodeKey]) -> None:
    """Also where their names are cut, or differ in characters that AWS does not take, or in case only."""
    assert CODEC.label(two[0]).isdisjoint(CODEC.label(two[1]))


@given(st.sets(SEALS, max_size=CODEC.seals_together))
def test_the_seals_of_a_wave_fit_into_one_value(seals: set[str]) -> None:
    key = NodeKey("subnet", "a")
    joined = CODEC.join_seals([CODEC.node(key, seal) for seal in seals])
    assert len(joined) == min(len(seals), 1)
    _assert_legal(joined)
    assert CODEC.read(CODEC.label(key) | joined).nodes == {NodeMark(key, seal) for seal in seals or ("",)}


@given(
    st.sampled_from(["route", "vpc-endpoint-subnet"]), st.text(min_size=1, max_size=300), UUIDS, SEALS | st.just("")
)  # fmt: skip
def test_a_carriers_mark_can_be_read(kind: str, ident: str, uuid: str, seal: str) -> None:
    owner = Owner(uuid, "AWSCluster", "team-a", "prod")
    written = frozenset({CODEC.spell_carrier_mark(owner, kind, ident, seal)})
    _assert_legal(written)
    assert CODEC.read(written).carried == {CarriedMark(kind, uuid, CODEC.carried_id(kind, ident), seal)}


@given(st.tuples(st.text(max_size=200), st.text(max_size=200)).filter(lambda two: two[0] != two[1]))
def test_two_resources_in_one_carrier_have_two_keys(two: tuple[str, str]) -> None:
    owner = Owner(ID, "AWSCluster", "team-a", "prod")
    one, other = (CODEC.key(CODEC.spell_carrier_mark(owner, "route", ident)) for ident in two)
    assert one != other


@given(st.dictionaries(st.text(max_size=200) | st.sampled_from([OWNER, NODE, SEAL]), st.text()))
def test_whatever_others_write_can_be_read(foreign: dict[str, str]) -> None:
    """Anybody may tag: nothing of it may break a pass, or be read as another tag than it is."""
    tags = texts(foreign)
    assert tag_map(tags) == foreign
    assert CODEC.read(tags).uuids == frozenset()
    assert all(" " not in mark.word for mark in CODEC.read(tags).nodes)


def test_the_spelling_for_ever() -> None:
    """What one version writes, every later one must read: this test is not to be changed."""
    owner = Owner(ID, "AWSCluster", "team-a", "prod", within=ID)
    key = NodeKey("subnet", "private/a")
    sealed = CODEC.join_seals([CODEC.node(key, "bcdefgha"), CODEC.node(key, "abcdefgh")])
    written = (
        CODEC.owner(owner)
        | CODEC.spell_parent_mark(owner)
        | CODEC.label(key)
        | {CODEC.birth(key, "fabcdefghijkl")}
        | sealed
    )
    assert tag_map(written) == {
        "freehold.dev/owner": "team-a/prod",
        "freehold.dev/owner-uuid": ID,
        "freehold.dev/cluster-uuid": ID,
        "freehold.dev/node": "subnet/private/a",
        "freehold.dev/birth": "fabcdefghijkl",
        "freehold.dev/seal": "abcdefgh bcdefgha",
    }
    long = tag_map(CODEC.label(NodeKey("subnet", "x" * 260)))
    assert long == {NODE: "subnet/" + "x" * 239 + "-c1504c8f"}
    carried = CODEC.spell_carrier_mark(owner, "route", "rtb-0a1b2c3d4e5f60718/0.0.0.0/0", "abcdefgh")
    assert tag_map([carried]) == {"freehold.dev/carried.route.rtb-0a1b2c3d4e5f60718/0.0.0.0/0": f"{ID} abcdefgh"}
