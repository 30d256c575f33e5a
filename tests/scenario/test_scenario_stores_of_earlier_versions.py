"""What an earlier version left in the API server and in the clouds goes on with this one (tests/data/stores)."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from freehold.api import names
from freehold.engine import journal as journals
from freehold_sim.clock import VirtualClock
from freehold_sim.simulated import CLOUDS
from freehold_sim.store import load
from harness.commands import freehold_in
from harness.metadata_on_both import Both
from harness.powervs import ReconcilerHarness
from harness.stores import STORES, counted, digests, existing, load_cluster, load_tags, moments, read, summary

CLUSTERS = ("powervs", "powervs-reused", "aws", "aws-given")
EXAMPLES = Path(__file__).parents[2] / "examples"
HOUR = 3600.0
TAGGED = {"metadata": "awstags", "onibm": "ibmtags"}
"""The CloudMetadata objects, and the object that each has its tags from."""


def _journal(obj: dict[str, Any]) -> str:
    return str(obj["metadata"]["annotations"][names.JOURNAL_ANNOTATION])


def _gone(harness: ReconcilerHarness[Any], store: str, moment: str) -> None:
    """Nothing of ours is left, and all of the strangers' is as it was before us."""
    assert harness.object.gone
    assert existing(harness.cloud, ours=True) == []
    (theirs,) = read(store, moment)["theirs"].values()
    assert digests(existing(harness.cloud, ours=False)) == theirs


# -- objects that own resources -----------------------------------------------------------------------------------


@pytest.mark.parametrize("store", CLUSTERS)
def test_a_ready_cluster_gets_no_write_and_is_deleted_completely(store: str) -> None:
    harness = load_cluster(store, "ready")
    before, world = read(store, "ready")["objects"][0], digests(harness.resources())
    harness.for_a_while(HOUR)
    harness.start_process()
    harness.for_a_while(HOUR)
    assert harness.calls(mutating=True) == []
    assert digests(harness.resources()) == world
    assert _journal(harness.object.raw) == _journal(before)
    assert harness.object.raw["metadata"].get("finalizers") == before["metadata"].get("finalizers")
    assert summary(harness.object.raw) == summary(before)
    harness.down()
    _gone(harness, store, "ready")


@pytest.mark.parametrize(("store", "moment"), moments(CLUSTERS, "creating", "repeating", "healing"))
def test_a_cluster_in_creation_becomes_ready_with_each_resource_once(store: str, moment: str) -> None:
    harness = load_cluster(store, moment)
    before = {row["id"] for row in existing(harness.cloud, ours=True)}
    harness.up()
    harness.for_a_while(700.0)
    assert harness.ready(), harness.conditions()
    ours = existing(harness.cloud, ours=True)
    assert before <= {row["id"] for row in ours}
    assert counted(ours) == counted(existing(load_cluster(store, "ready").cloud, ours=True))
    harness.down()
    _gone(harness, store, moment)


@pytest.mark.parametrize(("store", "moment"), moments(CLUSTERS, "deleting"))
def test_a_cluster_in_deletion_goes_with_all_of_its_own_and_creates_nothing(store: str, moment: str) -> None:
    harness = load_cluster(store, moment)
    before = {row["id"] for row in harness.resources()}
    harness.run(lambda: harness.object.gone)
    _gone(harness, store, moment)
    assert {row["id"] for row in harness.resources() if row["kind"] != "reclamation"} <= before


@pytest.mark.parametrize(("store", "moment"), moments(["aws-collected"], "collecting"))
def test_a_collection_that_was_interrupted_is_finished(store: str, moment: str) -> None:
    harness = load_cluster(store, moment)
    harness.run(lambda: harness.object.gone)
    assert existing(harness.cloud, ours=True) == []
    assert {row["kind"] for row in existing(harness.cloud, ours=False)} == {"volume"}


@pytest.mark.parametrize(("store", "moment"), moments(CLUSTERS, "asking"))
def test_a_cluster_that_asks_a_person_goes_on_asking_and_gets_no_write(store: str, moment: str) -> None:
    harness = load_cluster(store, moment)
    (before,) = read(store, moment)["objects"]
    harness.for_a_while(1200.0)
    assert harness.condition(names.READY)["reason"] == "PresumedOnly"
    assert harness.calls(mutating=True) == []
    assert _journal(harness.object.raw) == _journal(before)


@pytest.mark.parametrize(("store", "moment"), moments([*CLUSTERS, "aws-collected"]))
def test_a_journal_is_written_as_it_was_read(store: str, moment: str) -> None:
    """So no field of the stored form has another name, and none is lost."""
    (obj,) = read(store, moment)["objects"]
    assert journals.dumps(journals.loads(_journal(obj))) == _journal(obj)


def test_each_field_of_a_journal_is_written_as_it_was_read() -> None:
    """Those too that no store has, in each phase."""
    text = (STORES / "journal.json").read_text().strip()
    assert journals.dumps(journals.loads(text)) == text


# -- tags -----------------------------------------------------------------------------------------------------------


def _tags(lab: Both) -> dict[str, Any]:
    """The tags of everything in both clouds, by id."""
    return {row["id"]: row["tags"] for cloud in _clouds(lab) for row in cloud.resources()}


def _clouds(lab: Both) -> tuple[Any, Any]:
    return lab.account.cloud, lab.cloud_of_ibm


async def _finish(lab: Both) -> None:
    """Pass until all is at rest: providers that are being deleted first, as their own watch would have it."""
    for kind, name in (("AWSMetadata", "awstags"), ("IBMMetadata", "ibmtags")):
        if any(at == kind and "deletionTimestamp" in obj["metadata"] for (at, _), obj in lab.objects.objects.items()):
            await lab.let_go(name, kind)
    await lab.settle(*TAGGED)


async def _delete(lab: Both) -> None:
    for kind, name in (("AWSMetadata", "awstags"), ("IBMMetadata", "ibmtags")):
        if any(at == kind for at, _ in lab.objects.objects):
            await lab.remove(name, kind)


def _untagged(lab: Both, moment: str) -> None:
    """All that there is is as strangers left it."""
    before = read("tags", moment)["theirs"]
    assert not any(kind in ("AWSMetadata", "IBMMetadata") for kind, _ in lab.objects.objects)
    for name, cloud in zip(("aws", "ibm"), _clouds(lab), strict=True):
        assert digests(existing(cloud, ours=False)) == before[name]


async def test_written_tags_get_no_write_and_are_removed_with_their_object() -> None:
    lab = load_tags("written")
    before, stored = _tags(lab), read("tags", "written")["objects"]
    for _ in range(12):
        await lab.settle(*TAGGED)
        lab.wait()
    lab.restart()
    await lab.settle(*TAGGED)
    assert [call for cloud in _clouds(lab) for call in cloud.calls if call.mutating] == []
    assert _tags(lab) == before
    now = {(kind, key.name): obj for (kind, key), obj in lab.objects.objects.items()}
    for obj in stored:
        kept = now[obj["kind"], obj["metadata"]["name"]]
        assert summary(kept) == summary(obj)
        for field in ("annotations", "labels", "finalizers"):
            assert kept["metadata"].get(field) == obj["metadata"].get(field)
    await _delete(lab)
    _untagged(lab, "written")


@pytest.mark.parametrize("moment", [name for _, name in moments(["tags"], "editing")])
async def test_an_edit_that_was_interrupted_is_finished(moment: str) -> None:
    lab = load_tags(moment)
    await _finish(lab)
    for name, provider in TAGGED.items():
        assert lab.condition("Ready", name=name)[0] == "True", (name, provider)
    assert _tags(lab) == read("tags", moment)["edited"]
    await _delete(lab)
    _untagged(lab, moment)


@pytest.mark.parametrize("moment", [name for _, name in moments(["tags"], "deleting")])
async def test_a_removal_that_was_interrupted_is_finished(moment: str) -> None:
    lab = load_tags(moment)
    await _finish(lab)
    await _delete(lab)
    _untagged(lab, moment)


# -- a state directory ----------------------------------------------------------------------------------------------


def test_a_state_directory_is_ready_without_a_call_that_changes_and_is_deleted_completely(tmp_path: Path) -> None:
    """Both examples and their tags, as ``freehold up`` and ``freehold tags apply`` left them."""
    state = tmp_path / "state"
    with tarfile.open(STORES / "state.tar.xz") as packed:
        packed.extractall(state, filter="data")
    (state / "ring.keys").rename(tmp_path / "state.keys").chmod(0o600)
    how = ["--simulate", "--speed", "1000"]
    manifests = ["-f", str(EXAMPLES / "powervs-create-infra.yaml"), "-f", str(EXAMPLES / "aws-cluster.yaml")]
    up = freehold_in(state, "up", *manifests, *how)
    assert up.returncode == 0, up.stderr
    assert "IBMPowerVSCluster default/freehold-demo is Ready: 8 resources" in up.stdout
    assert "AWSCluster default/minimal is Ready: 25 resources" in up.stdout
    assert (state / "audit.jsonl").read_text() == ""
    for name in ("freehold-demo", "minimal"):
        down = freehold_in(state, "down", name, "--yes", *how)
        assert down.returncode == 0, down.stderr
    saved = load(state / "simulated-cloud.json")
    assert saved is not None
    for name, kept in saved.clouds.items():
        cloud = CLOUDS[name](VirtualClock(saved.time), {}, 0)
        cloud.resume(kept.state, kept.calls)
        assert existing(cloud, ours=True) == []
