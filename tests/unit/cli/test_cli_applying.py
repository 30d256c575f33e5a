"""Applying is all or nothing, reports all errors, and can be repeated."""

import sys
from pathlib import Path
from typing import Any

import pytest

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.cli.errors import CliError
from freehold.cli.objects.applying import Applied, ApplyEffect, apply, targets
from freehold.cli.objects.kinds import OURS, Catalog
from freehold.cli.objects.manifests import ManifestDocument, read
from freehold.cli.output.progress import CountProgress
from freehold.kube.client import KubeClient
from freehold.kube.errors import ObjectNotFound
from freehold.kube.field_managers import OPERATOR
from freehold.kube.resources import CONFIG_MAPS, NAMESPACES, Key
from freehold.providers.crds import SERVED
from freehold.providers.registry import METADATA, MIRRORS, REFERRED_TO, TEMPLATES

AWS = next(each for each in OURS if each.kind == "AWSCluster")
EXAMPLES = Path(__file__).parents[3] / "examples"
CAPA = Path(__file__).parents[2] / "data" / "upstream" / "capa"
VALUES = {
    "AWS_NODE_MACHINE_TYPE": "t3.large", "AWS_REGION": "eu-central-1", "AWS_SSH_KEY_NAME": "key",
    "CLUSTER_CLASS_NAME": "eks", "CLUSTER_NAME": "prod", "KUBERNETES_VERSION": "v1.33.1", "WORKER_MACHINE_COUNT": "2",
}  # fmt: skip


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
    assert {each.verb for each in await _apply(client, *documents)} == {ApplyEffect.CREATED}
    assert {each.verb for each in await _apply(client, *documents)} == {ApplyEffect.UNCHANGED}


@pytest.mark.parametrize("flavor", ["eks", "eks-clusterclass", "eks-managedmachinepool"])
async def test_upstreams_eks_templates_are_applied_unmodified(client: KubeClient, tmp_path: Path, flavor: str) -> None:
    """What Cluster API makes of them, and what is not served, is kept."""
    text = (CAPA / f"cluster-template-{flavor}.yaml").read_text(encoding="utf-8")
    for name, value in VALUES.items():
        text = text.replace(f"${{{name}}}", value)
    (tmp_path / "eks.yaml").write_text(text, encoding="utf-8")
    documents = read(str(tmp_path / "eks.yaml"))
    assert {each.verb for each in await _apply(client, *documents)} == {ApplyEffect.CREATED}
    assert {each.verb for each in await _apply(client, *documents)} == {ApplyEffect.UNCHANGED}


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
    with pytest.raises(ObjectNotFound):
        await client.get(CONFIG_MAPS, Key("default", "good"))


async def test_unknown_kinds_are_all_named_before_anything_is_written(client: KubeClient) -> None:
    with pytest.raises(CliError) as refused:
        await _apply(client, _document("ConfigMap", "a"), _document("Job", "b", api="batch/v1"), _document("Pod", "c"))
    assert len(refused.value.more) == 2
    with pytest.raises(ObjectNotFound):
        await client.get(CONFIG_MAPS, Key("default", "a"))


async def test_an_object_in_a_new_namespace_is_not_compared_with_its_namesake_in_another_one(
    client: KubeClient,
) -> None:
    """Tried there, it would be a change of that object, whose region is for ever."""
    api = "infrastructure.cluster.x-k8s.io/v1beta2"
    here = _document("AWSCluster", "a", api=api, spec={"region": "us-east-1"})
    await _apply(client, here)
    lived_in = {"status": {"identity": {"uid": "u", "uuid": "u", "account": "111122223333/us-east-1"}}}
    await client.patch(AWS, Key("default", "a"), lived_in, subresource="status")
    there = _document("AWSCluster", "a", api=api, namespace="new", spec={"region": "eu-west-1"})
    (applied,) = await apply(client, await targets(client, [there], "default"), create_namespaces=True)
    assert applied.verb is ApplyEffect.CREATED
    assert (await client.get(AWS, Key("new", "a")))["spec"]["region"] == "eu-west-1"
    assert (await client.get(AWS, Key("default", "a")))["spec"]["region"] == "us-east-1"


async def test_a_mistyped_namespace_is_not_created_unasked(client: KubeClient) -> None:
    """`up -n tpyo` would make a second cluster beside the one that was meant."""
    with pytest.raises(
        CliError, match=r"no namespace tpyo; --create-namespace makes it.*there are: default"
    ) as refused:
        await _apply(client, _document("ConfigMap", "a", namespace="tpyo"))
    assert refused.value.more == ()
    with pytest.raises(ObjectNotFound):
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
    with pytest.raises(ObjectNotFound):
        await client.get(CONFIG_MAPS, Key("default", "b"))


async def test_namespaces_of_the_manifest_are_applied_first(client: KubeClient) -> None:
    applied = await _apply(client, _document("ConfigMap", "a", namespace="late"), _document("Namespace", "late"))
    assert [(each.target.resource.kind, each.verb) for each in applied] == [
        ("Namespace", ApplyEffect.CREATED), ("ConfigMap", ApplyEffect.CREATED),
    ]  # fmt: skip


async def test_a_field_removed_from_the_manifest_is_removed_from_the_object(client: KubeClient) -> None:
    await _apply(client, _document("ConfigMap", "a", data={"one": "1", "two": "2"}))
    [applied] = await _apply(client, _document("ConfigMap", "a", data={"one": "1"}))
    assert applied.verb is ApplyEffect.CONFIGURED
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
    named = await Catalog(client).find_by_word(word)
    assert named is not None and named.kind == kind


async def test_an_unknown_kind_is_no_kind(client: KubeClient) -> None:
    assert await Catalog(client).find_by_word("gizmo") is None
    assert await Catalog(client).find_kind("v1", "Gizmo") is None
    assert "ibmpowervsclusters" in await Catalog(client).names()
    assert OURS[0].kind == "IBMPowerVSCluster"


def test_our_kinds_are_those_that_are_served() -> None:
    """They are listed twice, because importing the types takes half a second, which `freehold get` need not spend."""
    assert [(each.group, each.version, each.plural, each.kind) for each in OURS] == [
        (each.group, each.version, each.plural, each.kind)
        for each in SERVED  # of api.crd, with the types
        if each.name not in (*REFERRED_TO, *(mirror.served for mirror in MIRRORS), *TEMPLATES, *METADATA)
    ]


MANY = [_document("ConfigMap", f"m{number}", data={"n": str(number)}) for number in range(1200)]


async def test_many_documents_take_few_requests_and_tell_how_far_they_are(
    client: KubeClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One request each at most: a look, a trial and a write of each would be three."""
    sent: list[str] = []
    attempt = KubeClient._attempt

    async def counted(self: KubeClient, method: str, path: str, *rest: Any) -> Any:
        sent.append(f"{method} {path}")
        return await attempt(self, method, path, *rest)

    monkeypatch.setattr(KubeClient, "_attempt", counted)
    wanted = await targets(client, MANY, "default")
    for verb in (ApplyEffect.CREATED, ApplyEffect.UNCHANGED):
        sent.clear()
        with CountProgress() as counting:
            applied = await apply(client, wanted, counting)
        assert {each.verb for each in applied} == {verb}
        assert len(sent) < 30
    lines = [f"{verb} {n} of 1200 documents" for verb in ("checked", "applied") for n in (1000, 1200)]
    assert capsys.readouterr().out.splitlines() == lines

    client.batches = False
    sent.clear()
    applied = await apply(client, wanted)
    assert {each.verb for each in applied} == {ApplyEffect.UNCHANGED} and len(sent) < 10
    fresh = await targets(client, [*MANY, _document("ConfigMap", "new")], "default")
    assert [each.verb for each in await apply(client, fresh)].count(ApplyEffect.CREATED) == 1


async def test_few_documents_are_not_counted(client: KubeClient, capsys: pytest.CaptureFixture[str]) -> None:
    with CountProgress() as counting:
        await apply(client, await targets(client, MANY[:400], "default"), counting)
    assert capsys.readouterr().out == ""


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with CountProgress() as counting:
        counting("checked", 700, 700)
    shown = capsys.readouterr().out
    assert "checked" in shown and "700/700" in shown


@pytest.mark.parametrize("batches", [True, False])
async def test_what_another_one_writes_between_trial_and_write_stays(batches: bool, client: KubeClient) -> None:
    await _apply(client, _document("ConfigMap", "a", data={"ours": "1"}))
    wanted = await targets(client, [_document("ConfigMap", "a", data={"ours": "2"})], "default")
    client.batches = batches
    sent: list[object] = []
    many = client.send_many

    async def meddled(*given: Any, **named: Any) -> Any:
        if len(sent) == 2:  # after the look and the trial
            await client.patch(CONFIG_MAPS, Key("default", "a"), {"data": {"theirs": "1"}})
        sent.append(None)
        return await many(*given, **named)

    client.send_many = meddled  # type: ignore[method-assign]  # somebody else's write, at the one moment that matters
    (applied,) = await apply(client, wanted)
    assert applied.verb is ApplyEffect.CONFIGURED
    assert (await client.get(CONFIG_MAPS, Key("default", "a")))["data"] == {"ours": "2", "theirs": "1"}


async def test_an_endpoint_that_is_not_set_yet_is_the_operators(client: KubeClient) -> None:
    document = _document("AWSCluster", "c", api="infrastructure.cluster.x-k8s.io/v1beta2", spec={"region": "eu-west-1"})
    document.obj["spec"]["controlPlaneEndpoint"] = {"host": "", "port": 0}
    await _apply(client, document)
    endpoint = {"controlPlaneEndpoint": {"host": "a.elb.eu-west-1.amazonaws.com", "port": 6443}}
    path = AWS.build_object_path(Key("default", "c"))
    merge = "application/merge-patch+json"
    await client.request("PATCH", path, query={"fieldManager": OPERATOR}, body={"spec": endpoint}, content_type=merge)
    (again,) = await _apply(client, document)
    assert again.verb is ApplyEffect.UNCHANGED


async def test_an_export_is_put_back_whole_and_its_record_stays_the_operators(client: KubeClient) -> None:
    """The record of a backup must not be lost, nor go with the next manifest that lacks it."""
    finalizer = "awscluster.infrastructure.cluster.x-k8s.io"
    spec = {"region": "eu-west-1"}
    document = _document("AWSCluster", "c", api="infrastructure.cluster.x-k8s.io/v1beta2", spec=spec)
    export = _document(
        "AWSCluster", "c", api="infrastructure.cluster.x-k8s.io/v1beta2", spec={**spec, "sshKeyName": "k"}
    )
    export.obj["metadata"] |= {
        "annotations": {JOURNAL_ANNOTATION: "{}", "team": "blue"}, "finalizers": [finalizer], "uid": "u",
        "resourceVersion": "7", "creationTimestamp": "2026-11-20T00:00:00Z",
        "managedFields": [{"manager": "x", "operation": "Update"}],
    }  # fmt: skip
    key = Key("default", "c")
    (made,) = await _apply(client, export)
    (again,) = await _apply(client, document)
    stored = await client.get(AWS, key)
    assert (made.verb, again.verb) == (ApplyEffect.CREATED, ApplyEffect.CONFIGURED)
    assert stored["spec"] == spec and stored["metadata"]["finalizers"] == [finalizer]
    assert stored["metadata"]["annotations"] == {JOURNAL_ANNOTATION: "{}"}
    await client.patch(AWS, key, {"metadata": {"annotations": {JOURNAL_ANNOTATION: None}}})
    await _apply(client, export)
    assert (await client.get(AWS, key))["metadata"]["annotations"][JOURNAL_ANNOTATION] == "{}"


async def test_a_field_that_another_manager_has_set_is_named_and_taken_over_when_asked(client: KubeClient) -> None:
    await _apply(client, _document("ConfigMap", "a", data={"n": "1"}))
    body = {"data": {"n": "2"}}
    path, merge = CONFIG_MAPS.build_object_path(Key("default", "a")), "application/merge-patch+json"
    await client.request("PATCH", path, query={"fieldManager": "kubectl-edit"}, body=body, content_type=merge)
    document = _document("ConfigMap", "a", data={"n": "3"})
    with pytest.raises(CliError) as refused:
        await _apply(client, document)
    told = "\n".join(refused.value.more)
    assert 'data.n has another value: conflict with "kubectl-edit"' in told and "--force-conflicts" in told
    (forced,) = await apply(client, await targets(client, [document], "default"), force=True)
    assert forced.verb is ApplyEffect.CONFIGURED
    assert (await client.get(CONFIG_MAPS, Key("default", "a")))["data"] == {"n": "3"}


async def test_what_freehold_tags_edit_changed_is_no_conflict(client: KubeClient) -> None:
    """Another write of our own manager: the next manifest is applied over it."""
    await _apply(client, _cluster("c", zone="dal10"))
    await client.patch(OURS[0], Key("default", "c"), {"spec": {"zone": "dal12"}})
    (applied,) = await _apply(client, _cluster("c", zone="dal10"))
    assert applied.verb is ApplyEffect.CONFIGURED
    assert (await client.get(OURS[0], Key("default", "c")))["spec"]["zone"] == "dal10"


async def test_what_is_being_deleted_is_not_applied_to(client: KubeClient) -> None:
    """Its deletion goes on whatever is applied, so that the object would be gone at the end, and no new one there."""
    held = _document("ConfigMap", "other", data={"a": "b"})
    cluster = _cluster("c", zone="dal10")
    for each in (held, cluster):
        each.obj["metadata"]["finalizers"] = ["example.com/held"]
    for applied in await _apply(client, held, cluster):
        await client.delete(applied.target.resource, applied.target.key)
    fresh = _document("ConfigMap", "fresh")
    with pytest.raises(CliError, match="nothing was applied: what the manifest asks for is being deleted") as refused:
        await _apply(client, fresh, held, cluster)
    assert refused.value.more == (
        "ConfigMap default/other is being deleted: wait until it is gone, then run the same command again",
        "IBMPowerVSCluster default/c is being deleted: wait until it is gone (freehold down IBMPowerVSCluster/c), then "
        "run the same command again",
    )
    with pytest.raises(ObjectNotFound):
        await client.get(CONFIG_MAPS, Key("default", "fresh"))
