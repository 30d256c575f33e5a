"""The families on the world of :mod:`lab.machines`: its kinds alone, so that every call can be tried."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from freehold.engine.outcomes import Reason
from lab import (
    catalogue,
    catalogue_forgeries,
    catalogue_more,
    catalogue_restores,
    catalogue_tokens,
    expiring_tokens,
    faults,
)
from lab.catalogue import Families, Ground
from lab.catalogue_outages import creates
from lab.cloud import ReadLags
from lab.families import UNMEASURED, Case, Named, at_each_call
from lab.families_memory import edit
from lab.faults import Fault, Script
from lab.life import Course, Life, Wedged
from lab.machines import OTHER_DATA, SECRET, MachineWorld
from lab.oracles import NO_EXCUSE, Excuse
from lab.seam import World

KINDS = ("net", "machine", "pool")
TAGGED = ("net", "machine")
"""Not the pool: until its birth mark was read, which takes a second, nothing but its tags shows that it is ours."""


def _lagging_world(lag: float, tag_lag: float, restless: bool) -> Callable[[], MachineWorld]:
    return partial(MachineWorld, ReadLags(lag, lag, tag_lag, restless))


BRANDED = partial(MachineWorld, old_strangers=KINDS)

MACHINES = Ground(
    world=MachineWorld,
    read_lags=_lagging_world,
    kinds=KINDS,
    tagged=TAGGED,
    loose=("machine", "pool"),
    hosts=(),
    named=(MachineWorld, KINDS),
    branded=(BRANDED, KINDS),
    edits={
        "without machine/node": (edit(drop="machine/node"), Excuse(surplus=True)),
        "machine/node renamed": (edit(rename="machine/node"), NO_EXCUSE),
        "without pool/api": (edit(drop="pool/api"), Excuse(surplus=True)),
        "pool/api renamed": (edit(rename="pool/api"), NO_EXCUSE),
    },
    step=2,
    first_creates=range(2, 12),
    fails=KINDS,
)


def _wants_nothing(life: Course) -> None:
    assert isinstance(life, Life)
    life.world.nodes = []


def _stripped() -> Iterator[Case]:
    """A machine is found by its token; the others may be stripped before they are on record, and are named then."""
    for crash in catalogue.NO_CRASH_TOO:
        numbers = range(MACHINES.last)
        yield from catalogue.meddling(MachineWorld, "strip", ("machine",), crash, numbers)
        yield from catalogue.meddling(MachineWorld, "strip", ("net", "pool"), crash, numbers, [Reason.NAME_TAKEN])


def _copied_pools() -> Iterator[Case]:
    for crash in catalogue.NO_CRASH_TOO:
        numbers = range(MACHINES.last)
        yield from catalogue.meddling(MachineWorld, "copycat", ("pool",), crash, numbers, [Reason.AMBIGUOUS])


def _made_once() -> Iterator[Case]:
    """Somebody deletes the machine, which no process may make again, whatever it remembers of it."""
    for crash in (*catalogue.NO_CRASH_TOO, faults.late_crash(20)):
        numbers = range(MACHINES.last)
        struck = catalogue.meddling(MachineWorld, "strike", ("machine",), crash, numbers, [Reason.GONE])
        yield from (replace(case, after_create=_only_one) for case in struck)


def _only_one(life: Course) -> None:
    assert isinstance(life.world, MachineWorld)
    made = [resource.id for resource in life.world.cloud.log if resource.kind == "machine"]
    if len(made) > 1:
        raise Wedged(f"a machine was made again: {', '.join(made)}")


def _secret_changes() -> Iterator[Case]:
    """The secret is renewed, or deleted, while the process is down."""
    missing = Excuse(frozenset({Reason.NOT_FOUND}), words=frozenset({SECRET}))
    for change, excuse in ((_renewed, NO_EXCUSE), (_deleted, missing)):
        kinds = (faults.BEFORE, faults.AFTER, faults.late_crash(20))
        yield from at_each_call(MachineWorld, kinds, calls=range(MACHINES.begun), on_crash=change, excuse=excuse)


def _renewed(life: Course) -> None:
    assert isinstance(life.world, MachineWorld)
    life.world.secrets[SECRET] = OTHER_DATA


def _deleted(life: Course) -> None:
    assert isinstance(life.world, MachineWorld)
    life.world.secrets.pop(SECRET, None)


def _refused_by_the_cloud() -> Iterator[Case]:
    """The cloud counts its quota itself, so that what it refuses has used up the token of that create."""
    for number in MACHINES.numbers(creates):
        for gap, crash in itertools.product(range(1, 22, 2), (None, faults.AFTER, faults.BEFORE)):
            for dies in range(1, 6, 2) if crash else (0,):
                script = partial(_full, number=number, gap=gap, crashes={number + dies: crash} if crash else {})
                yield Case(f"full from {number}, for {gap} calls, {crash} {dies} later", MachineWorld, script)


def _full(world: World, *, number: int, gap: int, crashes: Mapping[int, Fault]) -> Script:
    assert isinstance(world, MachineWorld)
    full = world.cloud.full
    return Script(crashes, {number: lambda: full.add("machine"), number + gap: lambda: full.discard("machine")})


FAMILIES: Families = {
    **{name: cases for name, cases in catalogue.families(MACHINES).items() if name != "stranger's resource in ours"},
    **catalogue_more.more(MACHINES),
    **catalogue_more.lagging(replace(MACHINES, step=5), 10),
    **catalogue_restores.refused_families(MACHINES, _wants_nothing),
    **catalogue_tokens.families(MACHINES, ("machine",)),
    "a quota of the cloud uses up tokens": _refused_by_the_cloud,
    "our tags stripped": _stripped,
    "stranger copies our tags, of what its create does not prove": _copied_pools,
    "our machine deleted": _made_once,
    "a secret is renewed or deleted": _secret_changes,
    **expiring_tokens.FAMILIES,
    "forged seals": lambda: catalogue_forgeries.seals(MACHINES),
    "forged seals beside a restored journal": lambda: catalogue_forgeries.seals_and_restore(MACHINES),
    "a spy who knows the nonce": lambda: catalogue_forgeries.spies(MACHINES),
}
NAMED: Mapping[str, Named] = {
    "stranger and crash at different calls": Named(0, 2),
    "our tags stripped": Named(2, UNMEASURED),
    "a stranger at each call": Named(1, UNMEASURED),
    **expiring_tokens.NAMED,
}
