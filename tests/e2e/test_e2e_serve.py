"""``freehold serve --simulate`` and kubectl: clusters of both clouds in one process, without an account."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
import pytest
from e2e_servers import PATIENCE, PATIENTLY, until

from harness.commands import PROGRAM, freehold_in
from harness.forks import Program
from harness.metadata import CLASSIFIER, NAMESPACE, WANTED

pytestmark = pytest.mark.e2e

EXAMPLES = Path(__file__).parents[2] / "examples"
NAME = "minimal"


class Served:
    """A state directory that is served, and kubectl on it."""

    def __init__(self, state: Path, told: str) -> None:
        """``told``: what it said at its start."""
        self.state = state
        self.told = told

    def kubectl(self, *words: str) -> str:
        environment = {**os.environ, "KUBECONFIG": str(self.state / "kubeconfig")}
        done = subprocess.run(
            ["kubectl", *words], capture_output=True, text=True, timeout=PATIENCE + 60.0, env=environment, check=False
        )
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    @cached_property
    def somebody(self) -> Any:
        """A client of EC2 of somebody else, who has read what serve said."""
        said = dict(re.findall(r"(AWS_[A-Z_]+)=(\S+)", self.told))
        return boto3.client(
            "ec2", said["AWS_DEFAULT_REGION"], endpoint_url=said["AWS_ENDPOINT_URL"],
            aws_access_key_id=said["AWS_ACCESS_KEY_ID"], aws_secret_access_key=said["AWS_SECRET_ACCESS_KEY"],
        )  # fmt: skip

    def freehold(self, *words: str) -> str:
        done = freehold_in(self.state, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def planned(self, action: str, *words: str) -> list[int]:
        """How many resources each plan has with this action."""
        plans = json.loads(self.freehold("plan", *words, "-o", "json"))
        return [sum(row["action"] == action for row in each["resources"]) for each in plans]


@pytest.fixture(name="served")
def _served(tmp_path: Path) -> Iterator[Served]:
    state = tmp_path / "state"
    command = [*PROGRAM, "serve", "--simulate", "--speed", "120", "--state", str(state)]
    process = Program(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        told = []
        while "Ctrl-C stops" not in "".join(told[-1:]):
            told.append(process.stdout.readline())
            assert told[-1], told
        assert "serving" in told[0]
        yield Served(state, "".join(told))
    finally:
        process.terminate()
        process.communicate()


def test_others_reach_the_simulated_aws_as_it_is_told(served: Served) -> None:
    """Somebody who tries drift by hand needs another client: the AWS CLI and SDKs read these variables."""
    zones = served.somebody.describe_availability_zones()["AvailabilityZones"]
    assert len(zones) > 1


def test_the_proposals_manifests_on_a_laptop(served: Served) -> None:
    """Applied by kubectl, as they are; somebody's change is seen, repaired and told by ``freehold tags``."""
    vpc = served.somebody.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    tags = [{"Key": CLASSIFIER, "Value": "owned"}, {"Key": "owner", "Value": "x"}]
    specs = [{"ResourceType": "security-group", "Tags": tags}]
    group = served.somebody.create_security_group(
        GroupName="node", Description="x", VpcId=vpc, TagSpecifications=specs
    )["GroupId"]
    mine = [{"Name": "resource-id", "Values": [group]}]

    def now() -> dict[str, str]:
        shown = served.somebody.describe_tags(Filters=mine)["Tags"]
        return {each["Key"]: each["Value"] for each in shown}

    served.kubectl("create", "namespace", NAMESPACE)
    plan = ("tags", "plan", "-f", str(EXAMPLES / "metadata.yaml"))
    until(lambda: group in served.freehold(*plan), "the index shows it")
    served.kubectl("apply", "-f", str(EXAMPLES / "metadata.yaml"))
    served.kubectl("-n", NAMESPACE, "wait", "cloudmetadata/metadata", "--for=condition=Ready", PATIENTLY)
    assert now() == {CLASSIFIER: "owned", "owner": "x", **WANTED}
    drift = [{"Key": "env", "Value": "prod"}]
    served.somebody.create_tags(Resources=[group], Tags=drift)
    until(lambda: now()["env"] == "test", "the drift is repaired")
    until(lambda: "prod → test" in served.freehold("tags", "audit", "--key", "env"), "and told")
    assert now() == {CLASSIFIER: "owned", "owner": "x", **WANTED}
    assert "1 (100 %)" in served.freehold("tags", "report")


def test_kubectl_makes_and_deletes_a_cluster_on_each_cloud_and_the_commands_do_the_same(served: Served) -> None:
    """Of one name: neither concerns the other."""
    aws = str(EXAMPLES / "aws-cluster.yaml")
    _with_kubectl(served, aws)
    _with_the_commands(served, aws)


def _with_kubectl(served: Served, aws: str) -> None:
    assert served.planned("create", "-f", aws, "--simulate") == [25]
    for file in (aws, str(EXAMPLES / "powervs-minimal.yaml")):
        served.kubectl("apply", "-f", file)
    kinds = ("awscluster", "ibmpowervscluster")
    for kind in kinds:
        served.kubectl("wait", f"{kind}/{NAME}", "--for=condition=Ready", PATIENTLY)
    shown: list[Any] = json.loads(served.freehold("get", "-o", "json"))["items"]
    assert sorted(row["kind"].casefold() for row in shown) == sorted(kinds)
    assert served.planned("delete", "--down", f"AWSCluster/{NAME}") == [25]
    for kind in kinds:
        served.kubectl("delete", kind, NAME, PATIENTLY)


def _with_the_commands(served: Served, aws: str) -> None:
    """Of the README, with the manifest as it is, and as they are written there."""
    assert f"AWSCluster default/{NAME} is Ready: 25 resources" in served.freehold("up", "-f", aws, "--simulate")
    assert served.planned("keep", "-f", aws, "--simulate") == [25]
    tree = json.loads(served.freehold("tree", "-f", aws, "--simulate", "-o", "json"))
    assert len(tree["resources"]) == 25
    gone = served.freehold("down", "-f", aws, "--simulate", "--yes")
    assert f"AWSCluster default/{NAME} is gone, and everything that it owned" in gone
    assert "none" in served.freehold("orphans")
