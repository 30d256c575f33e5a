"""Strangers and crashes at different calls, and a stranger at each call: the cases between the sampled ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from freehold.engine.outcomes import Reason
from lab import catalogue, faults
from lab.catalogue import Families, Ground
from lab.families import Case
from lab.faults import Fault, Script
from lab.oracles import Excuse
from lab.seam import World

GAPS = (-9, -4, -2, -1, 1, 2, 3, 5, 9, 16)
"""Calls from the stranger's act to the crash; below zero the crash comes first."""

FAULTS = (faults.BEFORE, faults.AFTER, faults.late_crash(20))


def _acts(on: Ground) -> list[tuple[str, str]]:
    """What a stranger can do, and to which kind: a short list that is repeated."""
    table = {
        "namesake": on.kinds,
        "copycat": on.tagged,
        "strip": on.tagged,
        "strike": on.kinds,
        "move_in": on.hosts,
    }
    rows = [[(act, kind) for kind in kinds] for act, kinds in table.items() if kinds]
    longest = max(map(len, rows))
    return [row[i % len(row)] for i in range(longest) for row in rows]


def _excuse(on: Ground, act: str, kind: str) -> Excuse:
    """A resource of that kind, or its container, may have to stay as a stranger left it, also if that is gone."""
    reasons = {*on.taken, Reason.NOT_OWNED, Reason.AMBIGUOUS, Reason.IN_USE, Reason.GONE}
    return on.struck(kind, *reasons) if act == "strike" else Excuse(frozenset(reasons), frozenset({kind}))


def _script(world: World, *, act: str, kind: str, number: int, crashes: dict[int, Fault]) -> Script:
    return Script(crashes, {number: partial(catalogue.meddle, world, act, kind)})


def apart(on: Ground) -> Iterator[Case]:
    """A stranger acts at one call and the process dies at another, before or after."""
    acts = itertools.cycle(_acts(on))
    for number in on.moments:
        for gap, fault in itertools.product(GAPS, FAULTS):
            act, kind = next(acts)
            script = partial(_script, act=act, kind=kind, number=number, crashes={max(0, number + gap): fault})
            yield Case(
                f"{act} of {kind} at {number}, {fault} {gap:+d}", on.world, script, excuse=_excuse(on, act, kind)
            )


def each_call(on: Ground) -> Iterator[Case]:
    """A stranger acts before each call of the whole life, not only before every n-th."""
    kinds = {act: itertools.cycle([kind for other, kind in _acts(on) if other == act]) for act, _ in _acts(on)}
    for number in range(on.last):
        for act, row in kinds.items():
            kind = next(row)
            script = partial(_script, act=act, kind=kind, number=number, crashes={})
            yield Case(f"{act} of {kind} at {number}", on.world, script, excuse=_excuse(on, act, kind))


def families(on: Ground) -> Families:
    return {
        "stranger and crash at different calls": lambda: apart(on),
        "a stranger at each call": lambda: each_call(on),
    }
