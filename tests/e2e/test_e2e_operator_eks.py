"""Upstream's template for EKS with a stand-in for Cluster API: nodes join, and nothing stays, also of Services."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from e2e_client import Http, Kubectl
from e2e_core_stand_in import CORE
from e2e_eks_stand_in import EksStandIn
from e2e_operator_lab import ROOT, Cloud, Json, Stage, crds_installed, simulated_cloud
from e2e_servers import PATIENTLY, Server, until

from freehold.api.placeholders import Placeholder
from freehold.engine.keyed_codec import NODE
from harness.cloud_stand_in import ACCESS_KEYS, forgotten_services, left

pytestmark = pytest.mark.e2e

SPEED = 300.0
TEMPLATE = ROOT / "tests/data/upstream/capa/cluster-template-eks.yaml"
MACHINE_CRD = Placeholder(CORE, "v1beta2", "Machine", "machines", also="v1beta1").build_crd()
VALUES = {
    "AWS_REGION": "us-east-1",
    "AWS_SSH_KEY_NAME": "",
    "AWS_NODE_MACHINE_TYPE": "t3.large",
    "WORKER_MACHINE_COUNT": "2",
    "KUBERNETES_VERSION": "v1.33.1",
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Simulated clouds for these tests alone."""
    with simulated_cloud(tmp_path_factory.mktemp("cloud"), SPEED, {"aws": {"access_keys": ACCESS_KEYS}}) as started:
        yield started


@pytest.fixture
def core(server: Server, home: Path, http: Http, upstream_kinds: None, stage: Stage) -> Iterator[EksStandIn]:
    with crds_installed(server, Kubectl(server, "default", home), [MACHINE_CRD]):
        stand_in = EksStandIn(http, stage.namespace, stage.name)
        with stand_in.running():
            yield stand_in


def filled_in(stage: Stage) -> str:
    """Fill in upstream's template; nothing else of it is changed."""
    text = TEMPLATE.read_text()
    for name, value in {"CLUSTER_NAME": stage.name, **VALUES}.items():
        text = text.replace(f"${{{name}}}", value)
    items = [each for each in yaml.safe_load_all(text) if each]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def nodes(stage: Stage) -> list[Json]:
    machines = stage.kubectl.json("get", "machines.cluster.x-k8s.io")["items"]
    return [each for each in machines if each.get("status", {}).get("nodeRef")]


def made(stage: Stage, kind: str = "") -> list[Json]:
    return [row for row in stage.cloud.of_aws(stage.name) if not kind or row["kind"] == kind]


def test_the_template_for_eks_comes_up_its_nodes_join_and_it_goes(stage: Stage, core: EksStandIn) -> None:
    with stage.operator_process("auto"):
        stage.kubectl.run("apply", "-f", "-", stdin=filled_in(stage))
        until(lambda: core.failure or len(nodes(stage)) == 2, "two Machines have their nodes")
        eks = f"{stage.namespace}_{stage.name}-control-plane"
        assert len(made(stage, "instance")) == 2
        assert {each["tags"][f"kubernetes.io/cluster/{eks}"] for each in made(stage, "instance")} == {"owned"}
        (role,) = {row["tags"][NODE].rpartition("/")[2] for row in made(stage, "eks-access-entry")}
        assert role == "nodes.cluster-api-provider-aws.sigs.k8s.io"
        cluster = stage.kubectl.json("get", "clusters.cluster.x-k8s.io", stage.name)
        secret = stage.kubectl.json("get", "secret", f"{stage.name}-kubeconfig")
        (server,) = yaml.safe_load(base64.b64decode(secret["data"]["value"]))["clusters"]
        assert server["cluster"]["server"] == cluster["spec"]["controlPlaneEndpoint"]["host"]
        forgotten = forgotten_services(stage.cloud.url, eks).made
        stage.kubectl.run("delete", "clusters.cluster.x-k8s.io", stage.name, PATIENTLY)
        assert made(stage) == [], "everything that was ours is gone"
        assert left(stage.cloud.url, forgotten) == []
    assert "the-secret-canary" not in stage.log.read_text()
