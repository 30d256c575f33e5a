"""The same families on a network with parts, whose looks show tags and parts, and whose seals are attached together."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from lab import families
from lab.branches import branching
from lab.families import NOTHING_NAMED, Case, Runs, one_by_one
from lab.families_network import FAMILIES, NAMED
from lab.mutations import NETWORK_MUTATIONS, Mutation, in_order, mutated

CI_CASES = 2
MOST_TRIES = 250
MOST_CALLS = 303
"""Three times the calls of an undisturbed life."""
MOST_CALLS_IN = {"a quota is reached": 340}
"""Refused creates are sent again every five minutes, as long as the quota lasts."""


def _hold(family: str, cases: Iterable[Case], most_named: int, runs: Runs = one_by_one) -> None:
    families.hold(family, cases, most_calls=MOST_CALLS_IN.get(family, MOST_CALLS), most_named=most_named, runs=runs)


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    """CI takes a deterministic sample."""
    _hold(family, families.sample(FAMILIES[family](), CI_CASES), NAMED.get(family, NOTHING_NAMED).sampled)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    _hold(family, FAMILIES[family](), NAMED.get(family, NOTHING_NAMED).whole, branching)


@pytest.mark.slow
@pytest.mark.parametrize("mutation", NETWORK_MUTATIONS, ids=str)
def test_each_safety_line_is_needed(mutation: Mutation) -> None:
    """Without it some run of its families fails; otherwise the line is redundant or the harness is incomplete."""
    with mutated(mutation.row):
        assert families.any_fails(in_order(mutation, FAMILIES, MOST_TRIES)), f"nothing noticed: {mutation}"
