"""Credentials that see less than before: what cannot be seen must not count as gone."""

from __future__ import annotations

from dataclasses import replace

from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Settings
from harness.powervs import Harness
from harness.resources import existing, made_by_us, messages
from harness.standing import standing

OTHER = "99999999999999999999999999999999"


def _switched(harness: Harness) -> SimulatedIBM:
    """Restart the operator with an API key of another account, which is empty."""
    ours = harness.cloud
    harness.cloud = SimulatedIBM(harness.clock, replace(Settings(), account_id=OTHER))
    harness.start_process()
    return ours


def test_with_a_key_of_another_account_existing_resources_do_not_count_as_gone() -> None:
    """Every id answers 404 there; otherwise all would be created a second time and the first set forgotten."""
    harness = standing(Harness)
    journal = harness.object.raw["metadata"]["annotations"]
    _switched(harness)

    harness.for_a_while(1800.0)

    assert existing(harness) == [], "created in the wrong account"
    assert harness.object.raw["metadata"]["annotations"] == journal
    assert OTHER in messages(harness)


def test_a_key_of_another_account_does_not_remove_the_finalizer() -> None:
    """Otherwise the object is deleted, nothing is found, and the whole cluster is orphaned and forgotten."""
    harness = standing(Harness)
    ours = _switched(harness)

    harness.object.delete()
    harness.for_a_while(1800.0)

    assert not harness.object.gone
    assert OTHER in messages(harness)

    harness.cloud = ours
    harness.start_process()
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_key_of_another_account_during_a_create_orphans_nothing() -> None:
    """Open intents contain no account, so the identity must."""
    harness = Harness()
    harness.run(lambda: len(made_by_us(harness)) >= 2)
    ours = _switched(harness)
    harness.object.delete()
    harness.for_a_while(1800.0)
    assert not harness.object.gone

    harness.cloud = ours
    harness.start_process()
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []
