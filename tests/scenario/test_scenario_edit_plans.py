"""A plan lists what the next passes do: after every edit, at every moment of a creation, and for deletes.

The cloud before and after is compared, not our own reports; so is the number of writes that each API got.
"""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from harness.edits import EDITS, at_rest, edited
from harness.plans import Change, Snapshot, changed, planned, promised, refused, writes
from harness.powervs import Harness

PASSES = [*range(1, 16), 40]
QUICK = sorted(EDITS)[1::3]
"""The edits of which ``make test`` plays one moment, not those of ``test_scenario_edits.py``; ``make edits``: all."""


def _moment(edit: str) -> int:
    return PASSES[hashlib.sha256(f"plan of {edit}".encode()).digest()[0] % len(PASSES)]


def _play(edit: str, passes: int) -> None:
    harness = edited(edit, passes)
    before, plan = Snapshot(harness), planned(harness)
    assert Snapshot(harness) == before, "a plan writes nothing"
    at_rest(harness)
    _compare(harness, before, promised(plan), plan.writes)

    before, plan = Snapshot(harness), planned(harness, deleting=True)
    assert plan.gone
    harness.down()
    _compare(harness, before, promised(plan), plan.writes)


def _compare(harness: Harness, before: Snapshot, wanted: Counter[Change], most: Counter[str]) -> None:
    done = changed(before, Snapshot(harness)) + refused(harness, before, wanted)
    assert not wanted - done, "the plan lists changes that were not made"
    assert not done - wanted, "changed, but not in the plan"
    sent = writes(harness, before)
    assert not {api: (n, most.get(api, 0)) for api, n in sent.items() if n > most.get(api, 0)}


@pytest.mark.parametrize("edit", QUICK)
def test_a_plan_of_a_cluster_that_is_being_created(edit: str) -> None:
    _play(edit, _moment(edit))


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("passes", PASSES)
def test_a_plan_after_every_pass(edit: str, passes: int) -> None:
    if passes != _moment(edit) or edit not in QUICK:
        _play(edit, passes)
