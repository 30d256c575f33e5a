"""The journal is put back to an older version while its process lives, and restores beside a given carrier."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from lab import catalogue, faults
from lab.catalogue import Families, Fresh, Ground
from lab.families import Case
from lab.faults import Script
from lab.seam import World

WRITES_BACK = (1, 2, 3)

MAY_LEAVE = frozenset(
    {
        "journal restored while the process lives",
        "journal restored while the process lives, object deleted",
        "journal restored while the process lives, then a crash",
        "journal rolled back, carrier given",
        "journal rolled back and deleted, carrier given",
        "journal rolled back, create in flight, carrier given",
    }
)
"""The journal is the only record of what nothing can mark."""


def _restored(world: World, *, number: int, back: int, deleted: bool = False, crash: int = 0) -> Script:
    def restore() -> None:
        world.life.roll_back(back)
        world.life.deleting = world.life.deleting or deleted

    return Script({number + crash: faults.AFTER} if crash else {}, {number: restore})


def living(on: Ground, *, deleted: bool = False) -> Iterator[Case]:
    """As GitOps, ``kubectl replace`` or a restore over a living object do; with lag and without."""
    for world, name in ((on.world, "no lag"), (on.weather(10, 20, False), "lag")):
        for number, back in itertools.product(range(2, on.begun), WRITES_BACK):
            script = partial(_restored, number=number, back=back, deleted=deleted)
            yield Case(f"{back} writes back at {number}, {name}", world, script, blocked_is_fine=True)


def living_then_dead(on: Ground) -> Iterator[Case]:
    """The same, and the process dies soon after it has begun anew."""
    for number, back, gap in itertools.product(on.moments, WRITES_BACK, (1, 2, 4, 8)):
        script = partial(_restored, number=number, back=back, crash=gap)
        yield Case(f"{back} writes back at {number}, dead {gap} later", on.world, script, blocked_is_fine=True)


def families(on: Ground) -> Families:
    return {
        "journal restored while the process lives": lambda: living(on),
        "journal restored while the process lives, object deleted": lambda: living(on, deleted=True),
        "journal restored while the process lives, then a crash": lambda: living_then_dead(on),
    }


def given_families(on: Ground, *worlds: Fresh) -> Families:
    """Restores and late effects where something in which ours stands is somebody else's."""
    grounds = [replace(on, world=world) for world in worlds]
    table = {
        "late effects within settle, carrier given": late,
        "journal rolled back, carrier given": catalogue.rolled_back,
        "journal rolled back and deleted, carrier given": catalogue.rolled_back_and_deleted,
        "journal rolled back, create in flight, carrier given": catalogue.rolled_back_in_flight,
    }
    return {name: partial(_over, family, grounds) for name, family in table.items()}


def late(on: Ground) -> Iterator[Case]:
    """A request that the dead process sent takes effect inside settle, above all the mark on the given carrier."""
    yield from catalogue.late_effects(on)
    kinds = [faults.late_crash(seconds) for seconds in (5, on.settle / 2, on.settle - 5)]
    yield from catalogue.at_each_call(on.world, kinds, calls=range(on.last), on_crash=catalogue.delete_now)


def _over(family: catalogue.Family, grounds: list[Ground]) -> Iterator[Case]:
    for on in grounds:
        yield from family(on)
