"""Journal, status or finalizer are lost, or the object is copied.

Source: docs/reference/capi-contract.md C28, C34.
"""

from __future__ import annotations

import json

import pytest

from freehold.api import names
from harness.powervs import Harness, example
from harness.resources import existing, made_by_us, messages, snapshot

JOURNAL = names.JOURNAL_ANNOTATION


def set_journal(harness: Harness, text: str | None) -> None:
    harness.object.patch({"metadata": {"annotations": {JOURNAL: text}}})
    harness.start_process()


def journal(harness: Harness) -> str:
    return str(harness.object.raw["metadata"]["annotations"][JOURNAL])


@pytest.mark.parametrize("text", ["", "{", "null", '{"v":99}', '{"v":2,"owner":["a"],"nodes":{}}'])
def test_a_corrupt_journal_makes_it_read_only(text: str) -> None:
    """Nothing is guessed: no create, no delete, the finalizer stays, and a person is told what to restore."""
    harness = Harness()
    harness.up()
    good, world, writes = journal(harness), snapshot(harness), len(harness.calls(mutating=True))
    set_journal(harness, text)
    harness.for_a_while(600.0)
    assert harness.condition("Ready")["reason"] == "JournalCorrupt"
    assert JOURNAL in harness.condition("Ready")["message"]
    harness.object.delete()
    harness.for_a_while(600.0)
    assert len(harness.calls(mutating=True)) == writes
    assert snapshot(harness) == world
    assert not harness.object.gone

    set_journal(harness, good)
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_copied_journal_makes_the_copy_read_only() -> None:
    """Someone applied the exported object under another name: the original is served, the copy does nothing."""
    original = Harness()
    original.up()
    copied = example()
    copied["metadata"] |= {"name": "copy"}
    copied["metadata"]["annotations"][JOURNAL] = journal(original)
    copy = Harness(copied)
    copy.cloud.world.data = original.cloud.world.data
    copy.clock.advance(original.clock.now() - copy.clock.now())
    world = snapshot(original)

    copy.for_a_while(600.0)
    assert copy.condition("Ready")["reason"] == "IdentityCopied"
    assert "default/freehold-demo" in copy.condition("Ready")["message"]
    copy.object.delete()
    copy.for_a_while(600.0)
    assert copy.calls(mutating=True) == []
    assert snapshot(copy) == world
    original.clock.advance(copy.clock.now() - original.clock.now())
    original.down()
    assert existing(original) == []


def test_a_lost_journal_is_restored_from_status_and_the_marks() -> None:
    """Status has the UID of this object, the marks show the rest: no create, and everything can be deleted."""
    harness = Harness()
    harness.up()
    world = snapshot(harness)
    set_journal(harness, None)
    harness.run(lambda: harness.passes > 3 and harness.ready())
    harness.for_a_while(900.0)
    assert snapshot(harness) == world
    assert harness.ready()
    harness.down()
    assert existing(harness) == []


def test_a_lost_journal_and_status_makes_it_read_only() -> None:
    """A finalizer without identity means that it was lost: a new one would leave the old resources behind."""
    harness = Harness()
    harness.up()
    world = snapshot(harness)
    del harness.object.raw["status"]
    set_journal(harness, None)
    harness.for_a_while(600.0)
    assert harness.condition("Ready")["reason"] == "IdentityLost"
    assert snapshot(harness) == world


def test_a_lost_journal_during_a_delete_is_reported_and_nothing_is_forgotten() -> None:
    """An object that is being deleted gets no new identity."""
    harness = Harness()
    harness.up()
    world = snapshot(harness)
    harness.object.delete()
    set_journal(harness, None)
    harness.for_a_while(600.0)
    assert not harness.object.gone
    assert snapshot(harness) == world
    assert harness.condition("Ready")["reason"] == "IdentityLost"


def test_a_journal_from_before_the_last_wave_creates_nothing_twice() -> None:
    """A restore from a backup: the cloud has more than the journal."""
    harness = Harness()
    harness.pass_once()
    early = journal(harness)
    harness.up()
    before = len(made_by_us(harness))
    set_journal(harness, early)
    harness.for_a_while(120.0)
    harness.run(harness.ready)
    harness.for_a_while(1200.0)
    assert len(made_by_us(harness)) == before
    harness.down()
    assert made_by_us(harness) == []


def test_a_removed_finalizer_is_added_again() -> None:
    """Without it a delete would leave everything behind."""
    harness = Harness()
    harness.up()
    harness.object.patch({"metadata": {"finalizers": []}})
    harness.settle(2)
    assert names.POWERVS_CLUSTER_FINALIZER in harness.object.raw["metadata"]["finalizers"]


def test_an_object_created_again_under_the_same_name_takes_over_nothing() -> None:
    """docs/reference/capi-contract.md C33: deleted without a finalizer and applied again, it gets a new identity."""
    harness = Harness()
    harness.up()
    world = snapshot(harness)
    again = Harness()
    again.cloud.world.data = harness.cloud.world.data
    again.clock.advance(harness.clock.now() - again.clock.now() + 3600.0)
    again.object.raw["metadata"]["uid"] = "77777777-9a59-4d0c-8a2c-6f0d6f5f1c11"
    again.for_a_while(900.0)

    assert snapshot(again) == world
    assert again.condition("VPCReady")["reason"] == "NameTaken"
    assert "has the marks of an earlier" in messages(again)
    again.down()
    assert snapshot(again) == world


def test_nothing_is_created_before_identity_and_finalizer_are_stored() -> None:
    """ADR 2: both in one patch, before the first cloud write; an intent before each create."""
    harness = Harness()
    harness.pass_once()
    first = next(version for version in harness.object.history if version["metadata"].get("finalizers"))
    written = json.loads(first["metadata"]["annotations"][JOURNAL])
    assert written["owner"][1:] == ["IBMPowerVSCluster", "default", "freehold-demo"]
    assert written["nodes"] == {}


def test_the_journal_stays_far_below_the_size_limit_of_annotations() -> None:
    """All annotations of an object share 256 KiB."""
    subnets = [{"name": f"subnet-number-{i}-with-a-rather-long-name"} for i in range(15)]
    balancers = [
        {"name": f"balancer-{i}", "additionalListeners": [{"port": 1000 + j} for j in range(9)]} for i in range(5)
    ]
    harness = Harness(example(vpcSubnets=subnets, loadBalancers=balancers))
    harness.up()
    sizes = [len(v["metadata"]["annotations"].get(JOURNAL, "")) for v in harness.object.history]
    assert max(sizes) < 50_000
