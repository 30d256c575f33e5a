"""The operator's wall clock is ahead of the cloud's, or behind, or jumps; the monotonic clock is right."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from freehold.engine.clock import ManualClock
from freehold.engine.outcomes import Reason
from lab import catalogue, faults
from lab.catalogue import Families, Fresh, Ground
from lab.families import Case, at_each_call, crashes
from lab.faults import Script
from lab.life import Course
from lab.oracles import NO_EXCUSE, Excuse
from lab.seam import World

SKEWS = (-600.0, -90.0, 90.0, 600.0)

WRONG = Excuse(frozenset({Reason.AMBIGUOUS, Reason.NAME_TAKEN}))
ANYBODYS = Excuse(frozenset({Reason.AMBIGUOUS, Reason.NAME_TAKEN, Reason.NOT_OWNED}))
"""By a wrong clock a resource is older than its create, or it was forgotten: a person must decide."""


@dataclass
class Wall:
    """The operator's clock: domain time, but its wall clock is ``ahead`` of the cloud's."""

    true: ManualClock
    ahead: float = 0.0

    def now(self) -> float:
        return self.true.now() + self.ahead

    def monotonic(self) -> float:
        return self.true.monotonic()


def _skewed(fresh: Fresh, ahead: float) -> World:
    world = fresh()
    world.set_clock(Wall(world.clock, ahead))
    return world


def _jumping(world: World, *, number: int, seconds: float, crashes: dict[int, faults.Fault]) -> Script:
    wall = Wall(world.clock)
    world.set_clock(wall)

    def jump() -> None:
        wall.ahead += seconds

    return Script(crashes, {number: jump})


def wrong(on: Ground) -> Iterator[Case]:
    """The clock is ten minutes ahead or behind, or less than the tolerance: crashes, late effects."""
    for ahead in SKEWS:
        world = partial(_skewed, on.world, ahead)
        bad = abs(ahead) > 120.0
        yield from _labelled(ahead, crashes(world, calls=range(on.last), excuse=WRONG if bad else NO_EXCUSE))
        late = (faults.late_crash(20), faults.LOST)
        yield from _labelled(ahead, at_each_call(world, late, calls=range(on.last), excuse=WRONG if bad else NO_EXCUSE))


def strangers(on: Ground) -> Iterator[Case]:
    """A stranger's resource of the same name is too young, or too old, by a wrong clock."""
    for ahead, crash in itertools.product(SKEWS, (None, faults.AFTER)):
        world = partial(_skewed, on.world, ahead)
        acts = catalogue.meddling(world, "namesake", on.kinds, crash, on.moments, (*on.taken, Reason.NOT_OWNED))
        bad = ahead > 120.0  # then our own resources look too old as well
        anybodys = replace(ANYBODYS, reasons=ANYBODYS.reasons | set(on.taken))
        yield from _labelled(ahead, (replace(case, excuse=anybodys) if bad else case for case in acts))


def restored(on: Ground) -> Iterator[Case]:
    for ahead in SKEWS:
        world = partial(_skewed, on.world, ahead)
        for on_crash in (_restored, _restored_and_deleted):
            cases = crashes(world, calls=range(0, on.last, 2), on_crash=on_crash, excuse=WRONG)
            yield from _labelled(ahead, cases)


def jumps(on: Ground) -> Iterator[Case]:
    """A time server moves the clock at a call, and the process may die there or soon after."""
    for number, seconds, gap in itertools.product(range(on.last), (-600.0, 600.0), (None, 0, 2)):
        lost = {number + gap: faults.AFTER} if gap is not None else {}
        script = partial(_jumping, number=number, seconds=seconds, crashes=lost)
        yield Case(f"{seconds:+g} s at {number}, crash {gap}", on.world, script, excuse=WRONG)


def _labelled(ahead: float, cases: Iterator[Case]) -> Iterator[Case]:
    for case in cases:
        yield replace(case, label=f"{ahead:+g} s, {case.label}")


def _restored(life: Course) -> None:
    life.roll_back()


def _restored_and_deleted(life: Course) -> None:
    life.roll_back()
    life.deleting = True


def families(on: Ground) -> Families:
    return {
        "the operator's clock is wrong": lambda: wrong(on),
        "stranger of the same name under a wrong clock": lambda: strangers(on),
        "journal restored under a wrong clock": lambda: restored(on),
        "the operator's clock jumps": lambda: jumps(on),
    }
