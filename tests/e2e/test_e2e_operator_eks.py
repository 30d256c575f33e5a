"""Upstream's EKS template with a stand-in for Cluster API: nodes join, forgotten Services go, and nothing stays."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
import yaml
from e2e_client import Http
from e2e_core_stand_in import CORE, CoreStandIn, fill_in
from e2e_operator_lab import ROOT, Cloud, Stage, crds_installed, simulated_cloud
from e2e_servers import PATIENTLY, Server, until

from freehold.api.placeholders import Placeholder
from freehold.engine.keyed_codec import NODE
from harness.cloud_actors import OtherUser, over_http
from harness.cloud_bystanders import elsewhere
from harness.cloud_stand_in import ACCESS_KEYS, forgotten_services, left

pytestmark = pytest.mark.e2e

SPEED = 120.0
SETTINGS = {"aws": {"access_keys": ACCESS_KEYS, "quotas": {"addresses": 20}}}
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
    """Simulated clouds for these tests alone, which know the key of the cloud controller."""
    with simulated_cloud(tmp_path_factory.mktemp("cloud"), SPEED, SETTINGS) as started:
        yield started


@pytest.fixture
def core(server: Server, http: Http, upstream_kinds: None, stage: Stage) -> Iterator[CoreStandIn]:
    with crds_installed(server, [MACHINE_CRD]):
        stand_in = CoreStandIn(http, stage.namespace, stage.name)
        with stand_in.running():
            yield stand_in


def outside_networks(stage: Stage) -> list[str]:
    """What there is in the account that is in no network: clusters, roles, profiles, providers."""
    rows = stage.cloud.ask("resources?cloud=aws")["resources"]
    return sorted(row["arn"] for row in rows if row["arn"].split(":")[2] not in ("ec2", "elasticloadbalancing"))


def test_the_eks_template_comes_up_and_takes_what_its_workloads_made_along(stage: Stage, core: CoreStandIn) -> None:
    """docs/reference/requirements.md G2, G8: a stranger's cluster of the same name keeps everything."""
    eks = f"{stage.namespace}_{stage.name}-control-plane"
    before = outside_networks(stage)
    with stage.operator_process("auto"):
        stage.kubectl.run("apply", "-f", "-", stdin=fill_in(TEMPLATE, {"CLUSTER_NAME": stage.name, **VALUES}))
        until(lambda: len(core.machines_with_nodes()) == 2, "two Machines have their nodes")
        infrastructure = stage.kubectl.json("get", "awsmanagedcluster", stage.name)
        control_plane = stage.kubectl.json("get", "awsmanagedcontrolplane", f"{stage.name}-control-plane")
        assert infrastructure["spec"]["controlPlaneEndpoint"] == control_plane["spec"]["controlPlaneEndpoint"]
        assert infrastructure["status"]["failureDomains"].keys() == control_plane["status"]["failureDomains"].keys()
        secret = stage.kubectl.json("get", "secret", f"{stage.name}-kubeconfig")
        kubeconfig = base64.b64decode(secret["data"]["value"]).decode()
        (server,) = (each["cluster"]["server"] for each in yaml.safe_load(kubeconfig)["clusters"])
        assert server == control_plane["spec"]["controlPlaneEndpoint"]["host"]
        (token,) = (each["user"]["token"] for each in yaml.safe_load(kubeconfig)["users"])
        ours = stage.cloud.of_aws(stage.name)
        instances = [row for row in ours if row["kind"] == "instance"]
        assert [row["tags"][f"kubernetes.io/cluster/{eks}"] for row in instances] == ["owned", "owned"]
        (role,) = (row["tags"][NODE].rpartition("/")[2] for row in ours if row["kind"] == "eks-access-entry")
        assert role == "nodes.cluster-api-provider-aws.sigs.k8s.io"
        made = forgotten_services(stage.cloud.url, eks).made
        theirs = elsewhere(OtherUser(over_http(stage.cloud.url)), eks)
        stage.kubectl.run("delete", "clusters.v1beta2.cluster.x-k8s.io", stage.name, PATIENTLY)
        assert left(stage.cloud.url, made) == []
        assert left(stage.cloud.url, theirs) == sorted(theirs)
        assert {row["id"] for row in stage.cloud.of_aws(stage.name)} <= set(theirs.values())
        assert outside_networks(stage) == before
    said = stage.log.read_text()
    assert "the-secret-canary" not in said and token not in said
