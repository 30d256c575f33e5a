"""What idle clusters cost an account in calls: one, a hundred, and a thousand after a restart.

Many clusters are copies of one that was brought up (:mod:`herd`). Time is virtual, and passes one call a tenth of a
second for the busiest API: the rate that the operator keeps to.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks import herd
from benchmarks.rows import Row
from freehold.controllers.controller import RequeueAfter
from freehold.kube.stepping import run_blocking
from freehold.providers.access.limits import Limits
from freehold_sim.ibm.settings import Settings
from harness.powervs import Harness, MemoryDocument, example

TARGET = "target of this project"
CAPIBM = "CAPIBM unmodified on our API server and simulator (docs/reference/ibm-cloud.md#capibm)"
HOURS = 6
"""An hour has six or seven looks, so several are counted."""
DRIFT = 600.0
"""Seconds in which a change that somebody made must be seen."""


@dataclass
class Fleet:
    """Clusters that are all Ready, and one operator process that has just started."""

    count: int
    due: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        prepared = herd.idle(self.count)
        self.harness = Harness(example(vpcSubnets=None), Settings())
        self.harness.cloud.world.data = {**self.harness.cloud.world.data, **prepared.world}
        self.harness.rings.ring = prepared.ring
        self.harness.clock.advance(7200.0)  # the index shows all that was marked before
        self.harness.start_process()
        self.objects = [herd.stored(raw, self.harness.clock.now) for raw in prepared.objects]
        self.rate = Limits().find_bucket("vpc").rate

    def look_at_all(self) -> tuple[float, list[str]]:
        """The first pass of each: the seconds that it took, and the calls."""
        begun, before = self.harness.clock.monotonic(), len(self.harness.calls())
        self.due = [(begun, index) for index in range(self.count)]
        for _ in range(self.count):
            self._next()
        return self.harness.clock.monotonic() - begun, self._asked(before)

    def for_a_while(self, seconds: float) -> list[str]:
        """Passes at their times; the calls."""
        until, before = self.harness.clock.monotonic() + seconds, len(self.harness.calls())
        while self.due[0][0] <= until:
            self._next()
        self.harness.clock.advance(max(0.0, until - self.harness.clock.monotonic()))
        return self._asked(before)

    def _next(self) -> None:
        clock, calls = self.harness.clock, self.harness.calls
        at, index = heapq.heappop(self.due)
        clock.advance(max(0.0, at - clock.monotonic()))
        before = len(calls())
        result = run_blocking(self.harness.process.reconcile(MemoryDocument(self.objects[index]), self.harness.around))
        clock.advance(max(_by_api(self._asked(before)).values(), default=0) / self.rate)
        wait = result.seconds if isinstance(result, RequeueAfter) else 60.0
        heapq.heappush(self.due, (clock.monotonic() + max(wait, 0.1), index))

    def _asked(self, since: int) -> list[str]:
        asked = self.harness.cloud.calls[since:]
        if changed := {call.operation for call in asked if call.mutating and call.actor != "stranger"}:
            raise AssertionError(f"the clusters are not idle: {changed}")
        return [call.operation for call in asked if call.actor != "stranger"]


def _by_api(operations: list[str]) -> Counter[str]:
    return Counter(operation.partition(".")[0] for operation in operations)


def measure() -> Iterator[Row]:
    yield from _idle("one", 1, 70)
    yield from _idle("of_100", 100, 16)
    yield from _restart(100)
    yield from _restart(1000)


def _idle(name: str, count: int, most: float) -> Iterator[Row]:
    fleet = Fleet(count)
    fleet.look_at_all()
    fleet.for_a_while(1200.0)
    calls = len(fleet.for_a_while(3600.0 * HOURS)) / count / HOURS
    peer = "96 to 105" if count == 1 else ""
    yield Row(f"powervs.idle.{name}", round(calls, 1), "calls a cluster and hour", most, peer, CAPIBM)
    yield Row(f"powervs.drift.{name}", round(_seen_after(fleet)), "s until drift is seen", DRIFT, "", TARGET)


def _seen_after(fleet: Fleet) -> float:
    """A VPC is renamed just after it was looked at; until it has its name again."""
    cloud, clock = fleet.harness.cloud, fleet.harness.clock
    record = next(r for r in cloud.strangers.resources() if r["kind"] == "vpc")
    looked = len(cloud.calls)
    while not any(call.operation in ("vpc.get_vpc", "vpc.list_vpcs") for call in cloud.calls[looked:]):
        fleet._next()
    cloud.strangers.change(record["id"], name="renamed")
    begun = clock.monotonic()
    while not any(call.operation == "vpc.update_vpc" and call.actor != "stranger" for call in cloud.calls[looked:]):
        if clock.monotonic() - begun > 2 * DRIFT:
            break
        try:
            fleet._next()
        except AssertionError:  # it was mended: that is what is waited for
            break
    return clock.monotonic() - begun


def _restart(count: int) -> Iterator[Row]:
    fleet = Fleet(count)
    seconds, calls = fleet.look_at_all()
    unit = f"calls a cluster's look, {count} clusters"
    yield Row(f"powervs.look.of_{count}", round(len(calls) / count, 2), unit, 2.5, "", TARGET)
    if count == 1000:
        unit = f"s until {count} clusters are looked at after a restart"
        how = f"{TARGET}, at our {fleet.rate:g} calls a second and API; two reads of each have no list: 100 s"
        yield Row("powervs.restart.time", round(seconds), unit, 120, source=how)
