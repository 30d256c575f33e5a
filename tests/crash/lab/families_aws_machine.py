"""The families with an AWSMachine: a worker, a control-plane machine, one with secrets, two of one cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from freehold.engine.outcomes import Reason
from freehold_sim.aws.settings import Lags, Settings
from lab import catalogue, catalogue_more, faults
from lab.aws_machine import MachineLife, MachineWorld
from lab.aws_machine_cluster import IN_SECRETS, INSTANCE, NLB, SECRET, TWO_ZONES
from lab.catalogue import Families, Ground
from lab.families import UNMEASURED, Case, Named, at_each_call, crashes
from lab.faults import Fault, Script
from lab.life import Course
from lab.oracles import NO_EXCUSE, Excuse
from lab.seam import World

WORKER = MachineWorld
CONTROL = partial(MachineWorld, balancer=NLB, control=True)
CLASSIC = partial(MachineWorld, control=True)
TWO = partial(MachineWorld, balancer=TWO_ZONES, compared=False)
SECRETS = partial(MachineWorld, spec=IN_SECRETS)
UNREAD = partial(MachineWorld, spec=IN_SECRETS, reads=False)
NEVER_JOINED = partial(MachineWorld, spec=IN_SECRETS, reads=False, joins=False)
PAIR = partial(MachineWorld, balancer=NLB, control=True, paired=True)
DAY = 86_400.0


def _lagging(lag: float, tag_lag: float, restless: bool, **how: Any) -> Callable[[], MachineWorld]:
    return partial(MachineWorld, settings=Settings(lags=Lags(lag, tag_lag, tag_lag, tag_lag, restless)), **how)


LATE = _lagging(30.0, 60.0, False)
"""EC2 shows what is new after half a minute."""


def _edit(**spec: Any) -> Callable[[Course], object]:
    def edit(life: Course) -> None:
        assert isinstance(life, MachineLife)
        if not life.harness.object.gone:
            life.edit(**spec)

    return edit


def _another_group(life: Course) -> None:
    """A group of the cluster's."""
    assert isinstance(life, MachineLife)
    groups = life.world.harness.cloud.world.everything()
    found = next(each["id"] for each in groups if each["view"].get("GroupName") == "demo-apiserver-lb")
    if not life.harness.object.gone:
        life.edit(additionalSecurityGroups=[{"id": found}])


EDITS: Mapping[str, tuple[Callable[[Course], object], Excuse]] = {
    "tags": (_edit(additionalTags={"team": "red"}), NO_EXCUSE),
    "another group": (_another_group, NO_EXCUSE),
}

ON_WORKER = Ground(
    world=WORKER,
    read_lags=_lagging,
    kinds=(INSTANCE,),
    tagged=(INSTANCE,),
    loose=(INSTANCE,),
    hosts=(),
    named=(WORKER, (INSTANCE,)),
    branded=(WORKER, (INSTANCE,)),
    edits=EDITS,
    step=2,
    first_creates=range(6, 16),
    settle=120.0,
)
ON_CONTROL = replace(ON_WORKER, world=CONTROL, read_lags=partial(_lagging, balancer=NLB, control=True), step=3)
ON_CLASSIC = replace(ON_WORKER, world=CLASSIC, read_lags=partial(_lagging, control=True), step=3)
ON_SECRETS = replace(
    ON_WORKER,
    world=SECRETS,
    read_lags=partial(_lagging, spec=IN_SECRETS),
    kinds=(INSTANCE, SECRET),
    tagged=(INSTANCE, SECRET),
    loose=(INSTANCE,),
    named=(SECRETS, ()),
    branded=(SECRETS, (INSTANCE,)),
    step=3,
)
ON_PAIR = replace(ON_WORKER, world=PAIR, read_lags=partial(_lagging, balancer=NLB, control=True, paired=True), step=5)

COMMON = (
    "crash before and after each call",
    "single faults",
    "late effects within settle",
    "delete after a crash",
    "journal rolled back one write",
    "journal rolled back, object deleted",
    "journal rolled back, create in flight",
    "lags and reads that step back",
    "delete in a lagging cloud",
)
"""Those that concern each sort of machine."""


def _of(on: Ground, sort: str, names: tuple[str, ...]) -> Families:
    every = catalogue.families(on)
    return {f"{name}, {sort}": every[name] for name in names}


def downs(on: Ground) -> Iterator[Case]:
    """The process is down until its token has ended; what it made may have been deleted meanwhile."""
    gone, excused = partial(_struck, on.kinds[0]), Excuse(frozenset({Reason.GONE}))
    for down in (DAY - 30.0, DAY + 30.0, 3 * DAY):
        for name, change, excuse in (("alive", _nothing, NO_EXCUSE), ("deleted", gone, excused)):
            kinds = (faults.BEFORE, faults.AFTER, faults.late_crash(20))
            cases = at_each_call(
                on.world, kinds, calls=range(on.begun), on_crash=change, restart_after=down, excuse=excuse
            )
            yield from (replace(case, label=f"{case.label}, down {down:g} s, {name}") for case in cases)


def _nothing(life: Course) -> None:
    """Nobody did anything."""


def _struck(kind: str, life: Course) -> None:
    life.world.meddle("strike", kind)


def boots(on: Ground) -> Iterator[Case]:
    """The guest reads and deletes its secrets, or dies in the middle of it, before each call."""
    for crash in catalogue.NO_CRASH_TOO:
        for deed in ("boot", "half_boot"):
            yield from catalogue.meddling(on.world, deed, (SECRET,), crash, range(on.last))


def renamed(on: Ground) -> Iterator[Case]:
    """A user gives the instance another Name."""
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(on.world, "rename", (INSTANCE,), crash, range(on.last))


def ended(on: Ground) -> Iterator[Case]:
    """The cluster is deleted while its machine is being made; the machine some time later."""
    for crash in catalogue.NO_CRASH_TOO:
        yield from catalogue.meddling(on.world, "end_cluster", (INSTANCE,), crash, range(on.begun))


def unregistered(on: Ground) -> Iterator[Case]:
    """Somebody takes the machine out of its load balancer, or puts one of theirs behind it."""
    for crash in catalogue.NO_CRASH_TOO:
        for deed in ("deregister", "register_theirs"):
            yield from catalogue.meddling(on.world, deed, (INSTANCE,), crash, range(0, on.last, 2))


def full(on: Ground) -> Iterator[Case]:
    """The first zone has no capacity from some call on: the machine is made in the second one."""
    kinds = (*catalogue.NO_CRASH_TOO, faults.LOST, faults.late_crash(20))
    for crash, gap in itertools.product(kinds, (0, 1, 2, 5)):
        for number in range(on.begun) if crash or not gap else ():
            faulted = {number + gap: crash} if crash else {}
            script = partial(_full, number=number, faulted=faulted)
            yield Case(f"full at {number}, {crash or 'no crash'} {gap} later", on.world, script)


def _full(world: World, *, number: int, faulted: Mapping[int, Fault]) -> Script:
    return Script(faulted, {number: lambda: world.meddle("fill_zone", INSTANCE)})


def forgotten(on: Ground) -> Iterator[Case]:
    """The journal is put back to its first version, or all before it: the instance's marks tell everything again."""
    kinds = (faults.BEFORE, faults.AFTER, faults.late_crash(20))
    yield from at_each_call(on.world, kinds, calls=range(on.last), on_crash=_forget)


def _forget(life: Course) -> None:
    life.roll_back(1000)


def begun_anew(on: Ground) -> Iterator[Case]:
    """The object is put back to before its first pass, and loses its finalizer and journal."""
    yield from at_each_call(on.world, (faults.BEFORE, faults.AFTER), calls=range(on.stands), on_crash=_begin_anew)


def _begin_anew(life: Course) -> None:
    assert isinstance(life, MachineLife)
    life.begin_anew()


def status_wiped(on: Ground) -> Iterator[Case]:
    """All of the status is lost while the process is down, as a move loses it."""
    yield from at_each_call(on.world, (faults.BEFORE, faults.AFTER), calls=range(on.last), on_crash=_wipe)


def _wipe(life: Course) -> None:
    assert isinstance(life, MachineLife)
    life.wipe_status()


FAMILIES: Families = {
    **{
        f"{name}, worker": cases
        for name, cases in {**catalogue.families(ON_WORKER), **catalogue_more.more(ON_WORKER)}.items()
        if name not in ("stranger's resource in ours", "partial batches, then a crash")
    },
    **_of(
        ON_CONTROL,
        "control plane",
        (*COMMON, "spec edit after a crash", "our resource deleted", "restarts during restarts"),
    ),
    **_of(ON_CLASSIC, "classic load balancer", COMMON[:6]),
    **_of(ON_SECRETS, "secrets", (*COMMON, "our resource deleted", "our tags stripped", "restarts during restarts")),
    **_of(ON_PAIR, "two machines", (*COMMON, "our resource deleted")),
    "down for as long as a token lives": partial(downs, ON_WORKER),
    "a user's Name": partial(renamed, ON_WORKER),
    "status wiped after a crash": partial(status_wiped, ON_WORKER),
    "all records lost after a crash": partial(forgotten, ON_WORKER),
    "all records lost after a crash, secrets": partial(forgotten, ON_SECRETS),
    "restored from before its first pass": partial(begun_anew, ON_WORKER),
    "restored from before its first pass, secrets": partial(begun_anew, ON_SECRETS),
    "the guest deletes its secrets": partial(boots, ON_SECRETS),
    "the guest deletes no secret": lambda: crashes(UNREAD),
    "the guest never joins": lambda: crashes(NEVER_JOINED),
    "the guest never joins, delete after a crash": lambda: crashes(NEVER_JOINED, on_crash=catalogue.delete_now),
    "the cluster is deleted": partial(ended, ON_WORKER),
    "the cluster is deleted, control plane": partial(ended, ON_CONTROL),
    "the cluster is deleted, secrets": partial(ended, ON_SECRETS),
    "crash before and after each call, shown late": lambda: crashes(LATE),
    "delete after a crash, shown late": lambda: crashes(LATE, on_crash=catalogue.delete_now),
    "a zone without capacity": partial(full, replace(ON_WORKER, world=TWO)),
    "targets come and go": partial(unregistered, ON_CONTROL),
    "targets come and go, classic load balancer": partial(unregistered, ON_CLASSIC),
    "targets come and go, two machines": partial(unregistered, ON_PAIR),
}
NAMED: Mapping[str, Named] = {
    "our tags stripped, worker": Named(0, UNMEASURED),
    "our tags stripped, secrets": Named(0, UNMEASURED),
}
CI_FAMILIES = (
    "crash before and after each call, worker",
    "crash before and after each call, control plane",
    "crash before and after each call, secrets",
    "crash before and after each call, two machines",
    "the guest deletes its secrets",
    "the cluster is deleted, control plane",
)
"""Of these a few cases run in CI, of each other one that no other world has one."""
