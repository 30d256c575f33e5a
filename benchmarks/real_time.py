"""One cluster by real processes: whether virtual time tells the truth about calls and seconds.

Operator, API server and simulated cloud are three processes. One profile has a tenth of the published delays and lags,
at the speed of life. The other has twice the published delays, sped up: its create is longer than a round of deep
looks, which the operator makes wherever in the round it was started. Each profile runs in virtual time too, and both
must be near each other.
"""

from __future__ import annotations

import json
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.operator import ring_file, served_api
from benchmarks.powervs import named
from benchmarks.processes import child
from benchmarks.rows import Row
from freehold.engine.keys import KeyRing
from freehold.kube.resources import key_of
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from freehold_sim.ibm.settings import Delays, Lags, Settings
from harness.powervs import Harness, StoredObject, example

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

FACTOR = 0.1
SLOW, SPEED = 2.0, 20.0
LONGEST = 600.0
POLL = 0.05
NEAR = 1.10
"""The real figure, at most, as a multiple of the virtual one."""


def _quick() -> Settings:
    lags = Lags()
    short = {name: value * FACTOR for name, value in asdict(lags).items() if not isinstance(value, bool)}
    return Settings(delays=Delays().scaled(FACTOR), lags=replace(lags, **short))


def measure() -> Iterator[Row]:
    yield from _rows("powervs.real", _quick(), 1.0, f"delays and lags × {FACTOR:g}, speed 1")
    slow = Settings(delays=Delays().scaled(SLOW))
    yield from _rows(f"powervs.real.×{SLOW:g}", slow, SPEED, f"delays × {SLOW:g}, speed {SPEED:g}")


def _rows(name: str, settings: Settings, speed: float, profile: str) -> Iterator[Row]:
    virtual_calls, virtual_seconds = _virtual(settings)
    calls, seconds = _real(settings, speed)
    real, virtual = f"{calls} calls in {seconds:.1f} s", f"{virtual_calls} in {virtual_seconds:.1f} s"
    how = f"{real}, in virtual time {virtual}; {profile}"
    yield Row(f"{name}.calls", round(calls / virtual_calls, 3), "× virtual time", NEAR, source=how)
    yield Row(f"{name}.time", round(seconds / virtual_seconds, 3), "× virtual time", NEAR, source=how)


def _virtual(settings: Settings) -> tuple[int, float]:
    harness = Harness(example(vpcSubnets=None), settings)
    harness.object = named(harness.clock.now, 0)
    seconds = harness.up()
    return len(harness.calls()), seconds


def _real(settings: Settings, speed: float) -> tuple[int, float]:
    """The calls, and the domain seconds."""
    ring = KeyRing.single(b"the key of the benchmark in real time" * 2)
    stored = StoredObject(named(time.time, 0).raw, time.time)
    with tempfile.TemporaryDirectory() as folder:
        keys = ring_file(Path(folder), ring)
        profile = json.dumps({"delays": asdict(settings.delays), "lags": asdict(settings.lags)})
        with (
            served_api(POWERVS_CLUSTERS, [stored.raw]) as (api, _),
            child("new_cloud", profile, speed) as cloud,
        ):
            url = cloud.heard()
            with child("operator", api, url, speed, keys) as operator:
                operator.ask()
                calls, seconds = _until_ready(f"{api}{POWERVS_CLUSTERS.build_object_path(key_of(stored.raw))}", url)
                return calls, seconds * speed


def _until_ready(path: str, cloud: str) -> tuple[int, float]:
    """From the first call until the status says ready."""
    begun, deadline = 0.0, time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        if not begun and _get(f"{cloud}/_sim/calls?since=0")["calls"]:
            begun = time.monotonic()
        if (_get(path).get("status") or {}).get("ready"):
            return len(_get(f"{cloud}/_sim/calls?since=0")["calls"]), time.monotonic() - begun
        time.sleep(POLL)
    raise AssertionError(f"not ready after {LONGEST:.0f} s")


def _get(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)
