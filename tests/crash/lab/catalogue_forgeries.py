"""Forged seals, forged carrier's marks, forged ids of unmarkable kinds, and strangers who know our nonces.

None of them may lead to a change or delete of a stranger's resource, prevent a create or delete of ours, or leave
something of ours behind without a message.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Protocol

from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Reason
from freehold.engine.ownership import Codec, Owner
from freehold.engine.resources import NodeKey
from lab import faults, outsiders
from lab.catalogue import Families, Fresh, Ground
from lab.catalogue_outages import creates
from lab.families import Case, at_each_call
from lab.faults import Fault, Script
from lab.life import Course
from lab.oracles import Excuse
from lab.seam import World


class Forgeable(World, Protocol):
    """A world in which strangers forge marks."""

    codec: Codec

    def victim(self, kind: str, *, young: bool) -> tuple[str, str] | None:
        """Id and target of a stranger's resource: old, or made now with the name that we want; None if neither."""
        ...

    def victim_in_carrier(self) -> tuple[str, str, str] | None:
        """Kind and id of a stranger's resource, made now in the carrier of ours, and the carrier's target."""
        ...

    def forge(self, target: str, tags: frozenset[str]) -> None:
        """A stranger attaches tags."""
        ...

    def spy(self, kind: str, nonce: str, tags: frozenset[str]) -> None:
        """A stranger creates a resource of that kind as a create of ours with that nonce would."""
        ...


Fakes = Callable[[Forgeable, Owner], object]

FORGED = Excuse(frozenset({Reason.NAME_TAKEN, Reason.NOT_OWNED, Reason.AMBIGUOUS, Reason.IN_USE}), surplus=True)
"""A stranger's resource has the name, or marks of ours: it is named, and not changed."""


def _forged(on: Ground) -> Excuse:
    return replace(FORGED, reasons=FORGED.reasons | set(on.taken))


def _script(world: World, *, number: int, act: Fakes, crashes: dict[int, Fault]) -> Script:
    def run() -> None:
        if world.life.record:  # before there is an identity its marks cannot be forged
            act(world, world.life.journal.owner)  # type: ignore[arg-type]  # both worlds have forgers

    return Script(crashes, {number: run})


def _crashes(number: int, fault: Fault | None) -> dict[int, Fault]:
    return {number: fault} if fault else {}


# -- seals ----------------------------------------------------------------------------------------------


def _seal(world: Forgeable, owner: Owner, *, kind: str, logical: str, young: bool) -> None:
    if victim := world.victim(kind, young=young):
        key = NodeKey(kind, logical or _logical(world.life, kind))
        world.forge(victim[1], outsiders.node_marks(world.codec, owner, key, victim[1]))


def _logical(life: Course, kind: str) -> str:
    return next((key.logical for key in life.graph.nodes if key.kind == kind), "main")


def seals(on: Ground) -> Iterator[Case]:
    """Owner, uuid and a computed seal on a stranger's resource: with a free name, and with one that we want."""
    world, kinds = on.branded
    for number, (kind, logical, young) in itertools.product(on.moments, _sealed(kinds)):
        for fault in (None, faults.AFTER):
            act = partial(_seal, kind=kind, logical=logical, young=young)
            script = partial(_script, number=number, act=act, crashes=_crashes(number, fault))
            label = f"{kind}/{logical or 'wanted'} {'young' if young else 'old'} at {number}, {fault or 'no crash'}"
            yield Case(label, world, script, excuse=_forged(on))


def _sealed(kinds: tuple[str, ...]) -> list[tuple[str, str, bool]]:
    return [(kind, logical, young) for kind in kinds for logical, young in (("spare", False), ("", False), ("", True))]


def seals_and_restore(on: Ground) -> Iterator[Case]:
    """The same, and the journal is restored, so that the marks are read first."""
    world, kinds = on.branded
    rows = itertools.cycle(_sealed(kinds))
    for number, back in itertools.product(on.moments, (1, 3, 30)):
        for deleted in (False, True):
            kind, logical, young = next(rows)
            act = partial(_seal, kind=kind, logical=logical, young=young)
            script = partial(_script, number=number, act=act, crashes={number: faults.AFTER})
            restore = partial(_restored, back=back, deleted=deleted)
            label = f"{kind}/{logical or 'wanted'} at {number}, {back} back{', deleted' if deleted else ''}"
            yield Case(label, world, script, on_crash=restore, excuse=_forged(on))


def _restored(life: Course, *, back: int, deleted: bool) -> None:
    life.roll_back(back)
    life.deleting = deleted or life.deleting


# -- carrier's marks ------------------------------------------------------------------------------------


def _carried(world: Forgeable, owner: Owner) -> None:
    if victim := world.victim_in_carrier():
        kind, ident, target = victim
        world.forge(target, frozenset({world.codec.spell_carrier_mark(owner, kind, ident)}))


def carried(world: Fresh, numbers: range) -> Iterator[Case]:
    """A mark with our uuid on a given carrier names a stranger's resource in it."""
    for number, fault in itertools.product(numbers, (None, faults.AFTER, faults.late_crash(20))):
        script = partial(_script, number=number, act=_carried, crashes=_crashes(number, fault))
        yield Case(f"mark on a carrier at {number}, {fault or 'no crash'}", world, script, excuse=FORGED)
        restore = partial(_restored, back=2, deleted=True)
        if fault:
            label = f"mark on a carrier at {number}, {fault}, restored and deleted"
            yield Case(label, world, script, excuse=FORGED, on_crash=restore)


# -- the journal ----------------------------------------------------------------------------------------


def ids(on: Ground, world: Fresh, kinds: tuple[str, ...]) -> Iterator[Case]:
    """Somebody who may edit the object records a stranger's id of an unmarkable kind, in place of ours or beside it."""
    for kind, spare in itertools.product(kinds, (False, True)):
        forge = partial(_forge_id, kind=kind, spare=spare)
        yield from at_each_call(world, (faults.AFTER,), calls=range(4, on.begun, 2), on_crash=forge, excuse=FORGED)


def _forge_id(life: Course, *, kind: str, spare: bool) -> None:
    world: Forgeable = life.world  # type: ignore[assignment]  # both worlds have forgers
    victim = world.victim(kind, young=False) if life.record else None
    if victim is None:
        return
    journal = life.journal
    key = next((key for key in journal.entries if key.kind == kind), NodeKey(kind, "spare"))
    entry = journal.entries.get(key, Entry(RecordState.OWNED))
    if spare:
        key = NodeKey(kind, "spare")
    else:
        life.deleting = True  # the record of ours is gone: no state may know of it before the delete searches for it
    life.rewrite(
        journal.put(key, replace(entry, state=RecordState.OWNED, id=victim[0], target=victim[1], request=None))
    )


# -- spies ----------------------------------------------------------------------------------------------


def _spy(world: Forgeable, owner: Owner, *, kind: str) -> None:
    for key, entry in world.life.journal.open.items():
        if key.kind == kind:
            marks = outsiders.birth_marks(world.codec, owner, key, entry.attempt)
            world.spy(kind, outsiders.nonce(owner, key, entry.attempt), marks)


def spies(on: Ground) -> Iterator[Case]:
    """Before an interrupted create takes effect, somebody creates a resource with the nonce of its intent."""
    numbers = sorted({number + more for number in on.numbers(creates) for more in (0, 1)})
    crashes = (None, faults.BEFORE, faults.AFTER, faults.late_crash(20))
    for number, kind, fault in itertools.product(numbers, on.kinds, crashes):
        script = partial(_script, number=number, act=partial(_spy, kind=kind), crashes=_crashes(number, fault))
        yield Case(f"spy on {kind} at {number}, {fault or 'no crash'}", on.world, script, excuse=_forged(on))
        if fault:
            label = f"spy on {kind} at {number}, {fault}, deleted"
            yield Case(label, on.world, script, excuse=_forged(on), on_crash=_delete)


def _delete(life: Course) -> None:
    life.deleting = True


def families(on: Ground, given: Fresh, unmarkable: tuple[str, ...], victims: Fresh, given_calls: range) -> Families:
    """``given``: a carrier of somebody else. ``victims``: others own something of each unmarkable kind."""
    return {
        "forged seals": lambda: seals(on),
        "forged seals beside a restored journal": lambda: seals_and_restore(on),
        "forged marks on a given carrier": lambda: carried(given, given_calls),
        "forged ids of unmarkable kinds": lambda: ids(on, victims, unmarkable),
        "a spy who knows the nonce": lambda: spies(on),
    }
