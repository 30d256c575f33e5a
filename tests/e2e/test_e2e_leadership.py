"""Three operators over one API server: one leads, and whatever ends it, another one finishes its work."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from e2e_operator_lab import KIND, Json, Stage, is_ready, powervs, staged
from e2e_operator_witness import Witness
from e2e_rights import judged, shipped_rights
from e2e_servers import PATIENCE, PATIENTLY, ended, until
from test_e2e_operator_life import begun, once_each

from freehold.controllers.leadership.shards import find_shard
from freehold.install.options import InstallOptions
from harness.commands import PROGRAM
from harness.forks import Program

pytestmark = pytest.mark.e2e

LEADS = "this process leads: it holds Lease"


class Replica:
    """``freehold operator`` as a process."""

    def __init__(self, stage: Stage, log: Path, kubeconfig: str, *options: str) -> None:
        self._log = log
        self.audit = log.with_suffix(".audit")
        command = [
            *PROGRAM, "operator", "--leader-elect", *options, "--audit", str(self.audit),
            "--kubeconfig", kubeconfig, "--simulator", stage.cloud.url, "--cluster-api", "off",
            "--namespace", stage.namespace, "--keys-namespace", stage.namespace,
        ]  # fmt: skip
        with log.open("w") as said:
            self.process = Program(command, stdout=said, stderr=subprocess.STDOUT)

    def said(self) -> str:
        return self._log.read_text()

    def leads(self) -> bool:
        return LEADS in self.said() and self.process.poll() is None

    def follows(self) -> bool:
        return "this process follows" in self.said() and LEADS not in self.said()

    def serves(self, shard: int) -> bool:
        said = self.said()
        return said.count(f"serves shard {shard} of") > said.count(f"has handed over shard {shard} of")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@contextlib.contextmanager
def replicas(stage: Stage, folder: Path, number: int, shards: int = 1) -> Iterator[list[Replica]]:
    """Start operators with the rights that are shipped for one namespace, its own; they need no others."""
    options = InstallOptions(stage.namespace, serves_namespace=stage.namespace, shards=shards)
    with contextlib.ExitStack() as stack:
        proxy, kubeconfig = stack.enter_context(judged(stage.server.url, shipped_rights(options), folder))
        started = [
            Replica(stage, folder / f"replica-{each}.log", kubeconfig, f"--shards={shards}") for each in range(number)
        ]
        for each in started:
            stack.enter_context(ended(each.process))
        try:
            yield started
        finally:
            for each in started:
                with contextlib.suppress(ProcessLookupError):
                    each.send(signal.SIGCONT)  # else it would not end
    assert proxy.verdicts.refused == []


def find_leader(among: list[Replica]) -> Replica:
    until(lambda: any(each.leads() for each in among), f"one leads: {[each.said()[-2000:] for each in among]}")
    (leader,) = [each for each in among if each.leads()]
    return leader


def read_holder(stage: Stage) -> str:
    lease: Json = stage.kubectl.json("get", "lease", "freehold-operator")
    return str(lease["spec"]["holderIdentity"])


def create(stage: Stage, name: str) -> Witness:
    """Begin a slow creation, and wait until it is in the middle."""
    stage.cloud.slow(name)
    witness = Witness(stage.server, stage.namespace, name)
    stage.kubectl.apply(powervs(name, stage.namespace))
    witness.wait(begun, "some resources")
    return witness


def test_a_leader_that_is_killed_stopped_or_told_to_end(stage: Stage, home: Path, tmp_path: Path) -> None:
    """Check that what it had begun is finished, and that each resource is made once.

    One is killed, and one of another namespace is stopped while the Lease of the first lasts: the test waits once.
    """
    (there := tmp_path / "there").mkdir()
    with staged(stage.server, stage.cloud, home, there) as other:
        with replicas(stage, tmp_path, 3) as alive, replicas(other, there, 2) as both:
            killed, stopped = find_leader(alive), find_leader(both)
            for leader, of in ((killed, alive), (stopped, both)):
                until(lambda: all(each.follows() for each in of if each is not leader), "the others follow")  # noqa: B023 - asked before the next turn
            with contextlib.closing(create(stage, stage.name)) as witness:
                killed.send(signal.SIGKILL)
                alive.remove(killed)
                with contextlib.closing(create(other, other.name)) as other_witness:
                    stopped.send(signal.SIGSTOP)
                    both.remove(stopped)
                    find_leader(alive)
                    last = find_leader(both)
                    stopped.send(signal.SIGCONT)
                    assert stopped.process.wait(PATIENCE) == 1
                    assert "this process leads no more" in stopped.said() and "Traceback" not in stopped.said()
                    other_witness.wait(is_ready, "it is Ready")
                witness.wait(is_ready, "it is Ready")
            once_each(stage.cloud, stage.name)
            once_each(stage.cloud, other.name)

            before = read_holder(other)
            last.send(signal.SIGTERM)
            assert last.process.wait(PATIENCE) == 0, last.said()
            assert before and read_holder(other) == "", "it is given back"
            stage.delete()
        with replicas(other, there, 1) as (heir,):
            other.delete()
            assert heir.leads()


def count_held(stage: Stage) -> list[int]:
    """Count the shards of each holder."""
    url = f"{stage.server.url}/apis/coordination.k8s.io/v1/namespaces/{stage.namespace}/leases"
    leases: list[Json] = requests.get(url, timeout=PATIENCE).json()["items"]
    held = [str(each["spec"]["holderIdentity"]) for each in leases if "-shard-" in each["metadata"]["name"]]
    return sorted(held.count(each) for each in set(held) - {""})


def test_two_operators_with_four_shards(stage: Stage, tmp_path: Path) -> None:
    """Each serves two of them; when one ends the other one serves all, and finishes what was begun."""
    names = [f"{stage.name}-{number}" for number in range(4)]
    with replicas(stage, tmp_path, 2, shards=4) as (first, second):
        until(lambda: count_held(stage) == [2, 2], "each holds its part")
        for name in names:
            stage.cloud.slow(name)
        items = [powervs(name, stage.namespace) for name in names]
        stage.kubectl.apply({"apiVersion": "v1", "kind": "List", "items": items})
        until(lambda: all(stage.cloud.of(name) for name in names), "all are begun, whoever serves them")
        for name in names:
            shard = find_shard(stage.kubectl.json("get", KIND, name)["metadata"]["uid"], 4)
            found = [each.serves(shard) for each in (first, second)]
            assert [f"/{name}" in each.audit.read_text() for each in (first, second)] == found, (name, shard)
        second.send(signal.SIGTERM)
        assert second.process.wait(PATIENCE) == 0, second.said()
        until(lambda: count_held(stage) == [4], "the other one holds all")
        for name in names:
            stage.kubectl.run("wait", f"{KIND}/{name}", "--for=condition=Ready", PATIENTLY)
            once_each(stage.cloud, name)
        stage.kubectl.run("delete", KIND, "--all", PATIENTLY)
        first.send(signal.SIGTERM)
        assert first.process.wait(PATIENCE) == 0, first.said()
        assert count_held(stage) == []
