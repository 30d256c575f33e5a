"""A whole AWSCluster, created and deleted on the simulated AWS: the same families, the same oracles.

Real drivers, botocore, the real reconciler; a run takes a CPU-second or half of it, so `make test` takes one case of
some families and of each that is not led in memory too, and ``make crash-pairs`` everything.
"""

from __future__ import annotations

import pytest

from lab import families
from lab.branches import branching
from lab.families import NOTHING_NAMED
from lab.families_aws import CI_FAMILIES, FAMILIES, NAMED
from lab.families_memory import FAMILIES as IN_MEMORY

MOST_CALLS = 642
MOST_CALLS_OF_OTHER_KINDS = 1032
"""Three times the calls of an undisturbed life, with the writes of the status."""
MOST_CALLS_OF_A_LONG_WAIT = 1100
"""An object that cannot be written, or a refused request, is tried again as long as this lasts."""


def _most_calls(family: str) -> int:
    if any(word in family for word in ("outage", "quota", "fail")):
        return MOST_CALLS_OF_A_LONG_WAIT
    return MOST_CALLS_OF_OTHER_KINDS if family.endswith(("every other kind", "network given")) else MOST_CALLS


OTHERS = [each for each in FAMILIES if each not in CI_FAMILIES and each not in IN_MEMORY and ", every " not in each]


@pytest.mark.parametrize("family", [*CI_FAMILIES, *OTHERS])
def test_family(family: str) -> None:
    """So that none is broken when somebody runs it whole. ``test_crash_memory.py`` has the families of both worlds; on
    the cluster with every other kind one of :data:`CI_FAMILIES` runs."""
    (case,) = families.shuffled(FAMILIES[family](), 1)
    most_named = NAMED.get(family, NOTHING_NAMED).sampled
    families.hold_one(case, most_calls=_most_calls(family), most_named=most_named)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    most_named = NAMED.get(family, NOTHING_NAMED).whole
    families.hold(family, FAMILIES[family](), most_calls=_most_calls(family), most_named=most_named, runs=branching)
