"""The manifests that OpenShift's installer writes: Ready as they are, and nothing of them is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from freehold.api import names
from freehold.providers.aws import api_names as aws_names
from freehold.providers.ibm import api_names as ibm_names
from freehold_sim.aws.settings import Settings
from harness.aws_cluster import STORAGE
from harness.powervs import IGNITION, Harness
from harness.resources import snapshot
from lab.aws import QUICK, ROOMY, QuickHarness
from lab.aws_neighbours import existing

MANIFESTS = Path(__file__).parents[1] / "data" / "installer"


def _cluster(name: str, kind: str) -> dict[str, Any]:
    found = yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text(encoding="utf-8"))
    cluster: dict[str, Any] = next(each for each in found if each["kind"] == kind)
    return cluster


def test_the_installers_manifest_for_aws_becomes_ready_and_leaves_nothing() -> None:
    """Its health checks have the timeout of their interval, which a network load balancer takes."""
    settings = Settings(delays=QUICK, quotas=ROOMY, limits={})
    harness = QuickHarness(_cluster("aws", aws_names.AWS_CLUSTER_KIND), settings, gates=STORAGE)
    harness.up()
    groups = [row for row in existing(harness) if row["kind"] == "target-group"]
    answer = harness.cloud.strangers.call("elbv2", "DescribeTargetGroups", {})["TargetGroups"]
    times = {(row["HealthCheckIntervalSeconds"], row["HealthCheckTimeoutSeconds"]) for row in answer}
    assert (len(groups), times) == (3, {(10, 10)})
    subnets = [row for row in existing(harness) if row["kind"] == "subnet"]
    assert [row["tags"]["kubernetes.io/cluster/ocp-7xk2p"] for row in subnets] == ["owned"] * 4
    harness.down()
    assert list(existing(harness)) == []


def test_the_installers_manifest_for_powervs_becomes_ready_and_leaves_nothing() -> None:
    """Its rules have the ``action`` that all releases of the provider require."""
    harness = Harness(_cluster("powervs", ibm_names.POWERVS_CLUSTER_KIND), gates=IGNITION)
    before = snapshot(harness)
    harness.up()
    assert harness.condition(names.READY)["status"] == "True"
    harness.down()
    assert snapshot(harness) == before
