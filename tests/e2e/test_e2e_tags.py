"""``freehold tags`` beside an operator in a cluster, and the metrics of that operator."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from e2e_client import Kubectl
from e2e_operator_lab import Cloud
from e2e_rights import judged, shipped_rights
from e2e_servers import PATIENCE, PATIENTLY, Server, ended
from test_e2e_metadata import Account

from freehold.install.options import InstallOptions
from harness.commands import PROGRAM, freehold
from harness.forks import Program
from harness.metadata import CLASSIFIER, EXAMPLES, NAMESPACE, WANTED

pytestmark = pytest.mark.e2e


@pytest.fixture
def kubectl(server: Server, our_crds: None, home: Path) -> Iterator[Kubectl]:
    """In the namespace of the manifests, where the key ring and the record are too."""
    if os.pathsep in server.kubeconfig:
        pytest.skip("KUBECONFIG names several files, and --kubeconfig takes one")
    found = Kubectl(server, NAMESPACE, home)
    if "AlreadyExists" in found.run("create", "namespace", NAMESPACE, ok=False):
        pytest.skip(f"{server.label} has a namespace {NAMESPACE}")
    yield found
    found.run("delete", "cloudmetadata,awsmetadata", "--all", PATIENTLY)
    found.delete_namespace()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_tags_are_planned_and_applied_beside_an_operator_that_is_measured(
    server: Server, cloud: Cloud, kubectl: Kubectl, tmp_path: Path
) -> None:
    account = Account(cloud)
    ours = account.group("of-tags", owner="x", **{CLASSIFIER: "owned"})
    manifest = tmp_path / "tags.yaml"
    manifest.write_text(EXAMPLES)
    place = ("--kubeconfig", server.kubeconfig, "--simulator", cloud.url, "--keys-namespace", NAMESPACE)
    address = f"127.0.0.1:{free_port()}"

    def run(*words: str, code: int = 0) -> str:
        done = freehold("tags", *words, *place)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    command = [*PROGRAM, "operator", *place, "-n", NAMESPACE, "--cluster-api", "off", "--metrics-address", address]
    rights = shipped_rights(InstallOptions(NAMESPACE, serves_namespace=NAMESPACE))
    with judged(server.url, rights, tmp_path) as (proxy, kubeconfig), (tmp_path / "operator.log").open("w") as log:
        command += ["--kubeconfig", kubeconfig]
        process = Program(command, stdout=subprocess.PIPE, stderr=log, text=True)
        with ended(process):
            assert process.stdout is not None and "serving" in process.stdout.readline()
            (plan,) = json.loads(run("plan", "-f", str(manifest), "-o", "json", "--detailed-exitcode", code=2))
            assert [each["resource"].rpartition("/")[2] for each in plan["resources"]] == [ours]
            assert account.tags(ours) == {CLASSIFIER: "owned", "owner": "x"}, "a plan writes nothing"
            assert "1 tagged" in run("apply", "-f", str(manifest), "--yes")
            assert account.tags(ours) == {CLASSIFIER: "owned", "owner": "x", **WANTED}
            assert "nothing to change" in run("plan", "metadata", "--detailed-exitcode")
            text = requests.get(f"http://{address}/metrics", timeout=PATIENCE).text
            assert 'freehold_cloud_calls_total{api="ec2",class="ok",effect="write"} 1.0' in text
            assert f'freehold_tag_resources{{name="metadata",namespace="{NAMESPACE}",state="managed"}}' in text
            assert CLASSIFIER not in text
    assert proxy.verdicts.refused == []
