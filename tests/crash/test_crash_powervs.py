"""A whole PowerVS cluster, created and deleted on the simulated IBM Cloud: the same families, the same oracles.

Real drivers, the vendor's SDKs, the real reconciler; a run takes a sixth of a second, so CI takes a sample
and ``make crash-pairs`` everything.
"""

from __future__ import annotations

from functools import partial

import pytest

from lab import families
from lab.catalogue import ONLY_DEED_LOST
from lab.families_powervs import FAMILIES

CI_CASES = 9
MOST_CALLS = 460
"""Three times the calls of an undisturbed life, the writes of the object's status among them."""

_hold = partial(families.hold, most_calls=MOST_CALLS)


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    """CI takes a deterministic sample."""
    _hold(family, families.sample(FAMILIES[family](), CI_CASES), may_leave=family in ONLY_DEED_LOST)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    _hold(family, FAMILIES[family](), may_leave=family in ONLY_DEED_LOST)
