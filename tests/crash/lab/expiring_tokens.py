"""A third in-memory world: a disk that only its client token, or its name, shows to be ours before it is marked.

Its token ends after a day (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html). A create that is
repeated after that makes a second disk. What nothing can tell any more a person decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from freehold.engine.graph import Node
from lab import catalogue_tokens, faults
from lab.catalogue import Families
from lab.catalogue_clocks import Wall
from lab.catalogue_tokens import REFUSED, larger
from lab.cloud import Traits
from lab.families import Case, Named, at_each_call
from lab.families_memory import MEMORY
from lab.faults import Script
from lab.life import Course
from lab.seam import World
from lab.world import TRAITS, MemoryWorld, node

DAY = 86_400.0
EXPIRING = {
    **TRAITS,
    "disk": Traits("disk", token=True, parent="net", token_life=DAY),
}


def disks() -> list[Node]:
    return [node("net/main", size=1), node("disk/data", "net/main", size=1)]


@dataclass
class ExpiringWorld(MemoryWorld):
    """A net, and a disk in it."""

    nodes: Iterable[Node] = field(default_factory=disks)
    traits: dict[str, Traits] = field(default_factory=lambda: dict(EXPIRING))
    edited: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cloud.caller = "operator"


GROUND = replace(MEMORY, world=ExpiringWorld, kinds=("net", "disk"))
KILLS = (faults.BEFORE, faults.AFTER, faults.late_crash(20))
CALLS = range(GROUND.begun)


def _down(*, clock: float) -> Iterator[Case]:
    """The process is down for nearly as long as a token lives, or longer; meanwhile its clock may be put back."""
    change = partial(_put_back, seconds=clock)
    for down in (DAY - 600.0, DAY - 30.0, DAY + 30.0, 3 * DAY):
        cases = at_each_call(ExpiringWorld, KILLS, calls=CALLS, on_crash=change, restart_after=down)
        yield from (replace(case, label=f"{case.label}, down {down:g} s, clock {clock:+g} s") for case in cases)


def _put_back(life: Course, *, seconds: float) -> None:
    if seconds:
        life.world.set_clock(Wall(life.world.clock, seconds))


def _mismatch_forgotten() -> Iterator[Case]:
    """The journal is put back and the spec edited, so that a token comes with another request; then it ends."""
    for number, gap, back in itertools.product(CALLS, range(1, 12), (1, 2, 3)):
        script = partial(_two_deaths, first=number, second=number + gap)
        yield Case(
            f"dead at {number}, {back} back, dead {gap} later", ExpiringWorld, script, excuse=REFUSED,
            on_crash=partial(_restored_then_down, back=back),
        )  # fmt: skip


def _two_deaths(world: World, *, first: int, second: int) -> Script:
    return Script({first: faults.AFTER, second: faults.AFTER})


def _restored_then_down(life: Course, *, back: int) -> None:
    assert isinstance(life.world, ExpiringWorld)
    if life.world.edited:
        life.world.clock.advance(DAY + 60.0)
        return
    life.world.edited = True
    life.roll_back(back)
    larger(life.world, ("disk",))


FAMILIES: Families = {
    "down for as long as a token lives": lambda: _down(clock=0.0),
    "down for as long as a token lives, and the clock is put back": lambda: _down(clock=-2 * DAY),
    "the token of another request, until it ends": _mismatch_forgotten,
    "the token of another request, where only its token finds it": lambda: catalogue_tokens.edited(GROUND, ("disk",)),
    "the token of another request, refused at first, where only its token finds it": (
        lambda: catalogue_tokens.refused_at_first(GROUND, ("disk",))
    ),
}
NAMED = {
    "the token of another request, until it ends": Named(0, 55),
    "the token of another request, where only its token finds it": Named(0, 21),
    "the token of another request, refused at first, where only its token finds it": Named(0, 12),
}
