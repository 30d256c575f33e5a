"""A whole PowerVS cluster, created and deleted on the simulated IBM Cloud, cut off at its calls.

Real drivers, the vendor's SDKs, the real reconciler; a run takes about a second, so CI takes every sixth
call and ``make crash-pairs`` all of them.
"""

from __future__ import annotations

import pytest

from lab import faults, powervs
from lab.baselines import ControllerCreated, Naive, TagThenStatus

SHARDS = 8
CI_STEP = 6


@pytest.fixture(scope="module")
def golden() -> powervs.Golden:
    return powervs.golden()


@pytest.mark.parametrize("fault", powervs.CRASHES, ids=str)
def test_dying_at_a_call_loses_nothing(golden: powervs.Golden, fault: faults.Fault) -> None:
    tally = powervs.tally(f"PowerVS, {fault}", [fault], range(0, golden.calls, CI_STEP), golden.kinds)
    print(tally.row)
    assert tally.runs > 15
    assert not tally.failures


def test_a_lost_reply_to_any_write_loses_nothing(golden: powervs.Golden) -> None:
    """Deterministic sample: every third call that changes something."""
    writes = [i for i, effect in enumerate(golden.effects) if effect.value == "write"]
    tally = powervs.tally("PowerVS, lost replies", [faults.LOST], writes[::3], golden.kinds)
    print(tally.row)
    assert not tally.failures


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("fault", (*powervs.CRASHES, faults.LOST, faults.UNAVAILABLE, faults.THROTTLED), ids=str)
def test_every_call(golden: powervs.Golden, fault: faults.Fault, shard: int) -> None:
    """The full matrix over create and delete."""
    tally = powervs.tally(f"PowerVS, {fault}", [fault], range(shard, golden.calls, SHARDS), golden.kinds)
    print(tally.row)
    assert not tally.failures


@pytest.mark.parametrize("naive", (TagThenStatus, ControllerCreated))
def test_the_baselines_lose_things(golden: powervs.Golden, naive: type[Naive], monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth: what others do orphans or duplicates when it is cut off after a create."""
    lost = 0
    for name in ("create_vpc", "create_transit_gateway"):
        verdict = powervs.run_baseline(naive, name, golden.kinds, monkeypatch)
        lost += bool(verdict.orphans or verdict.duplicates)
    assert lost, f"{naive.__name__} lost nothing: the harness is blind"


def test_the_baselines_work_while_nothing_fails(golden: powervs.Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise their losses would show nothing."""
    for naive in (TagThenStatus, ControllerCreated):
        verdict = powervs.run_baseline(naive, "", golden.kinds, monkeypatch)
        assert not verdict.orphans and not verdict.duplicates and not verdict.wedged
