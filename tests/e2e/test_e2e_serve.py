"""``freehold serve --simulate`` and kubectl: clusters of both clouds in one process, without an account."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e_servers import PATIENCE, PATIENTLY

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

    def freehold(self, *words: str) -> str:
        command = [sys.executable, "-m", "freehold.cli.main", *words, "--state", str(self.state)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout

    def planned(self, action: str, *words: str) -> list[int]:
        """How many resources each plan has with this action."""
        plans = json.loads(self.freehold("plan", *words, "-o", "json"))
        return [sum(row["action"] == action for row in each["resources"]) for each in plans]


@pytest.fixture(name="served")
def _served(tmp_path: Path) -> Iterator[Served]:
    state = tmp_path / "state"
    command = [sys.executable, "-m", "freehold.cli.main", "serve", "--simulate", "--speed", "60", "--state", str(state)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
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
    said = dict(re.findall(r"(AWS_[A-Z_]+)=(\S+)", served.told))
    code = "import boto3; print(len(boto3.client('ec2').describe_availability_zones()['AvailabilityZones']))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **said}, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 1


def test_kubectl_makes_and_deletes_a_cluster_on_each_cloud(served: Served) -> None:
    """Of one name: neither concerns the other."""
    aws = str(EXAMPLES / "aws-cluster.yaml")
    assert served.planned("create", "-f", aws) == [25]
    for file in (aws, str(EXAMPLES / "powervs-minimal.yaml")):
        served.kubectl("apply", "-f", file)
    kinds = ("awscluster", "ibmpowervscluster")
    for kind in kinds:
        served.kubectl("wait", f"{kind}/{NAME}", "--for=condition=Ready", PATIENTLY)
    shown: list[Any] = json.loads(served.freehold("get", "-o", "json"))["items"]
    assert sorted(row["kind"].casefold() for row in shown) == sorted(kinds)
    assert 25 in served.planned("delete", "--down", NAME)
    for kind in kinds:
        served.kubectl("delete", kind, NAME, PATIENTLY)
    assert "none" in served.freehold("orphans")
