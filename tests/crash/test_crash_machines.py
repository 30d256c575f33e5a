"""The families of faults on kinds that behave as some of AWS do: tokens that end, and tags in the create.

The cloud is in memory, on virtual time, and has few resources, so that much of each family is tried.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab import catalogue_more, families
from lab.branches import branching
from lab.families import NOTHING_NAMED
from lab.families_machines import FAMILIES, MACHINES, NAMED
from lab.mutations import MACHINE_MUTATIONS, Mutation, in_order, mutated

SAMPLED = {**FAMILIES, **catalogue_more.in_one_cloud(replace(MACHINES, step=5), 10, restless=False)}
MOST_TRIES = 1500
MOST_CALLS = 222
"""Three times the calls of an undisturbed life."""
MOST_CALLS_IN = {"a quota is reached": 340}  # a create that is refused is sent again every five minutes


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    """One case in the middle, always the same one."""
    _, case = families.sample(SAMPLED[family](), 2)
    most_calls, most_named = MOST_CALLS_IN.get(family, MOST_CALLS), NAMED.get(family, NOTHING_NAMED).sampled
    families.hold_one(case, most_calls=most_calls, most_named=most_named)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    most_calls, most_named = MOST_CALLS_IN.get(family, MOST_CALLS), NAMED.get(family, NOTHING_NAMED).whole
    families.hold(family, FAMILIES[family](), most_calls=most_calls, most_named=most_named, runs=branching)


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MACHINE_MUTATIONS, ids=str)
def test_each_safety_line_is_needed(mutation: Mutation) -> None:
    """Without it some run of its families fails; otherwise the line is redundant or the harness is incomplete."""
    with mutated(mutation.row):
        assert families.any_fails(in_order(mutation, FAMILIES, MOST_TRIES)), f"nothing noticed: {mutation}"
