"""Whatever happens at any call of a whole create and delete: nothing lost, nothing twice, nothing of others touched.

The cloud is in memory, on virtual time; the ten resources cover the five workflows of seed 003.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from lab import families, families_memory
from lab.families import Case

ONLY_DEED_LOST = {*(name for name in families_memory.CI if "rolled back" in name), "journal rolled back far"}
ONLY_DEED_LOST |= {"our tags stripped"}
"""Where the one deed of a resource is gone (journal restored, marks stripped before the id was on record) nothing
can tell ours from a stranger's: it stays, and is named to a person. Elsewhere nothing may stay."""

CI_CASES = 110
MOST_CALLS = 350
"""Three times the calls of an undisturbed life: no recovery may hammer the cloud."""

PAIR_SHARDS = 8
PAIR_STEP = 40


ALL = {**families_memory.CI, **families_memory.TEETH}


@pytest.mark.parametrize("family", ALL)
def test_family(family: str) -> None:
    """CI takes a deterministic sample of the longer families."""
    cases = list(ALL[family]())
    _hold(family, cases[:: max(1, len(cases) // CI_CASES)])


@pytest.mark.slow
@pytest.mark.parametrize("family", ALL)
def test_whole_family(family: str) -> None:
    _hold(family, ALL[family]())


def _hold(family: str, cases: Iterable[Case]) -> None:
    tally = families.tally(family, cases)
    print(tally.row)
    assert tally.runs >= 12
    assert not tally.failures
    assert tally.most_calls <= MOST_CALLS
    assert family in ONLY_DEED_LOST or not tally.named


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(PAIR_SHARDS))
def test_pairs_of_faults(shard: int) -> None:
    """A second fault in the recovery from a first one."""
    cases = [c for i, c in enumerate(families_memory.pairs(PAIR_STEP)) if i % PAIR_SHARDS == shard]
    tally = families.tally("pairs", cases)
    print(tally.row)
    assert not tally.failures
