"""What the metadata controller costs on a fleet of resources: calls, and CPU beside that of the same calls alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.rows import Row
from freehold.lifecycle.port import Call, Effect
from freehold_sim.aws.settings import Quotas, Settings
from harness.metadata import NAMESPACE, WANTED, Lab

TARGET = "target of this project"
BESIDE = "beside the same requests alone, sent by botocore in a loop"
FLEET, OTHERS = 1_000, 100
LARGE = 10_000
BATCH, BATCH_OF_ALL, BATCH_OF_IBM = 200, 20, 100
"""Resources in one request: EC2's, the tagging API's, IBM Cloud's."""


@dataclass(frozen=True)
class Measured:
    """The requests of one pass and its CPU seconds."""

    reads: int
    writes: int
    cpu: float
    calls: Sequence[Call]


def measure() -> Iterator[Row]:
    yield from _rows("native", _groups, FLEET / BATCH)
    yield from _rows("generic", _secrets, FLEET / BATCH_OF_ALL)
    yield from _ibm()
    yield from _large()


def _groups(lab: Lab, count: int) -> None:
    lab.groups(count)
    for number in range(OTHERS):
        lab.group(f"other-{number}", owner="x")
    lab.wait(60)


def _secrets(lab: Lab, count: int) -> None:
    lab.secrets(count)


def _rows(name: str, fleet: Callable[[Lab, int], None], most: float) -> Iterator[Row]:
    first, second = asyncio.run(_two_passes(fleet, FLEET))
    yield Row(f"tags.{name}.first.writes", first.writes, "calls", most, source=TARGET)
    yield Row(f"tags.{name}.first.reads", first.reads, "calls")
    yield Row(f"tags.{name}.second.writes", second.writes, "calls", 0, source=TARGET)
    yield Row(f"tags.{name}.second.reads", second.reads, "calls")
    ratio = first.cpu / _alone(first.calls)
    yield Row(f"tags.{name}.first.cpu", round(ratio, 2), "×", 2, source=f"{TARGET}; {BESIDE}")


async def _two_passes(fleet: Callable[[Lab, int], None], count: int) -> tuple[Measured, Measured]:
    lab = Lab(Settings(limits={}, quotas=Quotas(security_groups=2 * LARGE)))
    await lab.apply_examples()
    await lab.work()  # what is loaded for the first object does not count
    fleet(lab, count)
    first = await _pass(lab)
    assert lab.condition("Ready")[0] == "True", lab.status()
    lab.wait()
    return first, await _pass(lab)


async def _pass(lab: Lab, name: str = "metadata") -> Measured:
    lab.port.calls.clear()
    begun = time.process_time()
    await lab.work(name)
    spent = time.process_time() - begun
    calls = [call for call in lab.port.calls if call.api not in ("sts", "iam")]
    reads = sum(call.effect is Effect.READ for call in calls)
    return Measured(reads, len(calls) - reads, spent, calls)


def _alone(calls: Sequence[Call]) -> float:
    """CPU seconds of the same requests, sent again: all of them can be repeated."""
    begun = time.process_time()
    for call in calls:
        call.run()
    return time.process_time() - begun


def _ibm() -> Iterator[Row]:
    first, second = asyncio.run(_passes_on_ibm())
    yield Row("tags.ibm.first.writes", first.writes, "calls", FLEET / BATCH_OF_IBM, source=TARGET)
    yield Row("tags.ibm.first.reads", first.reads, "calls")
    yield Row("tags.ibm.second.writes", second.writes, "calls", 0, source=TARGET)


async def _passes_on_ibm() -> tuple[Measured, Measured]:
    lab = Lab()
    strangers = lab.with_ibm().cloud.strangers
    vpc = strangers.make("vpc", region="eu-de", name="theirs")["id"]
    for number in range(FLEET):
        strangers.make("security-group", region="eu-de", vpc=vpc, name=f"group-{number}", tags=["fleet:a"])
    lab.wait(60)
    metadata = {"name": "tags", "namespace": NAMESPACE}
    kind = {"apiVersion": "metadata-controller.ibm.io/v1alpha1", "kind": "IBMMetadata"}
    await lab.apply({**kind, "metadata": metadata, "spec": {"resourcetags": dict(WANTED)}})
    provider = {"ibmref": {"name": "tags"}}
    await lab.cloud("metadata", "tags", cloudprovider=provider, classifiers={"fleet": "a"})
    first = await _pass(lab)
    lab.wait()
    return first, await _pass(lab)


def _large() -> Iterator[Row]:
    """Without the CPU of the requests: the simulated index looks at everything for each of its pages."""
    few, many = (_own_cpu(count) for count in (FLEET, LARGE))
    source = f"{TARGET}; {LARGE:,} resources beside {FLEET:,}, each without its requests"
    yield Row("tags.large.cpu", round(many / few, 2), "×", 1.2, source=source)


def _own_cpu(count: int) -> float:
    """For one resource, in its first pass."""
    first, _ = asyncio.run(_two_passes(_groups, count))
    return (first.cpu - _alone(first.calls)) / count
