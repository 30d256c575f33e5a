"""Events while the operator works: edits, deletes, kills, a second operator, restarts."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from e2e_client import Kubectl
from e2e_operator_lab import (
    CRD,
    KIND,
    SPEED,
    Cloud,
    Json,
    Stage,
    condition,
    is_ready,
    operator_here,
    simulated_cloud,
    staged,
)
from e2e_servers import PATIENTLY, Server, ended, steady_port, write_kubeconfig

from freehold.api import names
from harness.forks import Program

pytestmark = pytest.mark.e2e


NEVER_TAGGED = ("connection", "dhcp")
"""IBM Cloud allows no tags on these: the gateway carries the marks of connections, the network those of its server."""


def begun(obj: Json) -> bool:
    """Some resources have an id, and others are not created yet."""
    return any(row.get("id") for row in (obj.get("status") or {}).get("resources", ())) and not is_ready(obj)


def is_said_to_leave(obj: Json) -> bool:
    return "deletionTimestamp" in obj["metadata"] and condition(obj, names.DELETING).get("status") == "True"


def once_each(cloud: Cloud, name: str) -> None:
    """No resource was created twice. A gateway has two connections; there is one of everything else."""
    found = Counter((row["kind"], row["name"]) for row in cloud.of(name))
    assert found and set(found.values()) == {1}, found


def test_an_edit_during_the_creation(stage: Stage) -> None:
    stage.cloud.slow(stage.name)
    with stage.witness() as witness, stage.operator():
        stage.kubectl.apply(stage.powervs())
        witness.wait(begun, "some resources")
        stage.patch({"spec": {"tags": [{"key": "team", "value": "blue"}]}, "metadata": {"labels": {"x": "y"}}})
        stage.await_ready()
        for row in stage.cloud.of(stage.name):
            assert "team:blue" in row["tags"] or row["kind"] in NEVER_TAGGED, row
        once_each(stage.cloud, stage.name)
        stage.delete()


def test_a_delete_during_the_creation(stage: Stage) -> None:
    """Resources that are still being created are deleted, too; ``kubectl get -w`` shows the object until its end."""
    stage.cloud.slow(stage.name)
    watch = ("get", KIND, "--watch", "--output-watch-events", "--no-headers", f"--request-{PATIENTLY[2:]}")
    with ended(stage.kubectl.started(*watch)) as watching, stage.witness() as witness:
        assert watching.stdout is not None
        stage.kubectl.apply(stage.powervs())
        assert watching.stdout.readline().split()[:2] == ["ADDED", stage.name]
        with stage.operator():
            witness.wait(begun, "some resources")
            stage.delete()
        witness.wait(is_said_to_leave, "being deleted")
        words: list[list[str]] = []
        while words[-1:] != [["DELETED", stage.name]]:
            line = watching.stdout.readline()
            assert line, f"the watch ended before the object did: {words}"
            words.append(line.split()[:2])
        assert ["MODIFIED", stage.name] in words


def test_a_delete_of_an_object_that_was_never_served(stage: Stage) -> None:
    """No finalizer, no wait; and an operator that is started later has nothing to do."""
    stage.kubectl.apply(stage.powervs())
    stage.delete()
    before = stage.cloud.calls()["total"]
    with stage.operator():
        assert stage.cloud.calls(before)["mutating"] == 0


def test_the_delete_of_a_namespace_releases_everything_of_ours(stage: Stage, with_controllers: None) -> None:
    """A release needs nothing else in the namespace and creates nothing there; the refused event has no effect."""
    with stage.witness() as witness, stage.operator() as operator:
        stage.kubectl.apply(stage.powervs())
        stage.await_ready()
        stage.cloud.slow(stage.name)
        stage.kubectl.run("delete", "namespace", stage.namespace, "--wait=false")
        witness.wait(is_said_to_leave, "its deletion")
        refused = stage.kubectl.run("create", "configmap", "late", ok=False)
        assert "because it is being terminated" in refused
        stage.kubectl.run("wait", f"namespace/{stage.namespace}", "--for=delete", PATIENTLY)
        assert stage.cloud.of(stage.name) == [], "everything that was ours is gone"
        health = operator.read_health()
        assert health is not None and health.ready and health.restarts == 0
    assert "unexpected failure" not in stage.logs.text()


def test_a_kill_during_the_creation(stage: Stage) -> None:
    """The next process finishes the work of the first, and creates nothing twice."""
    with stage.witness() as witness:
        with stage.operator_process() as first:
            stage.cloud.slow(stage.name)
            stage.kubectl.apply(stage.powervs())
            witness.wait(begun, "some resources")
            first.kill()
        with stage.operator_process() as second:
            stage.await_ready()
            once_each(stage.cloud, stage.name)
            stage.delete()
            assert second.stop() == 0
    assert "simulated-api-key" not in stage.log.read_text()


def test_two_operators_on_one_object(server: Server, our_crds: None, home: Path, tmp_path: Path) -> None:
    """Every write is compare-and-set: the later writer reads again. Both may be slow; neither may do harm.

    In a cloud of its own, and a slower one: that a create has its effect within the settle time, or is not sent,
    holds in seconds of a real cloud, and a busy machine must not stretch them beyond it (providers/access/ports.py).
    """
    with (
        simulated_cloud(tmp_path, SPEED / 10) as cloud,
        staged(server, cloud, home, tmp_path) as stage,
        stage.witness() as witness,
        stage.operator(),
        stage.operator(),
    ):
        stage.kubectl.apply(stage.powervs())
        stage.await_ready()
        once_each(cloud, stage.name)
        assert any(witness.quiet(1.0) for _ in range(20)), "they do not overwrite each other for ever"
        stage.delete()


def test_the_api_server_restarts(cloud: Cloud, home: Path, tmp_path: Path) -> None:
    """Watches break, writes fail, and all continues when it is back."""
    port = steady_port()
    with contextlib.ExitStack() as last, contextlib.ExitStack() as first:
        server = first.enter_context(own_server(tmp_path, port))
        Kubectl(server, "default", home).run("create", "-f", str(CRD.parent))
        stage = last.enter_context(staged(server, cloud, home, tmp_path))
        last.enter_context(stage.operator())
        stage.cloud.slow(stage.name)
        with stage.witness() as witness:
            stage.kubectl.apply(stage.powervs())
            witness.wait(begun, "some resources")
        first.close()
        with embedded(tmp_path, port):
            stage.await_ready()
            once_each(cloud, stage.name)
            stage.delete()
            last.close()


@contextlib.contextmanager
def own_server(folder: Path, port: int) -> Iterator[Server]:
    """An embedded API server of this test alone, which it may stop."""
    with embedded(folder, port) as url:
        yield Server("embedded", write_kubeconfig(folder / "kubeconfig", url), url, controllers=True)


@contextlib.contextmanager
def embedded(folder: Path, port: int) -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).with_name("embedded_server.py")), str(folder / "state.db"), str(port)]
    with ended(Program(command, stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


def test_a_wrong_api_key_is_reported_and_not_shown(stage: Stage) -> None:
    """One clear sentence in the object; the key appears nowhere."""
    wish = replace(stage.wish(), api_key="wr0ng-key")
    with stage.witness() as witness, operator_here(wish):
        stage.kubectl.apply(stage.powervs())
        held = witness.wait(lambda obj: condition(obj, names.READY).get("message"), "a reason")
        assert "API key" in condition(held, names.READY)["message"], held
        assert "wr0ng-key" not in json.dumps(witness.seen) + stage.kubectl.run("get", "events")
    assert "wr0ng-key" not in stage.logs.text()


def test_a_cloud_that_cannot_be_reached_is_reported(stage: Stage) -> None:
    away = replace(stage.wish(), cloud="http://127.0.0.1:9")
    with stage.witness() as witness, operator_here(away):
        stage.kubectl.apply(stage.powervs())
        held = witness.wait(lambda obj: condition(obj, names.READY).get("message"), "a reason")
        said = condition(held, names.READY)["message"]
        assert "no connection" in said and "asked again" in said, said
