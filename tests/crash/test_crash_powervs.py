"""A whole PowerVS cluster, created and deleted on the simulated IBM Cloud: the same families, the same oracles.

Real drivers, the vendor's SDKs, the real reconciler; a run takes a sixth of a second, so `make test` takes one case of
some families and of each that is not led in memory too, and ``make crash-pairs`` everything.
"""

from __future__ import annotations

import pytest

from lab import families
from lab.branches import branching
from lab.families import NOTHING_NAMED
from lab.families_memory import FAMILIES as IN_MEMORY
from lab.families_powervs import CI_FAMILIES, FAMILIES, NAMED

MOST_CALLS = 672
MOST_CALLS_OF_EVERYTHING = 870
"""Three times the calls of an undisturbed life, with the writes of the status."""
MOST_CALLS_OF_A_LONG_WAIT = 900
"""Refused or unanswered requests are sent again every five minutes, as long as this lasts."""


def _most_calls(family: str) -> int:
    if "outage" in family or "quota" in family:
        return MOST_CALLS_OF_A_LONG_WAIT
    return MOST_CALLS_OF_EVERYTHING if family.endswith("every kind") else MOST_CALLS


@pytest.mark.parametrize("family", CI_FAMILIES)
def test_family(family: str) -> None:
    """One case in the middle, always the same one."""
    _, case = families.sample(FAMILIES[family](), 2)
    most_named = NAMED.get(family, NOTHING_NAMED).sampled
    families.hold_one(case, most_calls=_most_calls(family), most_named=most_named)


@pytest.mark.parametrize("family", [each for each in FAMILIES if each not in CI_FAMILIES and each not in IN_MEMORY])
def test_one_case(family: str) -> None:
    """So that none is broken when somebody runs it whole. ``test_crash_memory.py`` has the families of both worlds."""
    (case,) = families.shuffled(FAMILIES[family](), 1)
    assert not families.run(case).faults


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    most_named = NAMED.get(family, NOTHING_NAMED).whole
    families.hold(family, FAMILIES[family](), most_calls=_most_calls(family), most_named=most_named, runs=branching)
