"""Which objects want a tag on a resource that they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.other_objects import TAG_FIELDS, OtherStoredObjects, find_claimed_tags, find_naming_objects
from freehold.engine import journal as journals
from freehold.engine.errors import Unavailable
from freehold.engine.journal import AttachedTags, Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Resource
from freehold.providers.crds import build_crds
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import SERVED, SERVED_RESOURCES
from harness.stepping import run_blocking

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

US = Owner("11111111-0000-4000-8000-000000000000", "IBMPowerVSCluster", "default", "one")
OTHER = replace(US, uuid="22222222-0000-4000-8000-000000000000", name="two")
VPC = "crn:vpc"
ATTACHED = Journal(OTHER, attached={VPC: AttachedTags(("team:red",), "s", "")})
OWNED = Journal(OTHER, {NodeKey("vpc", "main"): Entry(RecordState.OWNED, "v", VPC)}, tags=frozenset({"team:red"}))
OF_NODE = Journal(OTHER, {NodeKey("vpc", "main"): Entry(RecordState.OWNED, "v", VPC, node_tags=("team:red",))})


def stored(journal: Journal, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "n", "annotations": {names.JOURNAL_ANNOTATION: journals.dumps(journal)}, **metadata}}


CLAIMS = {"put on what is given": ATTACHED, "on a resource of its own": OWNED, "its node's, on its own": OF_NODE}


@pytest.mark.parametrize("journal", CLAIMS.values(), ids=CLAIMS)
def test_another_live_object_claims_its_tag(journal: Journal) -> None:
    assert find_claimed_tags([stored(journal)], US, VPC) == {"team:red"}


def test_an_object_claims_nothing_against_itself() -> None:
    assert find_claimed_tags([stored(replace(ATTACHED, owner=US))], US, VPC) == frozenset()


def test_an_object_that_is_being_deleted_claims_nothing() -> None:
    """Two that go together would each leave the tag to the other."""
    assert find_claimed_tags([stored(ATTACHED, deletionTimestamp="2026-11-22T00:00:00Z")], US, VPC) == frozenset()


def test_a_tag_on_another_resource_is_no_claim() -> None:
    assert find_claimed_tags([stored(ATTACHED), stored(OWNED)], US, "crn:other") == frozenset()


def test_a_damaged_journal_claims_nothing() -> None:
    damaged = {"metadata": {"name": "n", "annotations": {names.JOURNAL_ANNOTATION: "{"}}}
    assert find_claimed_tags([damaged, stored(ATTACHED)], US, VPC) == {"team:red"}


class Client:
    def __init__(self, answer: ObjectList | kube.KubeError) -> None:
        self._answer = answer

    async def list(self, resource: Resource, namespace: str = "") -> ObjectList:
        if isinstance(self._answer, kube.KubeError):
            raise self._answer
        return self._answer


class SecondRefused(Client):
    """Of two kinds the second one cannot be listed."""

    async def list(self, resource: Resource, namespace: str = "") -> ObjectList:
        return ObjectList([], "1") if resource == SERVED_RESOURCES[0] else await super().list(resource, namespace)


@pytest.mark.parametrize("error", [kube.ServerUnavailable, kube.Forbidden, kube.TooManyRequests])
@pytest.mark.parametrize("client", [Client, SecondRefused], ids=["the first kind", "the second kind"])
def test_without_an_answer_nothing_is_taken_off(client: type[Client], error: type[kube.KubeError]) -> None:
    """An API server that does not answer may store an object that wants the tag."""
    others = OtherStoredObjects(client(error("gone away")), SERVED_RESOURCES)
    for asked in (others.tags_on(US, VPC), others.owning(US, "vpc", ["r006-1"]), others.naming(US, ["r006-1"])):
        with pytest.raises(Unavailable, match="cannot be told"):
            run_blocking(asked)


def test_a_kind_that_is_not_installed_claims_nothing() -> None:
    others = OtherStoredObjects(Client(kube.ObjectNotFound("no such kind")), [POWERVS_CLUSTERS])
    assert run_blocking(others.tags_on(US, VPC)) == frozenset()


SPEC = {"vpc": {"id": "r006-1"}, "vpcSubnets": [{"name": "b"}]}


@pytest.mark.parametrize("word", ["r006-1", "b"])
def test_an_object_names_what_is_in_its_spec(word: str) -> None:
    """Also the object itself: a load balancer of its list may be in a subnet that its list of subnets has lost."""
    assert find_naming_objects([{**stored(replace(ATTACHED, owner=US), namespace="ns"), "spec": SPEC}], US, [word]) == (
        "ns/n",
    )


def test_an_object_names_what_is_in_its_journal_and_its_own_does_not_count() -> None:
    entry = Entry(RecordState.GIVEN, "us-south/v", VPC)
    journal = Journal(OTHER, {NodeKey("vpc", "main"): entry})
    assert find_naming_objects([stored(journal, namespace="ns")], US, ["v"]) == ("ns/n",)
    assert find_naming_objects([stored(replace(journal, owner=US), namespace="ns")], US, ["v"]) == ()


TAGGED = [
    {"additionalTags": {"Name": "b"}},
    {"network": {"vpc": {"tags": {"Name": "b"}}, "subnets": [{"id": "s", "tags": {"Name": "b"}}]}},
    {"tags": [{"key": "team", "value": "b"}], "vpcSecurityGroups": [{"name": "g", "tags": ["b"]}]},
]


@pytest.mark.parametrize("spec", TAGGED, ids=["all resources", "single ones", "of IBM Cloud"])
def test_what_a_tag_says_names_no_resource(spec: dict[str, Any]) -> None:
    """With a tag Name every resource has that name, and none of what is surplus could ever be pruned."""
    tagged = {**stored(replace(ATTACHED, owner=US), namespace="ns"), "spec": spec}
    assert find_naming_objects([tagged], US, ["b"]) == ()
    used = {**tagged, "spec": {**spec, "controlPlaneLoadBalancer": {"name": "b"}}}
    assert find_naming_objects([used], US, ["b"]) == ("ns/n",), "beside the tag something else names it"


def test_every_field_with_tags_is_known() -> None:
    """A new one would keep surplus from being pruned."""

    def named(schema: Mapping[str, Any]) -> Iterator[str]:
        for name, inner in schema.get("properties", {}).items():
            yield from (name, *named(inner))
        for inside in ("items", "additionalProperties"):
            if isinstance(schema.get(inside), dict):
                yield from named(schema[inside])

    served = [each.crd for each in SERVED]
    schemas = [
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for crd in build_crds()
        if crd["metadata"]["name"] in served
        for version in crd["spec"]["versions"]
    ]
    assert len(schemas) >= len(served)
    found = {name for schema in schemas for name in named(schema) if name.casefold().endswith("tags")}
    assert found - {"instanceMetadataTags"} == TAG_FIELDS, "that one says whether an instance may read its tags"


def test_a_part_of_a_text_names_nothing() -> None:
    assert find_naming_objects([{**stored(ATTACHED, namespace="ns"), "spec": {"zone": "abc"}}], US, ["ab", ""]) == ()
