"""``freehold gc plan`` and ``status`` on a state directory: what a person and a program read, served and unserved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from freehold.api.names import EXTERNAL_RESOURCE_TASKS_ANNOTATION
from freehold.cli.local.access import ServeOptions
from freehold.cli.local.state_directory import StateDirectory
from harness.aws_account import REGION
from harness.aws_cluster import aws_cluster
from harness.cloud_actors import OtherUser, over_http
from harness.cloud_controllers import CloudProvider, Ground
from harness.commands import freehold_in
from harness.serving import served


@dataclass(frozen=True)
class Fleet:
    """A state directory with the cluster ``demo``, Ready, which a forgotten Service's load balancer is in."""

    state: StateDirectory
    made: dict[str, str]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    state = StateDirectory.open(tmp_path_factory.mktemp("state"))
    manifest = state.path / "manifest.yaml"
    manifest.write_text(yaml.safe_dump(aws_cluster()))
    with served(state, ServeOptions(simulate=True, speed=100)) as server:
        done = freehold_in(state.path, "up", "-f", str(manifest))
        assert done.returncode == 0, done.stderr
        user = OtherUser(over_http(server.simulator), region=REGION)
        provider = CloudProvider(user, ground(state.path))
        provider.classic()
        yield Fleet(state, provider.made)


def ground(state: Path) -> Ground:
    rows = json.loads(freehold_in(state, "get", "demo", "-o", "json").stdout)["status"]["resources"]
    ids = {(row["kind"], row["name"]): row["id"] for row in rows}
    subnets = [ident for (kind, _), ident in ids.items() if kind == "subnet"]
    return Ground("demo", ids["vpc", "demo-vpc"], subnets[:2], ids["security-group", "demo-node"])


def test_the_plan_is_a_table_with_what_goes_first_on_top(fleet: Fleet) -> None:
    done = freehold_in(fleet.state.path, "gc", "plan", "demo")
    head, columns, first, second, *notes = done.stdout.splitlines()
    assert (done.returncode, done.stderr, head) == (0, "", "AWSCluster default/demo: 2 to delete")
    assert columns.split() == ["ACTION", "KIND", "NAME", "ID", "WHY"]
    assert first.split()[:4] == ["delete", "load", "balancer", fleet.made["classic team/web"]]
    assert second.split()[:3] == ["delete", "security", "group"]
    assert fleet.made["group of team/web"] in second
    assert any("collected with it: load-balancer, target-group" in note for note in notes)


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_a_program_reads_the_same_plan(fleet: Fleet, output: str) -> None:
    done = freehold_in(fleet.state.path, "gc", "plan", "demo", "-o", output)
    found = json.loads(done.stdout) if output == "json" else yaml.safe_load(done.stdout)
    assert (done.returncode, found["object"], found["collected"], found["reason"]) == (
        0, "default/demo", True, "Collected",
    )  # fmt: skip
    assert found["found"] == {"load-balancer": 1, "security-group": 1}
    assert [(row["fate"], row["id"]) for row in found["resources"]] == [
        ("delete", fleet.made["classic team/web"]),
        ("delete", fleet.made["group of team/web"]),
    ]


def test_the_status_counts_what_is_out_there(fleet: Fleet) -> None:
    done = freehold_in(fleet.state.path, "gc", "status", "-A")
    heads, row, *_ = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert heads.split() == ["NAMESPACE", "NAME", "COLLECTED", "LB", "TG", "SG", "ENI", "VOL", "KEPT", "NOTE"]
    assert row.split()[:9] == ["default", "demo", "yes", "1", "0", "1", "0", "0", "0"]
    [found] = json.loads(freehold_in(fleet.state.path, "gc", "status", "-o", "json").stdout)
    assert found["found"] == {"load-balancer": 1, "security-group": 1}
    assert (
        freehold_in(fleet.state.path, "gc", "status", "-n", "elsewhere").stdout
        == "there is no AWSCluster or AWSManagedControlPlane\n"
    )


def test_a_plan_by_other_gates_than_the_servers_is_made_here(fleet: Fleet) -> None:
    options = "--feature-gates=ExternalResourceGC=false", "-o", "json"
    found = json.loads(freehold_in(fleet.state.path, "gc", "plan", "demo", *options).stdout)
    assert (found["collected"], found["reason"]) == (False, "FeatureGateOff")
    assert {row["reason"] for row in found["resources"]} == {"nothing is collected with this cluster"}


def test_the_plan_of_a_cluster_that_is_not_there_names_those_that_are(fleet: Fleet) -> None:
    done = freehold_in(fleet.state.path, "gc", "plan", "nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no cluster nobody in namespace default; there are: demo" in done.stderr


def test_an_annotation_that_cannot_be_read_is_an_error_with_the_command_that_mends_it(fleet: Fleet) -> None:
    junk = aws_cluster()
    junk["metadata"]["annotations"] = {EXTERNAL_RESOURCE_TASKS_ANNOTATION: "nonsense"}
    manifest = fleet.state.path / "junk.yaml"
    manifest.write_text(yaml.safe_dump(junk))
    assert freehold_in(fleet.state.path, "up", "-f", str(manifest)).returncode == 0
    done = freehold_in(fleet.state.path, "gc", "plan", "demo")
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "AWSCluster default/demo: 2 to keep")
    assert "'nonsense' is no task" in done.stderr
    assert "freehold gc configure --cluster-name demo" in done.stderr
    assert f"add to commands in these messages: --state {fleet.state.path}" in done.stderr
    assert freehold_in(fleet.state.path, "gc", "status").stdout.splitlines()[1].split()[:2] == ["demo", "held"]
