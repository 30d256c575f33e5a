"""Identities that somebody made up: another object's uuid, in an annotation that its owner may edit."""

from __future__ import annotations

import json
from typing import Any

from freehold.api import names as api_names
from harness.powervs import Harness, StoredObject, example
from harness.resources import infrastructure, photograph, said

JOURNAL = api_names.JOURNAL_ANNOTATION


def _impostor(harness: Harness, uuid: str, nodes: dict[str, Any] | None = None) -> StoredObject:
    """Another tenant's object, in another namespace, whose annotation claims ``uuid``."""
    manifest = example()
    manifest["metadata"] |= {"namespace": "evil", "name": "impostor"}
    owner = [uuid, manifest["kind"], "evil", "impostor"]
    text = json.dumps({"v": 2, "key": harness.rings.ring.writing, "owner": owner, "nodes": nodes or {}})
    manifest["metadata"].setdefault("annotations", {})[JOURNAL] = text
    manifest["metadata"]["finalizers"] = [api_names.POWERVS_CLUSTER_FINALIZER]
    found = StoredObject(manifest, harness.clock.now)
    found.raw["metadata"]["uid"] = "eeeeeeee-9a59-4d0c-8a2c-6f0d6f5f1c11"
    return found


def test_another_objects_uuid_in_the_annotation_deletes_none_of_its_connections() -> None:
    """A carrier's mark names only uuid and id; the uuid is no secret, it stands in every tag."""
    harness = Harness()
    harness.up()
    before = photograph(harness)
    victim = harness.object
    harness.object = _impostor(harness, victim.raw["metadata"]["uid"])

    harness.object.delete()
    harness.for_a_while(1800.0)

    assert photograph(harness) == before


def test_nor_where_the_gateway_is_nobodys() -> None:
    """On a gateway that was given, only the carried marks tell whose the connections are."""
    harness = Harness(example(transitGateway={"name": "theirs-tg"}))
    infrastructure(harness, connected=False)
    harness.up()
    before = photograph(harness)
    victim = harness.object
    harness.object = _impostor(harness, victim.raw["metadata"]["uid"])

    harness.object.delete()
    harness.for_a_while(1800.0)

    assert photograph(harness) == before


def test_nor_by_a_record_of_the_victims_connection() -> None:
    """The annotation may name the victim's connection too; the carrier's mark would then fit it."""
    harness = Harness()
    harness.up()
    before = photograph(harness)
    victim = harness.object
    journal = json.loads(victim.raw["metadata"]["annotations"][JOURNAL])
    harness.object = _impostor(harness, victim.raw["metadata"]["uid"], journal["nodes"])

    harness.object.delete()
    harness.for_a_while(1800.0)

    assert photograph(harness) == before
    assert "two owners claim it" in said(harness)
    assert not harness.object.gone
