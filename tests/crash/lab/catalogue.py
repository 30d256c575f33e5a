"""The families of faults, for any world: which faults, acts of others and restores, at which calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from freehold.engine.outcomes import Reason
from freehold.engine.port import Call, Effect
from lab import faults
from lab.families import Case, at_each_call, calls_of, crashes
from lab.faults import Fault, Script
from lab.life import Course
from lab.oracles import Excuse
from lab.seam import World

Fresh = Callable[[], World]
Families = Mapping[str, Callable[[], Iterable[Case]]]
THEIRS_NOW = frozenset({Reason.NOT_OWNED, Reason.IN_USE})
"""It is not changed, and its container cannot be deleted."""

FORGOTTEN = Excuse(frozenset({Reason.NAME_TAKEN}))
"""An unmarkable resource has the wanted name, and no record shows that it is ours."""

NO_CRASH_TOO = (None, faults.BEFORE, faults.AFTER)


@dataclass(frozen=True)
class Ground:
    """A world to run the families on, and the kinds that others act on.

    ``read_lags``: the same world, its lists, its tag index so many seconds behind, and reads that step back or not.
    ``named``: where what has the wanted name is treated otherwise (used, or refused), and which kinds are.
    ``edits``: what a user may do to the spec, and what may stay undone for it.
    ``moments``: the calls before which somebody meddles; every so manieth.
    """

    world: Fresh
    read_lags: Callable[[float, float, bool], Fresh]
    kinds: tuple[str, ...]
    tagged: tuple[str, ...]
    loose: tuple[str, ...]  # tagged, and may get another owner: nothing of ours is in it or is marked on it
    hosts: tuple[str, ...]  # into which a stranger may put something
    named: tuple[Fresh, tuple[str, ...]]
    branded: tuple[Fresh, tuple[str, ...]]  # others own something old of these kinds
    edits: Mapping[str, tuple[Callable[[Course], object], Excuse]]
    step: int
    first_creates: range  # the calls around the first creates, each of which is tested
    settle: float = 40.0  # of the slowest kind
    fails: tuple[str, ...] = ()  # kinds whose provisioning can fail
    stripped: tuple[Reason, ...] = ()  # why one whose tags are gone before it is on record is not made again
    taken: tuple[Reason, ...] = (Reason.NAME_TAKEN,)  # why nothing is made where a stranger has name, range or port
    undated: Mapping[str, tuple[Reason, ...]] = field(default_factory=dict)
    """Kinds of which no read shows when one was made, and what a copy of our tags onto an older one leads to."""
    fails_without: Mapping[str, str] = field(default_factory=dict)
    """Of a kind, the one without which it fails in the cloud: nothing prevents that this goes while that is made."""

    @property
    def last(self) -> int:
        return len(calls_of(self.world)[0])

    @property
    def begun(self) -> int:
        """The number of the first call of the delete."""
        return calls_of(self.world)[1]

    @property
    def stands(self) -> int:
        """The number of the first call after everything exists, marked and named as wanted."""
        return 1 + max(i for i in self.numbers(lambda call: call.effect is Effect.WRITE) if i < self.begun)

    @property
    def moments(self) -> range:
        return range(0, self.last, self.step)

    @property
    def unrecorded(self) -> list[int]:
        """The writes of the object that follow a write to the cloud: what was created is not on record before them."""
        calls, _ = calls_of(self.world)
        stores = self.numbers(lambda call: call.effect is Effect.STORE)
        return [i for i in stores if i and calls[i - 1].effect is Effect.WRITE and i < self.begun]

    def struck(self, kind: str, *reasons: Reason) -> Excuse:
        """What may stay undone where somebody has deleted one of this kind; ``reasons``: beside that it is gone."""
        failed = frozenset(one for one, needed in self.fails_without.items() if needed == kind)
        return Excuse(frozenset({Reason.GONE, *reasons}), frozenset({kind}), failed=failed)

    def numbers(self, wanted: Callable[[Call], bool]) -> list[int]:
        return [i for i, call in enumerate(calls_of(self.world)[0]) if wanted(call)]


TAG_APIS = frozenset({"tags", "tagging", "resourcegroupstaggingapi"})
"""Those of the worlds."""


def is_tag_batch(call: Call) -> bool:
    return call.api in TAG_APIS and call.effect is Effect.WRITE


def delete_now(life: Course) -> None:
    life.deleting = True


def single_faults(on: Ground, **more: Any) -> Iterator[Case]:
    """Errors that a cloud may answer to any call, a batch that fails in part, and a write that comes too late."""
    told = (faults.THROTTLED, faults.UNAVAILABLE, faults.DENIED, faults.LOST, faults.BROKEN, faults.NEVER_SENT)
    batches = on.numbers(is_tag_batch)
    stores = on.numbers(lambda call: call.effect is Effect.STORE)
    yield from at_each_call(on.world, told, calls=range(on.last), **more)
    yield from at_each_call(on.world, (faults.PARTIAL,), calls=batches, **more)
    yield from at_each_call(on.world, (faults.STALE,), calls=stores, **more)


def partial_and_dead(on: Ground) -> Iterator[Case]:
    """A batch of tags fails in part, and the process dies at one of the next calls."""
    for number in on.numbers(is_tag_batch):
        for gap in range(1, 7):
            for fault in (faults.BEFORE, faults.AFTER, faults.PARTIAL):
                script = Script({number: faults.PARTIAL, number + gap: fault})
                yield Case(f"partial batch at {number}, {fault} {gap} later", on.world, partial(given, script))


def late_effects(on: Ground) -> Iterator[Case]:
    """Requests that take effect within the settle time, after the sender gave up or died."""
    writes = on.numbers(lambda call: call.effect is Effect.WRITE)
    times = (faults.late(5), faults.late(30), faults.late_crash(5), faults.late_crash(30))
    yield from at_each_call(on.world, times, calls=writes)
    yield from at_each_call(on.world, (faults.late_crash(15),), calls=writes, on_crash=delete_now)
    lagging = on.read_lags(10, 20, False)
    yield from at_each_call(lagging, (faults.late_crash(20),), calls=range(0, on.last, 3))


def delete_after_crash(on: Ground) -> Iterator[Case]:
    """The object is deleted while the process is down."""
    yield from at_each_call(on.world, (faults.BEFORE, faults.AFTER), calls=range(on.last), on_crash=delete_now)


def edit_after_crash(on: Ground) -> Iterator[Case]:
    """The spec has changed when the process is back."""
    numbers = range(0, on.begun, 3)
    for edit, excuse in on.edits.values():
        yield from crashes(on.world, on_crash=edit, excuse=excuse, calls=numbers)


def meddling(
    world: Fresh,
    deed: str,
    kinds: Iterable[str],
    crash: Fault | None,
    numbers: Iterable[int],
    reasons: Collection[Reason] = (),
    **more: Any,
) -> Iterator[Case]:
    """Somebody acts on, or beside, one of our resources before a call; alone, or while the process dies.

    ``reasons``: what may keep something of that kind from being made, changed or deleted from then on.
    """
    for number in numbers:
        for kind in kinds:
            script = partial(_meddle, deed=deed, kind=kind, number=number, crash=crash)
            excuse = Excuse(frozenset(reasons), frozenset({kind}))
            yield Case(f"{deed} of {kind} at {number}, {crash or 'no crash'}", world, script, excuse=excuse, **more)


def _meddle(world: World, *, deed: str, kind: str, number: int, crash: Fault | None) -> Script:
    return Script({number: crash} if crash else {}, {number: lambda: meddle(world, deed, kind)})


def meddle(world: World, deed: str, kind: str) -> None:
    """No stranger adds something between the last read and the delete: no cloud here has a conditional delete."""
    if deed != "move_in" or not world.life.port.calls[-1].operation.startswith("delete"):
        world.meddle(deed, kind)


def namesakes(on: Ground) -> Iterator[Case]:
    """A stranger takes the name that we want."""
    other, kinds = on.named
    for crash in NO_CRASH_TOO:
        yield from meddling(on.world, "namesake", on.kinds, crash, on.moments, on.taken)
        yield from meddling(other, "namesake", kinds, crash, on.moments, on.taken)


def copied_tags(on: Ground) -> Iterator[Case]:
    """A stranger copies every tag of ours onto something of theirs, of the same name where that is possible."""
    numbers = sorted({*on.first_creates, *on.moments})
    for crash in NO_CRASH_TOO:
        yield from meddling(on.world, "copycat", on.tagged, crash, numbers, [Reason.AMBIGUOUS])


def stripped_tags(on: Ground) -> Iterator[Case]:
    """Somebody takes every tag off a resource of ours.

    Where the birth mark is a tag, and the process dies before the id is on record, nothing tells it from a stranger's.
    """
    for crash in NO_CRASH_TOO:
        yield from meddling(on.world, "strip", on.tagged, crash, on.moments, on.stripped)


def deleted_behind(on: Ground) -> Iterator[Case]:
    """Somebody deletes a resource of ours, with everything in it. What is made only once is reported."""
    for crash in NO_CRASH_TOO:
        for kind in on.kinds:
            struck = meddling(on.world, "strike", (kind,), crash, on.moments)
            yield from (replace(case, excuse=on.struck(kind)) for case in struck)


def handed_over(on: Ground) -> Iterator[Case]:
    """Another owner's marks are on a resource that was ours: it is theirs now, and may not be changed.

    Once everything stands, marked, and before the delete: no cloud here deletes on a condition, so one that
    changes hands between the proof and the delete it allows cannot be told.
    """
    for crash in (None, faults.AFTER):
        numbers = range(on.stands, on.begun, 2)
        yield from meddling(on.world, "steal", on.loose, crash, numbers, THEIRS_NOW)


def claimed(on: Ground) -> Iterator[Case]:
    """Another owner's mark is beside ours."""
    for deed in ("claim_uuid", "claim_owner"):
        numbers = range(on.stands, on.begun, 2)
        yield from meddling(on.world, deed, on.loose, None, numbers, THEIRS_NOW)


def old_copies(on: Ground) -> Iterator[Case]:
    """A stranger copies our tags onto a resource that is older than ours."""
    world, kinds = on.branded
    for crash in NO_CRASH_TOO:
        numbers = sorted({*on.first_creates, *range(0, on.last, 2 * on.step)})
        for kind in kinds:
            yield from meddling(world, "brand", (kind,), crash, numbers, on.undated.get(kind, ()))
    for kind in kinds:
        at = sorted({*on.unrecorded} - set(numbers))
        yield from meddling(world, "brand", (kind,), faults.BEFORE, at, on.undated.get(kind, ()))


def guests(on: Ground) -> Iterator[Case]:
    """A stranger's resource is in ours, whose delete would destroy it."""
    for crash in (None, faults.BEFORE):
        yield from meddling(on.world, "move_in", on.hosts, crash, on.moments)


def rolled_back(on: Ground) -> Iterator[Case]:
    """While the process is down the journal is restored to one write ago."""
    for wait in (0.0, 45.0):
        yield from at_each_call(
            on.world,
            (faults.BEFORE, faults.AFTER),
            calls=range(on.last),
            on_crash=_restored,
            restart_after=wait,
            excuse=FORGOTTEN,
        )


def rolled_back_and_deleted(on: Ground) -> Iterator[Case]:
    """The same, and the object is deleted before the process is back; a create may still be under way."""
    kinds = (faults.BEFORE, faults.AFTER, faults.late_crash(15), faults.late_crash(30))
    yield from at_each_call(on.world, kinds, calls=range(on.last), on_crash=_restored_and_deleted)


def rolled_back_in_flight(on: Ground) -> Iterator[Case]:
    """The same, and the requests of the dead process take effect while its successor works."""
    kinds = (faults.late_crash(15), faults.late_crash(30))
    yield from at_each_call(on.world, kinds, calls=range(on.last), on_crash=_restored, excuse=FORGOTTEN)


def rolled_back_far(on: Ground) -> Iterator[Case]:
    """The journal is restored to many writes ago, and the object deleted at once."""
    numbers = range(on.begun // 3, on.begun - 10)
    yield from crashes(on.world, on_crash=_restored_far_and_deleted, calls=numbers)


def _restored(life: Course) -> None:
    life.roll_back()


def _restored_and_deleted(life: Course) -> None:
    life.roll_back()
    life.deleting = True


def _restored_far_and_deleted(life: Course) -> None:
    life.roll_back(30)
    life.deleting = True


def forged_records(on: Ground) -> Iterator[Case]:
    """Somebody who may edit the object writes a stranger's id into the journal in place of ours."""
    world, kinds = on.branded
    numbers = range(on.stands, on.begun, 3)
    for kind in kinds:
        excuse = Excuse(frozenset({Reason.NOT_OWNED}), frozenset({kind}), surplus=True)
        yield from crashes(world, on_crash=partial(forge_record, kind), excuse=excuse, calls=numbers)


def forge_record(kind: str, life: Course) -> None:
    journal = life.journal
    key = next((key for key in journal.entries if key.kind == kind), None)
    if key is None:
        return
    entry = journal.entries[key]
    stranger = life.world.strangers_id(kind)
    scope = entry.id.rpartition("/")[0]
    forged = f"{scope}/{stranger}" if scope else stranger
    life.rewrite(journal.put(key, replace(entry, id=forged, target="")))


def lags(on: Ground) -> Iterator[Case]:
    """Lists, reads by id and the tag index lag; some reads go back in time."""
    for lag in (0, 1, 3, 10):
        for tag_lag in (0, 20):
            for restless in (False, True):
                yield from crashes(on.read_lags(lag, tag_lag, restless), calls=range(0, on.last, 9))


def lagging_delete(on: Ground) -> Iterator[Case]:
    """The object is deleted right after a crash, reads go back to before the create, and deletes fail."""
    world = on.read_lags(10, 20, True)
    for number in range(4, on.begun * 2 // 3):
        for gap in range(1, 14):
            script = Script({number: faults.AFTER, number + gap: faults.UNAVAILABLE})
            label = f"dead at {number}, unavailable {gap} later"
            yield Case(label, world, partial(given, script), on_crash=delete_now)


def restarts(on: Ground) -> Iterator[Case]:
    """The process dies again soon after its restart, also in the middle of the settle time."""
    for first in on.moments:
        for gap in (1, 3, 7, 12):
            for fault in (faults.AFTER, faults.late_crash(20)):
                script = Script({first: fault, first + gap: faults.BEFORE, first + 2 * gap: faults.AFTER})
                yield Case(f"{fault} at {first}, again after {gap}", on.world, partial(given, script), 10.0)


def pairs(on: Ground, step: int) -> Iterator[Case]:
    """Two faults, the second one during the recovery from the first; every ``step``-th pair."""
    kinds = (faults.BEFORE, faults.AFTER, faults.LOST, faults.UNAVAILABLE, faults.late_crash(20))
    count = 0
    for first in range(on.last):
        for second in range(first + 1, on.last + 30):
            for one in kinds:
                for two in kinds:
                    count += 1
                    if count % step == 0:
                        script = Script({first: one, second: two})
                        yield Case(f"{one} at {first}, {two} at {second}", on.world, partial(given, script))


def given(script: Script, world: object) -> Script:
    return script


Family = Callable[[Ground], Iterable[Case]]


def families(on: Ground) -> Families:
    """The families that every world has, by name."""
    table: dict[str, Callable[[Ground], Iterable[Case]]] = {
        "crash before and after each call": lambda on: crashes(on.world),
        "single faults": single_faults,
        "partial batches, then a crash": partial_and_dead,
        "late effects within settle": late_effects,
        "delete after a crash": delete_after_crash,
        "spec edit after a crash": edit_after_crash,
        "stranger of the same name": namesakes,
        "stranger copies our tags": copied_tags,
        "stranger copies our tags onto an old resource": old_copies,
        "our resource handed to another owner": handed_over,
        "our resource claimed by another owner too": claimed,
        "a stranger's id forged into the journal": forged_records,
        "stranger's resource in ours": guests,
        "our tags stripped": stripped_tags,
        "our resource deleted": deleted_behind,
        "journal rolled back one write": rolled_back,
        "journal rolled back, object deleted": rolled_back_and_deleted,
        "journal rolled back, create in flight": rolled_back_in_flight,
        "journal rolled back far": rolled_back_far,
        "lags and reads that step back": lags,
        "delete in a lagging cloud": lagging_delete,
        "restarts during restarts": restarts,
    }
    return {name: partial(family, on) for name, family in table.items()}
