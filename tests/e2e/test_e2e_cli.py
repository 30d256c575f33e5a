"""The commands that ask the cloud themselves, with a kubeconfig: beside an operator of any API server.

They need what the operator has: its cloud and its key ring.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from e2e_cli import Cli
from e2e_operator_lab import KIND, Stage
from e2e_servers import until

from freehold.api.names import DECISIONS_ANNOTATION, JOURNAL_ANNOTATION

pytestmark = pytest.mark.e2e


@pytest.fixture
def cli(stage: Stage, tmp_path: Path) -> Cli:
    return Cli(stage, tmp_path)


def manifest(stage: Stage, *balancers: str) -> dict[str, Any]:
    wanted = stage.powervs()
    names = [f"{stage.name}-{each}" for each in balancers]
    wanted["spec"]["loadBalancers"] = [{"name": name, "public": name.endswith("-one")} for name in names]
    return wanted


def test_prune_shows_and_deletes_surplus(stage: Stage, cli: Cli) -> None:
    with cli.operator():
        for balancers in (("one", "two"), ("one",)):
            cli.run("up", "-f", "-", stdin=json.dumps(manifest(stage, *balancers)), place=cli.place[:2])
        planned = cli.run("plan", "-f", "-", stdin=json.dumps(manifest(stage, "one")))
        assert f"IBMPowerVSCluster {stage.namespace}/{stage.name}: " in planned and ", 1 surplus" in planned
        shown = cli.run("prune", stage.name)
        assert "1 to delete" in shown and f"{stage.name}-two" in shown
        hint = next(line for line in shown.splitlines() if line.startswith("nothing was done"))
        assert f"freehold prune {' '.join(cli.place)} IBMPowerVSCluster/{stage.name} -n {stage.namespace} --yes" in hint
        assert "is gone" in cli.run("prune", stage.name, "--yes")
        assert "no surplus" in cli.run("prune", stage.name)
        assert stage.cloud.kinds(stage.name).count("load-balancer") == 1
        assert "load-balancer" in cli.run("down", stage.name, "--yes")
    assert stage.cloud.of(stage.name) == []


def test_resolve_shows_the_evidence_and_is_answered(stage: Stage, cli: Cli) -> None:
    with cli.operator():
        cli.run("up", "-f", "-", stdin=json.dumps(manifest(stage, "one")), place=cli.place[:2])
        assert "nothing is left for a person to decide" in cli.run("resolve", stage.name)
    cut_off(stage)
    name = f"{stage.name}-one"
    shown = cli.run("resolve", stage.name, name, "--mine")
    assert "its outcome is unknown" in shown and "would be this object's own" in shown
    with ThreadPoolExecutor(1) as person:  # decides before the operator, which would find the marks, is back
        answer = person.submit(cli.run, "resolve", stage.name, name, "--mine", "--yes", alone=True)
        until(lambda: DECISIONS_ANNOTATION in stage.object()["metadata"]["annotations"], "the decision is stored")
        with cli.operator():
            assert "is on record as ours" in answer.result()
            stage.delete()


def cut_off(stage: Stage) -> None:
    """The journal as of the moment after the create of the load balancer was sent, before its id was recorded."""
    journal = json.loads(stage.object()["metadata"]["annotations"][JOURNAL_ANNOTATION])
    (node,) = (each for each in journal["nodes"] if each.startswith("load-balancer/"))
    entry = journal["nodes"][node]
    region, _, _ = entry.pop("id").partition("/")
    request = {"name": f"{stage.name}-one", "region": region, "public": True, "subnets": [], "pools": [],
               "listeners": []}  # fmt: skip
    journal["nodes"][node] = {**entry, "p": "i", "r": request}
    stage.patch({"metadata": {"annotations": {JOURNAL_ANNOTATION: json.dumps(journal)}}})


def test_what_lost_its_object_is_listed_and_recovered(stage: Stage, cli: Cli) -> None:
    wanted = json.dumps(manifest(stage, "one"))
    with cli.operator():
        cli.run("up", "-f", "-", stdin=wanted, place=cli.place[:2])
    before = sorted(str(row["id"]) for row in stage.cloud.of(stage.name))
    owned = stage.object()["status"]["resources"]
    stage.patch({"metadata": {"finalizers": None}})
    stage.kubectl.run("delete", KIND, stage.name)
    owners = json.loads(cli.run("orphans", "-o", "json"))
    (lost,) = (each for each in owners if each["owners"] == [f"{stage.namespace}/{stage.name}"])
    assert len(lost["resources"]) == len(owned)
    assert f"{stage.namespace}/{stage.name} (uuid {lost['uuid']})" in cli.run("recover", "--all")
    assert "nothing was done" in cli.run("recover", stage.name)
    assert "NotFound" in stage.kubectl.run("get", KIND, stage.name, ok=False)
    assert "is there again, paused" in cli.run("recover", stage.name, "--yes")
    with cli.operator():
        cli.run("up", "-f", "-", stdin=wanted, place=cli.place[:2])
        assert sorted(str(row["id"]) for row in stage.cloud.of(stage.name)) == before, "nothing is created again"
        stage.delete()


def test_a_cloud_of_an_operator_elsewhere_goes_with_a_kubeconfig(cli: Cli, tmp_path: Path) -> None:
    said = cli.run("prune", "a", place=("--state", str(tmp_path), "--simulator", "http://127.0.0.1:9"), code=2)
    assert "--simulator and --keys-namespace go with --kubeconfig" in said
    said = cli.run("resolve", "a", place=(*cli.place[:2], "--simulator", "http://127.0.0.1:9"), code=1)
    assert "the simulated cloud at http://127.0.0.1:9 cannot be reached" in said
