"""What an answer of the admission webhook costs while the operator's workers are at work.

``python -m benchmarks.admission serve`` is the measured process: the webhook in its thread, and in the event loop of
the main one 80 workers that decide what clusters want, half of the time.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from benchmarks.processes import child, say
from benchmarks.rows import Row
from freehold.admission import certificates
from freehold.admission.certificate_files import FileCertificates
from freehold.admission.review import Reviewer
from freehold.admission.rules import Rules
from freehold.admission.running import SWITCH_SECONDS
from freehold.admission.server import Parts, Webhook, serve_webhook
from freehold.admission.webhook_configuration import CHECKED
from freehold.controllers.observers import NOBODY

REQUESTS = 2000
PAUSE = 0.004
"""Seconds between two requests, each of which waits for its answer."""
WORKERS = 80
BUSY = 0.5
"""The part of a core that the workers take; three thousand idle clusters take a hundredth."""
TARGET = 10.0
GROUP = "infrastructure.cluster.x-k8s.io"
EXAMPLE = Path(__file__).parent.parent / "examples" / "aws-cluster.yaml"


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, child("serve", folder, of="benchmarks.admission") as running:
        port = running.heard()
        took = asyncio.run(_ask(port, Path(folder) / "ca.crt"))
    percentile, median = (1000 * took[int(len(took) * part)] for part in (0.99, 0.5))
    load = f"load average {os.getloadavg()[0]:.0f}"
    how = f"{REQUESTS} creates of an AWSCluster, one at a time, median {median:.1f} ms, {load}"
    unit = f"ms at the 99th percentile, {WORKERS} workers at work on half a core"
    yield Row("operator.webhook.answer", round(percentile, 1), unit, TARGET, "", how)


async def _ask(port: int, authority: Path) -> list[float]:
    """Ask again and again; the seconds that each answer took, sorted. The first requests connect and warm up."""
    review = json.dumps(_build_review()).encode()
    trusted = ssl.create_default_context(cafile=str(authority))
    took = []
    async with aiohttp.ClientSession() as session:
        for _ in range(REQUESTS + 50):
            begun = time.perf_counter()
            async with session.post(f"https://localhost:{port}/validate", data=review, ssl=trusted) as answer:
                if not json.loads(await answer.read())["response"]["allowed"]:
                    raise RuntimeError("the example was refused")
            took.append(time.perf_counter() - begun)
            await asyncio.sleep(PAUSE)
    return sorted(took[50:])


def _read_example() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    return found


def _build_review() -> dict[str, Any]:
    kind = {"group": GROUP, "version": "v1beta2", "kind": "AWSCluster"}
    request = {"uid": "u", "operation": "CREATE", "kind": kind, "object": _read_example(), "oldObject": None}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def serve(folder: str) -> None:
    """Serve until the benchmark is gone."""
    made = certificates.issue(("localhost",), certificates.utc_now())
    for name, content in made.to_data().items():
        (Path(folder) / name).write_bytes(content)

    @asynccontextmanager
    async def open_parts() -> AsyncIterator[Parts]:
        yield Parts(Reviewer(Rules(), CHECKED), FileCertificates(Path(folder)))

    sys.setswitchinterval(SWITCH_SECONDS)
    with serve_webhook(Webhook(open_parts, NOBODY), "127.0.0.1", 0) as port:
        say(port)
        asyncio.run(_work())


async def _work() -> None:
    """Decide what a cluster wants, in 80 tasks, each after a pause that leaves half of the core."""
    rules, example = Rules(), json.dumps(_read_example())

    async def work() -> None:
        while True:
            begun = time.perf_counter()
            for _ in range(5):
                rules.judge(GROUP, "AWSCluster", json.loads(example))
            await asyncio.sleep((time.perf_counter() - begun) * WORKERS / BUSY)

    await asyncio.gather(*(work() for _ in range(WORKERS)))


if __name__ == "__main__":
    serve(sys.argv[2])
