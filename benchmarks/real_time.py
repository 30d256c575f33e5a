"""One cluster by real processes at real speed: whether virtual time tells the truth about calls and seconds.

Operator, API server and simulated cloud are three processes; delays and lags are a tenth of the published ones. The
same profile runs in virtual time, and both must be near each other.
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
from freehold.kube.resources import key_of
from freehold.lifecycle.keys import KeyRing
from freehold.operator.kinds import POWERVS_CLUSTERS
from freehold_sim.ibm.settings import Delays, Lags, Settings
from harness.powervs import Harness, StoredObject, example

FACTOR = 0.1
LONGEST = 600.0
POLL = 0.05
NEAR = 1.10
"""The real figure, at most, as a multiple of the virtual one."""


def _profile() -> Settings:
    lags = Lags()
    short = {name: value * FACTOR for name, value in asdict(lags).items() if not isinstance(value, bool)}
    return Settings(delays=Delays().scaled(FACTOR), lags=replace(lags, **short))


def measure() -> Iterator[Row]:
    virtual_calls, virtual_seconds = _virtual()
    calls, seconds = _real()
    real, virtual = f"{calls} calls in {seconds:.1f} s", f"{virtual_calls} in {virtual_seconds:.1f} s"
    how = f"{real}, in virtual time {virtual}; delays and lags × {FACTOR:g}, speed 1"
    yield Row("powervs.real.calls", round(calls / virtual_calls, 3), "× virtual time", NEAR, source=how)
    yield Row("powervs.real.time", round(seconds / virtual_seconds, 3), "× virtual time", NEAR, source=how)


def _virtual() -> tuple[int, float]:
    harness = Harness(example(vpcSubnets=None), _profile())
    harness.object = named(harness.clock.now, 0)
    seconds = harness.up()
    return len(harness.calls()), seconds


def _real() -> tuple[int, float]:
    settings, ring = _profile(), KeyRing.single(b"the key of the benchmark in real time" * 2)
    stored = StoredObject(named(time.time, 0).raw, time.time)
    with tempfile.TemporaryDirectory() as folder:
        keys = ring_file(Path(folder), ring)
        profile = json.dumps({"delays": asdict(settings.delays), "lags": asdict(settings.lags)})
        with (
            served_api(POWERVS_CLUSTERS, [stored.raw]) as (api, _),
            child("new_cloud", profile) as cloud,
        ):
            url = cloud.heard()
            with child("operator", api, url, 1.0, keys) as operator:
                operator.ask()
                return _until_ready(f"{api}{POWERVS_CLUSTERS.object_path(key_of(stored.raw))}", url)


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
