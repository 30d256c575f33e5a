"""Credentials that see less than before: what cannot be seen must never be taken for gone."""

from __future__ import annotations

from dataclasses import replace

from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Settings
from harness.powervs import Harness
from harness.resources import made_by_us, said, standing

OTHER = "99999999999999999999999999999999"


def _switched(harness: Harness) -> SimulatedIBM:
    """The operator is restarted with an API key of another account, in which nothing is."""
    ours = harness.cloud
    harness.cloud = SimulatedIBM(harness.clock, replace(Settings(), account_id=OTHER))
    harness.start_process()
    return ours


def test_a_key_of_another_account_does_not_make_everything_gone_while_it_stands() -> None:
    """Every id answers 404 there; believing it would create all of it a second time and forget the first."""
    harness = Harness()
    harness.up()
    journal = harness.object.raw["metadata"]["annotations"]
    _switched(harness)

    harness.for_a_while(1800.0)

    assert standing(harness) == [], "created in the wrong account"
    assert harness.object.raw["metadata"]["annotations"] == journal
    assert OTHER in said(harness)


def test_a_key_of_another_account_does_not_let_the_finalizer_go() -> None:
    """The worst: the object is deleted, nothing is found, and the whole cluster is orphaned and forgotten."""
    harness = Harness()
    harness.up()
    ours = _switched(harness)

    harness.object.delete()
    harness.for_a_while(1800.0)

    assert not harness.object.gone
    assert OTHER in said(harness)

    harness.cloud = ours
    harness.start_process()
    harness.run(lambda: harness.object.gone)
    assert standing(harness) == []


def test_a_key_of_another_account_in_mid_create_orphans_nothing() -> None:
    """Open intents alone name no account: the identity must."""
    harness = Harness()
    harness.run(lambda: len(made_by_us(harness)) >= 2)
    ours = _switched(harness)
    harness.object.delete()
    harness.for_a_while(1800.0)
    assert not harness.object.gone

    harness.cloud = ours
    harness.start_process()
    harness.run(lambda: harness.object.gone)
    assert standing(harness) == []
