"""Trouble that lasts: people are told, calls become rare, and what can be done is done."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from freehold.controllers.controller import RequeueAfter
from freehold.engine.errors import CloudError, Denied, Invalid
from freehold.engine.port import Call
from freehold_sim.faults import Effect, Fault
from harness.metadata import CLASSIFIER, WANTED, Lab
from harness.metadata_on_both import Both

CREATE = "ec2.CreateTags"


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def _for(lab: Lab, seconds: float) -> int:
    """Passes as they ask for them, for so long; how many."""
    passes = 0
    while seconds > 0:
        result = await lab.work()
        assert isinstance(result, RequeueAfter)
        lab.wait(result.seconds)
        seconds, passes = seconds - result.seconds, passes + 1
    return passes


@pytest.mark.parametrize("effect", [Effect.ERROR_BEFORE, Effect.THROTTLE])
async def test_a16_what_cannot_be_written_for_a_whole_period_is_told(lab: Lab, effect: Effect) -> None:
    (arn,) = lab.groups(1)
    await lab.apply_examples()
    await lab.settle()
    lab.somebody_strips(arn, "env")
    lab.account.cloud.faults.add(Fault(effect, CREATE, count=None))
    lab.wait()
    lab.sent()
    await _for(lab, 300.0)
    assert lab.condition("Ready")[:2] == ("True", "Retrying"), "A17: it may pass by"
    await _for(lab, 3300.0)
    assert lab.condition("Ready")[:2] == ("False", "Retrying")
    assert arn in lab.condition("Ready")[2]
    assert lab.writes().count("ec2.create_tags") <= 20, "an hour of passes, each later than the one before"
    lab.account.cloud.faults.clear()
    await lab.settle()
    assert lab.condition("Ready")[0] == "True"
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", **WANTED}


async def test_passes_that_come_to_something_do_not_wait_longer(lab: Lab) -> None:
    """A throttled fleet gets on; only what comes to nothing backs off."""
    first, second = lab.groups(2)
    await lab.apply_examples()
    await lab.settle()
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, CREATE, count=3))
    for arn in (first, second):
        lab.somebody_strips(arn, "env")
    lab.wait()
    waits = [await lab.work() for _ in range(3)]
    assert waits == [RequeueAfter(5.0), RequeueAfter(10.0), RequeueAfter(20.0)]
    assert await lab.work() == RequeueAfter(600.0, at_rest=True)
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, CREATE))
    lab.somebody_strips(first, "env")
    lab.wait()
    assert await lab.work() == RequeueAfter(5.0), "it begins anew"


async def test_a_right_that_is_lost_on_ibm_cloud_is_told_at_once() -> None:
    """The same words are said of a resource that is too new to be known; what we have written on is not new."""
    both = Both()
    crns = both.on_ibm(2)
    await both.ibm_only()
    await both.settle()
    for crn in crns:
        both.cloud_of_ibm.strangers.detach(crn, "env:test")
    words = "You are not authorized to tag this resource"
    answer = {"results": [{"resource_id": crn, "is_error": True, "message": words} for crn in crns]}
    both.port.instead = lambda call: (lambda: answer) if call.operation == "attach_tag" else None
    both.wait()
    both.sent()
    assert await _for(both, 3600.0) <= 7
    assert len(both.sent()) <= 40
    assert both.condition("Ready")[0] == "False"
    assert "rant the API key's owner the editor role" in both.condition("Ready")[2]


@pytest.mark.parametrize(
    ("denied", "passes"),
    [
        ({10, 20, 30, 40, 50}, 1),
        ({*range(10), *range(0, 60, 4)}, 5),
        ({*range(60)} - {7, 23, 58}, 40),
    ],
    ids=["a few", "the first ones", "nearly all"],
)
async def test_what_is_allowed_beside_what_is_denied_is_tagged(lab: Lab, denied: set[int], passes: int) -> None:
    """A refusal of EC2 for a missing right names no resource, and is of the whole call."""
    arns = sorted(lab.groups(60))

    def instead(call: Call) -> Callable[[], Any] | None:
        is_denied = call.operation == "create_tags" and any(_names(call, arns[number]) for number in denied)
        return _raises(Denied("not allowed", code="UnauthorizedOperation")) if is_denied else None

    lab.port.instead = instead
    await lab.apply_examples()
    for _ in range(passes):
        await lab.work()
        assert lab.writes().count("ec2.create_tags") <= 130
        lab.wait()
    assert {number for number in range(60) if "env" not in lab.tags_on(arns[number])} == denied
    assert lab.condition("Ready")[:2] == ("False", "UnauthorizedOperation")


def _raises(error: CloudError) -> Callable[[], Any]:
    def run() -> Any:
        raise error

    return run


def _names(call: Call, arn: str) -> bool:
    return arn.rpartition("/")[2] in json.dumps(call.detail)


async def test_what_no_resource_takes_is_not_tried_on_each_of_them(lab: Lab) -> None:
    """A tag policy, say: halving 200 refused resources down to one would cost 400 calls in each pass."""
    lab.groups(200)
    await lab.apply_examples()
    refusal = Invalid("not by the tag policy", code="TagPolicyViolation")
    lab.port.instead = lambda call: _raises(refusal) if call.operation == "create_tags" else None
    await lab.work()
    assert lab.writes().count("ec2.create_tags") <= 20
