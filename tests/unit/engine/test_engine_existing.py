"""Creates that answer with what has the name already: the reply may show a stranger's resource."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine.graph import Naming
from freehold.engine.journal import RecordState
from freehold.engine.kinds import CreateRules, Dedupe, Kind, Registry, Tagging
from freehold.engine.outcomes import Blocked, Category, Ready, Reason
from freehold.engine.resources import NodeKey
from lab import faults
from lab.catalogue_clocks import Wall
from lab.cloud import ReadLags, Resource
from lab.drivers import MemoryDriver
from lab.faults import FaultPort, Script
from lab.life import Life
from lab.machines import MACHINE_TRAITS, MachineWorld
from lab.world import TRAITS, node

POOL = NodeKey("pool", "api")


def _pools(world: MachineWorld) -> list[Resource]:
    return [r for r in world.cloud.living() if r.kind == "pool"]


def _number(operation: str) -> int:
    golden = Life(MachineWorld(nodes=[node("pool/api")]))
    golden.create()
    return next(i for i, call in enumerate(golden.port.calls) if call.operation == operation)


def _raced(world: MachineWorld) -> Life:
    """A stranger takes the name between our look and our create."""
    return Life(world, Script(acts={_number("create_pool"): lambda: world.namesake("pool")}))


def test_a_strangers_resource_that_a_create_answered_with_is_not_ours() -> None:
    """It would be marked, and deleted with the object."""
    world = MachineWorld(nodes=[node("pool/api")])
    life = _raced(world)
    outcome = life.create()["pool/api"]
    (theirs,) = _pools(world)
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NAME_TAKEN
    assert theirs.id in outcome.message
    assert not theirs.tagged(world.cloud.now())
    life.delete()
    assert life.released
    assert _pools(world) == [theirs]


def test_what_the_spec_names_is_used_also_when_a_create_answered_with_it() -> None:
    """As if the list had shown it in time."""
    world = MachineWorld(nodes=[node("pool/api", naming=Naming.EXPLICIT)])
    life = _raced(world)
    outcome = life.create()["pool/api"]
    assert isinstance(outcome, Ready) and outcome.category is Category.UNMANAGED
    life.delete()
    assert len(_pools(world)) == 1


def test_ours_counts_once_its_birth_mark_was_read() -> None:
    """The reply of the create does not show its tags."""
    world = MachineWorld(nodes=[node("pool/api")])
    life = Life(world)
    life.once()
    assert life.journal.entries[POOL].state is RecordState.INTENDED
    assert isinstance(life.create()["pool/api"], Ready)
    assert life.journal.entries[POOL].attempt == 1
    assert len(_pools(world)) == 1


def test_a_reply_that_proves_nothing_is_not_recorded_by_a_later_pass_either() -> None:
    """The write of the record fails: what this process remembers of the create must not count as its result."""
    world = MachineWorld(ReadLags(list_lag=15.0), nodes=[node("pool/api")])
    number = _number("create_pool")
    stale = {number + 1: faults.STALE, number + 2: faults.STALE, number + 3: faults.STALE}
    life = Life(world, Script(stale, {number: lambda: world.namesake("pool")}))
    outcome = life.create()["pool/api"]
    (theirs,) = _pools(world)
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NAME_TAKEN
    assert not theirs.tagged(world.cloud.now())


@pytest.mark.parametrize("ahead", (-600.0, 600.0))
def test_a_wrong_clock_does_not_make_ours_somebody_elses(ahead: float) -> None:
    """By our clock it is older than its create; but the look before the create did not show it."""
    world = MachineWorld(nodes=[node("pool/api")])
    world.set_clock(Wall(world.clock, ahead))
    assert isinstance(Life(world).create()["pool/api"], Ready)


def test_a_reply_that_shows_our_birth_mark_is_recorded_at_once() -> None:
    traits = {**TRAITS, **MACHINE_TRAITS, "pool": replace(MACHINE_TRAITS["pool"], tags_in_reply=True)}
    life = Life(MachineWorld(nodes=[node("pool/api")], traits=traits))
    life.once()
    assert life.journal.entries[POOL].state is RecordState.RECORDED


def test_a_kind_that_answers_with_what_was_there_needs_a_birth_mark() -> None:
    """Without one nothing could ever prove its reply."""
    world = MachineWorld()
    driver = MemoryDriver(world.cloud, FaultPort(world), "record")
    with pytest.raises(ValueError, match="birth mark"):
        Registry([Kind("record", Tagging.NEVER, Dedupe.KEY, driver, creation=CreateRules(answers_existing=True))])
