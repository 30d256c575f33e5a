"""Upgrade and rollback in the middle of a creation: the processes of two versions, one after the other."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_operator_lab import AWS_KIND, Cloud, Stage, aws, simulated_cloud
from e2e_servers import PATIENCE, PATIENTLY, ended, until

from harness.commands import PROGRAM
from harness.earlier_source import earlier_source
from harness.forks import Program

pytestmark = [pytest.mark.e2e, pytest.mark.slow]  # `make edits`

SPEED = 60.0
"""A pass sends many calls within the 30 simulated seconds after its write of the object (ADR 2)."""
WHOLE = 25
"""The resources of the example."""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Simulated clouds for these tests alone."""
    with simulated_cloud(tmp_path_factory.mktemp("cloud"), SPEED) as started:
        yield started


@contextlib.contextmanager
def operating(stage: Stage, source: Path | None = None) -> Iterator[None]:
    """``freehold operator`` as a process, of the version in ``source``; it is told to stop as Kubernetes tells it."""
    place = ("--kubeconfig", stage.server.kubeconfig, "--simulator", stage.cloud.url, "-n", stage.namespace)
    command = [*PROGRAM, "operator", *place, "--keys-namespace", stage.namespace, "--cluster-api", "off"]
    with stage.log.open("a") as said:
        process = Program(
            command, stdout=subprocess.PIPE, stderr=said, text=True,
            env={**os.environ, **({"PYTHONPATH": str(source)} if source else {})},
        )  # fmt: skip
    with ended(process):
        assert process.stdout is not None and "serving" in process.stdout.readline(), stage.log.read_text()
        yield
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def made(stage: Stage) -> int:
    return len(stage.cloud.of_aws(stage.name))


def once_each(stage: Stage) -> None:
    """No resource was created twice: each node of the graph marks one."""
    nodes = [row["tags"].get("freehold.dev/node") for row in stage.cloud.of_aws(stage.name)]
    assert len(nodes) == len(set(nodes)) == WHOLE


def test_an_upgrade_and_a_rollback_during_the_creation_cost_no_resource(stage: Stage, tmp_path: Path) -> None:
    """The CRDs are today's all the time; the earlier version ends what today's went on with, and deletes."""
    earlier = earlier_source(tmp_path)
    with operating(stage, earlier):
        stage.kubectl.apply(aws(stage.name, stage.namespace))
        until(lambda: made(stage) > 3, "the earlier version has begun")
    begun = made(stage)
    assert begun < WHOLE
    with operating(stage):
        until(lambda: made(stage) > begun, "today's version goes on")
    with operating(stage, earlier):
        stage.kubectl.run("wait", f"{AWS_KIND}/{stage.name}", "--for=condition=Ready", PATIENTLY)
        once_each(stage)
        stage.kubectl.run("delete", AWS_KIND, stage.name, PATIENTLY)
    assert made(stage) == 0, "everything that was ours is gone"
