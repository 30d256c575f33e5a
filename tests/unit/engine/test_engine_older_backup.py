"""An object restored from an older backup: what its journal has forgotten is found, or a person is asked."""

from __future__ import annotations

import pytest

from freehold.engine import journal as journals
from freehold.engine.clock import ManualClock
from freehold.engine.dry_run import dry_run_deps
from freehold.engine.dry_run_overlay import Action, Overlay
from freehold.engine.engine import ensure
from freehold.engine.journal import Journal, RecordState
from freehold.engine.outcomes import Blocked, Reason, Surplus
from freehold.engine.port import ReadOnlyPort
from freehold.engine.resources import NodeKey
from harness.stepping import run_blocking
from lab.faults import Crash
from lab.life import Life
from lab.network import NAT, NetworkWorld, network
from lab.outage import once_after
from lab.world import MemoryWorld, node


def _restore(life: Life, versions: int) -> None:
    """The journal as it was when it had been written ``versions`` times."""
    life.roll_back(len(life.stored.versions) - versions)


def test_what_no_index_lists_is_found_at_the_end_although_neither_record_nor_spec_names_its_kind() -> None:
    """The role was made after the backup, and the spec did without it before the object was deleted."""
    without_role = [each for each in network() if each.key.kind != "role"]
    world = NetworkWorld(nodes=without_role)
    life = Life(world)
    life.create()
    backup = len(life.stored.versions)
    world.nodes = network()
    life.invalidate()
    life.create()
    assert world.ours("role") is not None
    world.nodes = without_role
    _restore(life, backup)
    life.start(minted=False)
    life.delete()
    assert life.released and not world.living()


def _is_open(text: str) -> bool:
    entry = journals.loads(text).entries.get(NAT)
    return entry is not None and entry.state is RecordState.INTENDED


def _made_after_many_refusals(*, forgotten: bool = False) -> tuple[NetworkWorld, Life]:
    """A gateway was made by an attempt that the restored journal does not know, and was not sealed yet.

    Each refusal spends a token. It has no name of its own, so only its birth mark shows it. ``forgotten``: the backup
    is from before a refusal, and the cloud knows nothing of it any more, so that the earlier token makes something.
    """
    world = NetworkWorld()
    life = Life(world)
    world.cloud.full.add("nat")
    for _ in range(12):
        done = life.once()
        world.clock.advance(done.after if done else 1.0)
    backup, before = len(life.stored.versions), life.journal.entries[NAT].attempt
    if forgotten:
        backup = max(n for n, text in enumerate(life.stored.versions, start=1) if _is_open(text))
    for _ in range(12):
        life.once()
        world.clock.advance(300.0)
    assert life.journal.entries[NAT].attempt > before + 4
    world.cloud.full.discard("nat")

    def die() -> None:
        _restore(life, backup)
        if forgotten:
            world.cloud.refusals.clear()
        raise Crash("made, and on no record")

    once_after(life, "create_nat", die)
    life.create()
    assert life.crashes == 1
    return world, life


@pytest.mark.parametrize("forgotten", [False, True], ids=["refusals repeat", "the cloud has forgotten the refusals"])
def test_what_a_forgotten_attempt_made_is_not_made_a_second_time(forgotten: bool) -> None:
    world, life = _made_after_many_refusals(forgotten=forgotten)
    (made,) = [each.id for each in world.cloud.log if each.kind == "nat"]
    assert life.last is not None
    blocked = life.last.outcomes[NAT]
    reason = Reason.PRESUMED_ONLY if forgotten else Reason.AMBIGUOUS
    assert isinstance(blocked, Blocked) and blocked.reason is reason and made in blocked.message


def test_what_a_forgotten_attempt_made_goes_with_the_object() -> None:
    world, life = _made_after_many_refusals()
    life.delete()
    assert life.released and not world.living()


def test_a_birth_mark_of_another_node_holds_up_no_create() -> None:
    """Both are found by the same search for marks that are on no record."""
    world = NetworkWorld()
    life = Life(world)

    def die() -> None:
        life.rewrite(life.journal.drop(NodeKey("group", "front")).drop(NodeKey("group", "back")))
        raise Crash("made, and on no record")

    once_after(life, "create_group", die)
    blocked: list[Blocked] = []
    for _ in range(30):
        done = life.once()
        blocked += [each for each in (done.outcomes.values() if done else ()) if isinstance(each, Blocked)]
        world.clock.advance(done.after if done else 1.0)
    assert life.crashes == 1 and not blocked
    assert sorted(each.role for each in world.cloud.living() if each.kind == "group") == ["group/back", "group/front"]


def test_a_plan_finds_what_the_backup_has_forgotten_as_a_pass_does() -> None:
    """Otherwise it shows a second network: a plan is made as if nothing of an earlier process were under way."""
    world = NetworkWorld()
    life = Life(world)
    life.create()
    _restore(life, 1)
    life.start(minted=False)
    overlay = Overlay(ManualClock(world.clock.now(), world.clock.monotonic()))
    deps = dry_run_deps(world.deps(ReadOnlyPort(life.port)), overlay)
    journal, state = life.journal, life.state.dry_run_copy()
    for _ in range(8):
        state.invalidate()
        journal = run_blocking(ensure(deps, world.graph(), journal, _Unsaved(), state)).journal
        overlay.clock.advance(600.0)
    assert not [write for write in overlay.writes if write.action is Action.CREATE]


class _Unsaved:
    async def save(self, journal: Journal) -> None:
        """A plan stores nothing."""


def test_what_may_have_been_handed_over_is_not_pruned() -> None:
    """Backup and spec know nothing of it. The in-cluster provider may use it: it goes with the object."""
    world = MemoryWorld(nodes=[node("net/main")])
    life = Life(world)
    life.create()
    backup = len(life.stored.versions)
    world.nodes = [node("net/main"), node("disk/data", "net/main", shared=True)]
    life.invalidate()
    life.create()
    world.nodes = [node("net/main")]
    _restore(life, backup)
    life.start(minted=False)
    assert isinstance(life.create()["disk/data"], Surplus)
    assert world.ours("disk") is not None
    life.delete()
    assert life.released and not world.living()
