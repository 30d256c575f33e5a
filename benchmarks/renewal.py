"""What it costs one PowerVS cluster that the operator's key is rotated: from the new key to the last old seal off."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rows import Row
from freehold.api import names
from freehold.controllers.controller import RequeueAfter
from freehold.engine import journal as journals
from freehold.engine.keys import KeyRing
from freehold_sim.ibm.settings import Delays, Settings
from harness.powervs import Harness, example

RESOURCES = 8
"""Of the measured cluster that have seals. Two of them begin in one deep pass, and end in the next."""
NEW = KeyRing.single(b"the key that writes from now on, in the benchmark")
SOURCE = "two of a cluster's 8 resources a deep pass: a seal on, read back, the old one off"
LONGEST = 20_000.0


def measure() -> Iterator[Row]:
    harness = Harness(example(vpcSubnets=None), Settings(delays=Delays()))
    harness.up()
    harness.settle(4)
    had = harness.rings.ring
    idle = _deep_reads(harness)
    harness.rings.ring = KeyRing(NEW.writing, {**NEW.keys, **had.keys})
    begun, before, versions = harness.clock.monotonic(), len(harness.calls()), len(harness.object.history)
    tagged, deep, reads = 0, 0, 0
    while not _renewed(harness, had):
        if harness.clock.monotonic() - begun > LONGEST:
            raise AssertionError(f"not renewed: {harness.conditions()}")
        at = len(harness.calls())
        _pass(harness)
        sent = harness.calls()[at:]
        if any(call.mutating for call in sent):
            deep += 1
            reads += sum(not call.mutating for call in sent)
        tagged += sum(call.mutating for call in sent)
    others = {
        call.operation for call in harness.calls()[before:] if call.mutating and not call.operation.startswith("tag")
    }
    if others:
        raise AssertionError(f"a renewal changed more than tags: {others}")
    yield Row("powervs.renewal.passes", deep, "deep passes", RESOURCES / 2 + 1, source=SOURCE)
    yield Row("powervs.renewal.tagging", tagged, "tag calls", 2 * RESOURCES, source=SOURCE)
    yield Row("powervs.renewal.reads", reads / deep, "reads a deep pass", idle, source="a deep pass of an idle cluster")
    written = len(harness.object.history) - versions
    yield Row(
        "powervs.renewal.writes", written, "writes of the object", deep + 2, source="one a deep pass, status twice"
    )


def _pass(harness: Harness) -> None:
    result = harness.pass_once()
    harness.clock.advance(result.seconds if isinstance(result, RequeueAfter) else 60.0)


def _deep_reads(harness: Harness) -> int:
    """The most calls of a pass of the idle cluster."""
    most, until = 0, harness.clock.monotonic() + 1400.0
    while harness.clock.monotonic() < until:
        at = len(harness.calls())
        _pass(harness)
        most = max(most, len(harness.calls()) - at)
    return most


def _renewed(harness: Harness, had: KeyRing) -> bool:
    """Whether nothing is on record or attached that was made with the key before."""
    journal = journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    if journal.keys != {NEW.writing}:
        return False
    return all(sum(".node:" in tag for tag in row["tags"]) <= 1 for row in harness.resources())
