"""AWSCluster with the operator as a process: applied, Ready, killed, deleted; alone and beside a PowerVS cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_cli import Cli
from e2e_operator_lab import AWS_KIND, KIND, Cloud, Json, Stage, aws, is_ready, simulated_cloud
from e2e_servers import PATIENTLY, until

from harness.commands import freehold

pytestmark = pytest.mark.e2e

SPEED = 60.0
"""A pass sends many calls within the 30 simulated seconds after its write of the object (ADR 2)."""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Simulated clouds for these tests alone."""
    with simulated_cloud(tmp_path_factory.mktemp("cloud"), SPEED) as started:
        yield started


def begun(stage: Stage) -> bool:
    """Some resources are there, and others are not."""
    return 3 < len(stage.cloud.of_aws(stage.name)) < 20


def cluster(stage: Stage, kind: str = AWS_KIND) -> Json:
    return stage.kubectl.json("get", kind, stage.name)


def once_each(stage: Stage) -> None:
    """No resource was created twice: each node of the graph marks one."""
    nodes = [row["tags"].get("freehold.dev/node") for row in stage.cloud.of_aws(stage.name)]
    assert len(nodes) == len(set(nodes)) == 25


def gone(stage: Stage) -> None:
    stage.kubectl.run("delete", AWS_KIND, stage.name, PATIENTLY)
    assert stage.cloud.of_aws(stage.name) == [], "everything that was ours is gone"


def test_a_kill_during_the_creation_costs_no_resource(stage: Stage) -> None:
    """Another process goes on; endpoint, tree and failure domains are as upstream's controllers want them."""
    stage.kubectl.apply(aws(stage.name, stage.namespace))
    with stage.operator_process() as first:
        until(lambda: begun(stage), "some resources are there")
        first.kill()
    with stage.operator_process():
        stage.kubectl.run("wait", f"{AWS_KIND}/{stage.name}", "--for=condition=Ready", PATIENTLY)
        once_each(stage)
        ready = cluster(stage)
        assert ready["spec"]["controlPlaneEndpoint"]["host"].endswith(".elb.amazonaws.com")
        assert ready["status"]["ready"] is True
        assert set(ready["status"]["failureDomains"]) == {f"us-east-1{zone}" for zone in "abc"}
        place = ("--kubeconfig", stage.server.kubeconfig, "-n", stage.namespace, "-o", "json")
        shown = json.loads(freehold("tree", stage.name, *place).stdout)
        assert len(shown["resources"]) == 25
        gone(stage)


def test_one_operator_serves_a_powervs_and_an_aws_cluster_of_one_name(stage: Stage) -> None:
    with stage.operator():
        stage.kubectl.apply(stage.powervs())
        stage.kubectl.apply(aws(stage.name, stage.namespace))
        for kind in (KIND, AWS_KIND):
            stage.kubectl.run("wait", f"{kind}/{stage.name}", "--for=condition=Ready", PATIENTLY)
        once_each(stage)
        gone(stage)
        assert is_ready(cluster(stage, KIND)), "what happens to one does not concern the other"
        stage.delete()


def test_what_lost_its_object_is_listed_and_recovered(stage: Stage, tmp_path: Path) -> None:
    """As on IBM Cloud (test_e2e_cli.py): from the marks, by the commands, and nothing is created again."""
    cli, wanted = Cli(stage, tmp_path), json.dumps(aws(stage.name, stage.namespace))
    with cli.operator():
        cli.run("up", "-f", "-", stdin=wanted, place=cli.place[:2])
    before = sorted(row["id"] for row in stage.cloud.of_aws(stage.name))
    stage.kubectl.run("patch", AWS_KIND, stage.name, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    stage.kubectl.run("delete", AWS_KIND, stage.name)
    owners = json.loads(cli.run("orphans", "-o", "json"))
    (lost,) = (each for each in owners if each["owners"] == [f"{stage.namespace}/{stage.name}"])
    assert len(lost["resources"]) == 25
    assert "is there again, paused" in cli.run("recover", stage.name, "--yes")
    with cli.operator():
        cli.run("up", "-f", "-", stdin=wanted, place=cli.place[:2])
        assert sorted(row["id"] for row in stage.cloud.of_aws(stage.name)) == before
        once_each(stage)
        gone(stage)
