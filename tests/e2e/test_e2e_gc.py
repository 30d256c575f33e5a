"""Garbage collection with kubectl: operator, simulated clouds and a cloud controller as somebody else's processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_cli import Cli
from e2e_operator_lab import AWS_KIND, Cloud, Stage, aws, condition, simulated_cloud
from e2e_servers import PATIENTLY, until

from freehold.api.names import EXTERNAL_RESOURCE_GC_ANNOTATION
from harness.cloud_actors import OtherUser, over_http
from harness.cloud_bystanders import elsewhere
from harness.cloud_stand_in import ACCESS_KEYS, forgotten_services, left

pytestmark = pytest.mark.e2e

SETTINGS = {"aws": {"access_keys": ACCESS_KEYS, "quotas": {"addresses": 20}}}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Simulated clouds that know the key of the cloud controller, and room for two clusters."""
    with simulated_cloud(tmp_path_factory.mktemp("cloud"), 60.0, SETTINGS) as started:
        yield started


def test_a_deleted_cluster_leaves_nothing_that_its_workloads_made(stage: Stage, tmp_path: Path) -> None:
    """docs/reference/requirements.md G1, G8: beside a stranger's cluster of one name, and one that is opted out."""
    cli, name, kept = Cli(stage, tmp_path), stage.name, f"{stage.name}-kept"
    opted_out = aws(kept, stage.namespace)
    opted_out["metadata"]["annotations"] = {EXTERNAL_RESOURCE_GC_ANNOTATION: "false"}
    with cli.operator():
        for manifest in (aws(name, stage.namespace), opted_out):
            stage.kubectl.apply(manifest)
        for each in (name, kept):
            stage.kubectl.run("wait", f"{AWS_KIND}/{each}", "--for=condition=Ready", PATIENTLY)
        made = forgotten_services(stage.cloud.url, name).made
        kept_made = forgotten_services(stage.cloud.url, kept).made
        theirs = elsewhere(OtherUser(over_http(stage.cloud.url)), name)

        def goes() -> list[str]:
            rows = json.loads(cli.run("gc", "plan", name, "-o", "json"))["resources"]
            return [row["task"] for row in rows if row["fate"] == "delete"]

        whole = ["load-balancer", "load-balancer", "target-group", "security-group"]
        until(lambda: goes() == whole, "the tag index shows what the controller made")
        stage.kubectl.run("delete", AWS_KIND, kept, "--wait=false")
        stage.kubectl.run("delete", AWS_KIND, name, PATIENTLY)
        assert left(stage.cloud.url, made) == []
        of_others = {*theirs.values(), *(row["id"] for row in stage.cloud.of_aws(kept))}
        assert {row["id"] for row in stage.cloud.of_aws(name)} <= of_others
        said = condition(stage.kubectl.json("get", AWS_KIND, kept), "ExternalResourceGC")
        assert (said["status"], said["reason"]) == ("False", "OptedOut")
        for others in ({what: each for what, each in kept_made.items() if not what.startswith("rule ")}, theirs):
            assert left(stage.cloud.url, others) == sorted(others)
