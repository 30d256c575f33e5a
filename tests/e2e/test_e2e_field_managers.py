"""Other appliers beside ``freehold up``: kubectl's ways, and those of Argo CD and Flux.

Whatever they take off, in the middle of a create, at rest or while no operator runs, a later delete leaves nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable

import pytest
from e2e_operator_lab import AWS_KIND, KIND, Json, Stage, aws
from e2e_servers import until
from test_e2e_operator_life import begun

from freehold.api import names
from freehold.cli.errors import CliError
from freehold.cli.objects.applying import ApplyEffect, apply, targets
from freehold.cli.objects.manifests import ManifestDocument
from freehold.kube.client import KubeClient
from freehold.kube.config import load
from freehold.kube.field_managers import CLI, EARLIER, LAST_APPLIED, OPERATOR
from freehold.providers.aws import api_names as aws_names
from freehold.providers.ibm import api_names as ibm_names

pytestmark = pytest.mark.e2e

FINALIZERS = {KIND: ibm_names.POWERVS_CLUSTER_FINALIZER, AWS_KIND: aws_names.AWS_CLUSTER_FINALIZER}
JOURNAL = names.JOURNAL_ANNOTATION


def up(stage: Stage, manifest: Json, *, force: bool = False) -> ApplyEffect:
    """``freehold up`` without its wait, in this process."""

    async def applied() -> ApplyEffect:
        async with KubeClient(load({**os.environ, "KUBECONFIG": stage.server.kubeconfig})) as client:
            wanted = await targets(client, [ManifestDocument(manifest, "the manifest")], stage.namespace)
            return (await apply(client, wanted, force=force))[0].verb

    return asyncio.run(applied())


def powervs(stage: Stage) -> Json:
    """Its manifest, with the defaults in its lists: a list is owned whole, so the defaulted one is another value."""
    manifest = stage.powervs()
    manifest["spec"]["loadBalancers"] = [{"public": True, **each} for each in manifest["spec"]["loadBalancers"]]
    return manifest


Meddle = Callable[[Stage, Json], object]


def server_side(*options: str) -> Meddle:
    return lambda stage, manifest: stage.kubectl.apply(manifest, "--server-side", *options)


def replace(stage: Stage, manifest: Json) -> None:
    """Replace the object; kubectl reads, then writes: a write of the operator in between is a conflict to retry."""

    def is_replaced() -> bool:
        said = stage.kubectl.run("replace", "-f", "-", stdin=json.dumps(manifest), ok=False)
        assert "replaced" in said or "(Conflict)" in said, said
        return "replaced" in said

    until(is_replaced, "kubectl replace meets no other write")


def apply_export(stage: Stage, manifest: Json) -> None:
    """An export, edited a little; then the manifest again: kubectl removes what only the export had."""
    export = stage.object()
    for name in ("resourceVersion", "managedFields"):
        export["metadata"].pop(name, None)
    stage.kubectl.apply(export)
    stage.kubectl.apply(manifest)


def merge(metadata: Json) -> Meddle:
    return lambda stage, manifest: stage.patch({"metadata": metadata})


MEDDLERS: dict[str, Meddle] = {
    "kubectl apply --server-side": server_side(),
    "Argo CD": server_side("--force-conflicts", "--field-manager=argocd-controller"),
    "Flux": server_side("--force-conflicts", "--field-manager=kustomize-controller"),
    "Replace=true": replace,
    "kubectl apply of an export": apply_export,
    "an edit that deletes the journal": merge({"annotations": {JOURNAL: None}}),
    "finalizers: []": merge({"finalizers": []}),
    "all of it": merge({"finalizers": None, "annotations": None}),
}


def is_whole(obj: Json, kind: str = KIND) -> bool:
    metadata = obj["metadata"]
    return FINALIZERS[kind] in metadata.get("finalizers", ()) and JOURNAL in metadata.get("annotations", {})


SOON = ("Argo CD", "Replace=true", "kubectl apply of an export", "all of it")
"""What CI tries. Each of the others takes off nothing that one of these does not, in the same way."""


@pytest.mark.parametrize(
    "meddler",
    [pytest.param(each, id=name, marks=() if name in SOON else pytest.mark.slow) for name, each in MEDDLERS.items()],
)
def test_another_applier_beside_up_costs_nothing(stage: Stage, meddler: Meddle) -> None:
    manifest = powervs(stage)
    manifest["metadata"]["annotations"] = {**manifest["metadata"].get("annotations", {}), "team": "blue"}
    stage.cloud.slow(stage.name)
    assert up(stage, manifest) is ApplyEffect.CREATED
    with stage.operator():
        until(lambda: begun(stage.object()), "some resources")
        meddler(stage, manifest)
        until(lambda: is_whole(stage.object()), "it is whole in the middle of the create")
        stage.patch({"metadata": {"annotations": manifest["metadata"]["annotations"]}})
        stage.await_ready()
        meddler(stage, manifest)
        until(lambda: is_whole(stage.object()), "it is whole at rest")
    ids = sorted(str(row["id"]) for row in stage.cloud.of(stage.name))
    meddler(stage, manifest)
    up(stage, manifest, force=True)
    with stage.operator():
        until(lambda: is_whole(stage.object()), "it is whole after a start")
        stage.await_ready()
        until(lambda: stage.object()["spec"].get("controlPlaneEndpoint", {}).get("host"), "its endpoint is there")
        assert sorted(str(row["id"]) for row in stage.cloud.of(stage.name)) == ids, "nothing was made anew"
        stage.delete()


def test_an_event_says_what_was_taken_and_who_wrote_since(stage: Stage) -> None:
    with stage.operator():
        up(stage, stage.powervs())
        stage.await_ready()
        replaced = stage.object()
        replaced["metadata"] |= {
            "finalizers": [],
            "annotations": stage.powervs()["metadata"]["annotations"],
            "labels": {"a": "b"},
        }
        del replaced["metadata"]["resourceVersion"]
        stage.kubectl.run("replace", "--field-manager=a-tool", "-f", "-", stdin=json.dumps(replaced))
        until(lambda: "RecordPutBack" in stage.kubectl.run("get", "events"), "an event")
        said = stage.kubectl.run("get", "events")
        assert f"finalizer {FINALIZERS[KIND]} and annotation {JOURNAL}" in said and "a-tool (Update" in said
        stage.delete()


def as_an_earlier_version_wrote_it(stage: Stage, kind: str, manifest: Json) -> None:
    """One manager that owns all, and kubectl's annotation."""
    obj = stage.kubectl.json("get", kind, stage.name, "--show-managed-fields")
    tree: Json = {}
    for entry in obj["metadata"]["managedFields"]:
        if not entry.get("subresource"):
            merge_trees(tree, entry["fieldsV1"])
            version = entry["apiVersion"]
    merge_trees(tree, {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}})
    entry = {"manager": EARLIER, "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1",
             "fieldsV1": tree, "time": "2026-11-20T00:00:00Z"}  # fmt: skip
    annotations = {LAST_APPLIED: json.dumps(manifest)}
    status = [each for each in obj["metadata"]["managedFields"] if each.get("subresource")]
    patch = {"metadata": {"managedFields": [entry, *status], "annotations": annotations}}
    stage.patch(patch, f"--field-manager={EARLIER}", of=kind)


def merge_trees(tree: Json, other: Json) -> None:
    for element, below in other.items():
        merge_trees(tree.setdefault(element, {}), below)


def owners(stage: Stage, kind: str) -> set[tuple[str, str]]:
    obj = stage.kubectl.json("get", kind, stage.name, "--show-managed-fields")
    return {(each["manager"], each["operation"]) for each in obj["metadata"]["managedFields"]}


@pytest.mark.parametrize("first", ["operator", "up"])
def test_what_an_earlier_version_wrote_is_divided_at_first_sight(stage: Stage, first: str) -> None:
    manifest = powervs(stage)
    with stage.operator():
        up(stage, manifest)
        stage.await_ready()
        assert {(CLI, "Apply"), (OPERATOR, "Update")} == owners(stage, KIND)
    as_an_earlier_version_wrote_it(stage, KIND, manifest)
    before = stage.object()
    assert (EARLIER, "Update") in owners(stage, KIND)
    if first == "up":
        assert up(stage, manifest) is ApplyEffect.CONFIGURED
    else:
        with stage.operator():
            until(lambda: (EARLIER, "Update") not in owners(stage, KIND), "it is divided")
    assert {(CLI, "Apply"), (OPERATOR, "Update")} == owners(stage, KIND)
    server_side()(stage, manifest)
    after = stage.object()
    assert is_whole(after) and after["spec"] == before["spec"]
    assert LAST_APPLIED not in after["metadata"]["annotations"]
    with stage.operator():
        stage.delete()


def test_server_side_apply_after_up_keeps_the_endpoint_on_aws(stage: Stage) -> None:
    """A rule of the CRD refuses to take it off: an applier that owned it could never apply again."""
    manifest = aws(stage.name, stage.namespace)
    up(stage, manifest)
    endpoint = {"host": "a.elb.eu-central-1.amazonaws.com", "port": 6443}
    metadata = {"finalizers": [FINALIZERS[AWS_KIND]], "annotations": {JOURNAL: "{}"}}
    ours = {"metadata": metadata, "spec": {"controlPlaneEndpoint": endpoint}}
    stage.patch(ours, f"--field-manager={OPERATOR}", of=AWS_KIND)
    as_an_earlier_version_wrote_it(stage, AWS_KIND, manifest)
    up(stage, manifest)
    for _ in range(2):
        server_side()(stage, manifest)
    obj = stage.kubectl.json("get", AWS_KIND, stage.name)
    assert is_whole(obj, AWS_KIND) and obj["spec"]["controlPlaneEndpoint"] == endpoint


def test_up_names_who_has_set_another_value_and_takes_it_over_when_asked(stage: Stage) -> None:
    manifest = stage.powervs()
    stage.kubectl.apply(manifest, "--server-side", "--field-manager=argocd-controller")
    manifest["spec"]["vpc"] = {**manifest["spec"].get("vpc", {}), "name": "another"}
    with pytest.raises(CliError) as refused:
        up(stage, manifest)
    told = "\n".join(refused.value.more)
    assert 'spec.vpc.name has another value: conflict with "argocd-controller"' in told and "--force-conflicts" in told
    assert up(stage, manifest, force=True) is ApplyEffect.CONFIGURED
    assert stage.object()["spec"]["vpc"]["name"] == "another"
