"""What a scrape of the metrics costs a process that holds ten thousand objects."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import generate_latest

from benchmarks import herd
from benchmarks.rows import Row
from freehold.controllers.controller import Controller, Done, Result
from freehold.controllers.metrics import Metrics
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import Key
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from harness.virtual_time import VirtualTime

OBJECTS = 10_000
MOST = 150.0
"""CPU-milliseconds: half a percent of a core where Prometheus asks every 30 seconds."""
RUNS = 5


async def _nothing(key: Key) -> Result:
    return Done()


def measure() -> Iterator[Row]:
    (raw,) = herd.idle(1).objects
    resource = resource_of(POWERVS_CLUSTER)
    controller = Controller(KubeClient(Connection("http://127.0.0.1:1")), resource, _nothing, time=VirtualTime())
    cache = controller.find_reflector(resource)._objects
    for number in range(OBJECTS):
        key = Key("default", f"cluster-{number}")
        cache[key] = raw
        controller.queue.add(key)
    metrics = Metrics()
    metrics.objects.read_controllers = lambda: [controller]
    spent = []
    for _ in range(RUNS):
        begun = time.thread_time()
        generate_latest(metrics.registry)
        spent.append(time.thread_time() - begun)
    unit = f"CPU-ms a scrape, {OBJECTS} objects"
    yield Row("operator.scrape", round(min(spent) * 1000, 1), unit, MOST, source="target of this project")
