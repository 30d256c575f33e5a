"""Clocks that disagree, and manifests that are replaced: neither may create anything twice."""

from __future__ import annotations

import pytest

from freehold.api import names as api_names
from freehold_sim.http import ReplyLost, Request, Response
from stage.powervs import Stage, example
from stage.scenery import made_by_us, only, said, standing


class Skewed:
    """The operator's wall clock, ``ahead`` seconds before the cloud's."""

    def __init__(self, stage: Stage, ahead: float) -> None:
        self._clock, self._ahead = stage.clock, ahead

    def now(self) -> float:
        return self._clock.now() + self._ahead

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)


@pytest.mark.parametrize("ahead", [-3600.0, 60.0, 600.0])
def test_a_lost_reply_under_a_wrong_clock_creates_nothing_twice(ahead: float) -> None:
    """A laptop's clock may be minutes off; the birth mark of the attempt says more than two clocks do."""
    stage = Stage()
    stage.wall = Skewed(stage, ahead)  # the cloud keeps the true one
    stage.start_process()
    through, lost = stage.cloud.handle, [0]

    def dropping(request: Request, actor: str = "api") -> Response:
        answer = through(request, actor)
        if actor == "api" and request.method == "POST" and request.path.endswith("/vpcs") and not lost[0]:
            lost[0] += 1
            raise ReplyLost("create_vpc")
        return answer

    stage.cloud.handle = dropping  # type: ignore[method-assign]  # the wire
    stage.for_a_while(1800.0)

    assert len(standing(stage, "vpc")) == 1
    stage.object.delete()
    stage.for_a_while(3600.0)
    if ahead > 120.0:
        assert not stage.object.gone, "an unmarked one would be left behind"
        assert "older than its create by this operator's clock" in said(stage)
        stage.cloud.strangers.delete(only(stage, "vpc")["id"])
        stage.for_a_while(3600.0)
    assert stage.object.gone
    assert standing(stage) == []


def test_kubectl_replace_with_another_name_creates_no_second_vpc() -> None:
    """Replace drops annotation and finalizer; status still tells who it is, and the marks what it owns."""
    stage = Stage(example(vpc={"name": "first", "region": "us-south"}))
    stage.up()
    vpc = only(stage, "vpc")["id"]
    fresh = example(vpc={"name": "second", "region": "us-south"})
    stage.object.raw["spec"] = fresh["spec"]
    stage.object.raw["metadata"]["annotations"] = dict(fresh["metadata"]["annotations"])
    stage.object.raw["metadata"].pop("finalizers")
    stage.object.patch({"metadata": {"labels": {"by": "replace"}}})
    before = {row["id"] for row in made_by_us(stage)}
    stage.for_a_while(3600.0)

    assert {row["id"] for row in made_by_us(stage)} == before
    assert only(stage, "vpc")["id"] == vpc
    assert api_names.JOURNAL_ANNOTATION in stage.object.raw["metadata"]["annotations"]
    stage.down()
    assert standing(stage) == []


def test_a_long_name_and_a_lost_journal_orphan_nothing() -> None:
    """A logical name that does not fit into a tag is cut there; its seal must still be found to fit."""
    name = "w" * 120
    stage = Stage(example(serviceInstance={"name": name}, vpcSubnets=[{"name": "s" * 60}]))
    stage.up()
    del stage.object.raw["metadata"]["annotations"][api_names.JOURNAL_ANNOTATION]
    stage.object.patch({"metadata": {"labels": {"by": "somebody"}}})
    stage.start_process()
    stage.for_a_while(900.0)
    stage.down()
    assert standing(stage) == []
