"""The same families on a network with parts, whose looks show tags and parts, and whose seals are attached together."""

from __future__ import annotations

import pytest

from lab import families
from lab.branches import branching
from lab.families import NOTHING_NAMED
from lab.families_network import FAMILIES, NAMED
from lab.mutations import NETWORK_MUTATIONS, Mutation, in_order, mutated

MOST_TRIES = 250
MOST_CALLS = 303
"""Three times the calls of an undisturbed life."""
MOST_CALLS_IN = {"a quota is reached": 340}
"""Refused creates are sent again every five minutes, as long as the quota lasts."""


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    """One case in the middle, always the same one."""
    _, case = families.sample(FAMILIES[family](), 2)
    most_calls, most_named = MOST_CALLS_IN.get(family, MOST_CALLS), NAMED.get(family, NOTHING_NAMED).sampled
    families.hold_one(case, most_calls=most_calls, most_named=most_named)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    most_calls, most_named = MOST_CALLS_IN.get(family, MOST_CALLS), NAMED.get(family, NOTHING_NAMED).whole
    families.hold(family, FAMILIES[family](), most_calls=most_calls, most_named=most_named, runs=branching)


@pytest.mark.slow
@pytest.mark.parametrize("mutation", NETWORK_MUTATIONS, ids=str)
def test_each_safety_line_is_needed(mutation: Mutation) -> None:
    """Without it some run of its families fails; otherwise the line is redundant or the harness is incomplete."""
    with mutated(mutation.row):
        assert families.any_fails(in_order(mutation, FAMILIES, MOST_TRIES)), f"nothing noticed: {mutation}"
