"""Which objects an operator serves: those of chosen providers, with a value of Cluster API's label."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e_client import Kubectl
from e2e_operator_lab import KIND, Cloud, Json, condition, embedded_with, powervs, simulated_cloud
from e2e_rights import judged, shipped_rights
from e2e_servers import PATIENTLY, ended, until

from freehold.api import names
from freehold.install.objects import build_objects
from freehold.install.options import InstallOptions
from harness.commands import PROGRAM
from harness.forks import Program
from harness.metadata import CLASSIFIER

pytestmark = pytest.mark.e2e

INSTALLED = InstallOptions(providers=("ibm",), watch_filter="blue", webhook=False)
BLUE = {names.WATCH_FILTER_LABEL: "blue"}
TEAM = "team"


@dataclass(frozen=True)
class Place:
    """A cluster with what is installed of one provider, and its operator."""

    kubectl: Kubectl
    cloud: Cloud

    def apply(self, *objects: Json) -> None:
        self.kubectl.run("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def label(self, name: str, label: str) -> None:
        self.kubectl.run("label", "--overwrite", KIND, name, label)

    def version_of(self, kind: str, name: str) -> str:
        return str(self.kubectl.json("get", kind, name)["metadata"]["resourceVersion"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Iterator[Place]:
    """An operator with the arguments and rights that are installed; nothing is refused to it."""
    folder = tmp_path_factory.mktemp("place")
    crds = [each for each in build_objects(INSTALLED) if each["kind"] == "CustomResourceDefinition"]
    assert not [each for each in crds if "aws" in each["metadata"]["name"]]
    rights = shipped_rights(INSTALLED)
    with (
        simulated_cloud(folder) as cloud,
        embedded_with(folder, crds) as server,
        judged(server.url, rights, folder) as (proxy, kubeconfig),
    ):
        kubectl = Kubectl(server, TEAM, home)
        for namespace in (INSTALLED.namespace, TEAM):
            kubectl.run("create", "namespace", namespace)
        command = [*PROGRAM, "operator", "--kubeconfig", kubeconfig, "--simulator", cloud.url]
        command += ["--keys-namespace", INSTALLED.namespace, "--providers=ibm", "--watch-filter=blue"]
        log = folder / "operator.log"
        with log.open("w") as said:
            process = Program(command, stdout=subprocess.PIPE, stderr=said, text=True)
        with ended(process):
            assert process.stdout is not None
            first = process.stdout.readline()
            assert "IBMPowerVSCluster" in first and "AWS" not in first and "watch-filter=blue" in first, log.read_text()
            yield Place(kubectl, cloud)
        assert "Traceback" not in log.read_text() and "WARNING" not in log.read_text(), log.read_text()
        assert proxy.verdicts.refused == []


def test_only_objects_with_the_label_are_served(place: Place) -> None:
    kubectl, other, own = place.kubectl, powervs("omega", TEAM), powervs("alpha", TEAM)
    other["metadata"]["labels"] = {names.WATCH_FILTER_LABEL: "green"}
    own["metadata"]["labels"] = BLUE
    place.apply(other)
    before = place.version_of(KIND, "omega")
    place.apply(own)
    kubectl.run("wait", f"{KIND}/alpha", "--for=condition=Ready", PATIENTLY)
    assert place.version_of(KIND, "omega") == before, "no status, no finalizer"
    assert place.cloud.of("omega") == []

    place.label("alpha", f"{names.WATCH_FILTER_LABEL}-")
    kubectl.run("delete", KIND, "alpha", "--wait=false")
    untouched, there = place.version_of(KIND, "alpha"), place.cloud.kinds("alpha")
    place.label("omega", f"{names.WATCH_FILTER_LABEL}=blue")
    kubectl.run("wait", f"{KIND}/omega", "--for=condition=Ready", PATIENTLY)
    assert place.version_of(KIND, "alpha") == untouched and place.cloud.kinds("alpha") == there != []

    place.label("alpha", f"{names.WATCH_FILTER_LABEL}=blue")
    kubectl.run("delete", KIND, "alpha", "omega", "--ignore-not-found", PATIENTLY)
    assert place.cloud.of("alpha") == place.cloud.of("omega") == []


def test_metadata_object_says_what_is_not_served(place: Place) -> None:
    tags = {
        "apiVersion": "metadata-controller.ibm.io/v1alpha1", "kind": "IBMMetadata",
        "metadata": {"name": "unlabelled", "namespace": TEAM}, "spec": {"resourcetags": {"env": "test"}},
    }  # fmt: skip
    place.apply(tags)
    before = place.version_of("ibmmetadata", "unlabelled")
    references = {"awsref": {"name": "absent"}, "ibmref": {"name": "unlabelled"}}
    grant = {
        "apiVersion": f"{names.METADATA_GROUP}/v1alpha1", "kind": "MetadataGrant",
        "metadata": {"name": "team"}, "spec": {"namespaces": [TEAM]},
    }  # fmt: skip
    cloud = {
        "apiVersion": f"{names.METADATA_GROUP}/v1alpha1", "kind": "CloudMetadata",
        "metadata": {"name": "both", "namespace": TEAM, "labels": BLUE},
        "spec": {"cloudprovider": references, "classifiers": {CLASSIFIER: "owned"}},
    }  # fmt: skip
    place.apply(grant, cloud)

    def says() -> str:
        return str(condition(place.kubectl.json("get", "cloudmetadata", "both"), "Ready").get("message", ""))

    until(says, "it has a status")
    assert "--providers" in says() and "has no label cluster.x-k8s.io/watch-filter=blue" in says(), says()
    assert place.version_of("ibmmetadata", "unlabelled") == before
