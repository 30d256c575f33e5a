"""Clocks that disagree, and manifests that are replaced: neither may create anything twice."""

from __future__ import annotations

import pytest

from freehold.api import names as api_names
from freehold_sim.http import ReplyLost, Request, Response
from harness.powervs import Harness, example
from harness.resources import existing, made_by_us, messages, only


class Skewed:
    """The operator's wall clock is ``ahead`` seconds ahead of the cloud's."""

    def __init__(self, harness: Harness, ahead: float) -> None:
        self._clock, self._ahead = harness.clock, ahead

    def now(self) -> float:
        return self._clock.now() + self._ahead

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)


@pytest.mark.parametrize("ahead", [-3600.0, 60.0, 600.0])
def test_a_lost_reply_under_a_wrong_clock_creates_nothing_twice(ahead: float) -> None:
    """A laptop's clock may be minutes off; the nonce of the attempt is better evidence than a comparison of clocks."""
    harness = Harness()
    harness.wall = Skewed(harness, ahead)  # the cloud keeps the correct one
    harness.start_process()
    through, lost = harness.cloud.handle, [0]

    def dropping(request: Request, actor: str = "api") -> Response:
        answer = through(request, actor)
        if actor == "api" and request.method == "POST" and request.path.endswith("/vpcs") and not lost[0]:
            lost[0] += 1
            raise ReplyLost("create_vpc")
        return answer

    harness.cloud.handle = dropping  # type: ignore[method-assign]  # the wire
    harness.for_a_while(1800.0)

    assert len(existing(harness, "vpc")) == 1
    harness.object.delete()
    harness.for_a_while(3600.0)
    if ahead > 120.0:
        assert not harness.object.gone, "an unmarked one would be left behind"
        assert "older than its create by this operator's clock" in messages(harness)
        harness.cloud.strangers.delete(only(harness, "vpc")["id"])
        harness.for_a_while(3600.0)
    assert harness.object.gone
    assert existing(harness) == []


def test_kubectl_replace_with_another_name_creates_no_second_vpc() -> None:
    """Replace drops annotation and finalizer; status still has the identity, and the marks show what it owns."""
    harness = Harness(example(vpc={"name": "first", "region": "us-south"}))
    harness.up()
    vpc = only(harness, "vpc")["id"]
    fresh = example(vpc={"name": "second", "region": "us-south"})
    harness.object.raw["spec"] = fresh["spec"]
    harness.object.raw["metadata"]["annotations"] = dict(fresh["metadata"]["annotations"])
    harness.object.raw["metadata"].pop("finalizers")
    harness.object.patch({"metadata": {"labels": {"by": "replace"}}})
    before = {row["id"] for row in made_by_us(harness)}
    harness.for_a_while(3600.0)

    assert {row["id"] for row in made_by_us(harness)} == before
    assert only(harness, "vpc")["id"] == vpc
    assert api_names.JOURNAL_ANNOTATION in harness.object.raw["metadata"]["annotations"]
    harness.down()
    assert existing(harness) == []


def test_a_long_name_and_a_lost_journal_orphan_nothing() -> None:
    """A logical name that is too long for a tag is cut there; its seal must still be recognised."""
    name = "w" * 120
    harness = Harness(example(serviceInstance={"name": name}, vpcSubnets=[{"name": "s" * 60}]))
    harness.up()
    del harness.object.raw["metadata"]["annotations"][api_names.JOURNAL_ANNOTATION]
    harness.object.patch({"metadata": {"labels": {"by": "somebody"}}})
    harness.start_process()
    harness.for_a_while(900.0)
    harness.down()
    assert existing(harness) == []
