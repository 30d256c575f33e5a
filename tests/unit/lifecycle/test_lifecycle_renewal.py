"""Renewal in one object: what is left under an older key, and what may be taken off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.lifecycle.journal import Phase
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.kinds import NodeKey
from lab.life import Life
from lab.world import RING, MemoryWorld

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


def test_nothing_needs_the_old_key_in_the_end_not_even_what_nothing_can_mark() -> None:
    """A record that no mark accompanies is signed anew by itself: else a rotation never ends for its object."""
    world, life = _ready()
    _under(world, life, BOTH)
    _deep_passes(world, life, 16)
    assert life.journal.keys == {NEW.writing}
    _under(world, life, NEW)
    life.delete()
    assert life.released
    assert not world.living()


@pytest.mark.parametrize("phase", [Phase.OWNED, Phase.RECORDED])
def test_what_nothing_can_mark_is_not_signed_anew_without_the_old_signature(phase: Phase) -> None:
    """Somebody who may edit the object wrote that id: nothing must sign it, or the delete would take a stranger's."""
    world, life = _ready()
    key = NodeKey("ticket", "seat")
    theirs = world.cloud.create("ticket", "theirs", {}, creator="stranger")
    life.rewrite(life.journal.put(key, replace(life.journal.entries[key], id=theirs.id, phase=phase)))
    _under(world, life, BOTH)
    _deep_passes(world, life, 16)
    assert life.journal.entries[key].key == RING.writing
    life.delete()
    assert theirs.id in [thing.id for thing in world.living()]
