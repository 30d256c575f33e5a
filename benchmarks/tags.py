"""What the metadata controller costs on a fleet: its requests, its CPU and memory beside the same requests alone, and
how long it takes while the cloud has trouble; Cloud Custodian on the same fleet beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.processes import child
from benchmarks.rows import Explained, Row
from freehold.engine.port import Effect
from freehold.tags.tag_pass import AT_ONCE
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect as Trouble
from harness.metadata import NAMESPACE, WANTED, Lab
from harness.metadata_pace import until_ready

TARGET = "target of this project"
PEER = "Cloud Custodian 0.9.53 on the same fleet, by benchmarks/custodian.py"
PROGRAMS = "benchmarks.tag_programs"
FLEET, OTHERS = 1_000, 100
LARGE = 100_000
BATCH, BATCH_OF_ALL, BATCH_OF_IBM = 200, 20, 100
"""Resources in one request: EC2's, the tagging API's, IBM Cloud's."""
PAGES = FLEET // 100
"""Of GetResources, which has a hundred resources in a page."""
RUNS = 5
"""Each process runs so often, in turns, and its least use counts: what else runs on a core only adds to CPU time."""
TURNS = 3
"""So often a large fleet is compared with a small one."""
MOST_SECONDS = 30.0


@dataclass(frozen=True)
class Fleet:
    """``most``: writes of a first pass. ``confirmed``: its reads of the resources themselves. The peer's figures: its
    writes and calls in a run, the CPU-seconds and the peak MB of its process, and the CPU-seconds of the process that
    sends our requests alone on the same machine."""

    kind: str
    made: Callable[[Lab], list[str]]
    most: float
    confirmed: int
    writes: int
    calls: int
    cpu: float
    peak: int
    alone: float


FLEETS: Final = {
    "native": Fleet(
        "volumes", lambda lab: lab.volumes(FLEET, OTHERS), FLEET / BATCH, FLEET // BATCH, 40, 43, 1.2, 97, 0.4
    ),
    "generic": Fleet(
        "secrets", lambda lab: lab.secrets(FLEET, OTHERS), FLEET / BATCH_OF_ALL, 0, 1_000, 2_112, 2.23, 79, 0.4
    ),
}
WRITTEN_DOWN: Final = Explained(
    2.4,
    "the loop plans nothing, writes nothing down, and has one thread. By the clocks of its threads half of a pass over "
    "volumes, and three fifths of one over secrets, are the requests. Of the rest, nearly half is the plan and what is "
    "made of the replies, a quarter the record of what is ours, saved before and after the writes, and a tenth the "
    "audit log",
)
PEER_TROUBLE: Final = {
    Trouble.THROTTLE: "7.8",
    Trouble.ERROR_BEFORE: "7.9",
    Trouble.ERROR_AFTER: "8.1",
    Trouble.REPLY_LOST: "8.0, as the connection is closed; not in 150 where nothing comes (60 s each)",
}
"""Seconds, of its process."""


@dataclass(frozen=True)
class Measured:
    """The requests of one pass."""

    reads: int
    writes: int


def measure() -> Iterator[Row]:
    for name, fleet in FLEETS.items():
        yield from _requests(name, fleet)
        yield from _processes(name, fleet)
        yield from _trouble(name, fleet)
    yield from _ibm()
    yield from _large()


# -- requests ---------------------------------------------------------------------------------------------------


def _requests(name: str, fleet: Fleet) -> Iterator[Row]:
    first, second = asyncio.run(_two_passes(fleet.made))
    peer = f"{fleet.writes} (c7n)"
    yield Row(f"tags.{name}.first.writes", first.writes, "calls", fleet.most, peer, f"{TARGET}; {PEER}")
    others = f"{fleet.calls - fleet.writes} (c7n)"
    pages = f"{TARGET}: the pages of the index, and of what is read before it is written; {PEER}"
    yield Row(f"tags.{name}.first.reads", first.reads, "calls", PAGES + fleet.confirmed, others, pages)
    yield Row(f"tags.{name}.second.writes", second.writes, "calls", 0, peer, f"{TARGET}; {PEER}")
    yield Row(f"tags.{name}.second.reads", second.reads, "calls", PAGES, others, pages)


async def _two_passes(fleet: Callable[[Lab], list[str]]) -> tuple[Measured, Measured]:
    lab = Lab(Settings(limits={}))
    await lab.apply_examples()
    fleet(lab)
    first = await _pass(lab)
    assert lab.condition("Ready")[0] == "True", lab.status()
    lab.wait()
    return first, await _pass(lab)


async def _pass(lab: Lab, name: str = "metadata") -> Measured:
    lab.port.calls.clear()
    await lab.work(name)
    calls = [call for call in lab.port.calls if call.api not in ("sts", "iam")]
    reads = sum(call.effect is Effect.READ for call in calls)
    return Measured(reads, len(calls) - reads)


# -- CPU and memory ---------------------------------------------------------------------------------------------


def _processes(name: str, fleet: Fleet) -> Iterator[Row]:
    """Over HTTP, with the simulated cloud in a process of its own."""
    ours, alone = [], []
    for _ in range(RUNS):
        ours.append(_run(fleet.kind, FLEET, "controller"))
        alone.append(_run(fleet.kind, FLEET, "loop", fleet.kind))
    passed, floor = (min(each["passed"] for each in runs) for runs in (ours, alone))
    source = f"{TARGET}; its requests alone in a loop of boto3: {floor * 1e3:.0f} ms of CPU"
    how = f"{source}. The first pass: {passed * 1e3:.0f} ms, with threads, record and audit log"
    yield Row(f"tags.{name}.first.cpu", round(passed / floor, 2), "×", 2, source=how, explained=WRITTEN_DOWN)
    whole, least = (min(each["cpu"] for each in runs) for runs in (ours, alone))
    peer = f"{fleet.cpu / fleet.alone:.1f} (c7n)"
    how = f"the processes, imports and all: {whole:.2f} and {least:.2f} CPU-s; {PEER}: {fleet.cpu} CPU-s"
    yield Row(f"tags.{name}.process.cpu", round(whole / least, 2), "×", None, peer, how)
    peak = max(each["peak"] for each in ours)
    yield Row(f"tags.{name}.process.memory", round(peak), "MB", 100, f"{fleet.peak} (c7n)", f"{TARGET}; {PEER}")


def _run(kind: str, count: int, program: str, *more: str) -> dict[str, float]:
    """What a program says of its first pass over so many resources; one of them before that does not count."""
    with child("aws", kind, count, of=PROGRAMS) as cloud:
        url = cloud.heard()
        with child(program, url, *more, of=PROGRAMS) as process:
            process.ask()
            cloud.ask()
            told: dict[str, float] = process.ask()
            return told


# -- trouble ----------------------------------------------------------------------------------------------------


def _trouble(name: str, fleet: Fleet) -> Iterator[Row]:
    """Virtual time, in which a call takes a tenth of a second; with the operator's limits of calls."""
    native = name == "native"
    for trouble in PEER_TROUBLE:
        took = until_ready(fleet.made, trouble)
        assert took.right, trouble
        how = f"one write in three, from the first one on; {took.writes} writes"
        lost = trouble is Trouble.REPLY_LOST
        if lost:
            how = f"{how}; each lost reply is waited for for 10 s, {AT_ONCE} calls at once, and then read"
        peer = f"{PEER_TROUBLE[trouble]} (c7n)" if native else ""
        most = MOST_SECONDS if native or lost else None
        yield Row(f"tags.{name}.{trouble.value}", round(took.seconds, 1), "s until right", most, peer, how)


# -- IBM Cloud --------------------------------------------------------------------------------------------------


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


# -- a large fleet ----------------------------------------------------------------------------------------------


def _large() -> Iterator[Row]:
    """Ten pages of the index beside a thousand, in processes of their own, in turns: a machine's speed changes."""
    few, told = list[float](), list[dict[str, float]]()
    for _ in range(TURNS):
        few.append(median(_run("volumes", FLEET, "controller")["passed"] for _ in range(RUNS)) / FLEET)
        told.append(_run("volumes", LARGE, "controller"))
    many = [each["passed"] / LARGE for each in told]
    ratio = median(large / small for large, small in zip(many, few, strict=True))
    costs = ", ".join(f"{large * 1e6:.0f} and {small * 1e6:.0f}" for large, small in zip(many, few, strict=True))
    how = f"{TARGET}; {LARGE:,} volumes beside {FLEET:,}, {TURNS} times in turns: {costs} µs of CPU for each"
    yield Row("tags.large.cpu", round(ratio, 2), "×", 1.2, source=how)
    how = f"{TARGET}; the process that makes a first pass over {LARGE:,} volumes"
    yield Row("tags.large.memory", round(max(each["peak"] for each in told)), "MB", 500, source=how)
