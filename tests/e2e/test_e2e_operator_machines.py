"""Upstream's cluster template with a stand-in for Cluster API: its machines come up, and nothing of them stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e_client import Http
from e2e_core_stand_in import CORE, CoreStandIn, fill_in
from e2e_operator_lab import ROOT, Cloud, Json, Stage, crds_installed, simulated_cloud
from e2e_servers import PATIENTLY, Server, until

from freehold.api.placeholders import Placeholder

pytestmark = pytest.mark.e2e

SPEED = 60.0
TEMPLATE = ROOT / "tests/data/upstream/capa/cluster-template.yaml"
MACHINE_CRD = Placeholder(CORE, "v1beta2", "Machine", "machines", also="v1beta1").build_crd()
VALUES = {
    "AWS_REGION": "us-east-1",
    "AWS_SSH_KEY_NAME": "",
    "AWS_CONTROL_PLANE_MACHINE_TYPE": "t3.large",
    "AWS_NODE_MACHINE_TYPE": "t3.large",
    "CONTROL_PLANE_MACHINE_COUNT": "3",
    "WORKER_MACHINE_COUNT": "3",
    "KUBERNETES_VERSION": "v1.34.2",
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Simulated clouds for these tests alone."""
    with simulated_cloud(tmp_path_factory.mktemp("cloud"), SPEED) as started:
        yield started


@pytest.fixture
def core(server: Server, http: Http, upstream_kinds: None, stage: Stage) -> Iterator[CoreStandIn]:
    with crds_installed(server, [MACHINE_CRD]):
        stand_in = CoreStandIn(http, stage.namespace, stage.name)
        with stand_in.running():
            yield stand_in


def instances(stage: Stage) -> list[Json]:
    return [row for row in stage.cloud.of_aws(stage.name) if row["kind"] == "instance"]


def test_the_cluster_template_comes_up_and_goes(stage: Stage, core: CoreStandIn) -> None:
    with stage.operator_process("auto"):
        stage.kubectl.run("apply", "-f", "-", stdin=fill_in(TEMPLATE, {"CLUSTER_NAME": stage.name, **VALUES}))
        until(lambda: len(core.machines_with_nodes()) == 6, "six Machines have their nodes")
        assert len(instances(stage)) == 6
        assert len({row["tags"]["freehold.dev/owner"] for row in instances(stage)}) == 6
        stage.kubectl.run("delete", "clusters.v1beta2.cluster.x-k8s.io", stage.name, PATIENTLY)
        assert stage.cloud.of_aws(stage.name) == [], "everything that was ours is gone"
    assert "the-secret-canary" not in stage.log.read_text()
