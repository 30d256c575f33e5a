"""Several operators, and an API server that is gone, for one of them or for all; or a process that is killed."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

import pytest
from e2e_client import Kubectl
from e2e_operator_lab import KIND, Cloud, Stage, is_ready, powervs, staged
from e2e_rights import judged, shipped_rights
from e2e_servers import PATIENCE, PATIENTLY, ended, steady_port, until
from test_e2e_leadership import Replica, count_held, create, find_leader, replicas
from test_e2e_operator_life import CRD, embedded, once_each, own_server

from freehold.install.options import InstallOptions

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
"""Each waits until a Lease has ended: ``make edits`` runs them."""


def test_a_leader_that_is_cut_off_from_the_api_server(stage: Stage, tmp_path: Path) -> None:
    """It ends when its Lease does, and the other one finishes what was begun; each resource is made once."""
    rights = shipped_rights(InstallOptions(stage.namespace, serves_namespace=stage.namespace))
    with contextlib.ExitStack() as stack:
        lines: dict[Replica, contextlib.ExitStack] = {}
        for name in ("one", "two"):
            line = stack.enter_context(contextlib.ExitStack())
            (folder := tmp_path / name).mkdir()
            _, kubeconfig = line.enter_context(judged(stage.server.url, rights, folder))
            replica = Replica(stage, folder / "replica.log", kubeconfig)
            stack.enter_context(ended(replica.process))
            lines[replica] = line
        cut = find_leader(list(lines))
        (other,) = lines.keys() - {cut}
        with contextlib.closing(create(stage, stage.name)) as witness:
            lines[cut].close()
            assert cut.process.wait(PATIENCE) == 1
            assert "this process leads no more" in cut.said() and "Traceback" not in cut.said()
            until(other.leads, "the other one leads")
            witness.wait(is_ready, "it is Ready")
        once_each(stage.cloud, stage.name)
        stage.delete()


def test_an_api_server_that_is_gone_for_longer_than_the_lease(cloud: Cloud, home: Path, tmp_path: Path) -> None:
    """The leader ends without it; the one that follows waits, leads when it is back, and makes nothing twice."""
    port = steady_port()
    with contextlib.ExitStack() as last, contextlib.ExitStack() as first:
        server = first.enter_context(own_server(tmp_path, port))
        Kubectl(server, "default", home).run("create", "-f", str(CRD.parent))
        stage = last.enter_context(staged(server, cloud, home, tmp_path))
        alive = last.enter_context(replicas(stage, tmp_path, 2))
        leader = find_leader(alive)
        (other,) = (each for each in alive if each is not leader)
        until(other.follows, "the other one follows")
        with contextlib.closing(create(stage, stage.name)):
            first.close()
        assert leader.process.wait(PATIENCE) == 1
        assert other.process.poll() is None, other.said()
        with embedded(tmp_path, port):
            until(other.leads, f"the other one leads: {other.said()[-2000:]}")
            stage.await_ready()
            once_each(cloud, stage.name)
            stage.delete()
            last.close()


def test_a_holder_of_shards_that_is_killed(stage: Stage, tmp_path: Path) -> None:
    """The others take its shards when its Leases have ended, and finish what it had begun."""
    names = [f"{stage.name}-{number}" for number in range(4)]
    with replicas(stage, tmp_path, 3, shards=6) as (killed, *_):
        until(lambda: count_held(stage) == [2, 2, 2], "each holds its part")
        for name in names:
            stage.cloud.slow(name)
        items = [powervs(name, stage.namespace) for name in names]
        stage.kubectl.apply({"apiVersion": "v1", "kind": "List", "items": items})
        until(lambda: all(stage.cloud.of(name) for name in names), "all are begun, whoever serves them")
        killed.send(signal.SIGKILL)
        until(lambda: count_held(stage) == [3, 3], "the others hold all")
        for name in names:
            stage.kubectl.run("wait", f"{KIND}/{name}", "--for=condition=Ready", PATIENTLY)
            once_each(stage.cloud, name)
        stage.kubectl.run("delete", KIND, "--all", PATIENTLY)
