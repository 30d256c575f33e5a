"""A command that only asks a server which runs already imports, and starts, nothing of a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from freehold.cli.state_directory import Lock

NEVER = ("aiohttp", "asyncio", "pydantic", "cel", "requests", "rich", "prompt_toolkit", "sqlite3", "jsonschema_rs")


def freehold(state: Path, *arguments: str, imports: bool = False) -> subprocess.CompletedProcess[str]:
    flags = ["-X", "importtime"] if imports else []
    command = [sys.executable, *flags, "-m", "freehold.cli.main", *arguments, "--state", str(state)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The top-level packages that a command with ``-X importtime`` imported."""
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@contextmanager
def serving(state: Path) -> Iterator[subprocess.Popen[str]]:
    """``freehold serve --simulate`` in a process of its own, until it is killed or the block ends."""
    command = [sys.executable, "-m", "freehold.cli.main", "serve", "--simulate", "--state", str(state)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        assert "serving" in process.stdout.readline()
        yield process
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state directory that is served, with one paused object in it."""
    state = tmp_path_factory.mktemp("quick") / "state"
    with serving(state):
        from freehold.kube.blocking import BlockingClient, run_blocking
        from freehold.operator.kinds import POWERVS_CLUSTERS

        server = Lock(state / "server.lock").read()
        assert server is not None
        client = BlockingClient(server.url)
        obj = {
            "apiVersion": POWERVS_CLUSTERS.api_version,
            "kind": POWERVS_CLUSTERS.kind,
            "metadata": {"name": "quiet", "namespace": "default", "annotations": {"cluster.x-k8s.io/paused": ""}},
            "spec": {"serviceInstanceID": "a-b-c", "network": {"name": "n"}},
        }
        run_blocking(client.create(POWERVS_CLUSTERS, obj))
        client.close()
        yield state


@pytest.mark.parametrize(
    "command",
    [("get",), ("get", "quiet"), ("get", "namespaces"), ("get", "-o", "json"), ("tree", "quiet"), ("get", "nothing")],
    ids=" ".join,
)
def test_reading_what_is_served_imports_little(command: tuple[str, ...], served: Path) -> None:
    """Of these, aiohttp alone would cost more than all the rest of the command."""
    done = freehold(served, *command, imports=True)
    assert not imported(done) & {*NEVER, "yaml"}, done.stderr[-2000:]
    assert "freehold" in imported(done)


def test_it_says_what_the_long_way_says(served: Path) -> None:
    """A kubeconfig takes the way over aiohttp: same objects, same sentences, same exit codes."""
    for command in (
        ("get",), ("get", "-o", "yaml"), ("get", "namespaces"), ("get", "ibmpowervsclusters", "missing"),
        ("get", "nonsense"), ("get", "ibmpowervsclusters", "x", "-A"), ("tree", "missing"),
    ):  # fmt: skip
        quick = freehold(served, *command)
        environment = [sys.executable, "-m", "freehold.cli.main", *command, "--kubeconfig", str(served / "kubeconfig")]
        slow = subprocess.run(environment, capture_output=True, text=True, timeout=120, check=False)
        assert (quick.returncode, quick.stdout, quick.stderr) == (slow.returncode, slow.stdout, slow.stderr), command


def test_it_writes_nothing_into_the_state_directory(served: Path) -> None:
    before = {each.name: each.stat().st_mtime_ns for each in served.iterdir() if each.name.startswith("server")}
    assert freehold(served, "get").returncode == 0
    assert before == {each.name: each.stat().st_mtime_ns for each in served.iterdir() if each.name in before}


def test_a_killed_server_is_not_asked(tmp_path: Path) -> None:
    """Its lock file still names its port, which may be another program's by now."""
    state = tmp_path / "state"
    with serving(state) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert json.loads((state / "server.lock").read_text())["url"]
    done = freehold(state, "get")
    assert (done.returncode, done.stdout) == (0, "no ibmpowervsclusters in namespace default\n"), done.stderr


def test_a_server_that_does_not_answer_is_left_to_the_long_way(tmp_path: Path) -> None:
    """Which waits for it, and serves the state itself once nobody holds it any more."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    holder = (
        "import sys; from pathlib import Path; from freehold.cli.state_directory import Lock, LiveServer; "
        "lock = Lock(Path(sys.argv[1])); assert lock.take(); "
        "lock.publish(LiveServer('http://127.0.0.1:9', 1, True)); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, str(state / "server.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "held\n"
        reading = subprocess.Popen(
            [sys.executable, "-m", "freehold.cli.main", "get", "--state", str(state)], stdout=subprocess.PIPE, text=True
        )
        with pytest.raises(subprocess.TimeoutExpired):
            reading.wait(1)
        process.stdin.close()
        assert reading.communicate()[0] == "no ibmpowervsclusters in namespace default\n"
