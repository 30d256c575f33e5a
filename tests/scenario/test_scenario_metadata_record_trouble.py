"""The record of what was written cannot be kept: that is told, repaired where it can be, and no loop."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib

import pytest

from freehold.api import names
from freehold.controllers.controller import RequeueAfter
from freehold.engine.ownership import Owner
from freehold.kube import errors as kube
from freehold.kube.resources import Key
from freehold.tags.context import SLOW_SECONDS
from freehold.tags.ledger_store import KEY, LABEL, NAME, RECORD_UUID, SIGNATURE, TEXT
from freehold.tags.policy.ledger_format import shard_of
from harness.metadata import CLASSIFIER, NAMESPACE, PLACE, WANTED, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def _at_work(lab: Lab, **spec: str) -> str:
    (arn,) = lab.groups(1)
    await lab.tags("awstags", WANTED, **spec)
    await lab.cloud("metadata", "awstags")
    await lab.settle()
    lab.wait()
    return arn


def _strip_labels(lab: Lab) -> None:
    for (kind, _), row in lab.objects.objects.items():
        if kind == "ConfigMap":
            row["metadata"]["labels"] = {}


async def test_a_record_that_lost_its_label_is_found(lab: Lab) -> None:
    """It is listed by its names."""
    arn = await _at_work(lab)
    _strip_labels(lab)
    lab.somebody_strips(arn, "env")
    lab.wait()
    await lab.settle(passes=2)
    assert lab.tags_on(arn)["env"] == "test"
    assert lab.condition("Policy")[1] == "AsAsked"


async def test_a24_an_object_does_not_go_because_the_record_lost_its_label(lab: Lab) -> None:
    arn = await _at_work(lab, deletionPolicy="Remove")
    _strip_labels(lab)
    await lab.remove("awstags")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned"}


async def test_a_config_map_of_that_name_that_somebody_made_before_is_taken_as_a_lost_part(lab: Lab) -> None:
    """It has no label either: the first write meets it."""
    (arn,) = lab.groups(1)
    name = f"{NAME}-{shard_of(arn):02d}"
    metadata = {"name": name, "namespace": PLACE, "resourceVersion": "1", "uid": "u"}
    lab.objects.objects["ConfigMap", Key(PLACE, name)] = {"metadata": metadata, "data": {}}
    await lab.apply_examples()
    await lab.settle(passes=4)
    assert lab.tags_on(arn)["env"] == "test"


async def test_a_record_that_the_api_server_refuses_is_told_at_once(lab: Lab) -> None:
    """An immutable ConfigMap does not become another one."""
    arn = await _at_work(lab)
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"team": "x"}})

    def refuse(verb: str, name: str) -> None:
        if name.startswith(NAME):
            raise kube.InvalidRequest(f"ConfigMap {name} is immutable", code=422)

    lab.objects.before = refuse
    assert await lab.work() == RequeueAfter(SLOW_SECONDS, at_rest=True)
    for type_ in ("Ready", "Applied"):
        status, reason, message = lab.condition(type_)
        assert (status, reason) == ("False", "RecordNotKept") and "is immutable" in message
    lab.objects.before = lambda verb, name: None
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn)["team"] == "x" and lab.condition("Ready")[0] == "True"


async def test_a24_a_removal_that_the_record_stops_is_told(lab: Lab) -> None:
    await _at_work(lab, deletionPolicy="Remove")

    def refuse(verb: str, name: str) -> None:
        if name.startswith(NAME):
            raise kube.InvalidRequest(f"ConfigMap {name} is immutable", code=422)

    lab.objects.before = refuse
    await lab.remove("awstags")
    assert ("AWSMetadata", Key(NAMESPACE, "awstags")) in lab.objects.objects
    message = lab.condition("Applied", "AWSMetadata", "awstags")[2]
    assert "is immutable" in message and "spec.deletionPolicy: Retain" in message


async def test_a12_an_object_that_only_deletes_foreign_keys_leaves_nothing_that_could_be_lost(lab: Lab) -> None:
    """Nothing is on record by that. Its annotation without a record would read as: the record was lost."""
    (arn,) = lab.groups(1, bad="x")
    await lab.tags("cleaner", {"bad": ""}, opcode="delete")
    await lab.cloud("metadata", "cleaner")
    for _ in range(2):
        await lab.settle()
        assert lab.tags_on(arn) == {CLASSIFIER: "owned"}
        assert lab.condition("Policy")[:2] == ("True", "AsAsked")
        lab.somebody_sets(arn, bad="x")
        lab.wait()
    await lab.tags("tags", WANTED)
    await lab.cloud("other", "tags")
    await lab.settle("other")
    assert lab.condition("Policy", name="other")[:2] == ("True", "AsAsked")


async def test_a12_an_object_that_deletes_foreign_keys_says_so_once_there_is_a_record(lab: Lab) -> None:
    """Then the loss of the record is told, also where the object that had written is gone by then."""
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    await lab.tags("cleaner", {"bad": ""}, opcode="delete")
    await lab.cloud("other", "cleaner")
    lab.somebody_sets(arn, bad="x")
    lab.wait()
    await lab.settle("other")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}
    await lab.delete("CloudMetadata", "metadata")
    await lab.delete("AWSMetadata", "awstags")
    await lab.lose_record()
    lab.restart()
    lab.wait()
    await lab.settle("other")
    assert lab.condition("Policy", name="other")[:2] == ("True", "RecordLost")


def _as_stored_before(lab: Lab) -> None:
    """Give the record and the annotation the form of the version before: with a head, and with counts."""
    ring = lab.rings.ring
    for (kind, key), row in list(lab.objects.objects.items()):
        if kind == "ConfigMap":
            said = json.loads(zlib.decompress(base64.b64decode(row["data"][TEXT])))
            old = json.dumps({**said, "knowledge": "All", "count": 2})
            row["data"][TEXT] = base64.b64encode(zlib.compress(old.encode())).decode()
            keys = ring.derive_keys(Owner(RECORD_UUID, "ConfigMap", "", key.name))
            row["data"][SIGNATURE] = keys.signature(
                ring.writing, "tag record", hashlib.sha256(row["data"][TEXT].encode()).hexdigest()
            )
    head = {"name": NAME, "namespace": PLACE, "labels": {LABEL: NAME}, "resourceVersion": "1", "uid": "u"}
    lab.objects.objects["ConfigMap", Key(PLACE, NAME)] = {"metadata": head, "data": {TEXT: "{}", KEY: ring.writing}}
    metadata = lab.object("AWSMetadata", "awstags")["metadata"]
    owner = Owner(metadata["uid"], "AWSMetadata", NAMESPACE, "awstags")
    signature = ring.derive_keys(owner).signature(ring.writing, "tags writer", f"{metadata['uid']} 2")
    metadata["annotations"][names.TAGS_WRITER_ANNOTATION] = f"{metadata['uid']} {ring.writing} {signature} 2"


async def test_what_an_earlier_version_has_stored_goes_on_without_a_write(lab: Lab) -> None:
    arn = await _at_work(lab)
    _as_stored_before(lab)
    lab.restart()
    lab.objects.written.clear()
    lab.sent()
    await lab.settle()
    assert (lab.writes(), lab.objects.written) == ([], [])
    assert lab.condition("Policy")[1] == "AsAsked"
    await lab.edit("AWSMetadata", "awstags", {"resourcetags": {"centre": None}})
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test"}, "what it wrote is ours"
