"""What must not be made again when it has gone: it is reported, and a person decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import decisions
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.errors import Denied
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Outcome, Ready, Reason
from freehold.engine.resources import NodeKey
from lab.cloud import ReadLags
from lab.life import Life
from lab.machines import DAY, MachineWorld
from lab.outage import outage
from lab.world import node

MACHINE = NodeKey("machine", "node")


def _made(world: MachineWorld) -> list[str]:
    """The ids of all machines that ever were."""
    return [r.id for r in world.cloud.log if r.kind == "machine"]


def _ready(world: MachineWorld) -> Life:
    life = Life(world)
    assert isinstance(life.create()["machine/node"], Ready)
    return life


def _is_reported(outcome: Outcome, ident: str) -> None:
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.GONE
    assert ident in outcome.message
    assert "freehold resolve c1 -n prod machine/node --not-mine --yes" in outcome.message


@pytest.mark.parametrize("restarted", (False, True), ids=("seen by this process", "seen by its successor"))
def test_a_machine_that_has_gone_is_reported_and_not_made_again(restarted: bool) -> None:
    world = MachineWorld()
    life = _ready(world)
    (ident,) = _made(world)
    world.strike("machine")
    if restarted:
        life.restart()
    life.invalidate()
    _is_reported(life.create()["machine/node"], ident)
    world.clock.advance(3 * DAY)
    life.restart()
    _is_reported(life.create()["machine/node"], ident)
    assert _made(world) == [ident]


def test_the_rest_of_the_object_goes_on_and_can_be_deleted() -> None:
    world = MachineWorld()
    life = _ready(world)
    world.strike("machine")
    life.invalidate()
    outcomes = life.create()
    assert isinstance(outcomes["net/main"], Ready) and isinstance(outcomes["pool/api"], Ready)
    life.delete()
    assert life.released and not world.living()


def test_one_that_went_before_its_marks_were_read_is_not_made_again() -> None:
    """Other kinds are tried once more."""
    world = MachineWorld()
    life = Life(world)
    while not (entry := life.journal.get(MACHINE)) or entry.state is not RecordState.RECORDED:
        done = life.once()
        world.clock.advance(done.after if done else 1.0)
    (ident,) = _made(world)
    world.strike("machine")
    _is_reported(life.create()["machine/node"], ident)
    assert _made(world) == [ident]


def test_one_that_another_owner_took_and_deleted_is_not_made_again() -> None:
    world = MachineWorld()
    life = _ready(world)
    (ident,) = _made(world)
    life.rewrite(life.journal.put(MACHINE, replace(life.journal.entries[MACHINE], state=RecordState.THEIRS)))
    world.strike("machine")
    world.clock.advance(2 * DAY)  # its token does not answer with it any more
    _is_reported(life.create()["machine/node"], ident)


def test_a_read_that_lags_does_not_say_that_it_has_gone() -> None:
    """Reads step back to before its create."""
    world = MachineWorld(ReadLags(list_lag=10.0, read_lag=10.0, restless=True))
    _ready(world)
    assert len(_made(world)) == 1


def test_one_that_comes_back_is_ours_again() -> None:
    """The cloud showed nothing of it for an hour, the list neither."""
    world = MachineWorld()
    life = _ready(world)
    machine = world.ours("machine")
    assert machine is not None
    world.strike("machine")
    life.invalidate()
    _is_reported(life.create()["machine/node"], machine.id)
    machine.delete_at = machine.gone_at = None
    world.clock.advance(3600)
    assert isinstance(life.create()["machine/node"], Ready)
    assert life.journal.entries[MACHINE].id == machine.id
    assert not life.journal.entries[MACHINE].gone


def test_a_person_decides_that_it_is_made_again() -> None:
    world = MachineWorld()
    life = _ready(world)
    world.strike("machine")
    life.invalidate()
    life.create()
    attempt = life.journal.entries[MACHINE].attempt
    decision = Decision(Verdict.NOT_MINE, str(MACHINE), "", attempt, "ada@laptop", world.clock.now())
    life.decisions = (decisions.sign_decision(decision, life.keys),)
    life.invalidate()
    assert isinstance(life.create()["machine/node"], Ready)
    assert len(_made(world)) == 2


def test_what_this_operator_deleted_itself_may_be_made_again() -> None:
    """The spec did without it, a person had it pruned, and now the spec wants it again."""
    world = MachineWorld()
    life = _ready(world)
    (machine,) = [n for n in world.nodes if n.key == MACHINE]
    world.edit(drop="machine/node")
    life.create()
    entry = life.journal.entries[MACHINE]
    decision = Decision(Verdict.PRUNE, str(MACHINE), entry.id, entry.attempt, "ada@laptop", world.clock.now())
    life.decisions = (decisions.sign_decision(decision, life.keys),)
    life.invalidate()
    life.create()
    assert world.ours("machine") is None
    world.edit(add=machine)
    assert isinstance(life.create()["machine/node"], Ready)


@pytest.mark.parametrize("stripped", [False, True], ids=["with its marks", "without its marks"])
def test_one_whose_delete_was_refused_and_that_is_wanted_again_is_reported_when_it_goes(stripped: bool) -> None:
    """A person had it pruned, and the cloud refused that: that it goes now is not our doing."""
    world = MachineWorld()
    life = _ready(world)
    (machine,) = [n for n in world.nodes if n.key == MACHINE]
    world.edit(drop="machine/node")
    life.create()
    entry = life.journal.entries[MACHINE]
    decision = Decision(Verdict.PRUNE, str(MACHINE), entry.id, entry.attempt, "ada@laptop", world.clock.now())
    life.decisions = (decisions.sign_decision(decision, life.keys),)
    life.invalidate()
    with outage(life, "delete_machine", Denied("it is protected against termination")):
        for _ in range(3):
            done = life.once()
            world.clock.advance(done.after if done else 1.0)
    life.decisions = ()
    assert life.journal.entries[MACHINE].deleting
    world.edit(add=machine)
    life.invalidate()
    if stripped:  # they are put on again, but have not been read yet when it goes
        world.meddle("strip", "machine")
        life.once()
    else:
        assert isinstance(life.create()["machine/node"], Ready)
    world.strike("machine")
    life.invalidate()
    _is_reported(life.create()["machine/node"], entry.id)


def test_drift_does_not_advise_to_delete_it() -> None:
    """Other kinds are created anew when they have been deleted."""
    world = MachineWorld()
    life = _ready(world)
    world.cloud.change("machine-003", "size", 3, "somebody")
    world.nodes = [node("machine/node", "net/main", size=1) if n.key == MACHINE else n for n in world.nodes]
    life.invalidate()
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Ready) and outcome.reason is Reason.DRIFTED
    assert "size is 3" in outcome.note and "delete" not in outcome.note


def test_a_failed_one_says_that_it_is_not_made_again_by_itself() -> None:
    world = MachineWorld()
    world.fail("machine")
    outcome = Life(world).create()["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.FAILED
    assert "--not-mine --yes" in outcome.message
