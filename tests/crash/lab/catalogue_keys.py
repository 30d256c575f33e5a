"""The operator's key ring changes at a call: a new writing key, a key that is lost and comes back, a move with it.

And a copy of the object, restored in another management cluster while the original exists, with or without the key.
An object whose key is missing writes nothing to the cloud, names the key, and continues when the key is back.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from freehold.engine.interface import PassResult
from freehold.engine.keys import KeyRing, derive, digest_of
from freehold.engine.port import InlinePort
from harness.powervs import HeldRing, MemoryDocument
from harness.stepping import run_blocking
from lab import faults
from lab.catalogue import FORGOTTEN, Families, Fresh, Ground
from lab.families import Case
from lab.faults import FaultPort, Script
from lab.life import Course, Life, Stored, Wedged
from lab.powervs import PowerVSLife, PowerVSWorld
from lab.reconciled import ReconciledLife
from lab.seam import World
from lab.world import MemoryWorld

FIRST, SECOND, ANOTHER = (name * 8 for name in (b"first", b"second", b"another"))
AWAY = 250.0
"""Seconds until a key is back: less than the time after which a life with a missing key counts as at rest."""


def ring(*keys: bytes) -> KeyRing:
    """The first one writes."""
    return KeyRing(digest_of(keys[0]), {digest_of(key): key for key in keys})


def handed_on(uuid: str) -> KeyRing:
    """Another operator's ring, to which the key of one object was added."""
    return replace(ring(ANOTHER), handed_on={(digest_of(FIRST), uuid): derive(FIRST, uuid)})


@dataclass
class Keyed:
    """The ring of the operator, and the rings that it will have, each from a monotonic time on."""

    now: KeyRing = field(default_factory=lambda: ring(FIRST))
    coming: list[tuple[float, KeyRing]] = field(default_factory=list)

    def at(self, monotonic: float) -> KeyRing:
        while self.coming and monotonic >= self.coming[0][0]:
            self.now = self.coming.pop(0)[1]
        return self.now


@dataclass
class KeyedLife(Life):
    def one_pass(self) -> PassResult:
        assert isinstance(self.world, KeyedWorld)
        self.world.ring = self.world.keyed.at(self.world.clock.monotonic())
        self.deps = replace(self.deps, ring=self.world.ring)
        return _watched(self, self.world.ring, super().one_pass)


@dataclass
class KeyedWorld(MemoryWorld):
    """The in-memory world with a ring that changes."""

    keyed: Keyed = field(default_factory=Keyed)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ring = self.keyed.now

    def begin(self, **how: object) -> KeyedLife:
        self.life = KeyedLife(self, **how)  # type: ignore[arg-type]  # the fields of a Course
        return self.life


class KeyedReconciledLife(ReconciledLife):
    def one_pass(self) -> PassResult | None:
        self.harness.rings.ring = _keyed(self.world).at(self.world.clock.monotonic())
        return _watched(self, self.harness.rings.ring, super().one_pass)


class KeyedPowerVSLife(KeyedReconciledLife, PowerVSLife):
    pass


@dataclass
class KeyedPowerVSWorld(PowerVSWorld):
    """The same on the simulated IBM Cloud."""

    keyed: Keyed = field(default_factory=Keyed)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.harness.rings.ring = self.keyed.now

    def begin(self, **how: object) -> KeyedPowerVSLife:
        self.life = KeyedPowerVSLife(self, **how)  # type: ignore[arg-type]  # the fields of a Course
        return self.life


def _watched(life: Course, held: KeyRing, one_pass: Callable[[], PassResult | None]) -> PassResult | None:
    """With a ring that lacks a key of the object's records, nothing is sent that changes the cloud."""
    owner, sent = life.journal.owner, life.port.sent
    missing = held.missing(life.journal.keys, owner.uuid) if life.record else ()
    done = one_pass()
    if missing and life.port.sent != sent:
        raise Wedged(f"key {missing[0]} is missing, and {life.port.calls[-1].operation} was sent all the same")
    return done


Change = Callable[[Course, Keyed], object]


def _keyed(world: World) -> Keyed:
    keyed = getattr(world, "keyed", None)
    assert isinstance(keyed, Keyed)
    return keyed


def _script(world: World, *, number: int, change: Change, crashes: dict[int, faults.Fault]) -> Script:
    return Script(crashes, {number: lambda: change(world.life, _keyed(world))})


def _at_calls(world: Fresh, numbers: range, change: Change, **more: object) -> Iterator[Case]:
    """The ring changes at a call; the process lives, or dies there or soon after."""
    for number, gap in itertools.product(numbers, (None, 0, 2)):
        for fault in (faults.AFTER, faults.late_crash(20)) if gap is not None else (faults.AFTER,):
            crashes = {number + gap: fault} if gap is not None else {}
            script = partial(_script, number=number, change=change, crashes=crashes)
            yield Case(f"at {number}, {fault} {gap}", world, script, **more)  # type: ignore[arg-type]  # Case's fields


def _rotate(life: Course, keyed: Keyed) -> None:
    keyed.now = ring(SECOND, FIRST)


def _lose(life: Course, keyed: Keyed, *, deleted: bool = False) -> None:
    """The key is back a while later; work under another key in between needs that one, too."""
    keyed.now = ring(ANOTHER)
    keyed.coming = [(life.world.clock.monotonic() + AWAY, ring(FIRST, ANOTHER))]
    life.deleting = life.deleting or deleted
    if deleted:
        life.touch()


def _move(life: Course, keyed: Keyed) -> None:
    """To another management cluster, which has been given the key of this object."""
    if life.record:
        keyed.now = handed_on(life.journal.owner.uuid)


def _restored(life: Course) -> None:
    life.roll_back(3)


def rotated_and_restored(world: Fresh, numbers: range) -> Iterator[Case]:
    """The restored journal is from the time of the first key."""
    for later in (3, 9):
        for number in numbers:
            script = partial(_script, number=number, change=_rotate, crashes={number + later: faults.AFTER})
            yield Case(f"at {number}, dead {later} later", world, script, on_crash=_restored, excuse=FORGOTTEN)


# -- a copy beside the original -----------------------------------------------------------------------


def _beside(life: Course, keyed: Keyed, *, held: KeyRing, deleted: bool) -> None:
    """A backup of the object is restored in another management cluster while this one exists."""
    if not life.record:
        return
    before = life.port.sent
    if isinstance(life, ReconciledLife):
        wrote = _copy_of_an_object(life, held, deleted)
    else:
        assert isinstance(life, Life)
        wrote = _copy_in_memory(life, held, deleted)
    assert life.port.sent == before
    if wrote and held.missing(life.journal.keys, life.journal.owner.uuid):
        raise Wedged(f"the copy has no key of the object and changed the cloud: {wrote}")


def _copy_in_memory(life: Life, held: KeyRing, deleted: bool) -> list[str]:
    port = FaultPort(life.world)
    other = copy.copy(life)
    other.port, other.stored = port, Stored([life.stored.text])
    other.start(minted=False)
    other.deps = replace(other.deps, ring=held)
    other.deleting, other.last, other.ended = deleted, None, None
    for _ in range(12):
        done = run_blocking(other.a_pass())
        life.world.clock.advance(max(done.after, 0.01))
        if done.released:
            break
    return [call.operation for call in port.calls if call.effect is faults.Effect.WRITE]


def _copy_of_an_object(life: ReconciledLife, held: KeyRing, deleted: bool) -> list[str]:
    harness = life.harness
    living, rings, process = harness.object, harness.rings, harness.process
    port, before = harness._port, len(harness.calls(mutating=True))
    try:
        harness.object, harness.rings = copy.deepcopy(living), HeldRing(held)
        harness._port = InlinePort
        harness.start_process()
        if deleted and "deletionTimestamp" not in harness.object.raw["metadata"]:
            harness.object.delete()
        for _ in range(6):
            if not harness.object.gone:
                run_blocking(harness.process.reconcile(MemoryDocument(harness.object), harness.around))
                harness.clock.advance(60.0)
        return [call.operation for call in harness.calls(mutating=True)[before:]]
    finally:
        harness.object, harness.rings, harness.process, harness._port = living, rings, process, port


def beside(world: Fresh, numbers: range) -> Iterator[Case]:
    """Without the key a copy changes nothing, neither while it exists nor when it is deleted."""
    for number, deleted in itertools.product(numbers, (False, True)):
        change = partial(_beside, held=ring(ANOTHER), deleted=deleted)
        script = partial(_script, number=number, change=change, crashes={})
        yield Case(f"at {number}{', the copy is deleted' if deleted else ''}", world, script)


def _beside_with_the_key(life: Course, keyed: Keyed) -> None:
    """The other management cluster has the key too: nothing but a pause would stop it, and it is the same object."""
    if isinstance(life, ReconciledLife):
        wrote = _copy_of_an_object(life, keyed.now, deleted=False)
    else:
        assert isinstance(life, Life)
        wrote = _copy_in_memory(life, keyed.now, deleted=False)
    if wrote:
        raise Wedged(f"the copy of an object at rest changed the cloud: {wrote}")


def beside_with_the_key(world: Fresh, numbers: range) -> Iterator[Case]:
    """A copy of an object at rest finds everything as it is wanted. Its delete would be the object's (ADR 4)."""
    for number in numbers:
        script = partial(_script, number=number, change=_beside_with_the_key, crashes={})
        yield Case(f"at {number}", world, script)


def families(on: Ground, world: Fresh) -> Families:
    """A family asks how many calls there are, and not the table: to know it takes a whole life of an object."""
    return {
        "a new writing key": lambda: _at_calls(world, range(on.last), _rotate),
        "a new writing key, journal rolled back": lambda: rotated_and_restored(world, range(on.begun)),
        "the key is lost and comes back": lambda: _at_calls(world, range(on.last), _lose),
        "the key is lost, the object deleted, the key comes back": lambda: _at_calls(
            world, range(on.begun), partial(_lose, deleted=True)
        ),
        "moved with its key": lambda: _at_calls(world, range(on.begun), _move),
        "a copy beside the original, without the key": lambda: beside(world, range(on.begun)),
        "a copy beside the original, with the key": lambda: beside_with_the_key(world, range(on.stands, on.begun)),
    }
