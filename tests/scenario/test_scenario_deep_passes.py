"""How often an idle cluster is looked at, and that many do not fall upon the cloud at one moment."""

from __future__ import annotations

from itertools import pairwise

from freehold.operator.controller import RequeueAfter
from harness.powervs import Harness


def deep_looks(uid: str) -> list[float]:
    """When an idle object asked the cloud for the states of its resources, in seconds after it became Ready."""
    harness = Harness()
    harness.object.raw["metadata"]["uid"] = uid
    harness.up()
    begun, looks = harness.clock.monotonic(), []
    while harness.clock.monotonic() < begun + 4000.0:
        before = len(harness.calls())
        result = harness.pass_once()
        if any(call.operation == "vpc.get_load_balancer" for call in harness.calls()[before:]):
            looks.append(harness.clock.monotonic() - begun)
        assert isinstance(result, RequeueAfter)
        harness.clock.advance(result.seconds)
    return looks


def test_clusters_that_came_up_together_are_not_looked_at_together_for_ever() -> None:
    """A thousand deep passes at the same moment, every ten minutes, meet the account's rate limit."""
    looks = [deep_looks(f"0b7e6a52-9a59-4d0c-8a2c-6f0d6f5f1c{n:02d}") for n in range(4)]
    gaps = [{round(b - a) for a, b in pairwise(times[1:])} for times in looks]
    assert all(540 <= gap <= 660 for each in gaps for gap in each)
    assert len({min(each) for each in gaps}) == 4, "each has a rhythm of its own"
    assert deep_looks("0b7e6a52-9a59-4d0c-8a2c-6f0d6f5f1c00") == looks[0], "and keeps it over a restart"
