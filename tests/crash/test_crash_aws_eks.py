"""An AWSManagedControlPlane, created, updated and deleted on the simulated AWS: the same families, the same oracles.

A run takes half of a CPU-second: ``make test`` takes one case of each family that no other world has, and two of the
first ones. CAPA's own way in the same harness uses a stranger's cluster, and deletes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import pytest

from freehold.engine.outcomes import Reason
from harness.aws_control_plane import EKS_NAME
from lab import catalogue, families, faults
from lab.aws_eks import EksWorld
from lab.baseline_capa_eks import CapaEks
from lab.branches import branching
from lab.families import NOTHING_NAMED, Case, Runs, one_by_one
from lab.families_eks import CI_FAMILIES, CLUSTER, FAMILIES, NAMED, PROVIDER
from lab.faults import Script

CI_CASES = 2
MOST_CALLS = 950
"""Three times the calls of an undisturbed life with updates."""


def _hold(family: str, cases: Iterable[Case], most_named: int, runs: Runs = one_by_one) -> None:
    families.hold(family, cases, most_calls=MOST_CALLS, most_named=most_named, runs=runs)


@pytest.mark.parametrize("family", CI_FAMILIES)
def test_family(family: str) -> None:
    """CI takes a few of each, always the same ones."""
    _hold(family, families.shuffled(FAMILIES[family](), CI_CASES), NAMED.get(family, NOTHING_NAMED).sampled)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    _hold(family, FAMILIES[family](), NAMED.get(family, NOTHING_NAMED).whole, branching)


# -- CAPA's way -----------------------------------------------------------------------------------------------


def test_capas_way_works_without_others() -> None:
    assert not families.run(Case("alive", EksWorld, baseline=CapaEks)).faults


def test_capas_way_uses_a_cluster_that_has_the_name_and_deletes_it() -> None:
    (case,) = catalogue.meddling(EksWorld, "namesake", (CLUSTER,), None, (0,), baseline=CapaEks)
    assert f"{EKS_NAME} of somebody else's is gone" in families.run(case).wrong


def test_capas_way_loses_a_provider_that_was_not_recorded() -> None:
    """The process dies behind the create; the cluster is deleted meanwhile."""
    calls = families.golden(EksWorld, CapaEks).port.calls
    number = next(n for n, call in enumerate(calls) if call.operation == "create_open_id_connect_provider")
    script = partial(catalogue.given, Script({number: faults.AFTER}))
    lost = families.run(Case("dies", EksWorld, script, baseline=CapaEks, on_crash=catalogue.delete_now))
    assert any(PROVIDER in orphan for orphan in lost.orphans)


def test_ours_does_neither() -> None:
    (case,) = catalogue.meddling(EksWorld, "namesake", (CLUSTER,), None, (0,), [Reason.NAME_TAKEN])
    assert families.run(case).faults == []
    calls, _ = families.calls_of(EksWorld)
    number = next(n for n, call in enumerate(calls) if call.operation == "create_open_id_connect_provider")
    script = partial(catalogue.given, Script({number: faults.AFTER}))
    assert families.run(Case("dies", EksWorld, script, on_crash=catalogue.delete_now)).faults == []
