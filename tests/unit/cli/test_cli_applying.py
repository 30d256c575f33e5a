"""Applying is all or nothing, reports all errors, and can be repeated."""

from pathlib import Path
from typing import Any

import pytest

from freehold.api.crd import SERVED
from freehold.cli.applying import Applied, Verb, apply, targets
from freehold.cli.errors import CliError
from freehold.cli.kinds import OURS, Catalog
from freehold.cli.manifests import ManifestDocument, read
from freehold.kube.client import KubeClient
from freehold.kube.errors import NotFound
from freehold.kube.resources import CONFIG_MAPS, NAMESPACES, Key

EXAMPLES = Path(__file__).parents[3] / "examples"


def _document(kind: str, name: str, *, api: str = "v1", namespace: str = "", **fields: Any) -> ManifestDocument:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return ManifestDocument({"apiVersion": api, "kind": kind, "metadata": metadata, **fields}, f"document {name}")


def _cluster(name: str, **spec: Any) -> ManifestDocument:
    return _document("IBMPowerVSCluster", name, api="infrastructure.cluster.x-k8s.io/v1beta2", spec=spec)


async def _apply(client: KubeClient, *documents: ManifestDocument) -> list[Applied]:
    return await apply(client, await targets(client, documents, "default"))


async def test_the_upstream_manifest_is_applied_unmodified_and_a_second_time_changes_nothing(
    client: KubeClient,
) -> None:
    documents = read(str(EXAMPLES / "powervs-create-infra.yaml"))
    assert {each.verb for each in await _apply(client, *documents)} == {Verb.CREATED}
    assert {each.verb for each in await _apply(client, *documents)} == {Verb.UNCHANGED}


async def test_nothing_is_partly_applied_and_every_error_is_named(client: KubeClient) -> None:
    good = _document("ConfigMap", "good", data={"a": "b"})
    bad = _cluster("bad", zone=5, colour="red")
    worse = _cluster("worse", vpcSubnets=[{"zone": 7}])
    with pytest.raises(CliError) as refused:
        await _apply(client, good, bad, worse)
    told = "\n".join(refused.value.more)
    for path in (
        "default/bad: spec.colour: unknown field",
        "default/bad: spec.zone",
        "default/worse: spec.vpcSubnets[0].zone",
    ):
        assert path in told
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, Key("default", "good"))


async def test_unknown_kinds_are_all_named_before_anything_is_written(client: KubeClient) -> None:
    with pytest.raises(CliError) as refused:
        await _apply(
            client, _document("ConfigMap", "a"), _document("Deployment", "b", api="apps/v1"), _document("Pod", "c")
        )
    assert len(refused.value.more) == 2
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, Key("default", "a"))


async def test_a_mistyped_namespace_is_not_created_unasked(client: KubeClient) -> None:
    """`up -n tpyo` would make a second cluster beside the one that was meant."""
    with pytest.raises(
        CliError, match=r"no namespace tpyo; --create-namespace makes it.*there are: default"
    ) as refused:
        await _apply(client, _document("ConfigMap", "a", namespace="tpyo"))
    assert refused.value.more == ()
    with pytest.raises(NotFound):
        await client.get(NAMESPACES, Key("", "tpyo"))


async def test_a_missing_namespace_is_made_when_asked_and_an_impossible_one_is_refused_first(
    client: KubeClient,
) -> None:
    async def apply_asked(*documents: ManifestDocument) -> None:
        await apply(client, await targets(client, documents, "default"), create_namespaces=True)

    await apply_asked(_document("ConfigMap", "a", namespace="fresh"))
    assert (await client.get(NAMESPACES, Key("", "fresh")))["metadata"]["name"] == "fresh"
    with pytest.raises(CliError) as refused:
        await apply_asked(_document("ConfigMap", "b"), _document("ConfigMap", "c", namespace="Not Legal"))
    assert any(each.startswith("Namespace Not Legal: metadata.name") for each in refused.value.more)
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, Key("default", "b"))


async def test_namespaces_of_the_manifest_are_applied_first(client: KubeClient) -> None:
    applied = await _apply(client, _document("ConfigMap", "a", namespace="late"), _document("Namespace", "late"))
    assert [(each.target.resource.kind, each.verb) for each in applied] == [
        ("Namespace", Verb.CREATED), ("ConfigMap", Verb.CREATED),
    ]  # fmt: skip


async def test_a_field_removed_from_the_manifest_is_removed_from_the_object(client: KubeClient) -> None:
    await _apply(client, _document("ConfigMap", "a", data={"one": "1", "two": "2"}))
    [applied] = await _apply(client, _document("ConfigMap", "a", data={"one": "1"}))
    assert applied.verb is Verb.CONFIGURED
    assert (await client.get(CONFIG_MAPS, Key("default", "a")))["data"] == {"one": "1"}


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("ibmpowervscluster", "IBMPowerVSCluster"),
        ("IBMPowerVSClusters", "IBMPowerVSCluster"),
        ("ns", "Namespace"),
        ("cm", "ConfigMap"),
        ("clusters.cluster.x-k8s.io", "Cluster"),
    ],
)
async def test_a_kind_is_found_by_its_common_names(client: KubeClient, word: str, kind: str) -> None:
    named = await Catalog(client).named(word)
    assert named is not None and named.kind == kind


async def test_an_unknown_kind_is_no_kind(client: KubeClient) -> None:
    assert await Catalog(client).named("gizmo") is None
    assert await Catalog(client).of("v1", "Gizmo") is None
    assert "ibmpowervsclusters" in await Catalog(client).names()
    assert OURS[0].kind == "IBMPowerVSCluster"


def test_our_kinds_are_those_that_are_served() -> None:
    """They are listed twice, because importing the types takes half a second, which `freehold get` need not spend."""
    assert [(each.group, each.version, each.plural, each.kind) for each in OURS] == [
        (each.group, each.version, each.plural, each.kind)
        for each in SERVED  # of api.crd, with the types
    ]
