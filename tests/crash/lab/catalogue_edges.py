"""The four edge cases of requirements W17 to W22, at the create of each resource.

The process dies between the create and its record; the record fails; the marks fail; and what was made cannot be
deleted after its record failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from freehold.engine.port import Call, Effect
from lab import faults
from lab.catalogue import TAG_APIS, Families, Ground, delete_now, given
from lab.catalogue_outages import creates
from lab.families import Case, calls_of
from lab.faults import Fault, Script, Spell

WHILE = 150.0
"""Seconds for which it goes on: longer than settle."""
REFUSALS = (faults.UNAVAILABLE, faults.DENIED)


def _marks(call: Call) -> bool:
    tags = call.api in TAG_APIS or call.operation.endswith("_tags")
    return tags and call.effect is Effect.WRITE


def _stores(call: Call) -> bool:
    return call.effect is Effect.STORE


def _deletes(call: Call) -> bool:
    return call.effect is Effect.WRITE and call.operation.startswith(("delete_", "release_", "terminate_"))


def _at_creates(on: Ground, spells: tuple[tuple[Fault, object], ...], *, dead: bool) -> Iterator[Case]:
    """From the answer of each create on; the process lives or dies, the object stays or is deleted."""
    for number in on.numbers(creates):
        script = Script(
            {number: faults.AFTER} if dead else {},
            spells=tuple(Spell(number + 1, WHILE, fault, hits) for fault, hits in spells),  # type: ignore[arg-type]  # pairs of a fault and a test of a call
        )
        label = f"{_what(on, number)} at {number}, {', '.join(str(fault) for fault, _ in spells) or 'dead'}"
        yield Case(label, on.world, partial(given, script))
        if dead:
            yield Case(f"{label}, deleted", on.world, partial(given, script), on_crash=delete_now)


def _what(on: Ground, number: int) -> str:
    return calls_of(on.world)[0][number].operation


def tags_fail(on: Ground) -> Iterator[Case]:
    for fault in REFUSALS:
        for dead in (False, True):
            yield from _at_creates(on, ((fault, _marks),), dead=dead)


def update_fails(on: Ground) -> Iterator[Case]:
    for fault in (faults.UNAVAILABLE, faults.LOST):
        for dead in (False, True):
            yield from _at_creates(on, ((fault, _stores),), dead=dead)


def rollback_fails(on: Ground) -> Iterator[Case]:
    """Nothing is rolled back here: the object is deleted instead, and the deletes are refused for a while."""
    for fault in REFUSALS:
        yield from _at_creates(on, ((faults.UNAVAILABLE, _stores), (fault, _deletes)), dead=True)


def dies_before_the_record(on: Ground) -> Iterator[Case]:
    yield from _at_creates(on, (), dead=True)


def families(on: Ground) -> Families:
    return {
        "tags fail after the create": lambda: tags_fail(on),
        "the update of the object fails after the create": lambda: update_fails(on),
        "the update fails, then the delete of what was made": lambda: rollback_fails(on),
        "the process dies between create and record": lambda: dies_before_the_record(on),
    }
