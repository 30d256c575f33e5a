"""What a machine needs only to begin, and takes away itself: gone while the machine exists, it is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from freehold.engine.decisions import Decision, Verdict
from freehold.engine.graph import Node
from freehold.engine.journal import RecordState
from freehold.engine.kinds import CreateRules, Dedupe, DeleteRules, Kind
from freehold.engine.outcomes import Blocked, Ready, Reason, Waiting
from freehold.engine.port import Port
from freehold.engine.resources import NodeKey
from lab import faults
from lab.cloud import ReadLags, Traits
from lab.faults import Script
from lab.life import Life
from lab.machines import MACHINE_TRAITS, MachineWorld
from lab.world import TRAITS, node

LETTER, MACHINE = NodeKey("letter", "0"), NodeKey("machine", "node")


def _nodes(letter: bool = True, size: int = 1) -> list[Node]:
    """A net, and a machine in it that needs a letter; or, once it has joined, none."""
    needs = ("net/main", "letter/0") if letter else ("net/main",)
    machine = node("machine/node", *needs)
    fixed = replace(
        machine, request=lambda known: {"name": "c1-node", "net": known[NodeKey("net", "main")].id, "size": size}
    )
    return [node("net/main", size=1), *([node("letter/0")] if letter else []), fixed]


@dataclass
class LetterWorld(MachineWorld):
    """A machine that takes its letter away ``after`` so many seconds."""

    nodes: Iterable[Node] = field(default_factory=_nodes)
    traits: dict[str, Traits] = field(
        default_factory=lambda: {
            **TRAITS,
            **MACHINE_TRAITS,
            "machine": replace(MACHINE_TRAITS["machine"], secret="", echoes=False),
            "letter": Traits("letter", token=True, tags_on_create=True, unique=True),
        }
    )
    after: float = 0.0

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        letter = replace(
            self._kind("letter", Dedupe.TOKEN, port),
            requires=(),
            creation=CreateRules(consumer="machine"),
            deletion=DeleteRules(prunable=True),
        )
        return (*super().kinds(port), letter)

    def unaudited(self, sent: int) -> list[str]:
        return []

    def count(self, kind: str) -> int:
        """How many there ever were."""
        return len([each for each in self.cloud.log if each.kind == kind])

    def take_letter(self) -> None:
        """The machine does it, if it runs."""
        if self.ours("machine"):
            self.strike("letter")


def _begun(world: LetterWorld) -> Life:
    life = Life(world)
    assert isinstance(life.create()["machine/node"], Ready)
    return life


def test_the_letter_is_made_before_the_machine_and_stays_while_nobody_takes_it() -> None:
    world = LetterWorld()
    life = _begun(world)
    made = [each.kind for each in world.cloud.log]
    assert made.index("letter") < made.index("machine")
    assert isinstance(life.create()["letter/0"], Ready)


@pytest.mark.parametrize("restarted", (False, True), ids=("seen by this process", "seen by its successor"))
@pytest.mark.parametrize("lag", (0.0, 20.0))
def test_a_letter_that_was_taken_is_done(restarted: bool, lag: float) -> None:
    """Not lost, not made again, no problem; and the object is at rest."""
    world = LetterWorld(read_lags=ReadLags(tag_lag=lag))
    life = _begun(world)
    world.take_letter()
    if restarted:
        life.restart()
    life.invalidate()
    for _ in range(5):
        done = life.once()
        assert done is not None
        assert not [o for o in done.outcomes.values() if isinstance(o, Blocked | Waiting)], done.outcomes
        assert not done.notes
        world.clock.advance(max(done.after, 1.0))
    outcomes = life.create()
    assert isinstance(outcomes["machine/node"], Ready) and "letter/0" not in outcomes
    assert (world.count("letter"), world.count("machine")) == (1, 1)
    assert not life.watch()


def test_what_the_machine_wants_is_done_without_its_letter() -> None:
    """Nothing waits for what was taken: an attribute of the machine's is brought to the spec."""
    world = LetterWorld()
    life = _begun(world)
    world.take_letter()
    life.invalidate()
    life.create()
    life.invalidate()
    assert isinstance(life.create()["machine/node"], Ready)
    assert "letter/0" not in (life.journal.entries[MACHINE].requires or ())


@pytest.mark.parametrize("fault", (faults.BEFORE, faults.AFTER))
def test_no_crash_loses_or_doubles_anything(fault: faults.Fault) -> None:
    """The machine takes its letter at once, at whichever call the process dies."""
    golden = LetterWorld()
    calls = len(_begun(golden).port.calls)
    for number in range(calls):
        world = LetterWorld()
        life = Life(world, Script({number: fault}), on_crash=lambda life: life.world.take_letter())
        outcomes = life.create()
        assert isinstance(outcomes["machine/node"], Ready), number
        assert (world.count("letter"), world.count("machine")) == (1, 1), number
        world.take_letter()
        life.delete()
        assert life.released and not world.living(), number


@pytest.mark.parametrize("lags", (ReadLags(), ReadLags(10.0, 10.0, 20.0, restless=True)), ids=("no lag", "lags"))
def test_the_machine_may_take_its_letter_between_any_two_calls(lags: ReadLags) -> None:
    golden = _begun(LetterWorld(read_lags=lags))
    golden.delete()
    for number in range(len(golden.port.calls)):
        world = LetterWorld(read_lags=lags)
        life = Life(world, Script(acts={number: world.take_letter}))
        assert isinstance(life.create()["machine/node"], Ready), number
        life.delete()
        assert life.released and not world.living(), number
        assert (world.count("letter"), world.count("machine")) == (1, 1), number


def test_a_machine_that_was_refused_gets_a_letter_before_it_is_made() -> None:
    """Somebody has deleted the letter, and no machine had it."""
    world = LetterWorld()
    world.cloud.full.add("machine")
    life = Life(world)
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.QUOTA
    world.strike("letter")
    world.cloud.full.clear()
    life.invalidate()
    outcomes = life.create()
    assert isinstance(outcomes["machine/node"], Ready)
    assert world.count("letter") == 2
    last = [each.kind for each in world.cloud.log]
    assert last.index("machine") > max(i for i, kind in enumerate(last) if kind == "letter")


def test_an_open_create_that_came_to_nothing_gets_a_new_letter_first() -> None:
    """While it was open the machine might have run, so the letter counted as taken."""
    golden = LetterWorld()
    _begun(golden)
    number = next(i for i, call in enumerate(golden.life.port.calls) if call.operation == "create_machine")
    world = LetterWorld()
    life = Life(world, Script({number: faults.BEFORE}), on_crash=lambda life: life.world.strike("letter"))
    outcomes = life.create()
    assert isinstance(outcomes["machine/node"], Ready)
    kinds = [each.kind for each in world.cloud.log]
    assert world.count("machine") == 1
    taken = [i for i, kind in enumerate(kinds) if kind == "letter"]
    if len(taken) == 2:
        assert taken[1] < kinds.index("machine")


def test_a_machine_that_has_gone_is_reported_alone_until_a_person_decides() -> None:
    world = LetterWorld()
    life = _begun(world)
    world.take_letter()
    world.strike("machine")
    life.invalidate()
    outcomes = life.create()
    gone = outcomes["machine/node"]
    assert isinstance(gone, Blocked) and gone.reason is Reason.GONE
    assert "letter/0" not in outcomes and world.count("letter") == 1
    attempt = life.journal.entries[MACHINE].attempt
    life.decide(Decision(Verdict.NOT_MINE, str(MACHINE), "", attempt, "ana", world.clock.now()))
    outcomes = life.create()
    assert isinstance(outcomes["machine/node"], Ready) and isinstance(outcomes["letter/0"], Ready)
    assert (world.count("letter"), world.count("machine")) == (2, 2)


def test_a_letter_that_is_wanted_no_more_goes_while_the_machine_stays() -> None:
    """Although the record of the machine names it as required."""
    world = LetterWorld()
    life = _begun(world)
    world.nodes = _nodes(letter=False)
    life.invalidate()
    outcomes = life.create()
    assert not world.ours("letter") and world.ours("machine")
    assert "letter/0" not in outcomes
    assert not life.watch()


@pytest.mark.parametrize("deleted", (False, True), ids=("wanted no more", "deleted with the object"))
def test_a_letter_that_was_taken_unseen_is_not_waited_for_when_it_is_to_go(deleted: bool) -> None:
    """The machine has joined, or its object is deleted, before anybody has looked again."""
    world = LetterWorld()
    life = _begun(world)
    world.take_letter()
    world.nodes, life.deleting = _nodes(letter=False), deleted
    waits: list[str] = []
    while life.journal.entries[LETTER].id:
        done = life.once()
        assert done is not None
        waits += [o.message for key, o in done.outcomes.items() if key == LETTER and isinstance(o, Waiting)]
        world.clock.advance(max(done.after, 0.001))
    assert not waits
    if not life.released:
        life.settle()
    assert world.count("letter") == 1 and life.released is deleted


def test_a_letter_goes_although_the_machine_is_not_as_the_spec_wants_it() -> None:
    """Edges of a record are dropped only from what is as wanted."""
    world = LetterWorld()
    life = _begun(world)
    world.nodes = _nodes(letter=False, size=2)
    life.invalidate()
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Ready) and outcome.reason is Reason.DRIFTED
    assert not world.ours("letter")


def test_both_go_with_the_object() -> None:
    world = LetterWorld()
    life = _begun(world)
    life.delete()
    assert life.released and not world.living()
    assert life.journal.entries[LETTER].state is RecordState.VACANT
