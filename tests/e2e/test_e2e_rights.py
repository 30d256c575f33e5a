"""Least rights: an operator with the shipped Roles serves every kind, is refused nothing, and uses every right."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from e2e_client import MERGE, Http, Kubectl
from e2e_core_stand_in import CoreStandIn, fill_in
from e2e_lookers import looking
from e2e_operator_lab import (
    OUR_CRDS,
    UPSTREAM_CRDS,
    Cloud,
    Json,
    aws,
    embedded_with,
    manifests,
    simulated_cloud,
)
from e2e_rights import RING, judged, shipped_rights
from e2e_servers import PATIENCE, PATIENTLY, Server, ended, steady_port, until, write_kubeconfig
from test_e2e_metadata import Account
from test_e2e_operator_eks import MACHINE_CRD, TEMPLATE, VALUES

from freehold.admission.webhook_configuration import VALIDATE_PATH, WebhookOptions, build_webhook_configuration
from freehold.api import names
from freehold.controllers.keyring.secret import ENTRY
from freehold.controllers.keyring.stored_form import RingDocument, dumps
from freehold.install.options import NAMESPACE as OWN
from freehold.install.options import InstallOptions
from harness.commands import PROGRAM
from harness.forks import Program
from harness.metadata import CLASSIFIER
from harness.rbac import Attributes

pytestmark = pytest.mark.e2e

SPEED = 240.0
SETTINGS = {"aws": {"quotas": {"addresses": 10}}}
"""Two clusters have six addresses."""
CRDS = [*OUR_CRDS, *UPSTREAM_CRDS, MACHINE_CRD]
TEAM = "team"
"""The namespace of all objects."""
INFRASTRUCTURE = f"{names.INFRASTRUCTURE_GROUP}/{names.V1BETA2}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of this module alone: its operator serves all namespaces."""
    with embedded_with(tmp_path_factory.mktemp("server"), CRDS) as started:
        yield started


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with simulated_cloud(tmp_path_factory.mktemp("cloud"), SPEED, SETTINGS) as started:
        yield started


@contextlib.contextmanager
def operator(kubeconfig: str, cloud: Cloud, log: Path, *options: str) -> Iterator[None]:
    """``freehold operator`` as a process; it has said nothing of a missing right at its end."""
    command = [*PROGRAM, "operator", "--kubeconfig", kubeconfig, "--simulator", cloud.url, "--keys-namespace", OWN]
    with log.open("a") as said:
        process = Program([*command, *options], stdout=subprocess.PIPE, stderr=said, text=True)
    with ended(process):
        assert process.stdout is not None and "serving" in process.stdout.readline(), log.read_text()
        yield


def made(kind: str, name: str, api_version: str = INFRASTRUCTURE, namespace: str = "", **body: object) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def alone(obj: Json, **spec: object) -> Json:
    """The object, served without a Cluster although Cluster API is there."""
    annotations = {**obj["metadata"].pop("annotations", {}), names.STANDALONE_ANNOTATION: "true"}
    metadata = {"name": obj["metadata"]["name"], "annotations": annotations}
    return {**obj, "metadata": metadata, "spec": {**obj["spec"], **spec}}


def a_list(*items: Json) -> Json:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def administered(**ring: str) -> Json:
    """What an administrator makes: namespaces, a key ring, or an empty one, identities, and who may use them."""
    keys = {"AccessKeyID": "AKIASIMULATED0000001", "SecretAccessKey": "s3cret"}
    chosen = {"selector": {"matchLabels": {"kubernetes.io/metadata.name": TEAM}}}
    return a_list(
        made("Namespace", OWN, "v1"),
        made("Namespace", TEAM, "v1"),
        made("Secret", RING, "v1", OWN, stringData=ring),
        made("Secret", "aws-keys", "v1", OWN, stringData=keys),
        made("AWSClusterControllerIdentity", "default", spec={"allowedNamespaces": chosen}),
        made("AWSClusterStaticIdentity", "keys", spec={"secretRef": "aws-keys", "allowedNamespaces": {}}),
        made("MetadataGrant", "team", f"{names.METADATA_GROUP}/v1alpha1", spec={"namespaces": [TEAM]}),
    )


def clusters() -> list[Json]:
    power = next(each for each in manifests("power", TEAM) if each["kind"] == "IBMPowerVSCluster")
    return [
        alone(power),
        alone(aws("aws", TEAM), identityRef={"kind": "AWSClusterStaticIdentity", "name": "keys"}),
    ]


def objects() -> Json:
    """Objects of every kind but those of the EKS template. Two ask for a role that nobody gave them."""
    by_name = {"identityRef": {"kind": "AWSClusterRoleIdentity", "name": "absent"}}
    by_arn = {"role": {"arn": "arn:aws:iam::111122223333:role/absent"}}
    tags = {"resourcetags": {"env": "test"}, "deletionPolicy": "Remove"}
    aws_version, ibm_version = "metadata-controller.aws.io/v1alpha1", "metadata-controller.ibm.io/v1alpha1"
    return a_list(
        *clusters(),
        alone(aws("refused", TEAM), **by_name),
        made("AWSMetadata", "tags", aws_version, spec=tags),
        made("AWSMetadata", "refused", aws_version, spec={**tags, **by_arn}),
        made("IBMMetadata", "tags", ibm_version, spec=tags),
        tagged("tags", {"awsref": {"name": "tags"}, "ibmref": {"name": "tags"}}),
        tagged("refused", {"awsref": {"name": "refused"}}),
    )


def tagged(name: str, references: Json) -> Json:
    every = {"cloudprovider": references, "classifiers": {CLASSIFIER: "owned"}, "controllerconfig": {"syncevery": "1m"}}
    return made("CloudMetadata", name, f"{names.METADATA_GROUP}/v1alpha1", spec=every)


class Meeting:
    """Somebody who writes a ConfigMap of the ledger just before the operator does, once."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._done = threading.Event()

    def __call__(self, asked: Attributes) -> None:
        if (asked.verb, asked.resource) == ("update", "configmaps") and not self._done.is_set():
            self._done.set()
            url = f"{self._server.url}/api/v1/namespaces/{asked.namespace}/configmaps/{asked.name}"
            body = json.dumps({"metadata": {"labels": {"met": "true"}}})
            requests.patch(url, data=body, headers={"Content-Type": MERGE}, timeout=PATIENCE).raise_for_status()


def drift_twice(http: Http, account: Account, group: str) -> None:
    """Change a tag that the operator repairs, and once more: the second event raises the count of the first."""

    def counts() -> set[int]:
        found = http.get(f"/api/v1/namespaces/{TEAM}/events", fieldSelector="reason=DriftRepaired").json()["items"]
        return {each["count"] for each in found}

    for times in (1, 2):
        account.tag(group, env="prod")
        until(lambda: account.tags(group)["env"] == "test", f"the drift is repaired, {times} times")
        until(lambda: times in counts(), f"the event is told, {times} times")  # noqa: B023 - asked before the next turn


def webhook(port: int) -> Json:
    """The configuration of the operator's webhook, but for the address: no Service leads out of this server."""
    found = build_webhook_configuration(WebhookOptions(OWN))
    found["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{port}{VALIDATE_PATH}"}
    found["webhooks"][0]["failurePolicy"] = "Ignore"
    return found


def has_authority(http: Http) -> bool:
    """Return whether the operator's configuration has a CA. The operator looks every ten seconds."""
    kind = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    found = http.get(f"{kind}/freehold-webhook.{OWN}").json()
    return bool(found["webhooks"][0]["clientConfig"].get("caBundle"))


def list_shown(page: str, token: str) -> set[str]:
    """List the keys of the objects that the live page shows to whom this token belongs."""
    headers = {"Authorization": f"Bearer {token}"}
    answer = requests.get(f"http://{page}/api/objects", headers=headers, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return {row["key"] for row in answer.json()["rows"]}


def change_secret(kubectl: Kubectl, http: Http) -> None:
    """Take a label off a Secret that the operator keeps, and wait until it is there again."""
    kubectl.run("label", "secret", "eks-kubeconfig", f"{names.CLUSTER_NAME_LABEL}-")

    def is_labelled() -> bool:
        found = http.get(f"/api/v1/namespaces/{TEAM}/secrets/eks-kubeconfig").json()
        return bool(found["metadata"].get("labels", {}).get(names.CLUSTER_NAME_LABEL) == "eks")

    until(is_labelled, "the label is back")


def test_every_kind_is_served_with_the_shipped_rights_and_none_is_left_over(
    server: Server, cloud: Cloud, tmp_path: Path
) -> None:
    kubectl, log = Kubectl(server, TEAM, tmp_path), tmp_path / "operator.log"
    Kubectl(server, OWN, tmp_path).apply(administered())
    account = Account(cloud)
    group = account.group("of-tags", owner="x", **{CLASSIFIER: "owned"})
    http = Http(server, "", TEAM)
    core = CoreStandIn(http, TEAM, "eks")
    template = fill_in(TEMPLATE, {**VALUES, "CLUSTER_NAME": "eks", "WORKER_MACHINE_COUNT": "1"})
    port, page = steady_port(), f"127.0.0.1:{steady_port()}"
    kubectl.apply(webhook(port))
    options = ("--leader-elect", "--webhook-address", f"127.0.0.1:{port}", "--page-address", page)
    with looking(server, InstallOptions(page=True)) as lookers:
        proxy = lookers.proxy
        kubeconfig = write_kubeconfig(tmp_path / "judged", proxy.url)
        proxy.before = Meeting(server)
        with core.running(), operator(kubeconfig, cloud, log, *options):
            kubectl.run("apply", "-f", "-", stdin=template)
            kubectl.apply(objects(), "--field-manager=freehold")  # an earlier version's: it divides the fields
            kubectl.run("wait", "cloudmetadata/tags", "--for=condition=Ready", PATIENTLY)
            drift_twice(http, account, group)
            ready = ("ibmpowervscluster/power", "awscluster/aws")
            kubectl.run("wait", *ready, "--for=condition=Ready", PATIENTLY)
            assert "AWSCluster/team/aws" in list_shown(page, lookers.admit("looker", TEAM))
            assert list_shown(page, lookers.make_account("stranger", TEAM)) == set()
            until(core.machines_with_nodes, "the Machine has its node")
            change_secret(kubectl, http)
            until(lambda: has_authority(http), "the leader has put its CA into the configuration")
            kubectl.run("delete", "cluster/eks", "--wait=false")
            ours = "ibmpowervscluster,awscluster,cloudmetadata,awsmetadata,ibmmetadata"
            kubectl.run("delete", ours, "--all", PATIENTLY)
            kubectl.run("delete", "cluster/eks", "--ignore-not-found", PATIENTLY)
        assert (proxy.verdicts.refused, [str(each) for each in proxy.unused]) == ([], [])
    assert "forbidden" not in log.read_text()
    assert [*cloud.of("power"), *cloud.of_aws("freehold.dev/owner")] == []


def test_a_kind_without_rights_is_named_and_the_others_are_served(server: Server, cloud: Cloud, tmp_path: Path) -> None:
    """When the right is given later, nothing has to be started again.

    Only the first key ring is not made before all kinds can be read: an object may name a key of a lost one.
    """
    kubectl, log = Kubectl(server, TEAM, tmp_path), tmp_path / "operator.log"
    Kubectl(server, OWN, tmp_path).apply(administered(**{ENTRY: dumps(RingDocument.create(0.0))}))
    every = shipped_rights(InstallOptions(webhook=False))
    less = tuple(each for each in every if not each.resource.startswith("awsclusters"))
    with judged(server.url, less, tmp_path) as (proxy, kubeconfig), operator(kubeconfig, cloud, log):
        kubectl.apply(a_list(*clusters()))
        kubectl.run("wait", "ibmpowervscluster/power", "--for=condition=Ready", PATIENTLY)
        kubectl.run("delete", "ibmpowervscluster/power", PATIENTLY)
        assert "status" not in kubectl.json("get", "awscluster", "aws")
        proxy.rights = every
        kubectl.run("wait", "awscluster/aws", "--for=condition=Ready", PATIENTLY)
        kubectl.run("delete", "awscluster/aws", PATIENTLY)
        assert {each.resource for each in proxy.verdicts.refused} == {"awsclusters"}
    assert "cannot watch awsclusters.infrastructure.cluster.x-k8s.io" in log.read_text()
