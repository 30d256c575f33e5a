"""An older journal is restored while its process runs, and restores with a given carrier."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from lab import catalogue, faults
from lab.catalogue import FORGOTTEN, Families, Fresh, Ground
from lab.families import Case
from lab.faults import Fault, Script
from lab.life import Course
from lab.seam import World

WRITES_BACK = (1, 2, 3)


def _restored(world: World, *, number: int, back: int, deleted: bool = False, crash: int = 0) -> Script:
    def restore() -> None:
        world.life.roll_back(back)
        world.life.deleting = world.life.deleting or deleted

    return Script({number + crash: faults.AFTER} if crash else {}, {number: restore})


def living(on: Ground, *, deleted: bool = False) -> Iterator[Case]:
    """As by GitOps, ``kubectl replace`` or a restore over an existing object; with lag and without."""
    for world, name in ((on.world, "no lag"), (on.read_lags(10, 20, False), "lag")):
        for number, back in itertools.product(range(2, on.begun), WRITES_BACK):
            script = partial(_restored, number=number, back=back, deleted=deleted)
            yield Case(f"{back} writes back at {number}, {name}", world, script, excuse=FORGOTTEN)


def living_then_dead(on: Ground) -> Iterator[Case]:
    """The same, and the process dies soon after it has read the journal."""
    for number, back, gap in itertools.product(on.moments, WRITES_BACK, (1, 2, 4, 8)):
        script = partial(_restored, number=number, back=back, crash=gap)
        yield Case(f"{back} writes back at {number}, dead {gap} later", on.world, script, excuse=FORGOTTEN)


def families(on: Ground) -> Families:
    return {
        "journal restored while the process lives": lambda: living(on),
        "journal restored while the process lives, object deleted": lambda: living(on, deleted=True),
        "journal restored while the process lives, then a crash": lambda: living_then_dead(on),
        "journal rolled back, a read fails": lambda: failed_looks(on),
    }


def given_families(on: Ground, *worlds: Fresh) -> Families:
    """Restores and late effects if a container of ours is somebody else's."""
    grounds = [replace(on, world=world) for world in worlds]
    table = {
        "late effects within settle, carrier given": late,
        "journal rolled back, carrier given": catalogue.rolled_back,
        "journal rolled back and deleted, carrier given": catalogue.rolled_back_and_deleted,
        "journal rolled back, create in flight, carrier given": catalogue.rolled_back_in_flight,
        "journal rolled back, a read fails, carrier given": failed_looks,
    }
    return {name: partial(_over, family, grounds) for name, family in table.items()}


def late(on: Ground) -> Iterator[Case]:
    """A request of the dead process takes effect within settle, above all the mark on the given carrier."""
    yield from catalogue.late_effects(on)
    kinds = [faults.late_crash(seconds) for seconds in (5, on.settle / 2, on.settle - 5)]
    yield from catalogue.at_each_call(on.world, kinds, calls=range(on.last), on_crash=catalogue.delete_now)


Refuse = Callable[[Course], None]


def refused(on: Ground, refuse: Refuse) -> Iterator[Case]:
    """The journal is restored, the spec is empty or refused, and the object is deleted."""
    for back in (1, 2, 30):
        kinds = (faults.AFTER, faults.late_crash(15))
        yield from catalogue.at_each_call(
            on.world,
            kinds,
            calls=range(on.begun),
            on_crash=partial(_restored_and_refused, back=back, refuse=refuse),
            excuse=FORGOTTEN,
        )


def _restored_and_refused(life: Course, *, back: int, refuse: Refuse) -> None:
    life.roll_back(back)
    refuse(life)
    life.deleting = True


def refused_families(on: Ground, refuse: Refuse) -> Families:
    return {"journal rolled back, spec refused, object deleted": lambda: refused(on, refuse)}


Edit = Callable[[Course], object]


def before_an_edit(world: Fresh, edit: Edit, calls: int) -> Iterator[Case]:
    """The object is restored from a backup that is older than an edit which adds resources, and then deleted.

    Neither spec, record nor status knows of their kinds any more, and what was made and not marked is in no index.
    """
    for fault, number in itertools.product((faults.BEFORE, faults.AFTER, faults.late_crash(15)), range(calls)):
        restored = partial(_edited_and_restored, edit=edit, number=number, fault=fault)
        yield Case(f"{fault} {number} calls after the edit", world, after_create=restored, excuse=FORGOTTEN)


def _edited_and_restored(life: Course, *, edit: Edit, number: int, fault: Fault) -> None:
    restore = life.back_up()

    def restored_and_deleted(life: Course) -> None:
        restore()
        life.deleting = True

    life.on_crash = restored_and_deleted
    life.port.script = Script({len(life.port.calls) + number: fault})
    edit(life)
    life.create()


def failed_looks(on: Ground) -> Iterator[Case]:
    """The journal is restored and the object deleted; each read of the final checks fails once."""
    for number, gap in itertools.product(range(on.begun), range(1, 18)):
        for fault in (faults.UNAVAILABLE, faults.DENIED):
            script = Script({number: faults.AFTER, number + gap: fault})
            label = f"dead at {number}, {fault} {gap} later"
            yield Case(label, on.world, partial(catalogue.given, script), excuse=FORGOTTEN, on_crash=_deleted_too)


def _deleted_too(life: Course) -> None:
    life.roll_back()
    life.deleting = True


def _over(family: catalogue.Family, grounds: list[Ground]) -> Iterator[Case]:
    for on in grounds:
        yield from family(on)
