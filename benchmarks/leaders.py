"""``freehold operator`` as a user runs it: how fast another replica takes over, and what many objects at rest cost."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from benchmarks import herd
from benchmarks.operator import INTERVAL, POWERVS_CLUSTERS, served_api
from benchmarks.processes import child
from benchmarks.rows import Row
from freehold.api import names
from freehold.controllers.keyring import secret
from freehold.controllers.keyring.stored_form import RingDocument, StoredKey, dumps
from freehold.controllers.leadership.lease import LEASE_SECONDS, LEASES, NAME
from freehold.engine.keys import KeyRing
from freehold.kube.resources import SECRETS, Json, Resource
from freehold.kube.watch import RESYNC_SECONDS
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects import gate, status
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext
from harness.powervs import example

NAMESPACE = "default"
LONGEST = 120.0
ROUNDS = 5
KILLS = 2
RUNS = 3
TICK = 0.01
OBJECTS = 10_000
QUIET = 60.0
"""Seconds of rest that are measured."""
TARGET = "target of this project"
PROGRAM = [sys.executable, "-c", "from freehold.cli.main import main; main()", "operator"]


def measure() -> Iterator[Row]:
    yield from handover()
    yield from large()
    yield from shards()


# --- processes ---------------------------------------------------------------------------------


class Replica:
    """``freehold operator`` as a process, seen from outside: Linux's own figures, and what it says."""

    def __init__(self, folder: Path, name: str, api: str, cloud: str, *options: str) -> None:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig(api)))
        common = ["--kubeconfig", str(kubeconfig), "--simulator", cloud, "--cluster-api", "off"]
        common += ["--namespace", NAMESPACE, "--keys-namespace", NAMESPACE]
        address = f"127.0.0.1:{_find_port()}"
        common += ["--health-address", address, "--metrics-address", address]
        self.pages = f"http://{address}"
        self._log = folder / f"{name}.log"
        with self._log.open("w") as said:
            self.process = subprocess.Popen([*PROGRAM, *common, *options], stdout=said, stderr=subprocess.STDOUT)

    def says(self, text: str) -> bool:
        """Whether it said so. Raises AssertionError when it ended."""
        said = self._log.read_text()
        assert self.process.poll() is None, said[-2000:]
        return text in said

    def cpu(self) -> float:
        """CPU-seconds so far, user and system, all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak(self) -> float:
        """The most memory that it had so far, in MB."""
        told = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in told.splitlines() if line.startswith("VmHWM:")).split()[1]) / 1024


def _kubeconfig(url: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bench", "cluster": {"server": url}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench"}}],
        "current-context": "bench",
    }


@contextmanager
def _world(
    objects: Iterable[Json], world: Json | None = None, speed: float = 1.0
) -> Iterator[tuple[Path, str, Path, str]]:
    """A folder, an API server that has ``objects`` with its file, and a simulated cloud, empty unless given."""
    with (
        tempfile.TemporaryDirectory() as name,
        served_api(POWERVS_CLUSTERS, objects) as (api, store),
    ):
        folder = Path(name)
        (folder / "world.json").write_text(json.dumps(world or {}))
        with child("cloud", folder / "world.json", speed) as cloud:
            yield folder, api, store, cloud.heard()


@contextmanager
def _replicas() -> Iterator[list[Replica]]:
    """A list of processes; those that still run end with the block."""
    started: list[Replica] = []
    try:
        yield started
    finally:
        for each in started:
            each.process.kill()
            each.process.wait()


def _until(wanted: Callable[[], bool], what: str, seconds: float = LONGEST) -> None:
    deadline = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(TICK)


def _until_says(replica: Replica, text: str) -> None:
    _until(lambda: replica.says(text), text)


def _until_ready(replica: Replica) -> None:
    _until(lambda: _is_ready(f"{replica.pages}/readyz"), "it is ready")


def _get(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


# --- hand-over ---------------------------------------------------------------------------------


def handover() -> Iterator[Row]:
    """From the signal to the leader until the Lease names the other one, which follows; the worst of several."""
    taken: dict[signal.Signals, list[float]] = {signal.SIGTERM: [], signal.SIGKILL: []}
    follower_peak = 0.0
    with _world([]) as (folder, api, _, url), _replicas() as started:
        leader: Replica | None = None
        for number in (signal.SIGTERM,) * ROUNDS + (signal.SIGKILL,) * KILLS:
            if leader is None:
                leader = Replica(folder, "first", api, url, "--leader-elect")
                started.append(leader)
                _until_says(leader, "this process leads")
            follower = Replica(folder, f"replica-{len(started)}", api, url, "--leader-elect")
            started.append(follower)
            _until_says(follower, "this process follows")
            follower_peak = max(follower_peak, follower.peak())
            taken[number].append(_hand_over(api, leader, number))
            leader = follower
    told = f"{TARGET}. The worst of {{}}, nothing in hand; load average {os.getloadavg()[0]:.0f}"
    terminated, killed = max(taken[signal.SIGTERM]), max(taken[signal.SIGKILL])
    unit = "s until another one has the Lease"
    yield Row("operator.handover.sigterm", round(terminated, 2), unit, 2.0, "", told.format(ROUNDS))
    yield Row("operator.handover.kill", round(killed, 2), unit, LEASE_SECONDS + 2.0, "", told.format(KILLS))
    yield Row(
        "operator.follower.rss", round(follower_peak), "MB", 100, "", f"{TARGET}. Peak, from start until it follows"
    )


def _hand_over(api: str, leader: Replica, number: signal.Signals) -> float:
    lease = f"{api}{LEASES.build_collection_path(NAMESPACE)}/{NAME}"
    before = _get(lease)["spec"]["holderIdentity"]
    begun = time.monotonic()
    leader.process.send_signal(number)
    _until(lambda: _get(lease)["spec"]["holderIdentity"] not in ("", before), "another one has the Lease")
    seconds = time.monotonic() - begun
    leader.process.wait()
    return seconds


# --- many objects ------------------------------------------------------------------------------


def large(count: int = OBJECTS) -> Iterator[Row]:
    """``freehold operator`` on many objects that are all paused: there is nothing to do, and no cloud is asked.

    A start ends when all caches are in step (/readyz) and a cluster that is created then is served: what it is
    about to make is recorded. The passes of the others go on behind it. Each collection is listed again every ten
    minutes, and each object has a pass then; that part of rest is taken from the start, in which both are done too.
    """
    prepared, about = list(_build_paused(count)), f"{count} paused clusters without resources"
    starts = [_measure_start(prepared) for _ in range(RUNS)]
    rest = _measure_rest(prepared)
    again = (rest.all_passed - min(_measure_start([]) for _ in range(RUNS))) / RESYNC_SECONDS
    load = f"load average {os.getloadavg()[0]:.0f}"
    served = f"{TARGET}. Until all caches are in step and a new cluster is served; least of {RUNS} runs, {load}"
    yield Row("operator.large.start.cpu", round(min(starts), 1), f"CPU-s, {about}", 10, "", served)
    passed = f"{TARGET}. Until each had its first pass, Python's start included; {load}"
    yield Row("operator.large.start.all", round(rest.all_passed, 1), f"CPU-s, {about}", source=passed)
    yield Row("operator.large.rss", round(rest.peak), f"MB, {about}", 400, "", f"{TARGET}. Peak, all had a pass")
    how = (
        f"{TARGET}. {rest.quiet * 100:.2f} % in {QUIET:.0f} s of rest, {again * 100:.2f} % for the list and the passes"
    )
    idle = round((rest.quiet + again) * 100, 2)
    yield Row(
        "operator.large.idle", idle, f"% of a core, {about}", 1.0, "", f"{how} every {RESYNC_SECONDS:.0f} s; {load}"
    )


@dataclass(frozen=True)
class Rest:
    """A replica at rest: CPU-seconds until each object had a pass, cores used from then on, and peak memory in MB."""

    all_passed: float
    quiet: float
    peak: float


@contextmanager
def _ready_on(objects: Iterable[Json]) -> Iterator[tuple[Replica, str, Path]]:
    """A replica with its caches in step, the URL of its API server, and the file of that."""
    with _world(objects) as (folder, api, store, url), _replicas() as started:
        started.append(replica := Replica(folder, "only", api, url))
        _until_ready(replica)
        yield replica, api, store


def _measure_start(objects: Iterable[Json]) -> float:
    with _ready_on(objects) as (replica, api, _):
        _create(api, POWERVS_CLUSTERS, {**example(), "metadata": {"name": "new", "namespace": NAMESPACE}})
        _until(lambda: _is_served(api), "the new cluster is served")
        return replica.cpu()


def _measure_rest(objects: list[Json]) -> Rest:
    with _ready_on(objects) as (replica, _, store):
        _until(lambda: _count_passes(f"{replica.pages}/metrics") >= len(objects), "each had a pass")
        all_passed = replica.cpu()
        time.sleep(QUIET)
        quiet = (replica.cpu() - all_passed) / QUIET
        written = _count_written(store, len(objects))
        assert not written, f"{written} of {len(objects)} were not at rest"
        return Rest(all_passed, quiet, replica.peak())


def _count_passes(url: str) -> int:
    """Return how many passes of clusters the process tells in its metrics."""
    with urllib.request.urlopen(url) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    kind = POWERVS_CLUSTERS.kind
    samples = [
        sample for family in families if family.name == "freehold_reconcile_seconds" for sample in family.samples
    ]
    return int(sum(each.value for each in samples if each.name.endswith("_count") and each.labels["kind"] == kind))


def _count_written(store: Path, count: int) -> int:
    """Return how many of the first ``count`` objects of the store were written since it was filled."""
    version = "CAST(json_extract(CAST(body AS TEXT), '$.metadata.resourceVersion') AS INTEGER)"
    query = f"SELECT count(*) FROM objects WHERE collection LIKE ? AND {version} > ?"  # noqa: S608 - constant text
    with closing(sqlite3.connect(store)) as db:
        ((written,),) = db.execute(query, (f"%/{POWERVS_CLUSTERS.plural}", count + 1))
    return int(written)


def _find_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _build_paused(count: int) -> Iterator[Json]:
    """Paused clusters as an operator left them: their status says that they are paused."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    around = ClusterContext(ClusterApiMode.OFF)
    manifest = example()
    for index in range(count):
        metadata = {
            "name": f"rest-{index:05d}",
            "namespace": NAMESPACE,
            "uid": f"00000000-0000-4000-8000-{index:012d}",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {names.PAUSED_ANNOTATION: ""},
        }
        raw = {**manifest, "metadata": metadata}
        decided = gate.decide(raw, around, POWERVS_CLUSTER)
        assert isinstance(decided, gate.Pause)
        raw["status"] = status.build_paused_update(raw, decided.message, now).status
        yield raw


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url):
            return True
    except OSError:
        return False


def _create(api: str, resource: Resource, obj: Json) -> None:
    path, body = resource.build_collection_path(NAMESPACE), json.dumps(obj).encode()
    request = urllib.request.Request(f"{api}{path}", data=body, headers={"Content-Type": "application/json"})
    urllib.request.urlopen(request).close()


def _is_served(api: str) -> bool:
    found = _get(f"{api}{POWERVS_CLUSTERS.build_collection_path(NAMESPACE)}/new")
    return names.JOURNAL_ANNOTATION in (found["metadata"].get("annotations") or {})


# --- shards ------------------------------------------------------------------------------------

REPLICAS, SHARDS, CLUSTERS = 3, 12, 300
"""Not 3,000: the first looks at 900 had not ended after six minutes on two busy cores."""
SPEED = 20.0
"""Domain seconds in a real one."""


def shards(count: int = CLUSTERS) -> Iterator[Row]:
    """Three replicas on clusters that are all Ready; from a round of looks, after as many as there are clusters.

    What is told is how far the one that differs the most is from the mean of the three.
    """
    prepared = herd.idle(count)
    with (
        _world(prepared.objects, prepared.world, SPEED) as (folder, api, _, url),
        _replicas() as started,
    ):
        _create(api, SECRETS, _build_ring_secret(prepared.ring))
        for number in range(REPLICAS):
            started.append(Replica(folder, f"replica-{number}", api, url, "--leader-elect", "--shards", str(SHARDS)))
        for each in started:
            _until_ready(each)

        def count_looks() -> list[int]:
            return [_count_passes(f"{each.pages}/metrics") for each in started]

        _until(lambda: sum(count_looks()) >= count, "each had a pass", 600.0)
        before, cpu, begun = count_looks(), [each.cpu() for each in started], time.monotonic()
        time.sleep(2 * INTERVAL / SPEED)
        minutes = (time.monotonic() - begun) * SPEED / 60.0
        rates = [(after - first) / minutes for after, first in zip(count_looks(), before, strict=True)]
        used = [round(each.cpu() - first, 1) for each, first in zip(started, cpu, strict=True)]
        peaks = [each.peak() for each in started]
    where = f"{count} Ready clusters, {REPLICAS} replicas, {SHARDS} shards"
    load = os.getloadavg()[0]
    told = f"{TARGET}, of 3,000 clusters. {SPEED:.0f} simulated seconds in one; load average {load:.0f}; each has"
    unit = f"% off the mean, the worst of {where}"
    looks = ", ".join(f"{rate:.0f}" for rate in rates)
    how = f"{told} {looks} a simulated minute, {used} CPU-s in {minutes:.0f} of them"
    yield Row("operator.shards.reconciles", round(_find_spread(rates), 1), unit, 20, "", how)
    megabytes = ", ".join(f"{peak:.0f}" for peak in peaks)
    yield Row("operator.shards.rss", round(_find_spread(peaks), 1), unit, 20, "", f"{told} {megabytes} MB at most")


def _find_spread(values: list[float]) -> float:
    """Return how far, in percent, the one that is the farthest is from the mean."""
    mean = sum(values) / len(values)
    return max(abs(value - mean) for value in values) / mean * 100


def _build_ring_secret(ring: KeyRing) -> Json:
    document = RingDocument(ring.writing, {digest: StoredKey(key, 0.0) for digest, key in ring.keys.items()})
    data = {secret.ENTRY: base64.b64encode(dumps(document).encode()).decode()}
    metadata = {"name": secret.NAME, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
