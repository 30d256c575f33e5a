"""An AWSMachine, created and deleted in a cluster on the simulated AWS: the same families, the same oracles.

A run takes a tenth of a CPU-second: ``make test`` takes one case of each family that no other world has, and two of
the first ones. CAPA's own order in the same harness makes two instances, and leaves one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import pytest

from lab import catalogue, families, faults
from lab.aws_machine import MachineWorld
from lab.baseline_capa_machine import CapaMachine
from lab.branches import branching
from lab.families import NOTHING_NAMED, Case, Runs, one_by_one
from lab.families_aws_machine import CI_FAMILIES, FAMILIES, LATE, NAMED
from lab.families_memory import FAMILIES as IN_MEMORY
from lab.faults import Script
from lab.oracles import Verdict

CI_CASES = 2
MOST_CALLS = 225
"""Three times the calls of an undisturbed life with secrets."""
MOST_CALLS_OF_A_LONG_WAIT = 400
"""An object that cannot be written, or a refused request, is tried again as long as this lasts."""


def _hold(family: str, cases: Iterable[Case], most_named: int, runs: Runs = one_by_one) -> None:
    long = any(word in family for word in ("outage", "quota", "fail"))
    most = MOST_CALLS_OF_A_LONG_WAIT if long else MOST_CALLS
    families.hold(family, cases, most_calls=most, most_named=most_named, runs=runs)


@pytest.mark.parametrize("family", CI_FAMILIES)
def test_family(family: str) -> None:
    """CI takes a few of each, always the same ones."""
    _hold(family, families.shuffled(FAMILIES[family](), CI_CASES), NAMED.get(family, NOTHING_NAMED).sampled)


OTHERS = [
    family
    for family in FAMILIES
    if family not in CI_FAMILIES and family.rpartition(", ")[0] not in IN_MEMORY and family not in IN_MEMORY
]


@pytest.mark.parametrize("family", OTHERS)
def test_one_case(family: str) -> None:
    """So that none is broken when somebody runs it whole. Other worlds have those of each sort of machine."""
    (case,) = families.shuffled(FAMILIES[family](), 1)
    assert not families.run(case).faults


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    _hold(family, FAMILIES[family](), NAMED.get(family, NOTHING_NAMED).whole, branching)


# -- CAPA's order ---------------------------------------------------------------------------------------------


def test_capas_order_works_without_crashes() -> None:
    assert not families.run(Case("alive", MachineWorld, baseline=CapaMachine)).faults


def _dies_behind_the_create(world: Callable[[], MachineWorld], **how: object) -> Verdict:
    calls = families.golden(world, CapaMachine).port.calls
    number = next(number for number, call in enumerate(calls) if call.operation == "run_instances")
    script = partial(catalogue.given, Script({number: faults.AFTER}))
    return families.run(Case("dies", world, script, baseline=CapaMachine, **how))  # type: ignore[arg-type]  # Case's own


def test_capas_order_makes_a_second_instance_where_the_cloud_shows_the_first_one_late() -> None:
    """As in CAPA#6131."""
    lost = _dies_behind_the_create(LATE)
    assert any("instance/machine" in twice for twice in lost.duplicates)
    assert any("instance/machine" in orphan for orphan in lost.orphans)


def test_capas_order_leaves_an_instance_whose_machine_is_deleted_meanwhile() -> None:
    lost = _dies_behind_the_create(LATE, on_crash=catalogue.delete_now)
    assert any("instance/machine" in orphan for orphan in lost.orphans)


def test_ours_does_neither() -> None:
    calls, _ = families.calls_of(LATE)
    number = next(number for number, call in enumerate(calls) if call.operation == "run_instances")
    for on_crash in (catalogue.delete_now, _nothing):
        script = partial(catalogue.given, Script({number: faults.AFTER}))
        assert families.run(Case("dies", LATE, script, on_crash=on_crash)).faults == []


def _nothing(life: object) -> None:
    """Nobody did anything."""
