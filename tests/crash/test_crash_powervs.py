"""A whole PowerVS cluster, created and deleted on the simulated IBM Cloud: the same families, the same oracles.

Real drivers, the vendor's SDKs, the real reconciler; a run takes a sixth of a second, so `make test` takes two cases
of some families, one of each that is not led in memory too, and ``make crash-pairs`` everything.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from lab import families
from lab.branches import branching
from lab.families import NOTHING_NAMED, Case, Runs, one_by_one
from lab.families_memory import FAMILIES as IN_MEMORY
from lab.families_powervs import CI_FAMILIES, FAMILIES, NAMED

CI_CASES = 2
MOST_CALLS = 672
MOST_CALLS_OF_EVERYTHING = 870
"""Three times the calls of an undisturbed life, with the writes of the status."""
MOST_CALLS_OF_A_LONG_WAIT = 900
"""Refused or unanswered requests are sent again every five minutes, as long as this lasts."""


def _hold(family: str, cases: Iterable[Case], most_named: int, runs: Runs = one_by_one) -> None:
    most = MOST_CALLS_OF_EVERYTHING if family.endswith("every kind") else MOST_CALLS
    if "outage" in family or "quota" in family:
        most = MOST_CALLS_OF_A_LONG_WAIT
    families.hold(family, cases, most_calls=most, most_named=most_named, runs=runs)


@pytest.mark.parametrize("family", CI_FAMILIES)
def test_family(family: str) -> None:
    """CI takes a few of each, always the same ones."""
    most = NAMED.get(family, NOTHING_NAMED).sampled
    _hold(family, families.sample(FAMILIES[family](), CI_CASES), most)


@pytest.mark.parametrize("family", [each for each in FAMILIES if each not in CI_FAMILIES and each not in IN_MEMORY])
def test_one_case(family: str) -> None:
    """So that none is broken when somebody runs it whole. ``test_crash_memory.py`` has the families of both worlds."""
    (case,) = families.shuffled(FAMILIES[family](), 1)
    assert not families.run(case).faults


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    _hold(family, FAMILIES[family](), NAMED.get(family, NOTHING_NAMED).whole, branching)
