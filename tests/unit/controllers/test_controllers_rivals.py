"""Which other objects have a cluster of the same name in the same network: beside them nothing is collected."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.collecting import find_rivals
from freehold.engine import journal as journals
from freehold.engine.collection import Site
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey

OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSCluster", "default", "prod")
OTHER = Owner("0a1b2c3d-9999-4222-8333-444455556666", "AWSCluster", "team", "prod")
SITE = Site(OWNER, "vpc-1")


def stored(name: str = "prod", vpc: str = "vpc-1", owner: Owner | None = None, **metadata: Any) -> dict[str, Any]:
    """An object whose spec names a VPC; with an ``owner`` it has a record of one."""
    spec = {"network": {"vpc": {"id": vpc}}} if owner is None else {}
    record = {}
    if owner is not None:
        entries = {NodeKey("vpc", "main"): Entry(RecordState.RECORDED, id=vpc)}
        record = {names.JOURNAL_ANNOTATION: journals.dumps(Journal(owner, entries))}
    meta = {"name": name, "namespace": "team", "annotations": record, **metadata}
    return {"kind": "AWSCluster", "metadata": meta, "spec": spec}


@pytest.mark.parametrize(
    "rival",
    [
        stored(),
        stored(owner=OTHER),
        stored("other", labels={names.CLUSTER_NAME_LABEL: "prod"}),
        stored("other", ownerReferences=[{"kind": "Cluster", "name": "prod"}]),
    ],
    ids=["its spec names the VPC", "it has the VPC on record", "by its label", "by its owner"],
)
def test_an_object_of_the_name_in_the_network_is_a_rival(rival: dict[str, Any]) -> None:
    assert find_rivals([rival], SITE, "prod") == (f"team/{rival['metadata']['name']}",)


@pytest.mark.parametrize(
    "other",
    [stored("another"), stored(vpc="vpc-2"), stored(vpc="vpc-2", owner=OTHER), stored(owner=OWNER)],
    ids=["another name", "another VPC", "another VPC on record", "the object itself"],
)
def test_any_other_object_is_none(other: dict[str, Any]) -> None:
    assert find_rivals([other], SITE, "prod") == ()


def test_an_object_whose_record_cannot_be_read_is_a_rival_by_its_spec() -> None:
    broken = stored(annotations={names.JOURNAL_ANNOTATION: "{"})
    assert find_rivals([broken], SITE, "prod") == ("team/prod",)


def test_all_rivals_are_named_in_order() -> None:
    assert find_rivals([stored(namespace="b"), stored(namespace="a")], SITE, "prod") == ("a/prod", "b/prod")
