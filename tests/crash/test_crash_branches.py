"""Cases that branch off from one undisturbed life end as they do from the start, in every world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import pytest

from lab import (
    catalogue,
    families,
    families_aws,
    families_aws_machine,
    families_machines,
    families_memory,
    families_network,
    families_powervs,
)
from lab.branches import branching
from lab.catalogue import Families
from lab.families import Case
from lab.families_memory import MEMORY
from lab.faults import AFTER, Script
from lab.life import Course

CASES = 4
EVERY: Mapping[str, Families] = {
    "memory": families_memory.FAMILIES,
    "machines": families_machines.FAMILIES,
    "network": families_network.FAMILIES,
    "powervs": families_powervs.FAMILIES,
    "aws": families_aws.FAMILIES,
    "aws machine": families_aws_machine.FAMILIES,
}
QUICK = 1
"""The first family in memory is compared in each run of the suite, all others by ``make crash-pairs``."""


def _families() -> Iterator[object]:
    for world, table in EVERY.items():
        for index, (name, family) in enumerate(table.items()):
            marks = () if world == "memory" and index < QUICK else pytest.mark.slow
            yield pytest.param(family, id=f"{world}: {name}", marks=marks)


@pytest.mark.parametrize("family", list(_families()))
def test_the_verdicts_are_those_of_runs_from_the_start(family: Callable[[], Iterable[Case]]) -> None:
    cases = families.shuffled(family(), CASES)
    branched = {case.label: verdict for case, verdict in branching(cases)}
    assert branched == {case.label: verdict for case, verdict in families.one_by_one(cases)}


def test_each_case_is_run_once_whenever_it_begins() -> None:
    """At the first call, never, and at a call that an undisturbed life does not reach."""
    scripts = {"first": Script({0: AFTER}), "never": Script(), "too late": Script({10_000: AFTER})}
    cases = [Case(name, MEMORY.world, partial(catalogue.given, script)) for name, script in scripts.items()]
    assert sorted(case.label for case, verdict in branching(cases) if not verdict.faults) == sorted(scripts)


def _cases_of(after_create: Mapping[str, Callable[[Course], object]]) -> Iterator[Case]:
    for name, act in after_create.items():
        for number in (MEMORY.begun - 1, MEMORY.begun + 1):
            script = partial(catalogue.given, Script({number: AFTER}))
            yield Case(f"{name} {number}", MEMORY.world, script, after_create=act)


def test_what_happens_after_the_create_happens_once_in_each_case() -> None:
    seen: list[str] = []

    def look(life: Course) -> None:
        seen.append("looked")

    verdicts = dict(branching(_cases_of({"looks": look, "does nothing": lambda life: None})))
    assert len(verdicts) == 4
    assert seen == ["looked"], "in the undisturbed life, from which the later case branches off"


def test_an_error_in_a_copy_is_told() -> None:
    """A copy is a process of its own: nothing that it raises may be lost."""

    def broken(life: Course) -> None:
        raise RuntimeError("the laboratory is broken")

    cases = catalogue.crashes(MEMORY.world, calls=(3, 4), on_crash=broken)
    with pytest.raises(AssertionError, match="the laboratory is broken"):
        list(branching(cases))
