"""What the page answers a viewer who may see one namespace, and what one who may see all: on real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from freehold.api import names
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json, Key
from freehold.page import feed, live
from freehold.page.api import CLOUD_METADATAS
from freehold.page.feed import Feed
from harness.live_page import PageClient
from harness.page_feed import Reader, ReaderGate
from harness.page_replicas import POWERVS_CLUSTERS, SECONDS, Replica, build_cluster, serve_kinds

OWN, OTHER = "IBMPowerVSCluster/a/one", "IBMPowerVSCluster/b/two"


@pytest.fixture
def gate() -> ReaderGate:
    return ReaderGate(
        {"all": Reader(everywhere=True), "of-a": Reader("reader of a", namespaces=["a"]), "none": Reader()}
    )


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    async with serve_kinds() as talking:
        for name, namespace in (("one", "a"), ("two", "b")):
            await talking.create(POWERVS_CLUSTERS, build_cluster(name, namespace))
            await talking.create(CLOUD_METADATAS, build_metadata(namespace))
        yield talking


def build_metadata(namespace: str) -> Json:
    metadata = {"name": "tags", "namespace": namespace}
    spec = {"classifiers": {"team": "ours"}, "cloudprovider": {"ibmref": {"name": "tags"}}}
    return {"apiVersion": CLOUD_METADATAS.api_version, "kind": "CloudMetadata", "metadata": metadata, "spec": spec}


@asynccontextmanager
async def viewing(replica: Replica, gate: ReaderGate, token: str) -> AsyncIterator[PageClient]:
    async with replica.viewer(gate) as page:
        page.token = token
        yield page


def write_audit(path: Path) -> Path:
    lines = [
        {"time": 1.0 + number, "object": f"IBMPowerVSCluster {named}", "call": "vpc.delete", "outcome": "done"}
        for number, named in enumerate(("a/one", "b/two", "a/gone", "c/never"))
    ]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return path


async def test_a_reader_of_one_namespace_sees_nothing_of_another(
    client: KubeClient, gate: ReaderGate, tmp_path: Path
) -> None:
    replica = Replica(client.connection, tmp_path / "keys", audit=(write_audit(tmp_path / "audit.jsonl"),))
    async with viewing(replica, gate, "of-a") as page:
        session = await page.get("session")
        assert (session["viewer"], session["everywhere"], session["namespaces"]) == ("reader of a", False, ["a"])
        objects = await page.get("objects")
        assert {row["namespace"] for row in objects["rows"]} == {"a"}
        assert len(objects["rows"]) == 2
        assert [each["namespace"] for each in (await page.get("tags"))["objects"]] == ["a"]
        assert [line["key"] for line in (await page.get("audit"))["lines"]] == [
            "IBMPowerVSCluster/a/gone", "IBMPowerVSCluster/a/one",
        ]  # fmt: skip
        assert (await page.get(f"objects/{OWN}"))["row"]["key"] == OWN
        assert (await page.get(f"objects/{OWN}/deletion"))["command"]
        for path in (f"objects/{OTHER}", f"objects/{OTHER}/deletion", "objects/IBMPowerVSCluster/b/nobody"):
            async with page.request(path) as answer:
                assert (answer.status, (await answer.json())["problem"]) == (
                    403,
                    "reader of a may not list ibmpowervsclusters.infrastructure.cluster.x-k8s.io in namespace 'b'",
                )


async def test_whoever_sees_all_sees_all_and_whoever_has_no_right_nothing(
    client: KubeClient, gate: ReaderGate, tmp_path: Path
) -> None:
    replica = Replica(client.connection, tmp_path / "keys", audit=(write_audit(tmp_path / "audit.jsonl"),))
    async with replica.viewer(gate) as page:
        seen: dict[str, Any] = {}
        for page.token in ("all", "none"):
            session = await page.get("session")
            seen[page.token] = (
                session["everywhere"],
                session["namespaces"],
                len((await page.get("objects"))["rows"]),
                len((await page.get("tags"))["objects"]),
                len((await page.get("audit"))["lines"]),
            )
    assert seen == {"all": (True, ["a", "b"], 4, 2, 4), "none": (False, [], 0, 0, 0)}


async def test_an_answer_that_is_kept_is_of_the_newest_object(
    client: KubeClient, gate: ReaderGate, tmp_path: Path
) -> None:
    replica = Replica(client.connection, tmp_path / "keys")
    async with viewing(replica, gate, "all") as page:
        first = (await page.get(f"objects/{OWN}"))["row"]["version"]
        assert (await page.get(f"objects/{OWN}"))["row"]["version"] == first
        patch = {"metadata": {"annotations": {names.PAUSED_ANNOTATION: ""}}}
        changed = await client.patch(POWERVS_CLUSTERS, Key("a", "one"), patch)
        version = changed["metadata"]["resourceVersion"]
        await page.watch_until(lambda rows: rows[OWN]["version"] == version)
        assert (await page.get(f"objects/{OWN}"))["row"]["version"] == version != first


async def test_a_task_of_the_page_that_dies_is_started_again(
    client: KubeClient,
    gate: ReaderGate,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = [ZeroDivisionError("a defect")]

    def fail_once(feed: Feed) -> None:
        if failures:
            raise failures.pop()

    monkeypatch.setattr(live, "RESTART_SECONDS", 0.0)
    monkeypatch.setattr(feed, "RECHECK_SECONDS", 0.1)  # what it died over is looked at again after so long
    monkeypatch.setattr(Feed, "_recheck", fail_once)
    async with viewing(Replica(client.connection, tmp_path / "keys"), gate, "all") as page:
        await client.create(POWERVS_CLUSTERS, build_cluster("three", "a"))
        await page.watch_until(lambda rows: "IBMPowerVSCluster/a/three" in rows)
        async with page.request(f"stream?after={(await page.get('objects'))['seq']}") as answer:
            await client.create(POWERVS_CLUSTERS, build_cluster("four", "a"))
            async with asyncio.timeout(SECONDS):
                while b"four" not in await answer.content.readline():
                    pass
    assert not failures
    assert "a task of the page died" in caplog.text
