"""``freehold resolve --new-cluster`` and ``--take-over`` on an API server: what is there afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.cli.commands import copies
from freehold.cli.errors import CliError
from freehold.engine import journal as journals
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.kube.client import KubeClient
from freehold.kube.errors import ObjectNotFound
from freehold.kube.resources import Json, Key
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from harness.powervs import example

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

RING = KeyRing.single(b"k" * 32)
ORIGINAL, COPY = Key("prod", "one"), Key("default", "two")
VPC = Entry(RecordState.OWNED, id="us-south/v", key=RING.writing)
JOURNAL = Journal(
    Owner("first-uid", "IBMPowerVSCluster", *ORIGINAL), {NodeKey("vpc", "main"): VPC}, account="a", key=RING.writing
)


async def stored(client: KubeClient, key: Key = COPY, *, journal: str = journals.dumps(JOURNAL)) -> Json:
    manifest = example()
    manifest["metadata"] = {
        "name": key.name, "namespace": key.namespace, "finalizers": [ibm_names.POWERVS_CLUSTER_FINALIZER],
        "labels": {"team": "a"}, "annotations": {names.JOURNAL_ANNOTATION: journal, names.DECISIONS_ANNOTATION: "[]"},
    }  # fmt: skip
    if key.namespace != "default":
        home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key.namespace}}
        await client.create(copies.NAMESPACES, home)
    return await client.create(POWERVS_CLUSTERS, manifest)


async def take_over(client: KubeClient, *, yes: bool = True, ring: KeyRing = RING) -> None:
    raw = await client.get(POWERVS_CLUSTERS, COPY)
    await copies.take_over(client, ring, copies.copy_of(POWERVS_CLUSTERS, raw), yes=yes)


async def test_the_copy_becomes_the_original_again_with_its_records_and_goes(
    client: KubeClient, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = await stored(client)
    await take_over(client, yes=False)
    assert "freehold resolve IBMPowerVSCluster/two --take-over --yes" in capsys.readouterr().out
    assert await client.get(POWERVS_CLUSTERS, COPY) == copy, "a plan first"
    await take_over(client)
    made = await client.get(POWERVS_CLUSTERS, ORIGINAL)
    assert made["metadata"]["annotations"] == {names.JOURNAL_ANNOTATION: journals.dumps(JOURNAL)}
    assert made["metadata"]["finalizers"] == [ibm_names.POWERVS_CLUSTER_FINALIZER]
    assert made["metadata"]["labels"] == {"team": "a"} and made["spec"] == copy["spec"]
    with pytest.raises(ObjectNotFound):
        await client.get(POWERVS_CLUSTERS, COPY)


async def test_an_original_that_exists_keeps_its_place(client: KubeClient) -> None:
    """It has the resources; what to do instead is a command that works."""
    copy, original = await stored(client), await stored(client, ORIGINAL)
    with pytest.raises(
        CliError, match=r"is there, and has the resources.*freehold resolve IBMPowerVSCluster/two --new-cluster$"
    ):
        await take_over(client)
    assert await client.get(POWERVS_CLUSTERS, ORIGINAL) == original
    await copies.make_new(client, POWERVS_CLUSTERS, copy, yes=True)
    said = (await client.get(POWERVS_CLUSTERS, COPY))["metadata"]["annotations"]
    assert said[names.IDENTITY_ANNOTATION] == names.NEW_IDENTITY


async def test_without_its_key_nothing_is_continued(client: KubeClient) -> None:
    await stored(client)
    with pytest.raises(CliError, match="freehold keys add FILE"):
        await take_over(client, ring=KeyRing.single(b"o" * 32))
    with pytest.raises(ObjectNotFound):
        await client.get(POWERVS_CLUSTERS, ORIGINAL)


@pytest.mark.parametrize("act", ["new", "take over"])
async def test_what_is_no_copy_is_left_as_it_is(client: KubeClient, act: str) -> None:
    own = journals.dumps(Journal(Owner("u", "IBMPowerVSCluster", *COPY), key=RING.writing))
    raw: dict[str, Any] = await stored(client, journal=own)
    with pytest.raises(CliError, match="is no copy"):
        await (copies.make_new(client, POWERVS_CLUSTERS, raw, yes=True) if act == "new" else take_over(client))
    assert await client.get(POWERVS_CLUSTERS, COPY) == raw


async def test_a_cluster_with_resources_of_its_own_takes_over_nothing(client: KubeClient) -> None:
    """Somebody wrote the journal of another one over its own: it would go, and leave them."""
    copy = await stored(client)
    own = {"uid": copy["metadata"]["uid"], "uuid": copy["metadata"]["uid"], "key": RING.writing, "account": "a"}
    await client.patch_status(POWERVS_CLUSTERS, COPY, {"status": {"identity": own}})
    with pytest.raises(CliError, match="has resources of its own"):
        await take_over(client)
    assert (await client.get(POWERVS_CLUSTERS, COPY))["metadata"]["finalizers"] == [ibm_names.POWERVS_CLUSTER_FINALIZER]
