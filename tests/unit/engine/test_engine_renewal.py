"""Renewal of one object: when no seal or signature of an older key is left, and which seals may be detached."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine.journal import RecordState
from freehold.engine.keys import KeyRing
from freehold.engine.phases.renewal import PER_PASS
from freehold.engine.resources import NodeKey
from lab.life import Life
from lab.spelling import PlainCodec
from lab.world import RING, MemoryWorld

CODEC = PlainCodec()
NEW = KeyRing.single(b"the laboratory's second key, 32 bytes")
BOTH = KeyRing(NEW.writing, {**RING.keys, **NEW.keys})


def _ready() -> tuple[MemoryWorld, Life]:
    world = MemoryWorld()
    life = Life(world)
    life.create()
    return world, life


def _under(world: MemoryWorld, life: Life, ring: KeyRing) -> None:
    world.ring = ring
    life.restart()


def _deep_passes(world: MemoryWorld, life: Life, count: int) -> None:
    for _ in range(count):
        life.invalidate()
        life.once()
        world.clock.advance(60.0)


def test_in_the_end_nothing_needs_the_old_key_not_even_an_unmarkable_kind() -> None:
    """A record without a mark is signed again by itself: otherwise a rotation never ends for its object."""
    world, life = _ready()
    _under(world, life, BOTH)
    _deep_passes(world, life, 16)
    assert life.journal.keys == {NEW.writing}
    _under(world, life, NEW)
    life.delete()
    assert life.released
    assert not world.living()


@pytest.mark.parametrize("phase", [RecordState.OWNED, RecordState.RECORDED])
def test_a_record_of_an_unmarkable_kind_is_not_signed_again_without_its_old_signature(phase: RecordState) -> None:
    """Somebody who may edit the object wrote that id: once signed, a stranger's resource would be deleted."""
    world, life = _ready()
    key = NodeKey("ticket", "seat")
    theirs = world.cloud.create("ticket", "theirs", {}, creator="stranger")
    life.rewrite(life.journal.put(key, replace(life.journal.entries[key], id=theirs.id, state=phase)))
    _under(world, life, BOTH)
    _deep_passes(world, life, 16)
    assert life.journal.entries[key].key == RING.writing
    life.delete()
    assert theirs.id in [thing.id for thing in world.living()]


def _marked(world: MemoryWorld, life: Life) -> dict[NodeKey, tuple[frozenset[str], str, str]]:
    """A resource with its own mark: its tags, and its marks under the old key and under the new one."""
    now, found = world.cloud.now(), {}
    for key, entry in life.journal.entries.items():
        if entry.state is RecordState.OWNED and entry.target and not entry.carried:
            tags = world.cloud.get(entry.id).tagged(now)
            old, new = (life.keys.seal(ring.writing, key, entry.target) for ring in (RING, NEW))
            found[key] = tags, CODEC.node(key, old), CODEC.node(key, new)
    return found


def test_a_record_names_the_new_key_only_when_its_seal_is_on_the_resource() -> None:
    """From then on the old key may be removed from the ring, and only the new seal proves that it is ours."""
    world, life = _ready()
    _under(world, life, BOTH)
    for _ in range(16):
        _deep_passes(world, life, 1)
        for key, (tags, old, new) in _marked(world, life).items():
            if NodeKey("net", "main") != key:  # its mark was attached by the create, and stays
                assert (new if life.journal.entries[key].key == NEW.writing else old) in tags
    assert life.journal.keys == {NEW.writing}


def test_a_rotation_attaches_few_seals_in_each_pass() -> None:
    """A thousand objects begin in the same ten minutes, and the cloud limits tag calls."""
    world, life = _ready()
    _under(world, life, BOTH)
    before, most = 0, 0
    for _ in range(16):
        _deep_passes(world, life, 1)
        renewed = sum(new in tags for tags, _, new in _marked(world, life).values())
        before, most = renewed, max(most, renewed - before)
    assert life.journal.keys == {NEW.writing} and before > PER_PASS
    assert most <= PER_PASS


def test_the_mark_of_another_node_stays_when_the_old_seal_is_detached() -> None:
    """It may be needed under that key again; only the seal of this node has been replaced."""
    world, life = _ready()
    hub = next(r for r in world.cloud.living() if r.kind == "hub")
    other = NodeKey("hub", "other")
    kept = CODEC.node(other, life.keys.seal(RING.writing, other, hub.target))
    world.cloud.attach(hub.target, frozenset({kept}))
    _under(world, life, BOTH)
    _deep_passes(world, life, 16)
    assert life.journal.keys == {NEW.writing}
    tags, old, new = _marked(world, life)[NodeKey("hub", "core")]
    assert old not in tags and {kept, new} <= tags
