"""Forged identities: the uuid of another object, in an annotation that the forger may edit."""

from __future__ import annotations

import json
from typing import Any

from freehold.api import names as api_names
from freehold.providers.ibm import api_names as ibm_names
from harness.powervs import Harness, StoredObject, example
from harness.resources import infrastructure, messages, snapshot
from harness.standing import standing

JOURNAL = api_names.JOURNAL_ANNOTATION


def _impostor(harness: Harness, uuid: str, nodes: dict[str, Any] | None = None) -> StoredObject:
    """Another tenant's object, in another namespace, whose annotation claims ``uuid``."""
    manifest = example()
    manifest["metadata"] |= {"namespace": "evil", "name": "impostor"}
    owner = [uuid, manifest["kind"], "evil", "impostor"]
    text = json.dumps({"v": 2, "key": harness.rings.ring.writing, "owner": owner, "nodes": nodes or {}})
    manifest["metadata"].setdefault("annotations", {})[JOURNAL] = text
    manifest["metadata"]["finalizers"] = [ibm_names.POWERVS_CLUSTER_FINALIZER]
    found = StoredObject(manifest, harness.clock.now)
    found.raw["metadata"]["uid"] = "eeeeeeee-9a59-4d0c-8a2c-6f0d6f5f1c11"
    return found


def test_another_objects_uuid_in_the_annotation_deletes_none_of_its_connections() -> None:
    """A carrier's mark has only uuid and id; the uuid is not secret, it is in every tag."""
    harness = standing(Harness)
    before = snapshot(harness)
    victim = harness.object
    harness.object = _impostor(harness, victim.raw["metadata"]["uid"])

    harness.object.delete()
    harness.for_a_while(1800.0)

    assert snapshot(harness) == before


def test_another_objects_uuid_deletes_no_connection_in_a_given_gateway() -> None:
    """In a given gateway only the carried marks show whose the connections are."""
    harness = Harness(example(transitGateway={"name": "theirs-tg"}))
    infrastructure(harness, connected=False)
    harness.up()
    before = snapshot(harness)
    victim = harness.object
    harness.object = _impostor(harness, victim.raw["metadata"]["uid"])

    harness.object.delete()
    harness.for_a_while(1800.0)

    assert snapshot(harness) == before


def test_a_forged_record_of_another_objects_connection_does_not_delete_it() -> None:
    """The annotation may name that connection, too; then the carrier's mark would fit it."""
    harness = standing(Harness)
    before = snapshot(harness)
    victim = harness.object
    journal = json.loads(victim.raw["metadata"]["annotations"][JOURNAL])
    harness.object = _impostor(harness, victim.raw["metadata"]["uid"], journal["nodes"])

    harness.object.delete()
    harness.for_a_while(1800.0)

    assert snapshot(harness) == before
    assert "two owners claim it" in messages(harness)
    assert not harness.object.gone
