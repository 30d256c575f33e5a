"""A write that was surely without effect leaves no claim: what a person sets there later is theirs."""

from __future__ import annotations

import pytest

from freehold_sim.faults import Effect, Fault
from harness.metadata import CLASSIFIER, Lab

CREATE = "ec2.CreateTags"
REFUSED = [
    pytest.param(Effect.DENIED, id="A11 denied: nothing was written"),
    pytest.param(Effect.THROTTLE, id="A11 throttled: nothing was written"),
]


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def _refused(lab: Lab, effect: Effect, **spec: str) -> str:
    (arn,) = lab.groups(1)
    await lab.tags("t", {"env": "test"}, **spec)
    await lab.cloud("metadata", "t")
    lab.account.cloud.faults.add(Fault(effect, CREATE, count=None))
    await lab.work()
    lab.somebody_sets(arn, env="test", owner="alice")
    lab.account.cloud.faults.clear()
    return arn


@pytest.mark.parametrize("effect", REFUSED)
async def test_a11_what_a_person_sets_after_a_refused_write_stays_when_the_key_leaves_the_spec(
    lab: Lab, effect: Effect
) -> None:
    arn = await _refused(lab, effect)
    lab.wait()
    await lab.settle()
    await lab.edit("AWSMetadata", "t", {"resourcetags": {"env": None, "other": "x"}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test", "owner": "alice", "other": "x"}


async def test_a24_what_a_person_sets_after_a_refused_write_stays_when_the_object_goes(lab: Lab) -> None:
    arn = await _refused(lab, Effect.DENIED, deletionPolicy="Remove")
    await lab.remove("t")
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test", "owner": "alice"}


async def test_a11_what_was_removed_before_a_refused_write_is_not_ours_any_more(lab: Lab) -> None:
    """The removal had its effect, the addition had none: the record says just that."""
    (arn,) = lab.groups(1)
    await lab.tags("t", {"env": "test"})
    await lab.cloud("metadata", "t")
    await lab.settle()
    lab.account.cloud.faults.add(Fault(Effect.DENIED, CREATE, count=None))
    await lab.edit("AWSMetadata", "t", {"resourcetags": {"env": None, "team": "x"}})
    lab.wait()
    await lab.work()
    assert "env" not in lab.tags_on(arn)
    lab.somebody_sets(arn, env="test")
    lab.account.cloud.faults.clear()
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "env": "test", "team": "x"}


async def test_a11_a_refused_change_of_value_leaves_the_earlier_one_ours(lab: Lab) -> None:
    (arn,) = lab.groups(1)
    await lab.tags("t", {"env": "test"})
    await lab.cloud("metadata", "t")
    await lab.settle()
    lab.account.cloud.faults.add(Fault(Effect.DENIED, CREATE, count=None))
    await lab.edit("AWSMetadata", "t", {"resourcetags": {"env": "prod"}})
    lab.wait()
    await lab.work()
    lab.account.cloud.faults.clear()
    await lab.edit("AWSMetadata", "t", {"resourcetags": {"env": None, "other": "x"}})
    lab.wait()
    await lab.settle()
    assert lab.tags_on(arn) == {CLASSIFIER: "owned", "other": "x"}
