"""User tags follow the spec: dropped tags are detached from our resources, and from nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Ready
from freehold.engine.resources import NodeKey
from lab import faults
from lab.faults import Script
from lab.life import Life
from lab.outage import outage
from lab.world import MemoryWorld, node

NET, HUB = NodeKey("net", "main"), NodeKey("hub", "core")
RED, BLUE = frozenset({"user:team=red"}), frozenset({"user:team=blue"})


def _user_tags(world: MemoryWorld, kind: str) -> frozenset[str]:
    ours = world.ours(kind)
    assert ours is not None
    return frozenset(tag for tag in ours.tagged(world.cloud.now()) if tag.startswith("user:"))


@pytest.mark.parametrize("fault", (faults.late(20.0), faults.LOST), ids=str)
def test_a_dropped_tag_is_detached_from_a_resource_whose_create_was_under_way(fault: faults.Fault) -> None:
    """The create was sent with the old tag, which must be remembered until the resource exists."""
    nodes = [node("net/main", size=1)]
    undisturbed = Life(MemoryWorld(nodes=nodes))
    undisturbed.create()
    number = next(i for i, call in enumerate(undisturbed.port.calls) if call.operation == "create_net")
    world = MemoryWorld(nodes=nodes)
    life = Life(world, Script({number: fault}), user_tags=RED)
    life.once()
    assert life.journal.entries[NET].state is RecordState.INTENDED
    life.user_tags = BLUE
    assert isinstance(life.create()[str(NET)], Ready)
    assert _user_tags(world, "net") == BLUE


@pytest.mark.parametrize("error", (errors.Unavailable("503"), errors.Denied("no permission to detach")))
def test_a_dropped_tag_is_detached_although_the_first_detach_failed(error: errors.CloudError) -> None:
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world, user_tags=RED)
    life.create()
    life.user_tags = BLUE
    life.state.invalidate()
    with outage(life, "detach", error, times=1):
        life.once()
    assert _user_tags(world, "hub") == RED | BLUE
    life.create()
    assert _user_tags(world, "hub") == BLUE


def test_no_tag_is_detached_from_a_forged_id_while_marks_cannot_be_read() -> None:
    """Such a pass cannot compare the journal with marks: only the signature tells whose the id is."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world, user_tags=RED)
    life.create()
    theirs = world.cloud.create("hub", "theirs", {}, creator="stranger")
    world.cloud.attach(theirs.target, RED, by="stranger")
    world.clock.advance(3600.0)
    entry = replace(life.journal.entries[HUB], id=theirs.id, target=theirs.target)
    life.rewrite(life.journal.put(HUB, entry))
    life.user_tags = frozenset()
    with outage(life, "search", errors.Unavailable("503")):
        for _ in range(4):
            life.once()
            world.clock.advance(30.0)
    life.create()
    assert theirs.tagged(world.cloud.now()) == RED
