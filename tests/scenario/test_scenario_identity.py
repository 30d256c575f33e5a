"""Journal, status or finalizer are lost, or the object is copied.

Source: docs/reference/capi-contract.md C28, C34.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from freehold.api import names
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext
from harness.powervs import Harness, example
from harness.resources import existing, made_by_us, messages, snapshot
from harness.standing import standing

JOURNAL = names.JOURNAL_ANNOTATION


def set_journal(harness: Harness, text: str | None) -> None:
    harness.object.patch({"metadata": {"annotations": {JOURNAL: text}}})
    harness.start_process()


def journal(harness: Harness) -> str:
    return str(harness.object.raw["metadata"]["annotations"][JOURNAL])


@pytest.mark.parametrize("text", ["", "{", "null", '{"v":99}', '{"v":2,"owner":["a"],"nodes":{}}'])
def test_a_corrupt_journal_makes_it_read_only(text: str) -> None:
    """Nothing is guessed: no create, no delete, the finalizer stays, and a person is told what to restore."""
    harness = standing(Harness)
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
    original = standing(Harness)
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
    harness = standing(Harness)
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
    harness = standing(Harness)
    world = snapshot(harness)
    del harness.object.raw["status"]
    set_journal(harness, None)
    harness.for_a_while(600.0)
    assert harness.condition("Ready")["reason"] == "IdentityLost"
    assert snapshot(harness) == world


@pytest.mark.parametrize("restarts", [False, True], ids=["memory", "status"])
def test_a_lost_journal_during_a_delete_is_put_back_and_the_delete_ends(restarts: bool) -> None:
    """The operator knows it, or status names the UID of this very object and the marks show the rest."""
    harness = standing(Harness)
    harness.object.delete()
    harness.object.patch({"metadata": {"annotations": {JOURNAL: None}}})
    if restarts:
        harness.start_process()
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_lost_journal_and_status_during_a_delete_is_reported_and_nothing_is_forgotten() -> None:
    """An object that is being deleted gets no new identity."""
    harness = standing(Harness)
    world = snapshot(harness)
    harness.object.delete()
    del harness.object.raw["status"]
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


TAKEN = {
    "finalizer": {"finalizers": []},
    "journal": {"annotations": {JOURNAL: None}},
    "both": {"finalizers": [], "annotations": {JOURNAL: None}},
}


@pytest.mark.parametrize("restarts", [False, True], ids=["memory", "status"])
@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("cluster", ["", "gone"], ids=["served", "waits for its cluster"])
def test_what_was_taken_off_in_a_create_is_put_back_before_anything_else(
    taken: dict[str, Any], restarts: bool, cluster: str
) -> None:
    """Without it a delete would leave everything behind; also where nothing else may be done."""
    harness = Harness()
    harness.run(lambda: bool(made_by_us(harness)))
    harness.object.patch({"metadata": taken})
    if restarts:
        harness.start_process()
    if cluster:
        reference = {"apiVersion": f"{names.CLUSTER_API_GROUP}/v1beta2", "kind": "Cluster", "name": cluster, "uid": "u"}
        harness.object.patch({"metadata": {"ownerReferences": [reference]}})
        harness.around = ClusterContext(ClusterApiMode.AUTO)
    calls = len(harness.calls(mutating=True))
    first = len(harness.object.history)
    harness.pass_once()
    mended = harness.object.history[first]["metadata"]
    assert ibm_names.POWERVS_CLUSTER_FINALIZER in mended["finalizers"]
    assert JOURNAL in mended["annotations"]
    said = [message for _, reason, message in harness.events.said if reason == "RecordPutBack"]
    assert len(said) == 1 and said[0].startswith("somebody took")
    if cluster:
        assert len(harness.calls(mutating=True)) == calls
        harness.around = ClusterContext(ClusterApiMode.OFF)
    harness.down()
    assert existing(harness) == []


def test_a_paused_object_is_left_as_it_is() -> None:
    """The mover takes the finalizer off a paused object before it deletes it (docs/reference/capi-contract.md C24)."""
    harness = standing(Harness)
    harness.object.patch({"metadata": {"finalizers": [], "annotations": {names.PAUSED_ANNOTATION: ""}}})
    harness.pass_once()
    assert harness.object.raw["metadata"]["finalizers"] == []


def test_what_is_deleted_without_its_finalizer_is_said_to_be_left_behind() -> None:
    """The watch shows the last state: nothing can hold the object any more, but its resources have names."""
    harness = Harness()
    harness.up()
    vpc = next(row for row in existing(harness, "vpc"))
    harness.object.patch({"metadata": {"finalizers": [], "annotations": {JOURNAL: None}}})
    harness.process.report_gone(harness.object.raw)
    ((severity, _, message),) = [each for each in harness.events.said if each[1] == "ResourcesLeftBehind"]
    assert severity == "Warning" and vpc["id"] in message and "freehold orphans" in message


def test_what_was_released_is_not_said_to_be_left_behind() -> None:
    harness = standing(Harness)
    harness.down()
    harness.process.report_gone(harness.object.raw)
    assert "ResourcesLeftBehind" not in {reason for _, reason, _ in harness.events.said}


def test_an_end_that_the_watch_shows_before_the_answer_is_here_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = standing(Harness)
    patch = harness.object.patch

    def patch_and_tell(change: Mapping[str, Any], subresource: str = "") -> dict[str, Any]:
        stored = patch(change, subresource)
        if harness.object.gone:
            harness.process.report_gone(harness.object.raw)
        return stored

    monkeypatch.setattr(harness.object, "patch", patch_and_tell)
    harness.down()
    assert "ResourcesLeftBehind" not in {reason for _, reason, _ in harness.events.said}


def test_an_object_created_again_under_the_same_name_takes_over_nothing() -> None:
    """docs/reference/capi-contract.md C33: deleted without a finalizer and applied again, it gets a new identity."""
    harness = standing(Harness)
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
