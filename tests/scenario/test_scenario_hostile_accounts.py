"""Credentials that see less than before: what cannot be seen must never be taken for gone."""

from __future__ import annotations

from dataclasses import replace

from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Settings
from stage.powervs import Stage
from stage.scenery import made_by_us, said, standing

OTHER = "99999999999999999999999999999999"


def _switched(stage: Stage) -> SimulatedIBM:
    """The operator is restarted with an API key of another account, in which nothing is."""
    ours = stage.cloud
    stage.cloud = SimulatedIBM(stage.clock, replace(Settings(), account_id=OTHER))
    stage.start_process()
    return ours


def test_a_key_of_another_account_does_not_make_everything_gone_while_it_stands() -> None:
    """Every id answers 404 there; believing it would create all of it a second time and forget the first."""
    stage = Stage()
    stage.up()
    journal = stage.object.raw["metadata"]["annotations"]
    _switched(stage)

    stage.for_a_while(1800.0)

    assert standing(stage) == [], "created in the wrong account"
    assert stage.object.raw["metadata"]["annotations"] == journal
    assert OTHER in said(stage)


def test_a_key_of_another_account_does_not_let_the_finalizer_go() -> None:
    """The worst: the object is deleted, nothing is found, and the whole cluster is orphaned and forgotten."""
    stage = Stage()
    stage.up()
    ours = _switched(stage)

    stage.object.delete()
    stage.for_a_while(1800.0)

    assert not stage.object.gone
    assert OTHER in said(stage)

    stage.cloud = ours
    stage.start_process()
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []


def test_a_key_of_another_account_in_mid_create_orphans_nothing() -> None:
    """Open intents alone name no account: the identity must."""
    stage = Stage()
    stage.run(lambda: len(made_by_us(stage)) >= 2)
    ours = _switched(stage)
    stage.object.delete()
    stage.for_a_while(1800.0)
    assert not stage.object.gone

    stage.cloud = ours
    stage.start_process()
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []
