"""A client token that was used before with another request: the cloud refuses, and the first resource exists.

This happens after a restored journal and an edited spec: the attempt, and so the token, is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from freehold.engine.outcomes import Reason
from lab import faults
from lab.catalogue import Families, Ground
from lab.catalogue_outages import creates
from lab.families import Case, at_each_call
from lab.faults import Script, Spell
from lab.life import Course
from lab.oracles import Excuse
from lab.seam import World
from lab.world import MemoryWorld

TOKENS = ("disk", "wall", "ticket")
"""The kinds of the in-memory cloud whose creates carry one."""

REFUSED = Excuse(frozenset({Reason.NAME_TAKEN, Reason.INVALID}))


def larger(world: World, kinds: Iterable[str]) -> None:
    """The spec wants another size of these kinds, with the same names."""
    assert isinstance(world, MemoryWorld)
    world.nodes = [
        replace(node, request=partial(_with_size, node.request)) if node.key.kind in kinds else node
        for node in world.nodes
    ]


def _with_size(request: object, known: object) -> dict[str, object]:
    return {**request(known), "size": 2}  # type: ignore[operator]  # a Node's request


def _edited(life: Course, *, kinds: tuple[str, ...], back: int, deleted: bool) -> None:
    if back:
        life.roll_back(back)
    larger(life.world, kinds)
    life.deleting = life.deleting or deleted


def edited(on: Ground, kinds: tuple[str, ...] = TOKENS) -> Iterator[Case]:
    """The process dies; the journal is restored, or not, and the spec is edited; then a create is sent again."""
    for kind, back, deleted in itertools.product(kinds, (0, 1, 2, 3), (False, True)):
        yield from at_each_call(
            on.world,
            (faults.AFTER, faults.late_crash(20)),
            calls=range(on.begun),
            on_crash=partial(_edited, kinds=(kind,), back=back, deleted=deleted),
            excuse=REFUSED,
        )


def refused_at_first(on: Ground, kinds: tuple[str, ...] = TOKENS) -> Iterator[Case]:
    """A create is refused, the spec is edited and the create sent again; then the first intent is restored."""
    for number in on.numbers(creates):
        for gap, back in itertools.product(range(3, 24), (1, 2, 3, 4)):
            script = partial(_refused, number=number, gap=gap, kinds=kinds)
            restore = partial(_edited, kinds=(), back=back, deleted=False)
            yield Case(
                f"refused at {number}, dead {gap} later, {back} back",
                on.world,
                script,
                excuse=REFUSED,
                on_crash=restore,
            )


def _refused(world: World, *, number: int, gap: int, kinds: tuple[str, ...]) -> Script:
    return Script(
        {number + gap: faults.AFTER},
        {number + 1: lambda: larger(world, kinds)},
        spells=(Spell(number, 60.0, faults.QUOTA, creates),),
    )


def families(on: Ground, kinds: tuple[str, ...] = TOKENS) -> Families:
    return {
        "the token of another request": lambda: edited(on, kinds),
        "the token of another request, refused at first": lambda: refused_at_first(on, kinds),
    }
