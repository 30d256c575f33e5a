"""``freehold operator`` as a person watches it: probes, metrics beside the shipped alerts, a log without secrets."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from e2e_operator_lab import API_KEY, Stage
from e2e_servers import PATIENCE, ended, steady_port, until

from freehold.providers.aws.access import SIMULATED_SECRET_KEY
from freehold.providers.registry import SERVED
from harness.commands import PROGRAM
from harness.forks import Program
from harness.monitoring import Scrape, expressions

pytestmark = pytest.mark.e2e

TOKEN = "e2e-token"
"""That of the kubeconfig (embedded_server.py)."""
KIND_NAME = "IBMPowerVSCluster"
CANARIES = ("canary-of-ibm", "canary-of-aws", API_KEY, SIMULATED_SECRET_KEY, TOKEN)


@dataclass(frozen=True)
class Watched:
    """An operator process with probes and metrics, and its log."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def ask(self, path: str) -> requests.Response:
        return requests.get(f"{self.url}{path}", timeout=PATIENCE)

    def is_ready(self) -> bool:
        try:
            return self.ask("/readyz").ok
        except requests.ConnectionError:
            return False


@pytest.fixture
def watched(stage: Stage, tmp_path: Path) -> Iterator[Watched]:
    address = f"127.0.0.1:{steady_port()}"
    command = [
        *PROGRAM, "operator", "--kubeconfig", stage.server.kubeconfig, "--simulator", stage.cloud.url,
        "--namespace", stage.namespace, "--keys-namespace", stage.namespace, "--cluster-api", "off",
        "--health-address", address, "--metrics-address", address, "--log-level", "debug", "--log-format", "json",
    ]  # fmt: skip
    secrets = {"IBMCLOUD_API_KEY": CANARIES[0], "AWS_SECRET_ACCESS_KEY": CANARIES[1], "AWS_ACCESS_KEY_ID": "AKIA"}
    log = tmp_path / "operator.json"
    with log.open("w") as lines:
        process = Program(
            command, stdout=subprocess.DEVNULL, stderr=lines, text=True, env={**stage.server.environment(), **secrets}
        )
    with ended(process):
        found = Watched(process, f"http://{address}", log)
        until(lambda: process.poll() is not None or found.is_ready(), "the operator is ready")
        assert process.poll() is None, log.read_text()
        yield found


def test_an_operator_can_be_watched(stage: Stage, watched: Watched) -> None:
    assert (watched.ask("/healthz").text, watched.ask("/readyz").text) == ("ok\n", "ok\n")
    assert watched.ask("/").status_code == 404
    stage.kubectl.apply(stage.powervs())
    stage.await_ready()

    text = watched.ask("/metrics").text
    scrape = Scrape.parse(text)
    problems = {what: scrape.find_problems(expression, whole=False) for what, expression in expressions()}
    assert {what: each for what, each in problems.items() if each} == {}
    assert f'freehold_objects{{condition="Ready",kind="{KIND_NAME}",status="True"}} 1.0' in text
    assert f'freehold_reconcile_seconds_count{{kind="{KIND_NAME}",result="waits"}}' in text
    for served in SERVED:
        assert f'freehold_synced{{kind="{served.kind}"}} 1.0' in text
    assert stage.name not in text and stage.namespace not in text, "names of objects have no end"
    stage.delete()

    lines = [json.loads(line) for line in watched.log.read_text().splitlines()]
    about = [line for line in lines if line.get("object") == f"{KIND_NAME} {stage.namespace}/{stage.name}"]
    created = [line for line in about if line.get("call", "").startswith("vpc.create_vpc#")]
    assert created and all(line["uid"] for line in about) and len({line["uid"] for line in about}) == 1
    assert {line["logger"].partition(".")[0] for line in lines if line["level"] == "debug"} == {"freehold"}
    for canary in CANARIES:
        assert canary not in watched.log.read_text(), canary
