"""`freehold get`: which objects, in which form, and what is said of those that are not there."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from freehold.cli.output.formats import print_objects
from harness.commands import freehold

SERVED = "infrastructure.cluster.x-k8s.io/v1beta2"


class Served:
    """A state directory that a running process serves, without a cloud."""

    def __init__(self, state: Path, url: str) -> None:
        self.state = state
        self.url = url
        self.token = (state / "api-token").read_text()

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return freehold(*arguments, **{"FREEHOLD_STATE": str(self.state), **env})

    def get(self, *arguments: str) -> str:
        done = self.run("get", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def post(self, path: str, obj: dict[str, Any]) -> None:
        requests.post(f"{self.url}{path}", json=obj, timeout=60, auth=("any", self.token)).raise_for_status()


def _cluster(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": SERVED, "kind": "IBMPowerVSCluster",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"network": {"name": "n"}, "serviceInstanceID": "s"},
    }  # fmt: skip


def _event(name: str, message: str, last: str) -> dict[str, Any]:
    involved = {"kind": "IBMPowerVSCluster", "name": "a", "namespace": "default"}
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
        "type": "Normal", "reason": "Seen", "message": message, "lastTimestamp": last, "involvedObject": involved,
    }  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    state = tmp_path_factory.mktemp("state")
    program = (
        "import asyncio, pathlib, sys\n"
        "from freehold.cli.local.access import ServeOptions\n"
        "from freehold.cli.local.server_process import live_server\n"
        "from freehold.cli.local.state_directory import Lock, StateDirectory\n"
        "async def serve():\n"
        "    state = StateDirectory.open(pathlib.Path(sys.argv[1])); lock = Lock(state.lock); lock.take()\n"
        "    async with live_server(state, lock, ServeOptions(operator=False)) as running:\n"
        "        print(running.server.url, flush=True)\n"
        "        await asyncio.to_thread(sys.stdin.read)\n"
        "asyncio.run(serve())\n"
    )
    command = [sys.executable, "-c", program, str(state)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        there = Served(state, process.stdout.readline().strip())
        collection = f"/apis/{SERVED}/namespaces/default/ibmpowervsclusters"
        there.post(collection, _cluster("a", team="x"))
        there.post(collection, _cluster("b", team="y"))
        there.post("/api/v1/namespaces/default/events", _event("1", "the newer one", "2026-01-02T00:00:00Z"))
        there.post("/api/v1/namespaces/default/events", _event("2", "the older one", "2026-01-01T00:00:00Z"))
        yield there
        process.stdin.close()


def test_the_clusters_are_shown_without_a_kind(served: Served) -> None:
    heads, *rows = served.get().splitlines()
    assert heads.split()[:3] == ["NAME", "PHASE", "READY"]
    assert [row.split()[:2] for row in rows] == [["a", "Progressing"], ["b", "Progressing"]]
    assert served.get("-A").splitlines()[1].split()[:2] == ["default", "a"]


def test_a_name_is_enough(served: Served) -> None:
    """`freehold get NAME` is what people try after `freehold tree NAME`."""
    assert [row.split()[0] for row in served.get("b").splitlines()] == ["NAME", "b"]
    assert [row.split()[0] for row in served.get("b", "a").splitlines()] == ["NAME", "b", "a"]
    assert [row.split()[0] for row in served.get("ibmpowervscluster", "a").splitlines()] == ["NAME", "a"]


def test_a_word_that_is_neither_kind_nor_name_lists_both(served: Served) -> None:
    done = served.run("get", "gizmo")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no kind 'gizmo', and there is no cluster gizmo in namespace default; there are: a, b" in done.stderr
    assert "configmaps" in done.stderr


def test_what_is_there_is_shown_although_another_name_is_not(served: Served) -> None:
    done = served.run("get", "a", "nobody")
    assert done.returncode == 1
    assert [row.split()[0] for row in done.stdout.splitlines()] == ["NAME", "a"]
    assert done.stderr == "freehold: there is no cluster nobody in namespace default; there are: a, b\n"


def test_a_selector_chooses(served: Served) -> None:
    assert served.get("-l", "team=y", "-o", "name") == f"ibmpowervscluster.{SERVED.partition('/')[0]}/b\n"
    assert served.get("-l", "team=z") == "no clusters with team=z in namespace default\n"
    assert served.run("get", "a", "-l", "team=x").returncode == 2


def test_events_come_in_their_order_with_what_they_say(served: Served) -> None:
    heads, *rows = served.get("events").splitlines()
    assert [heads.split()[-1], *(row[heads.index("MESSAGE") :] for row in rows)] == [
        "MESSAGE", "the older one", "the newer one",
    ]  # fmt: skip


def test_other_kinds_have_the_columns_of_the_server(served: Served) -> None:
    heads, *rows = served.get("namespaces").splitlines()
    assert heads.split() == ["NAME", "STATUS", "AGE"]
    assert [row.split()[1] for row in rows] == ["Active", "Active"]
    assert [row.split()[0] for row in served.get("ns", "default").splitlines()] == ["NAME", "default"]


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_managed_fields_are_not_printed(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    obj = {"kind": "K", "metadata": {"name": "a", "managedFields": [{"manager": "m"}]}}
    print_objects(output, [obj], as_list=False)
    assert "managedFields" not in capsys.readouterr().out
    assert "managedFields" in obj["metadata"], "what was read is not changed"


def test_one_name_is_printed_as_an_object_and_several_as_a_list(served: Served) -> None:
    shown = yaml.safe_load(served.get("a", "-o", "yaml"))
    assert (shown["kind"], shown["metadata"]["name"]) == ("IBMPowerVSCluster", "a")
    both = json.loads(served.get("a", "b", "-o", "json"))
    assert [each["metadata"]["name"] for each in both["items"]] == ["a", "b"]


def test_an_unknown_format_is_refused_with_the_known_ones(served: Served) -> None:
    refused = served.run("get", "-o", "jsonpath={.a}")
    assert refused.returncode == 2
    assert "is not one of 'table', 'name', 'json', 'yaml'" in refused.stderr


def _completed(served: Served, *words: str, state: Path | None = None) -> list[str]:
    env = {"_FREEHOLD_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = served.run(**env, **({"FREEHOLD_STATE": str(state)} if state else {}))
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.split()]


def test_names_and_kinds_are_completed_from_the_running_server(served: Served) -> None:
    assert _completed(served, "freehold", "tree", "") == ["a", "b"]
    assert _completed(served, "freehold", "down", "a", "") == ["b"], "a name that is there already is not offered"
    assert _completed(served, "freehold", "get", "ev") == ["events"]
    assert _completed(served, "freehold", "get", "ns", "kube") == ["kube-system"]
    assert _completed(served, "freehold", "tree", "-n", "def") == ["default"]
    assert _completed(served, "freehold", "get", "-o", "js") == ["json"]


def test_completion_starts_nothing_and_says_nothing_where_nothing_runs(served: Served, tmp_path: Path) -> None:
    nowhere = tmp_path / "none"
    assert _completed(served, "freehold", "tree", "", state=nowhere) == []
    assert not nowhere.exists()
    nowhere.mkdir()
    (nowhere / "server.lock").write_text('{"url": "http://127.0.0.1:9", "pid": 1, "operator": true}')
    assert _completed(served, "freehold", "tree", "", state=nowhere) == [], "left behind by a kill -9"
    (nowhere / "server.lock").write_text("{")
    assert _completed(served, "freehold", "get", "", state=nowhere) == []
