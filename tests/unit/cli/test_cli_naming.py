"""What the words of a person name: NAME, KIND NAME and KIND/NAME, and what is refused before anything is done."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from freehold.cli.errors import CliError
from freehold.cli.local.server_process import kubeconfig
from freehold.cli.main import cli
from freehold.cli.objects.naming import NameSyntax, find_object, find_objects, split_words
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import NAMESPACES, Key
from freehold.providers.crds import build_crds
from freehold.providers.registry import METADATA_RESOURCES, SERVED_RESOURCES
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.commands import freehold

POWERVS, AWS, *_ = SERVED_RESOURCES
CLUSTERS = (POWERVS, AWS)
MINIMAL = Key("default", "minimal")
GROUP = "infrastructure.cluster.x-k8s.io"
OBJECTS = [
    *((kind, MINIMAL) for kind in CLUSTERS),
    (POWERVS, Key("default", "other")),
    (AWS, Key("default", "awscluster")),
    (AWS, Key("team", "far")),
]


async def store_objects(client: KubeClient) -> None:
    """Two clusters of one name, one of a name alone, one that is called as a kind, one in another namespace."""
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    for resource, key in OBJECTS:
        spec = {"region": "us-east-1"} if resource is AWS else {}
        metadata = {"namespace": key.namespace, "name": key.name}
        obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
        await client.create(resource, obj)


@dataclass
class Reading:
    """What a command knows of its session."""

    client: KubeClient
    namespace: str = "default"


@pytest.fixture
async def session(client: KubeClient) -> Reading:
    await store_objects(client)
    return Reading(client)


DOWN = NameSyntax("down")


@pytest.mark.parametrize(
    "words",
    [
        ["AWSCluster", "minimal"],
        ["AWSCluster/minimal"],
        ["awscluster/minimal"],
        ["awsclusters/minimal"],
        [f"awsclusters.{GROUP}/minimal"],
        [f"awsclusters.v1beta2.{GROUP}", "minimal"],
        ["AWSCluster.infrastructure", "minimal"],
        [f"AWSCluster.{GROUP}", "minimal", "minimal"],
    ],
    ids=" ".join,
)
async def test_kind_and_name_are_one_object_by_every_spelling(session: Reading, words: list[str]) -> None:
    assert await find_objects(session, DOWN, words, "") == [(AWS, MINIMAL)]


async def test_a_name_that_one_object_has_needs_no_kind(session: Reading) -> None:
    found = await find_objects(session, DOWN, ["other", "IBMPowerVSCluster/minimal"], "")
    assert found == [(POWERVS, Key("default", "other")), (POWERVS, MINIMAL)]
    assert await find_object(session, DOWN, ["awscluster"], "") == (AWS, Key("default", "awscluster"))


@pytest.mark.parametrize("command", ["down", "prune", "resolve", "plan --down"])
async def test_a_name_that_two_objects_have_is_refused_with_commands_that_mean_one(
    session: Reading, command: str
) -> None:
    naming = NameSyntax(command, rest=("vpc/main",) if command == "resolve" else ())
    with pytest.raises(CliError, match="minimal is the name of 2 objects: say which") as refused:
        await find_objects(session, naming, ["other", "minimal"], "")
    meant = []
    for line in refused.value.more:
        assert line.startswith(f"freehold {command} ")
        words = line.removeprefix(f"freehold {command} ").split()
        meant.append(await find_object(session, naming, words[:1], ""))
        assert words[1:] == list(naming.rest)
    assert meant == [(POWERVS, MINIMAL), (AWS, MINIMAL)]


@pytest.mark.parametrize(
    ("words", "said", "more"),
    [
        (["other", "nobody"], "there is no cluster default/nobody;", ["nothing was done with what is there: "
         "freehold down IBMPowerVSCluster/other"]),
        (["AWSCluster", "minimal", "other"], "there is no AWSCluster default/other;", ["nothing was done with what is "
         "there: freehold down AWSCluster/minimal"]),
        (["far"], "there is no cluster default/far;", ["in namespace team: freehold down AWSCluster/far -n team"]),
        (["awscluster", "minimal"], "awscluster is a kind, and the name of an object", ["freehold down AWSCluster/NAME",
         "freehold down AWSCluster/awscluster"]),
        (["ibmpowervscluster"], "say which IBMPowerVSCluster: freehold down IBMPowerVSCluster NAME", []),
        (["AWSCluster.other", "x"], "there is no cluster default/AWSCluster.other, default/x;", []),
        (["pods/minimal"], "pods/minimal is no KIND/NAME: this command takes IBMPowerVSCluster, AWSCluster", []),
        (["awscluster/"], "awscluster/ is no KIND/NAME", []),
        (["ibmpowervscluster", "awsclusters/minimal"], "give KIND NAME or KIND/NAME, not both", []),
    ],
)  # fmt: skip
async def test_what_does_not_name_one_object_each_is_refused(
    session: Reading, words: list[str], said: str, more: list[str]
) -> None:
    with pytest.raises(CliError) as refused:
        await find_objects(session, DOWN, words, "")
    assert said in refused.value.sentence
    assert list(refused.value.more) == more


async def test_words_after_the_name_are_told_from_it(session: Reading) -> None:
    resolve = NameSyntax("resolve")
    assert await split_words(session, resolve, ["minimal", "vpc/main", "id"], "") == (["minimal"], ["vpc/main", "id"])
    words = ["ibmpowervscluster", "minimal", "vpc/main"]
    assert await split_words(session, resolve, words, "") == (words[:2], words[2:])
    assert await split_words(session, resolve, ["AWSCluster/minimal", "id"], "") == (["AWSCluster/minimal"], ["id"])


@pytest.mark.parametrize("words", [["team/far"], ["AWSCluster/team/far"], ["ibmpowervscluster", "default/other"]])
async def test_where_a_name_may_have_its_namespace_so_may_a_kind(session: Reading, words: list[str]) -> None:
    naming = NameSyntax("keys export", (*SERVED_RESOURCES, *METADATA_RESOURCES), with_namespace=True)
    resource, key = await find_object(session, naming, words, "")
    assert str(key) == words[-1].removeprefix("AWSCluster/")
    again = naming.exact((resource, key), "default").arguments
    assert await find_object(session, naming, again, "") == (resource, key)


class Cluster:
    """An API server in a thread, and the commands with its kubeconfig, as with an operator that is away."""

    def __init__(self, url: str, config: Path) -> None:
        config.write_text(kubeconfig(url))
        self.config = config

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(cli, [*words, "--kubeconfig", str(self.config)])

    def names(self) -> list[str]:
        found = json.loads(self.run("get", "-A", "-o", "json").stdout)["items"]
        return sorted(f"{each['kind']}/{each['metadata']['name']}" for each in found)


ALL = sorted(f"{resource.kind}/{key.name}" for resource, key in OBJECTS)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    ready: list[str] = []
    started, ended = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        store = Store.open(":memory:")
        api = ApiServer(store, build_crds())
        ready.append(await api.start())
        async with KubeClient(Connection(ready[0])) as client:
            await store_objects(client)
        started.set()
        await ended.wait()
        await api.stop()
        store.close()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    started.wait(60)
    yield Cluster(ready[0], tmp_path / "kubeconfig")
    loop.call_soon_threadsafe(ended.set)
    thread.join()
    loop.close()


def test_down_deletes_what_is_named_exactly_or_nothing(cluster: Cluster) -> None:
    for words in (["minimal"], ["other", "nobody"], ["AWSCluster", "other"], ["awscluster", "minimal"]):
        refused = cluster.run("down", *words, "--yes")
        assert refused.exit_code != 0, words
        assert cluster.names() == ALL, words
    assert cluster.run("down", "awsclusters/minimal", "--yes").exit_code == 0
    assert cluster.names() == [each for each in ALL if each != "AWSCluster/minimal"]


def test_commands_that_only_look_take_kinds_too(cluster: Cluster) -> None:
    for words in (["AWSCluster", "minimal"], ["AWSCluster/minimal"], [f"awsclusters.{GROUP}/minimal"]):
        assert cluster.run("get", *words, "-o", "name").stdout == f"awscluster.{GROUP}/minimal\n"
    assert cluster.run("get", "minimal", "-o", "name").stdout.count("/minimal") == 2
    assert cluster.run("get", "namespaces/team", "-o", "name").stdout == "namespace/team\n"
    assert "several kinds" in str(cluster.run("get", "awscluster/minimal", "ns/team").exception)
    assert cluster.run("tree", "AWSCluster/minimal").stdout.startswith("AWSCluster/minimal")
    assert cluster.run("tree", "ibmpowervscluster", "minimal").stdout.startswith("IBMPowerVSCluster/minimal")
    both = cluster.run("tree", "minimal").stdout
    assert "IBMPowerVSCluster/minimal" in both and "AWSCluster/minimal" in both


def test_without_a_terminal_nothing_is_asked_and_nothing_deleted(cluster: Cluster) -> None:
    for stdin in ("", "y\n"):
        refused = freehold("down", "other", "--kubeconfig", str(cluster.config), stdin=stdin)
        assert refused.returncode == 1
        assert "IBMPowerVSCluster default/other" in refused.stdout, "the plan is shown"
        assert "nothing was deleted: there is no terminal to ask on; --yes" in refused.stderr
    assert cluster.names() == ALL
