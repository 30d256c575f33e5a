"""How often an idle cluster has a deep pass, and that many clusters do not have it at the same moment."""

from __future__ import annotations

from itertools import pairwise

from freehold.operator.controller import RequeueAfter
from harness.powervs import Harness


def deep_passes(uid: str) -> list[float]:
    """The deep passes of an idle object, which read its resources, in seconds after it became Ready."""
    harness = Harness()
    harness.object.raw["metadata"]["uid"] = uid
    harness.up()
    begun, times = harness.clock.monotonic(), []
    while harness.clock.monotonic() < begun + 4000.0:
        before = len(harness.calls())
        result = harness.pass_once()
        if any(call.operation == "vpc.get_load_balancer" for call in harness.calls()[before:]):
            times.append(harness.clock.monotonic() - begun)
        assert isinstance(result, RequeueAfter)
        harness.clock.advance(result.seconds)
    return times


def test_clusters_that_became_ready_together_have_deep_passes_at_different_times() -> None:
    """A thousand deep passes at the same moment, every ten minutes, would exceed the account's rate limit."""
    passes = [deep_passes(f"0b7e6a52-9a59-4d0c-8a2c-6f0d6f5f1c{n:02d}") for n in range(4)]
    gaps = [{round(b - a) for a, b in pairwise(times[1:])} for times in passes]
    assert all(540 <= gap <= 660 for each in gaps for gap in each)
    assert len({min(each) for each in gaps}) == 4, "each has an interval of its own"
    assert deep_passes("0b7e6a52-9a59-4d0c-8a2c-6f0d6f5f1c00") == passes[0], "it does not change with a restart"
