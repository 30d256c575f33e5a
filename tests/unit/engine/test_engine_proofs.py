"""What the tags on one resource prove for one node in a pass: seals, accepted records, marks that are taken off."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from freehold.engine import proofs
from freehold.engine.context import PassContext
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keys import KeyRing, fingerprint
from freehold.engine.kinds import Registry
from freehold.engine.ownership import Owner, Strength
from freehold.engine.resources import NodeKey, Observed, State
from freehold.engine.state import ObjectState
from lab.life import OWNER, Handle, Life, Stored
from lab.spelling import PlainCodec
from lab.world import MemoryWorld, node

NET, LINK = NodeKey("net", "main"), NodeKey("link", "a")
SEEN = Observed("net-1", "main", State.READY, "crn:net-1")
CARRIED = Observed("hub-1/link-1", "a", State.READY, "crn:hub-1", carried=True)
CODEC = PlainCodec()
OTHER = Owner("22222222-bbbb", "C", "prod", "c2")
MARKS = CODEC.owner(OWNER) | {CODEC.node(NET, "of-a-lost-key")}


class _SealingCodec(PlainCodec):
    def spell_carrier_mark(self, owner: Owner, kind: str, ident: str, seal: str = "") -> str:
        return super().spell_carrier_mark(owner, kind, ident) + (f":{seal}" if seal else "")


@pytest.fixture
def ctx() -> PassContext:
    world = MemoryWorld(nodes=[node("net/main", size=1), node("hub/core"), node("link/a", "hub/core", "net/main")])
    deps = replace(Life(world).deps, codec=_SealingCodec())
    return PassContext(deps, world.graph(), Journal(OWNER), Handle(Stored()), ObjectState(first_seen=0.0))


def test_a_carriers_mark_with_our_seal_proves_what_it_names(ctx: PassContext) -> None:
    """Without the seal anybody who may tag the carrier can write it; a record of another id adds nothing."""
    sealed = proofs.seal_mark(ctx, LINK, CARRIED)
    ctx.journal = ctx.journal.put(LINK, Entry(RecordState.RECORDED, "hub-1/link-0", "crn:hub-1", carried=True))
    assert proofs.evidence(ctx, LINK, CARRIED, [sealed]).strength is Strength.PROVEN
    plain = ctx.deps.codec.spell_carrier_mark(OWNER, "link", CARRIED.id)
    assert proofs.evidence(ctx, LINK, CARRIED, [plain]).strength is Strength.COPIED


def test_a_record_vouches_for_the_resource_of_its_id_alone(ctx: PassContext) -> None:
    """The owner's marks can be copied: beside them the record of another resource of ours is no proof."""
    signature = ctx.keys.signature(ctx.keys.writing, "net", SEEN.id)
    ours = Entry(RecordState.OWNED, SEEN.id, SEEN.target, signature=signature, key=ctx.keys.writing)
    ctx.journal = ctx.journal.put(NET, ours)
    assert proofs.evidence(ctx, NET, SEEN, CODEC.owner(OWNER)).strength is Strength.PROVEN
    copy = replace(SEEN, id="net-2", target="crn:net-2")
    assert proofs.evidence(ctx, NET, copy, CODEC.owner(OWNER)).strength is Strength.COPIED


def test_where_an_id_returns_only_the_nonce_tells_ours_from_what_came_after_its_delete(ctx: PassContext) -> None:
    """Its owner's marks may be a copy, and the record is of what had the id before."""
    kinds = [
        replace(kind, naming=replace(kind.naming, id_returns=kind.name == "net")) for kind in ctx.deps.registry.values()
    ]
    ctx.deps = replace(ctx.deps, registry=Registry(kinds))
    signature = ctx.keys.signature(ctx.keys.writing, "net", SEEN.id)
    entry = Entry(RecordState.OWNED, SEEN.id, SEEN.target, deleting=1.0, signature=signature, key=ctx.keys.writing)
    ctx.journal = ctx.journal.put(NET, entry)
    born = replace(SEEN, nonce_fields=frozenset({ctx.keys.nonce(ctx.keys.writing, NET, entry.attempt)}))
    for seen, strength in ((SEEN, Strength.COPIED), (born, Strength.PROVEN)):
        assert proofs.evidence(ctx, NET, seen, CODEC.owner(OWNER)).strength is strength
    ctx.journal = ctx.journal.put(NET, replace(entry, deleting=0.0))
    assert proofs.evidence(ctx, NET, SEEN, CODEC.owner(OWNER)).strength is Strength.PROVEN


def test_the_nonce_of_what_is_on_record_vouches_for_nothing_else(ctx: PassContext) -> None:
    """Somebody copied the name of ours, and may tag the carrier."""
    writing = ctx.keys.writing
    signature = ctx.keys.signature(writing, "link", "hub-1/link-0")
    entry = Entry(RecordState.OWNED, "hub-1/link-0", "crn:hub-1", carried=True, signature=signature, key=writing)
    ctx.journal = ctx.journal.put(LINK, entry)
    plain = ctx.deps.codec.spell_carrier_mark(OWNER, "link", CARRIED.id)
    named = replace(CARRIED, nonce_fields=frozenset({ctx.keys.nonce(writing, LINK, entry.attempt)}))
    assert proofs.evidence(ctx, LINK, named, [plain]).strength is Strength.COPIED
    later = replace(CARRIED, nonce_fields=frozenset({ctx.keys.nonce(writing, LINK, entry.attempt + 1)}))
    assert proofs.evidence(ctx, LINK, later, [plain]).strength is Strength.PROVEN


@pytest.mark.parametrize(
    ("tags", "agree"),
    [
        (MARKS, True),
        ({tag.upper() for tag in MARKS}, True),
        (CODEC.owner(OWNER), False),
        (CODEC.owner(OWNER) | {CODEC.node(NodeKey("net", "other"), "s")}, False),
        (CODEC.owner(OTHER) | {CODEC.node(NET, "s")}, False),
    ],
    ids=["all", "in another case", "no node", "another node", "another owner"],
)
def test_a_record_of_a_lost_key_is_accepted_only_with_marks_that_name_owner_and_node(
    ctx: PassContext, tags: Collection[str], agree: bool
) -> None:
    ctx.journal = ctx.journal.put(NET, Entry(RecordState.OWNED, SEEN.id, SEEN.target, key="lost"))
    record = fingerprint(OWNER, str(NET), SEEN.id, "")
    ring: KeyRing = replace(ctx.deps.ring, accepted={("lost", OWNER.uuid): frozenset({record})})
    ctx.deps = replace(ctx.deps, ring=ring)
    assert proofs.is_accepted(ctx, NET, SEEN, tags) is agree
    assert not proofs.is_accepted(ctx, NET, replace(SEEN, id="net-2"), tags)
    ctx.journal = ctx.journal.put(NET, replace(ctx.journal.entries[NET], state=RecordState.GIVEN))
    assert not proofs.is_accepted(ctx, NET, SEEN, tags)


@pytest.mark.parametrize(
    ("accepted_for", "signed", "tags", "decided"),
    [
        (OWNER.uuid, True, MARKS, True),
        (OTHER.uuid, True, MARKS, False),
        (OWNER.uuid, False, MARKS, False),
        (OWNER.uuid, True, CODEC.owner(OWNER), False),
    ],
    ids=["all", "the key of another object is lost", "not signed anew", "the marks name no node"],
)
def test_a_record_that_a_decision_signed_anew_counts_where_a_key_of_the_object_is_lost(
    ctx: PassContext, accepted_for: str, signed: bool, tags: Collection[str], decided: bool
) -> None:
    writing = ctx.keys.writing
    signature = ctx.keys.signature(writing, "net", SEEN.id) if signed else "x" * 16
    ctx.journal = ctx.journal.put(NET, Entry(RecordState.OWNED, SEEN.id, SEEN.target, signature=signature, key=writing))
    ctx.deps = replace(ctx.deps, ring=replace(ctx.deps.ring, accepted={("lost", accepted_for): frozenset()}))
    assert proofs.is_decided(ctx, NET, SEEN, tags) is decided
    assert not proofs.is_decided(ctx, NET, replace(SEEN, carried=True), tags)


def test_the_marks_that_are_taken_off_are_those_of_this_object_alone(ctx: PassContext) -> None:
    """Also a seal of a key that is lost, unless another owner has marks there: then it may be theirs."""
    seal = proofs.seal_mark(ctx, NET, SEEN)
    carried = CODEC.spell_carrier_mark(OWNER, "link", "link-1")
    there = {*MARKS, seal, carried, "user:team=red"}
    assert proofs.own_marks(ctx, NET, SEEN, there) == MARKS | {seal}
    theirs = CODEC.owner(OTHER) | {CODEC.node(NET, "theirs")}
    assert proofs.own_marks(ctx, NET, SEEN, there | theirs) == CODEC.owner(OWNER) | {seal}
    assert proofs.own_marks(ctx, NET, SEEN, there | {f"uuid:{OTHER.uuid}"}) == CODEC.owner(OWNER) | {seal}
    assert proofs.own_marks(ctx, LINK, CARRIED, there | theirs) == {carried}


def test_a_carrier_of_an_unknown_kind_carries_nothing_of_ours(ctx: PassContext) -> None:
    """Both come from the journal, which others may edit."""
    assert proofs.is_carried_by(ctx, NodeKey("gone", "a"), "x-1", "crn:hub-1") is False
