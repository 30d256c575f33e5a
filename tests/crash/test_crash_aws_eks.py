"""An AWSManagedControlPlane, created, updated and deleted on the simulated AWS: the same families, the same oracles.

A run takes half of a CPU-second: ``make test`` takes one case of each family that no other world has. CAPA's own way
in the same harness uses a stranger's cluster, and deletes it.
"""

from __future__ import annotations

from functools import partial

import pytest

from freehold.engine.outcomes import Reason
from harness.aws_control_plane import EKS_NAME
from lab import catalogue, families, faults
from lab.aws_eks import EksWorld
from lab.baseline_capa_eks import CapaEks
from lab.branches import branching
from lab.families import NOTHING_NAMED, Case
from lab.families_eks import CI_FAMILIES, CLUSTER, FAMILIES, NAMED, PROVIDER
from lab.faults import Script

MOST_CALLS = 950
"""Three times the calls of an undisturbed life with updates."""


@pytest.mark.parametrize("family", CI_FAMILIES)
def test_family(family: str) -> None:
    """Always the same one."""
    (case,) = families.shuffled(FAMILIES[family](), 1)
    families.hold_one(case, most_calls=MOST_CALLS)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_whole_family(family: str) -> None:
    most_named = NAMED.get(family, NOTHING_NAMED).whole
    families.hold(family, FAMILIES[family](), most_calls=MOST_CALLS, most_named=most_named, runs=branching)


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
