"""A restored copy has a way out: it becomes a cluster of its own, or continues a lost original (ADR 15).

Each test follows what the condition says, on the simulated cloud that the original's resources are in.
"""

from __future__ import annotations

import copy as copying
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from freehold.api import names
from freehold.cli.commands import copies
from freehold.controllers.predicates import spec_or_metadata_changed
from freehold.engine import journal as journals
from freehold.providers.objects.served_resources import resource_of
from freehold_sim.aws.settings import Quotas, Settings
from harness.aws_cluster import AwsHarness
from harness.powervs import EXAMPLE, Harness, ReconcilerHarness
from harness.standing import standing

Any_ = ReconcilerHarness[Any]
MINIMAL = yaml.safe_load(EXAMPLE.with_name("powervs-minimal.yaml").read_text())
"""Names nothing: a copy that is a cluster of its own has names of its own."""
ROOM = Settings(quotas=Quotas(addresses=20))
CLOUDS: dict[str, tuple[Callable[[], Any_], type[Any_]]] = {
    "ibm": (lambda: standing(Harness, MINIMAL), Harness),
    "aws": (lambda: standing(AwsHarness, settings=ROOM), AwsHarness),
}
both = pytest.mark.parametrize("cloud", CLOUDS)


def _original(cloud: str) -> Any_:
    return CLOUDS[cloud][0]()


def _restored(original: Any_, cloud: str, *, name: str = "copy", finalizer: bool = True, **metadata: Any) -> Any_:
    """What a backup tool makes of it under another name: spec, annotations and finalizers, without a status."""
    backup = copying.deepcopy(original.object.raw)
    kept = {key: backup["metadata"][key] for key in ("annotations", "namespace")}
    finalizers = backup["metadata"]["finalizers"] if finalizer else []
    manifest = {**backup, "metadata": {**kept, "name": name, "finalizers": finalizers, **metadata}}
    del manifest["status"]
    return CLOUDS[cloud][1](manifest, beside=original)  # type: ignore[call-arg]  # both harnesses take it


def _message(harness: Any_, reason: str) -> str:
    harness.pass_once()
    condition = harness.condition("Ready")
    assert condition["reason"] == reason, condition
    return str(condition["message"])


def _annotate(harness: Any_, message: str) -> None:
    """Run the kubectl command that the message has."""
    found = re.search(r"kubectl annotate (\S+) (\S+) -n (\S+) ([^\s=]+)=(\w+)\)", message)
    assert found, message
    kind, name, namespace, key, value = found.groups()
    metadata = harness.object.raw["metadata"]
    assert (kind, name, namespace) == (harness.served.kind.lower(), metadata["name"], metadata["namespace"])
    harness.object.patch({"metadata": {"annotations": {key: value}}})


def _owned(harness: Any_) -> set[str]:
    """The ids on record as ours."""
    found = journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    return {entry.id for entry in found.claimed.values()}


def _writes(harness: Any_) -> int:
    return len(harness.calls(mutating=True))


@pytest.mark.parametrize(("cloud", "finalizer"), [("ibm", True), ("aws", True), ("aws", False)])
def test_a_copy_becomes_a_cluster_of_its_own(cloud: str, finalizer: bool) -> None:
    original = _original(cloud)
    mine, writes = _owned(original), _writes(original)
    copy = _restored(original, cloud, finalizer=finalizer)
    message = _message(copy, "IdentityCopied")
    assert _writes(original) == writes, "nothing is written for a copy"
    _annotate(copy, message)
    copy.up()
    assert not _owned(copy) & mine and _owned(copy)
    assert names.IDENTITY_ANNOTATION not in copy.object.raw["metadata"]["annotations"]
    host = (copy.object.raw["spec"].get("controlPlaneEndpoint") or {}).get("host")
    assert host and host != original.object.raw["spec"]["controlPlaneEndpoint"]["host"], "not the original's endpoint"
    copy.down()
    assert _owned(original) == mine
    original.settle()
    assert original.ready()
    original.down()
    assert not _still_there(original, mine)


@pytest.mark.parametrize("cloud", ["aws"])
def test_an_endpoint_of_the_users_own_stays_with_a_copy(cloud: str) -> None:
    """Only what an operator wrote there is the original's."""
    original = _original(cloud)
    copy = _restored(original, cloud)
    copy.object.patch({"spec": {"controlPlaneEndpoint": {"host": "api.example.org", "port": 6443}}})
    _annotate(copy, _message(copy, "IdentityCopied"))
    copy.pass_once()
    assert copy.object.raw["spec"]["controlPlaneEndpoint"]["host"] == "api.example.org"


@pytest.mark.parametrize("cloud", ["ibm"])
def test_a_copy_with_the_originals_status_does_not_count_as_ready(cloud: str) -> None:
    original = _original(cloud)
    copy = _restored(original, cloud)
    copy.object.patch({"status": copying.deepcopy(original.object.raw["status"])}, "status")
    _annotate(copy, _message(copy, "IdentityCopied"))
    copy.pass_once()
    assert copy.status()["ready"] is False
    assert not {row.get("id") for row in copy.status()["resources"]} & _owned(original)


@both
def test_a_copy_is_deleted_and_nothing_of_the_original_is(cloud: str) -> None:
    original = _original(cloud)
    mine, writes = _owned(original), _writes(original)
    copy = _restored(original, cloud)
    copy.object.delete()
    message = _message(copy, "IdentityCopied")
    copy.for_a_while(600.0)
    assert not copy.object.gone, "without a word nobody knows whether it had something of its own"
    _annotate(copy, message)
    copy.run(lambda: copy.object.gone)
    assert _writes(original) == writes
    original.settle()
    assert original.ready() and _owned(original) == mine


@pytest.mark.parametrize("cloud", ["ibm"])
def test_a_copy_without_its_annotation_is_told_and_begins_anew(cloud: str) -> None:
    """Somebody took the annotation out: that wakes a pass, and what it says leads on."""
    original = _original(cloud)
    mine = _owned(original)
    copy = _restored(original, cloud)
    before = copying.deepcopy(copy.object.raw)
    copy.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: None}}})
    assert spec_or_metadata_changed(before, copy.object.raw)
    _annotate(copy, _message(copy, "IdentityLost"))
    copy.up()
    assert not _owned(copy) & mine


@pytest.mark.parametrize(("cloud", "deleting"), [("ibm", False), ("aws", True)])
def test_an_object_that_was_overwritten_with_anothers_journal_finds_its_own(cloud: str, deleting: bool) -> None:
    """The identity that it gets is the one that its UID gave it: what is its own is found by its marks."""
    original = _original(cloud)
    other = _restored(original, cloud)
    _annotate(other, _message(other, "IdentityCopied"))
    other.up()
    own, mine = _owned(other), _owned(original)
    stolen = original.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    other.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: stolen}}})
    other.object.raw["status"] = {}
    other.start_process()
    if deleting:
        other.object.delete()
    _annotate(other, _message(other, "IdentityCopied"))
    if deleting:
        other.run(lambda: other.object.gone)
        assert _owned(original) == mine
    else:
        other.up()
        assert not [ident for ident in _owned(other) - own if "/network/" not in ident], "nothing was made again"
        other.down()
    original.settle()
    assert original.ready()
    assert not _still_there(original, own)


def _still_there(harness: Any_, ids: set[str]) -> list[str]:
    """Those that exist. The clouds go on to show some for a while after they were deleted."""
    gone = {"removed", "pending_reclamation", "deleted", "deleting", "failed"}
    shown = [row for row in harness.resources() if str(row.get("state")) not in gone]
    plain = {ident.rpartition("/")[2] for ident in ids}
    return sorted(str(row["id"]) for row in shown if str(row["id"]).rpartition("/")[2].rpartition(":")[2] in plain)


@both
def test_a_lost_original_goes_on_under_its_name(cloud: str) -> None:
    """What ``--take-over`` creates, and what a person creates by hand who reads the message."""
    original = _original(cloud)
    mine, writes = _owned(original), _writes(original)
    copy = _restored(original, cloud)
    assert "--take-over" in _message(copy, "IdentityCopied")
    found = copies.copy_of(resource_of(copy.served), copy.object.raw)
    original.object.gone = True  # its store is lost
    again = CLOUDS[cloud][1](copies.rebuild_original(found), beside=original)  # type: ignore[call-arg]  # both harnesses take it
    again.up()
    again.settle()
    assert (_owned(again), _writes(original)) == (mine, writes)
    again.down()
    assert not _still_there(original, mine)
