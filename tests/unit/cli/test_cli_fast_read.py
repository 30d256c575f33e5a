"""A command that only asks a server which runs already imports, and starts, nothing of a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from freehold.cli.commands.plan import conclude
from freehold.cli.errors import CliError
from freehold.cli.local.state_directory import Lock
from freehold.controllers.plan.plan import Plan, PlanAction, PlanRow, dump_plan, load_plan
from harness.commands import PROGRAM, freehold_in, freehold_process
from harness.forks import Program

NEVER = ("aiohttp", "asyncio", "pydantic", "cel", "requests", "rich", "prompt_toolkit", "sqlite3", "jsonschema_rs")


OTHERS_CODE = (
    "controllers.app",
    "reconcilers",
    "tagging",
    "clouds",
    "freehold_apiserver.store",
    "freehold_apiserver.objects",
    "cli.local.session",
    "cli.local.server_process",
    "cli.output.progress",
)
"""Parts of freehold that a command which only asks does not use."""
IMPORTS = {"PYTHONPROFILEIMPORTTIME": "1"}
"""Has Python say what it imports."""


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The top-level packages that a command with ``-X importtime`` imported."""
    return {name.partition(".")[0] for name in modules(done)}


def modules(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The modules that it imported."""
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


def of_others(done: subprocess.CompletedProcess[str]) -> set[str]:
    """What it imported of the parts that it does not use."""
    return {each for each in modules(done) if each.startswith(tuple(f"freehold.{part}" for part in OTHERS_CODE))}


@contextmanager
def serving(state: Path) -> Iterator[subprocess.Popen[str]]:
    """``freehold serve --simulate`` in a process of its own, until it is killed or the block ends."""
    command = [*PROGRAM, "serve", "--simulate", "--state", str(state)]
    process = Program(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
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
        from freehold.kube.blocking import BlockingClient
        from freehold.kube.stepping import run_blocking
        from freehold.providers.registry import SERVED_RESOURCES

        server = Lock(state / "server.lock").read()
        assert server is not None
        client = BlockingClient(server.url, token=server.token)
        obj = {
            "apiVersion": SERVED_RESOURCES[0].api_version,
            "kind": SERVED_RESOURCES[0].kind,
            "metadata": {"name": "quiet", "namespace": "default", "annotations": {"cluster.x-k8s.io/paused": ""}},
            "spec": {"serviceInstanceID": "a-b-c", "network": {"name": "n"}},
        }
        run_blocking(client.create(SERVED_RESOURCES[0], obj))
        client.close()
        yield state


@pytest.mark.parametrize(
    "command",
    [
        ("get",),
        ("get", "quiet"),
        ("get", "namespaces"),
        ("get", "events"),
        ("get", "-o", "json"),
        ("tree", "quiet"),
        ("get", "nothing"),
    ],
    ids=" ".join,
)
def test_reading_what_is_served_imports_little(command: tuple[str, ...], served: Path) -> None:
    """Of these, aiohttp alone would cost more than all the rest of the command."""
    done = freehold_process(*command, "--state", str(served), **IMPORTS)
    assert not imported(done) & {*NEVER, "yaml"}, done.stderr[-2000:]
    assert not of_others(done)
    assert "freehold.cli.local.fast_read" in modules(done)


def test_it_says_what_the_long_way_says(served: Path) -> None:
    """A kubeconfig takes the way over aiohttp: same objects, same sentences, same exit codes."""
    for command in (
        ("get",), ("get", "-o", "yaml"), ("get", "namespaces", "-o", "name"), ("get", "ibmpowervsclusters", "missing"),
        ("get", "crd", "-l", "a=b"), ("get", "namespaces", "default", "other", "-o", "name"), ("tree", "quiet"),
        ("get", "nonsense"), ("get", "ibmpowervsclusters", "x", "-A"), ("tree", "missing"),
    ):  # fmt: skip
        quick = freehold_in(served, *command)
        slow = freehold_process(*command, "--kubeconfig", str(served / "kubeconfig"))
        assert quick.returncode == slow.returncode, command
        assert _without_options(quick.stdout) == _without_options(slow.stdout), command
        assert _without_options(quick.stderr) == _without_options(slow.stderr), command


def _without_options(said: str) -> list[str]:
    """The lines but that which says what commands need here."""
    return [each for each in said.splitlines() if not each.startswith("add to ")]


def test_it_writes_nothing_into_the_state_directory(served: Path) -> None:
    before = {each.name: each.stat().st_mtime_ns for each in served.iterdir() if each.name.startswith("server")}
    assert freehold_in(served, "get").returncode == 0
    assert before == {each.name: each.stat().st_mtime_ns for each in served.iterdir() if each.name in before}


def test_a_killed_server_is_not_asked(tmp_path: Path) -> None:
    """Its lock file still names its port, which may be another program's by now."""
    state = tmp_path / "state"
    with serving(state) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert json.loads((state / "server.lock").read_text())["url"]
    done = freehold_in(state, "get")
    assert (done.returncode, done.stdout) == (0, "no clusters in namespace default\n"), done.stderr


def test_a_server_that_does_not_answer_is_left_to_the_long_way(tmp_path: Path) -> None:
    """Which waits for it, and serves the state itself once nobody holds it any more."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    holder = (
        "import sys; from pathlib import Path; from freehold.cli.local.state_directory import Lock, LiveServer; "
        "lock = Lock(Path(sys.argv[1])); assert lock.take(); "
        "lock.publish(LiveServer('http://127.0.0.1:9', 1, True)); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, str(state / "server.lock")]
    with Program(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "held\n"
        reading = Program([*PROGRAM, "get", "--state", str(state)], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            reading.wait(1)
        process.stdin.close()
        assert reading.communicate()[0] == "no clusters in namespace default\n"


MANIFEST = """\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: IBMPowerVSCluster
metadata:
  name: wanted
  annotations: {powervs.cluster.x-k8s.io/create-infra: "true"}
spec:
  zone: dal10
  resourceGroup: {name: Default}
  serviceInstance: {name: wanted-workspace}
  network: {name: wanted-network}
  vpc: {name: wanted-vpc, region: us-south}
"""


def test_a_served_plan_is_made_by_the_server_and_reads_as_one_made_here(tmp_path: Path) -> None:
    """The server has the SDKs loaded; their import costs ten times the rest of the command."""
    state, manifest = tmp_path / "state", tmp_path / "wanted.yaml"
    manifest.write_text(MANIFEST)
    command = ("plan", "-f", str(manifest), "--detailed-exitcode")
    with serving(state):
        served = freehold_process(*command, "--state", str(state), **IMPORTS)
        assert "default/wanted" in served.stdout and " create " in served.stdout, served.stderr[-2000:]
        assert not imported(served) & {*NEVER, "ibm_vpc", "ibm_platform_services", "ibm_cloud_sdk_core"}
        refused = freehold_in(state, "plan", "--down", "nothing")
        wrong = freehold_in(state, "plan", "-f", str(manifest), "-n", "other", "-o", "json")
        assert "freehold_sim" not in imported(served)
    alone = freehold_in(state, *command)
    assert (served.returncode, served.stdout) == (alone.returncode, alone.stdout)
    again = freehold_in(state, "plan", "--down", "nothing")
    assert (refused.returncode, refused.stderr) == (again.returncode, again.stderr)
    assert wrong.stdout == freehold_in(state, "plan", "-f", str(manifest), "-n", "other", "-o", "json").stdout


IDENTITY = """\
apiVersion: v1
kind: Namespace
metadata: {name: freehold-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {aws: allowed}}
---
apiVersion: v1
kind: Secret
metadata: {name: its-keys, namespace: freehold-system}
stringData: {AccessKeyID: AKIASIMULATED0000002, SecretAccessKey: none}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: its}
spec: {secretRef: its-keys, allowedNamespaces: {selector: {matchLabels: {aws: allowed}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {name: named, namespace: team-a}
spec: {region: us-east-1, identityRef: {kind: AWSClusterStaticIdentity, name: its}}
"""


def test_a_plan_counts_the_identity_that_the_manifest_has_beside_the_cluster(tmp_path: Path) -> None:
    """Nothing of it is stored yet: the identity, its Secret, nor the namespaces."""
    state, manifest = tmp_path / "state", tmp_path / "named.yaml"
    manifest.write_text(IDENTITY)
    with serving(state):
        served = freehold_in(state, "plan", "-f", str(manifest))
    alone = freehold_in(state, "plan", "-f", str(manifest))
    assert "team-a/named" in alone.stdout and " create " in alone.stdout, alone.stdout + alone.stderr[-2000:]
    assert (served.returncode, served.stdout) == (alone.returncode, alone.stdout)
    manifest.write_text(IDENTITY.replace("aws: allowed}}\n---", "aws: refused}}\n---"))
    refused = freehold_in(state, "plan", "-f", str(manifest))
    assert refused.returncode == 1 and "team-a" in refused.stderr, refused.stderr[-2000:]


def test_an_unchanged_up_starts_neither_a_server_nor_a_simulator(served: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "map.yaml"
    manifest.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
    for verb in ("created", "unchanged"):
        done = freehold_process("up", "-f", str(manifest), "--state", str(served), **IMPORTS)
        assert f"ConfigMap {verb}" in done.stdout, done.stderr[-2000:]
    assert not imported(done) & {"pydantic", "cel", "requests", "sqlite3", "jsonschema_rs", "rich"}
    assert not {
        each
        for each in modules(done)
        if each.startswith(("freehold_apiserver", "freehold_sim", "freehold.cli.local.server_process"))
    }


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory that nobody serves any more, with one object and a namespace beside the usual ones."""
    folder = tmp_path_factory.mktemp("left")
    manifest = folder / "left.yaml"
    paused = {"metadata": {"name": "quiet", "annotations": {"cluster.x-k8s.io/paused": ""}}}
    spec = {"spec": {"serviceInstanceID": "a-b-c", "network": {"name": "n"}}}
    kind = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "IBMPowerVSCluster"}
    manifest.write_text(json.dumps({**kind, **paused, **spec}))
    made = freehold_in(folder / "state", "up", "-f", str(manifest), "--simulate", "--speed", "3000", "--timeout", "1")
    assert "created" in made.stdout, made.stderr
    return folder / "state"


READS = (
    ("get",), ("get", "quiet", "-o", "json"), ("get", "events"), ("get", "nothing"), ("tree", "quiet"),
)  # fmt: skip


def test_what_is_not_served_reads_as_what_is(left: Path, tmp_path: Path) -> None:
    """Same rows, same sentences, same exit codes as of a server on a copy of the state."""
    served = tmp_path / "state"
    shutil.copytree(left, served)
    alone = [told(left, command) for command in READS]
    with serving(served):
        assert alone == [told(served, command) for command in READS]


def told(state: Path, command: tuple[str, ...]) -> tuple[int, str, str]:
    """Exit code and lines, without ages and the room that they take, and without the path of the state."""
    done = freehold_in(state, *command)
    lines = re.sub(r" +\d+[smh]\d*s?\b", " AGE", done.stdout.replace(str(state), "STATE"))
    return done.returncode, re.sub(r" +", " ", lines), done.stderr.replace(str(state), "STATE")


def test_a_store_that_is_none_is_refused(left: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    shutil.copytree(left, state)
    (state / "store.sqlite").write_bytes(b"something else altogether, and long enough to be taken for a database")
    done = freehold_in(state, "get")
    assert done.returncode == 1 and "cannot be opened: file is not a database" in done.stderr


def test_a_plan_without_an_endpoint_is_no_success() -> None:
    """All can be made, and ``up`` would still end with an error."""
    row = PlanRow("vpc", "vpc", "v", PlanAction.CREATE, "does not exist")
    plan = Plan("default/a", (row,), lacking=("spec.controlPlaneEndpoint.host: it is missing",))
    with pytest.raises(CliError, match="would not become Ready") as told:
        conclude([plan], "table", detailed_exitcode=True)
    assert told.value.more == ("default/a: spec.controlPlaneEndpoint.host: it is missing",)
    assert conclude([replace(plan, lacking=())], "table", detailed_exitcode=True) == 2


def test_a_plan_survives_json() -> None:
    row = PlanRow("vpc", "vpc", "v", PlanAction.UPDATE, "why", "id", "name", "a", ["b"])
    whole = Plan(
        "default/a", (row,), ("p",), ("u",), ("n",), {"vpc": 2}, gone=True, refused={"vpc/vpc": "no"}, lacking=("l",)
    )
    for plan in (whole, Plan("default/a")):
        assert load_plan(json.loads(json.dumps(dump_plan(plan)))) == plan
