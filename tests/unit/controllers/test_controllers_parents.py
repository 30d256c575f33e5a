"""Where a machine stands: within its cluster's identity, in its account, and on its own record when that is gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.api.crd import build_crd
from freehold.api.served import ClusterLink, ParentName, ServedName
from freehold.engine import journal as journals
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner
from freehold.providers.base import ObjectKind
from freehold.providers.objects.identity import (
    KnownIdentity,
    MintedIdentity,
    ParentStanding,
    RestoredIdentity,
    build_status_identity,
    identify,
)
from freehold.providers.objects.parents import find_standing, put_in_place
from freehold.providers.registry import PROVIDERS
from harness.rows import over_rows

PARENT = ParentName("g", "v1", "BearCluster", "bearclusters", ("region", "identityRef"))
MACHINE = ServedName(
    "g", "v1", "BearMachine", "bearmachines", "bearmachine.example.com", link=ClusterLink.MACHINE, parents=(PARENT,)
)
RING = KeyRing.single(b"k" * 32)
ROLE = {"kind": "BearIdentity", "name": "role"}
CLUSTER = Owner("c-uuid", "BearCluster", "ns", "c1")
HERE = ParentStanding("c-uuid", {"region": "r1", "identityRef": ROLE})
OWNER = Owner("m-uid", "BearMachine", "ns", "m1", "c-uuid")
JOURNAL = Journal(OWNER, key=RING.writing, place=HERE.place)


def cluster(owner: Owner = CLUSTER, **spec: Any) -> dict[str, Any]:
    annotations = {names.JOURNAL_ANNOTATION: journals.dumps(Journal(owner))}
    metadata = {"name": "c1", "namespace": "ns", "uid": "c-uuid", "annotations": annotations}
    return {"kind": "BearCluster", "metadata": metadata, "spec": {**HERE.place, "sshKeyName": "k", **spec}}


def machine(journal: Journal | None = None, status: Any = None, **annotations: str) -> dict[str, Any]:
    if journal is not None:
        annotations[names.JOURNAL_ANNOTATION] = journals.dumps(journal)
    metadata = {"name": "m1", "namespace": "ns", "uid": "m-uid", "resourceVersion": "1", "annotations": annotations}
    finalizers = [MACHINE.finalizer] if journal else []
    found = {"kind": "BearMachine", "metadata": {**metadata, "finalizers": finalizers}, "spec": {"size": 1}}
    return found if status is None else {**found, "status": status}


NEW = {names.IDENTITY_ANNOTATION: names.NEW_IDENTITY}
ELSEWHERE = replace(JOURNAL, owner=Owner("other", "BearMachine", "ns", "m0", "c0-uuid"), place={"region": "r9"})
OTHERS = replace(JOURNAL, owner=replace(OWNER, within="former-uuid"), place={"region": "r0"})

STANDS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, ParentStanding | None]] = {
    "new: as its cluster says": (machine(), cluster(), HERE),
    "its cluster is gone: as its record says": (machine(JOURNAL), None, HERE),
    "its cluster has another identity by now": (
        machine(JOURNAL),
        cluster(identityRef={**ROLE, "name": "new"}),
        ParentStanding("c-uuid", {"region": "r1", "identityRef": {**ROLE, "name": "new"}}),
    ),
    "another cluster has the name": (machine(OTHERS), cluster(), ParentStanding("former-uuid", {"region": "r0"})),
    "a new identity stands in the cluster of now": (machine(OTHERS, **NEW), cluster(), HERE),
    "a copy of another machine": (machine(ELSEWHERE), cluster(), HERE),
    "nothing says it": (machine(), None, None),
    "the record is older than this": (machine(replace(JOURNAL, place={})), None, None),
    "its record is spoilt": (machine(**{names.JOURNAL_ANNOTATION: "{"}), None, None),
    "its status says another thing than an edited record": (
        machine(OTHERS, status={"identity": dict(build_status_identity(machine(), JOURNAL))}),
        None,
        HERE,
    ),
    "its record is spoilt, and its status is not": (
        machine(
            status={"identity": dict(build_status_identity(machine(), JOURNAL))}, **{names.JOURNAL_ANNOTATION: "{"}
        ),
        None,
        HERE,
    ),
    "the record of its cluster is edited, and the status of that says who it is": (
        machine(),
        {
            **cluster(replace(CLUSTER, uuid="of-nobody")),
            "status": {"identity": dict(build_status_identity(cluster(), Journal(CLUSTER, key=RING.writing)))},
        },
        HERE,
    ),
    "its status has what the record has lost": (
        machine(status={"identity": dict(build_status_identity(machine(), JOURNAL))}),
        None,
        HERE,
    ),
}


@over_rows(("raw", "infrastructure", "expected"), STANDS.values(), ids=STANDS.keys())
def test_where_a_machine_stands(
    raw: dict[str, Any], infrastructure: dict[str, Any] | None, expected: ParentStanding | None
) -> None:
    assert find_standing(raw, MACHINE, infrastructure) == expected


def test_an_object_without_a_parent_says_its_account_itself() -> None:
    assert find_standing(machine(), replace(MACHINE, parents=()), None) == ParentStanding()
    raw = machine()
    assert put_in_place(raw, ParentStanding()) == raw
    assert put_in_place(raw, HERE)["spec"] == {"size": 1, **HERE.place} and raw["spec"] == {"size": 1}


def test_an_identity_keeps_where_it_was_minted() -> None:
    """In the journal and in status: either one can be lost."""
    made = identify(machine(), MACHINE.finalizer, RING, standing=HERE)
    assert isinstance(made, MintedIdentity)
    assert (made.journal.owner.within, made.journal.place) == ("c-uuid", HERE.place)
    assert identify(machine(made.journal), MACHINE.finalizer, RING) == KnownIdentity(made.journal)
    status = {"identity": dict(build_status_identity(machine(), made.journal))}
    restored = identify(machine(status=status), MACHINE.finalizer, RING)
    assert isinstance(restored, RestoredIdentity)
    assert (restored.journal.owner, restored.journal.place) == (OWNER, HERE.place)


def test_an_editor_of_the_record_moves_a_machine_neither_to_another_cluster_nor_to_another_place() -> None:
    """Only the operator writes status."""
    status = {"identity": dict(build_status_identity(machine(), replace(JOURNAL, account="a/r1")))}
    within = replace(JOURNAL, owner=replace(OWNER, within="their-cluster"))
    found = identify(machine(within, status), MACHINE.finalizer, RING)
    assert isinstance(found, RestoredIdentity) and found.journal.owner == OWNER
    place = identify(machine(replace(JOURNAL, place={"region": "r9"}), status), MACHINE.finalizer, RING)
    assert isinstance(place, KnownIdentity) and place.journal.place == HERE.place


def test_a_status_that_was_cut_does_not_deny_the_record() -> None:
    """A CRD of an earlier version prunes fields that it does not know."""
    held = {k: v for k, v in build_status_identity(machine(), JOURNAL).items() if k not in ("within", "place")}
    assert identify(machine(JOURNAL, {"identity": held}), MACHINE.finalizer, RING) == KnownIdentity(JOURNAL)


CHILDREN = [kind for provider in PROVIDERS for kind in provider.objects if kind.served.parents]


@pytest.mark.parametrize("kind", CHILDREN, ids=lambda kind: kind.served.kind)
def test_the_api_server_keeps_where_an_object_stands(kind: ObjectKind) -> None:
    """It prunes what a CRD does not know, and then a lost journal could not be made again from status."""
    (version,) = build_crd(kind.describe())["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    held = status["identity"]["properties"]
    assert {"within", "place"} <= held.keys()
    assert held["place"]["properties"].keys() == {field for parent in kind.served.parents for field in parent.place}
