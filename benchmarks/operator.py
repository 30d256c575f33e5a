"""What the operator itself costs: a cold start of the runtime, and a thousand clusters in which nothing happens."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks import herd, widgets
from benchmarks.processes import Child, Usage, child
from benchmarks.rows import Row
from freehold.api import names
from freehold.controllers.keyring.stored_form import RingDocument, StoredKey, dumps
from freehold.controllers.settings import Settings
from freehold.engine.interface import Intervals
from freehold.engine.keys import KeyRing
from freehold.kube.resources import Json, Resource, key_of
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from freehold_apiserver.store import Store

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

SMALL = 5000
CLUSTERS = 1000
SPIKES = "docs/reference/kubernetes.md#runtime, N=5000, 'start'"
RATIO = 1.5
"""Of the runtime to bare aiohttp. CPU-seconds alone grow on a slower or busier machine, and both do."""
RUNS = 3
"""Each program is run so often, in turns, and its least use counts: what else runs on a core only adds to CPU time."""


def measure() -> Iterator[Row]:
    yield from cold_start()
    yield from idle()


# --- cold start --------------------------------------------------------------------------------


def cold_start(count: int = SMALL) -> Iterator[Row]:
    """A finalizer and a status for each of many small objects that are there already.

    The number is the whole process's, from the start of Python until the last status is written: imports,
    the list in pages, two patches an object each with its answer read and decoded, the watch that brings
    both back, and a second reconcile, which finds from the watch's cache that the status is due. The API
    server is another process and is not counted. The floor is the two patches alone, in a loop that knows
    its objects and neither lists nor watches. Nine tenths of our number are Python's start, aiohttp and its
    event loop: reflector, queue and workers with their JSON take the rest.
    """
    measured = [(_served_small("bare", count), _served_small("controller", count)) for _ in range(RUNS)]
    floor, runtime = (Usage.least(of_program) for of_program in zip(*measured, strict=True))
    here = f"here {runtime.cpu:.2f} and {floor.cpu:.2f} CPU-s, least of {RUNS} runs"
    how = f"{SPIKES}: kopf 16.9 CPU-s, bare aiohttp 1.6; {here}, load average {os.getloadavg()[0]:.0f}"
    ratio = round(runtime.cpu / floor.cpu, 2)
    yield Row("operator.cold_start.ratio", ratio, "× bare aiohttp", RATIO, "kopf 10.6", how)
    yield Row("operator.cold_start.rss", round(runtime.peak), f"MB, {count} objects", 150, "kopf 287, raw 55", SPIKES)


def _served_small(program: str, count: int) -> Usage:
    with served_api(widgets.WIDGETS, widgets.stored(count)) as (url, _), child(program, url, count) as running:
        return Usage.of(running.heard())


# --- idle --------------------------------------------------------------------------------------

SPEED = 8.0
"""Domain seconds in a real one: eight minutes of the clusters' time in one of ours."""
INTERVAL = Intervals().deep
"""Domain seconds from one round of looks to the next."""
LONGEST = 900.0
IN_HAND = 3.0
"""Seconds in which the looks that are in hand end."""
WORKERS = Settings.workers
WAY = (
    "target of this project. One cluster brought up on the simulated cloud, the others copied from it, objects and "
    "resources (benchmarks/herd.py); operator, API server and cloud are processes; the operator's first look at "
    "each is a deep pass"
)


def idle(count: int = CLUSTERS) -> Iterator[Row]:
    """The operator on clusters that are all Ready: its first look at each, then the time from a round to the next."""
    prepared = herd.idle(count)
    with tempfile.TemporaryDirectory() as folder, served_api(POWERVS_CLUSTERS, prepared.objects) as (api, store):
        world = Path(folder) / "world.json"
        world.write_text(json.dumps(prepared.world))
        keys = ring_file(Path(folder), prepared.ring)
        with child("cloud", world, SPEED) as cloud:
            url = cloud.heard()
            with child("operator", api, url, SPEED, keys) as operator:
                yield from _watched(operator, url, count)
        yield from _stored(store, count)


def ring_file(folder: Path, ring: KeyRing) -> Path:
    document = RingDocument(ring.writing, {digest: StoredKey(key, 0.0) for digest, key in ring.keys.items()})
    path = folder / "herd.keys"
    path.touch(mode=0o600)
    path.write_text(dumps(document))
    return path


def _watched(operator: Child, cloud: str, count: int) -> Iterator[Row]:
    started = _when_looked_at(operator, count // 20)  # the vendors' SDKs are loaded by now
    begun, looked = Usage.of(started), Usage.of(_when_looked_at(operator, count))
    time.sleep(IN_HAND)
    settled, looks = Usage.of(operator.ask()), _asked(cloud)
    time.sleep(INTERVAL / SPEED)
    after, passes = Usage.of(operator.ask()), _asked(cloud) - looks
    deep = (looked.cpu - begun.cpu) / (count - started["scheduled"])
    used = (after.cpu - settled.cpu) / (INTERVAL / 60.0)
    yield Row("operator.idle.cpu", round(used, 2), f"CPU-s a minute, {count} clusters", source=WAY)
    yield Row("operator.idle.cpu.look", round(deep * 1000, 1), "CPU-ms a first look", source=WAY)
    yield Row("operator.idle.rss", round(after.peak), f"MB, {count} clusters", source=WAY)
    calls = passes.total() / count * 3600.0 / INTERVAL
    unit = f"calls a cluster and hour, {count} clusters"
    yield Row("operator.idle.calls", round(calls, 1), unit, 16, "96 to 105 (CAPIBM)", WAY)


def _when_looked_at(operator: Child, count: int) -> dict[str, float]:
    """What the operator says of itself when it has an appointment with ``count`` clusters."""
    deadline = time.monotonic() + LONGEST
    told: dict[str, float] = operator.ask()
    while told["scheduled"] < count - WORKERS:  # what is in hand has none
        if time.monotonic() > deadline:
            raise AssertionError(f"{count} clusters were not looked at in {LONGEST:.0f} s: {told}")
        time.sleep(0.1)
        told = operator.ask()
    return told


def _asked(cloud: str) -> Counter[str]:
    """What the cloud was asked so far, by operation. Raises AssertionError when anything was changed."""
    with urllib.request.urlopen(f"{cloud}/_sim/calls?since=0") as answer:
        log = json.load(answer)
    changed = {call["operation"] for call in log["calls"] if call["mutating"]}
    if changed:
        raise AssertionError(f"the clusters are not idle: {changed}")
    return Counter(log["by_operation"])


def _stored(store: Path, count: int) -> Iterator[Row]:
    with closing(sqlite3.connect(store)) as db:
        query = "SELECT body FROM objects WHERE collection LIKE ?"
        bodies = [bytes(row[0]) for row in db.execute(query, (f"%/{POWERVS_CLUSTERS.plural}",))]
    largest = json.loads(max(bodies, key=len))
    journal = len(largest["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    status = len(json.dumps(largest["status"], separators=(",", ":")))
    yield Row("operator.stored.object", round(sum(map(len, bodies)) / count), "bytes an object in SQLite", source=WAY)
    yield Row("operator.stored.journal", journal, "bytes an object, of these the journal", source=WAY)
    yield Row("operator.stored.status", status, "bytes an object, of these the status", source=WAY)


@contextmanager
def served_api(resource: Resource, objects: Iterable[Json]) -> Iterator[tuple[str, Path]]:
    """An API server in a process of its own that has ``objects`` already; its URL and its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with closing(Store.open(path)) as store:
            for obj in objects:
                store.put(f"{resource.group}/{resource.plural}", key_of(obj), obj)
        with child("api", path) as server:
            yield server.heard(), path
