"""The families over the in-memory cloud, by name: what CI runs, and what only ``make crash-pairs`` has time for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from freehold.lifecycle import journal as journals
from freehold.lifecycle.graph import Naming, Node
from lab import faults
from lab.cloud import Weather
from lab.families import Case, at_each_call, crashes, golden
from lab.faults import Fault, Script
from lab.life import Life
from lab.world import MemoryWorld, node, standard

KINDS = ("net", "site", "disk", "balancer", "wall", "ticket", "rule", "record", "hub", "link")
TAGGED = ("net", "site", "disk", "balancer", "wall", "hub")
GIVEN = partial(MemoryWorld, given_hub=True)
EXPLICIT = partial(MemoryWorld, nodes=standard(net=Naming.EXPLICIT))


def world_in(weather: Weather) -> Callable[[], MemoryWorld]:
    return lambda: MemoryWorld(weather)


def _delete_now(life: Life) -> None:
    life.deleting = True


def _edit(**change: object) -> Callable[[Life], None]:
    return lambda life: life.world.edit(**change)  # type: ignore[attr-defined]  # the in-memory world


def single_faults() -> Iterator[Case]:
    """What a cloud may answer at any call, and a write of the object that comes too late."""
    told = (faults.THROTTLED, faults.UNAVAILABLE, faults.DENIED, faults.LOST, faults.NEVER_SENT, faults.PARTIAL)
    yield from at_each_call(MemoryWorld, (*told, faults.STALE))


def late_effects() -> Iterator[Case]:
    """Requests that take effect inside the settle time, after the sender gave up or died."""
    times = (faults.late(5), faults.late(30), faults.late_crash(5), faults.late_crash(30))
    yield from at_each_call(MemoryWorld, times)
    yield from at_each_call(MemoryWorld, (faults.late_crash(15),), on_crash=_delete_now)
    lagging = world_in(Weather(10, 10, 20))
    yield from at_each_call(lagging, (faults.late_crash(20),), calls=range(0, 120, 3))


def delete_after_crash() -> Iterator[Case]:
    """The object is deleted while the process is down."""
    yield from crashes(MemoryWorld, on_crash=_delete_now)
    yield from crashes(GIVEN, on_crash=_delete_now)


def edit_after_crash() -> Iterator[Case]:
    """The spec is another one when the process is back."""
    numbers = range(0, 70, 3)
    for leaf in ("disk/data", "balancer/web", "link/a", "rule/ssh", "record/www", "ticket/seat", "site/home"):
        yield from crashes(MemoryWorld, on_crash=_edit(drop=leaf), blocked_is_fine=True, calls=numbers)
        yield from crashes(MemoryWorld, on_crash=_edit(rename=leaf), calls=numbers)
    more = node("disk/more", "net/main")
    yield from crashes(MemoryWorld, on_crash=_edit(add=more), calls=numbers)


def meddling(
    world: Callable[[], MemoryWorld],
    deed: str,
    kinds: Iterable[str],
    crash: Fault | None,
    numbers: Iterable[int] = range(0, 115, 5),
    **more: object,
) -> Iterator[Case]:
    """Somebody acts on, or beside, one of our resources before a call; alone, or as the process dies."""
    for number in numbers:
        for kind in kinds:
            yield Case(
                f"{deed} of {kind} at {number}, {crash or 'no crash'}",
                world,
                partial(_meddle, deed=deed, kind=kind, number=number, crash=crash),
                **more,  # type: ignore[arg-type]  # the fields are Case's own
            )


def _meddle(world: MemoryWorld, *, deed: str, kind: str, number: int, crash: Fault | None) -> Script:
    return Script({number: crash} if crash else {}, {number: lambda: getattr(world, deed)(kind)})


def namesakes() -> Iterator[Case]:
    """A stranger takes the name that we want."""
    for crash in (None, faults.BEFORE, faults.AFTER):
        yield from meddling(MemoryWorld, "namesake", KINDS, crash, blocked_is_fine=True)
        yield from meddling(EXPLICIT, "namesake", ("net",), crash, blocked_is_fine=True)


def copied_tags() -> Iterator[Case]:
    """A stranger copies every tag of ours onto something of theirs, of the same name where that is possible."""
    numbers = [*range(4, 12), *range(15, 115, 5)]  # each call around the first creates
    for crash in (None, faults.BEFORE, faults.AFTER):
        yield from meddling(MemoryWorld, "copycat", TAGGED, crash, numbers, blocked_is_fine=True)


def stripped_tags() -> Iterator[Case]:
    """Somebody takes every tag off a resource of ours."""
    for crash in (None, faults.BEFORE, faults.AFTER):
        yield from meddling(MemoryWorld, "strip", TAGGED, crash, blocked_is_fine=True)


def deleted_behind() -> Iterator[Case]:
    """Somebody deletes a resource of ours, with all that stands in it."""
    for crash in (None, faults.BEFORE, faults.AFTER):
        yield from meddling(MemoryWorld, "strike", KINDS, crash)
        yield from meddling(GIVEN, "strike", ("link",), crash)


def handed_over() -> Iterator[Case]:
    """Another owner's marks stand on what was ours: it is theirs now, and nothing of it may be changed.

    Once everything stands, marked, and before the delete: no cloud here deletes on a condition, so one that
    changes hands between the proof and the delete it allows cannot be told.
    """
    begun = golden(MemoryWorld).opened_at
    for crash in (None, faults.AFTER):
        yield from meddling(MemoryWorld, "steal", TAGGED, crash, range(50, begun, 2), blocked_is_fine=True)


def old_copies() -> Iterator[Case]:
    """A stranger copies our tags onto something that stood before ours."""
    world = partial(MemoryWorld, nodes=_namesake_nodes(), old_strangers=("net", "site", "hub"))
    for crash in (None, faults.BEFORE, faults.AFTER):
        numbers = [*range(4, 12), *range(15, 115, 10)]
        yield from meddling(world, "brand", ("net", "site", "hub"), crash, numbers)


def _namesake_nodes() -> list[Node]:
    """As usual, but named as the old strangers are, so that lists show both."""
    return [n if n.key.kind != "net" else node("net/main", size=1, name="c1-net") for n in standard()]


def guests() -> Iterator[Case]:
    """A stranger's machine stands in our site: deleting the site would destroy it.

    One that arrives between the last look inside and the delete itself cannot be seen: no cloud here has
    a conditional delete.
    """
    for crash in (None, faults.BEFORE):
        yield from meddling(MemoryWorld, "move_in", ("site",), crash, blocked_is_fine=True)


def _restored_and_deleted(life: Life) -> None:
    life.roll_back()
    life.deleting = True


def rolled_back() -> Iterator[Case]:
    """The journal is restored from one write ago while the process is down."""
    for wait in (0.0, 45.0):
        yield from crashes(MemoryWorld, on_crash=Life.roll_back, restart_after=wait, blocked_is_fine=True)


def rolled_back_and_deleted() -> Iterator[Case]:
    """The same, and the object is deleted before the process is back; a create may still be under way."""
    kinds = (faults.BEFORE, faults.AFTER, faults.late_crash(15), faults.late_crash(30))
    yield from at_each_call(MemoryWorld, kinds, on_crash=_restored_and_deleted, blocked_is_fine=True)


def rolled_back_in_flight() -> Iterator[Case]:
    """The same, and what the dead process sent takes effect when its successor is at work already."""
    kinds = (faults.late_crash(15), faults.late_crash(30))
    yield from at_each_call(MemoryWorld, kinds, on_crash=Life.roll_back, blocked_is_fine=True)


def lags() -> Iterator[Case]:
    """Lists, reads by id and the tag index are behind; some reads step back in time."""
    for lag in (0, 1, 3, 10):
        for tag_lag in (0, 20):
            for restless in (False, True):
                world = world_in(Weather(lag, lag, tag_lag, restless))
                yield from crashes(world, calls=range(0, 120, 9))


def restarts() -> Iterator[Case]:
    """It dies again soon after it came back, also in the middle of the settle time."""
    for first in range(0, 110, 5):
        for gap in (1, 3, 7, 12):
            for fault in (faults.AFTER, faults.late_crash(20)):
                script = Script({first: fault, first + gap: faults.BEFORE, first + 2 * gap: faults.AFTER})
                yield Case(f"{fault} at {first}, again after {gap}", MemoryWorld, partial(_given, script), 10.0)


def _given(script: Script, world: object) -> Script:
    return script


def pairs(step: int) -> Iterator[Case]:
    """Two faults, the second one during the recovery from the first; every ``step``-th pair."""
    kinds = (faults.BEFORE, faults.AFTER, faults.LOST, faults.UNAVAILABLE, faults.late_crash(20))
    last, count = len(golden(MemoryWorld).port.calls), 0
    for first in range(last):
        for second in range(first + 1, last + 30):
            for one in kinds:
                for two in kinds:
                    count += 1
                    if count % step == 0:
                        script = Script({first: one, second: two})
                        yield Case(f"{one} at {first}, {two} at {second}", MemoryWorld, partial(_given, script))


def lagging_delete() -> Iterator[Case]:
    """Deleted right after a crash, in a cloud whose reads step back to before the create, and whose deletes fail."""
    world = world_in(Weather(10, 10, 20, restless=True))
    for number in range(4, 60):
        for gap in range(1, 14):
            script = Script({number: faults.AFTER, number + gap: faults.UNAVAILABLE})
            yield Case(
                f"dead at {number}, unavailable {gap} later",
                world,
                partial(_given, script),
                0.0,
                False,
                on_crash=_delete_now,
            )


def claimed() -> Iterator[Case]:
    """Another owner's mark stands beside ours."""
    begun = golden(MemoryWorld).opened_at
    for deed in ("claim_uuid", "claim_owner"):
        yield from meddling(MemoryWorld, deed, TAGGED, None, range(50, begun, 3), blocked_is_fine=True)


def forged_records() -> Iterator[Case]:
    """Whoever may edit the object writes a stranger's id into the journal in place of ours."""
    world = partial(MemoryWorld, old_strangers=("disk", "site"))

    def forge(kind: str, life: Life) -> None:
        stranger = next(thing.id for thing in life.world.living() if thing.kind == kind and not thing.ours)
        key, journal = next((k, life.journal) for k in life.journal.entries if k.kind == kind)
        entry = replace(journal.entries[key], id=stranger, target="")
        life.stored.versions.append(journals.dumps(journal.put(key, entry)))

    for kind in ("disk", "site"):
        yield from crashes(world, on_crash=partial(forge, kind), blocked_is_fine=True, calls=range(50, 72, 3))


def rolled_back_far() -> Iterator[Case]:
    """The journal is restored from many writes ago, and the object deleted at once."""

    def restore(life: Life) -> None:
        life.roll_back(30)
        life.deleting = True

    yield from crashes(MemoryWorld, on_crash=restore, blocked_is_fine=True, calls=range(40, 70, 5))


TEETH: dict[str, Callable[[], Iterable[Case]]] = {
    "delete in a lagging cloud": lagging_delete,
    "our resource claimed by another owner too": claimed,
    "journal rolled back far": rolled_back_far,
    "a stranger's id forged into the journal": forged_records,
}
"""Families that some mutations need; they run with the others too."""

CI: dict[str, Callable[[], Iterable[Case]]] = {
    "crash before and after each call": lambda: crashes(MemoryWorld),
    "the same, carrier given": lambda: crashes(GIVEN),
    "single faults": single_faults,
    "late effects within settle": late_effects,
    "delete after a crash": delete_after_crash,
    "spec edit after a crash": edit_after_crash,
    "stranger of the same name": namesakes,
    "stranger copies our tags": copied_tags,
    "stranger copies our tags onto something old": old_copies,
    "our resource handed to another owner": handed_over,
    "stranger's machine in our site": guests,
    "our tags stripped": stripped_tags,
    "our resource deleted": deleted_behind,
    "journal rolled back one write": rolled_back,
    "journal rolled back, object deleted": rolled_back_and_deleted,
    "journal rolled back, create in flight": rolled_back_in_flight,
    "lags and reads that step back": lags,
    "restarts in restarts": restarts,
}
