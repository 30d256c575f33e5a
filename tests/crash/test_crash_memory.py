"""Faults at any call of a whole create and delete: nothing lost, nothing twice, nothing of others changed.

The cloud is in memory, on virtual time; the ten resources cover the five workflows of
docs/reference/requirements.md W17 to W22.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

from lab import catalogue_more, families, mapped
from lab.branches import branching
from lab.families import NOTHING_NAMED, Case, Runs, one_by_one
from lab.families_memory import FAMILIES, MEMORY, NAMED, PAIRS

SAMPLED = {**FAMILIES, **catalogue_more.in_one_cloud(MEMORY, 30, restless=True)}
TWO_CASES = frozenset({
    "delete in a lagging cloud",
    "lags and reads that step back",
    "journal rolled back, create in flight, carrier given",
    "stranger and crash at different calls",
    "two processes, deleted meanwhile",
    "two processes, the second dies",
    "the token of another request, refused at first",
    "a new writing key, journal rolled back",
    "a copy beside the original, without the key",
    "a spy who knows the nonce",
    "delete after a crash, the neighbour's in what is ours",
})  # fmt: skip
"""In the others the later case takes every path through the engine that the earlier one takes, or another family does:
measured, branch by branch; and where a safety line is missing the later case notices it as well, or another family."""
MOST_CALLS = 531
"""Three times the calls of an undisturbed life: no recovery may overload the cloud."""
MOST_CALLS_IN = {
    "a quota is reached": 600,  # a create that is refused is sent again every five minutes
    "every family in a lagging cloud": 648,  # an undisturbed life takes 216 if reads lag ten seconds
}
"""For the families that need another bound."""

PAIR_SHARDS = 8
PAIR_STEP = int(os.environ.get("CRASH_PAIR_STEP", "20"))
"""Every n-th pair of faults; 1 takes all 250,000 of them."""


def _hold(family: str, cases: Iterable[Case], most_named: int = 0, runs: Runs = one_by_one) -> None:
    families.hold(family, cases, most_calls=MOST_CALLS_IN.get(family, MOST_CALLS), most_named=most_named, runs=runs)


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    """CI takes one case from the middle, always the same one; of some families two."""
    most = NAMED.get(family, NOTHING_NAMED).sampled
    cases = families.sample(SAMPLED[family](), 2 if family.endswith(mapped.SUFFIX) else 3)
    if family in TWO_CASES:
        _hold(family, cases[-2:], most_named=most)
    else:
        families.hold_one(cases[-1], most_calls=MOST_CALLS_IN.get(family, MOST_CALLS), most_named=most)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    _hold(family, FAMILIES[family](), NAMED.get(family, NOTHING_NAMED).whole, branching)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(PAIR_SHARDS))
def test_pairs_of_faults(shard: int) -> None:
    """A second fault during the recovery from the first one."""
    _hold("pairs of faults", (c for i, c in enumerate(PAIRS(PAIR_STEP)) if i % PAIR_SHARDS == shard), runs=branching)
