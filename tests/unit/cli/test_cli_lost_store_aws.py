"""The store of a state directory with an AWS cluster is lost: what is left is listed, rebuilt, and deleted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.commands import freehold_in

ROOT = Path(__file__).parents[3]
NAME = "minimal"
SPEED = ("--speed", "500")
"""At 2000 a loaded machine has 15 ms for what must follow a write of the object within 30 s."""


def _manifest(folder: Path, **spec: Any) -> str:
    manifest = yaml.safe_load((ROOT / "examples" / "aws-cluster.yaml").read_text())
    one_zone = {"vpc": {"availabilityZoneUsageLimit": 1}}
    manifest["spec"] |= {"network": one_zone, "controlPlaneLoadBalancer": {"loadBalancerType": "disabled"}, **spec}
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump(manifest))
    return str(file)


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    endpoint = {"host": "api.example.com", "port": 6443}
    manifest = _manifest(folder, controlPlaneEndpoint=endpoint)
    made = freehold_in(folder / "state", "up", "-f", manifest, "--simulate", *SPEED)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(name="state")
def _state(made: Path, tmp_path: Path) -> Path:
    """A state directory with its key ring, from which a cluster was made, without its store."""
    for file in ("state.keys", "cluster.yaml"):
        shutil.copy(made / file, tmp_path)
    state = Path(shutil.copytree(made / "state", tmp_path / "state"))
    for file in state.glob("store.sqlite*"):
        file.unlink()
    return state


def _lost(state: Path, *words: str) -> dict[str, Any]:
    (owner,) = json.loads(freehold_in(state, "orphans", "-o", "json", *words).stdout)
    return dict(owner)


def test_the_way_back_over_a_name_that_is_taken_by_oneself(state: Path) -> None:
    """Applied anew it is another object, which must not be told to delete what was lost, or to be called otherwise."""
    lost = _lost(state)
    assert lost["owners"] == [f"default/{NAME}"] and lost["account"] == "AWS 111122223333/us-east-1"
    again = freehold_in(state, "up", "-f", str(state.with_name("cluster.yaml")), *SPEED)
    assert again.returncode == 1
    said = " ".join(again.stderr.split())
    assert f"freehold recover --uuid {lost['uuid']} --region us-east-1" in said
    assert f"add to commands in these messages: --state {state}" in said
    assert f"there is an AWSCluster default/{NAME} already" in freehold_in(state, "recover", NAME, "--yes").stderr
    assert "and it owned nothing" in freehold_in(state, "down", NAME, "--yes", *SPEED).stdout
    plan = freehold_in(state, "recover", "--uuid", lost["uuid"], "--region", "us-east-1")
    assert plan.stdout.count("sealed node mark") == len(lost["resources"]) >= 10
    assert f"--uuid {lost['uuid']} --region us-east-1 --yes" in plan.stdout
    assert "no clusters" in freehold_in(state, "get").stdout


def test_with_its_manifest_it_is_as_before_and_nothing_is_created(state: Path) -> None:
    """Marks do not tell of a load balancer that was never wanted, and the API server lets none be disabled later."""
    manifest = str(state.with_name("cluster.yaml"))
    plan = freehold_in(state, "recover", NAME, "-f", manifest)
    assert f"-f {manifest} --yes" in plan.stdout
    assert freehold_in(state, "recover", NAME, "-f", manifest, "--yes").returncode == 0
    assert "it was recovered: apply its manifest" in freehold_in(state, "tree", NAME).stdout
    assert "none: all that carries our marks has an object here" in freehold_in(state, "orphans").stdout
    before = (state / "audit.jsonl").read_text()
    up = freehold_in(state, "up", "-f", manifest, *SPEED)
    assert up.returncode == 0, up.stderr
    assert "is Ready" in up.stdout
    assert "create_" not in (state / "audit.jsonl").read_text().removeprefix(before)


def test_it_is_deleted_without_its_manifest(state: Path) -> None:
    assert freehold_in(state, "recover", NAME, "--yes").returncode == 0
    down = freehold_in(state, "down", NAME, "--yes", *SPEED)
    assert down.returncode == 0, down.stderr
    assert "and everything that it owned" in down.stdout
    assert "none" in freehold_in(state, "orphans").stdout


def test_a_manifest_of_another_region_is_refused(state: Path) -> None:
    """There everything would count as gone, and the finalizer would let it go."""
    manifest = Path(state.with_name("cluster.yaml"))
    manifest.write_text(manifest.read_text().replace("us-east-1", "eu-west-1"))
    refused = freehold_in(state, "recover", NAME, "-f", str(manifest), "--yes")
    assert refused.returncode == 1
    assert "the manifest is of AWS 111122223333/eu-west-1, and the resources are in AWS" in refused.stderr


def test_regions_that_were_not_looked_through_are_said(state: Path) -> None:
    listed = freehold_in(state, "orphans", "--region", "nowhere")
    assert listed.returncode == 0
    assert "not looked through: 'nowhere' is no region of AWS" in listed.stderr
