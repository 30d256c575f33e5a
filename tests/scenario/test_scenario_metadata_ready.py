"""When Ready is false, and what it says: nobody who waits for it may be told of the tags from before (A17)."""

from __future__ import annotations

import pytest

from freehold.api import conditions
from freehold.controllers.controller import RequeueAfter
from freehold.tags.cloud_reconcile import INDEX_SECONDS
from freehold_sim.faults import Effect, Fault
from harness.metadata import CLASSIFIER, WANTED, Lab

OBJECTS = (("CloudMetadata", "metadata", "Ready"), ("AWSMetadata", "tags", "Applied"))


@pytest.fixture
def lab() -> Lab:
    return Lab()


async def _fleet(lab: Lab, **spec: object) -> list[str]:
    arns = lab.groups(2)
    await lab.tags("tags", WANTED)
    await lab.cloud("metadata", "tags", **spec)
    await lab.settle()
    return arns


def _told(lab: Lab) -> list[tuple[str, str, bool]]:
    """Status and reason of the condition that sums up, of both objects, and whether they are of their generation."""
    found = []
    for kind, name, type_ in OBJECTS:
        status, generation = lab.status(kind, name), lab.object(kind, name)["metadata"]["generation"]
        one = conditions.find_condition(status.get("conditions") or (), type_) or {}
        observed = one.get("observedGeneration") == status.get("observedGeneration") == generation
        found.append((one.get("status", ""), one.get("reason", ""), observed))
    return found


APPLYING, APPLIED = [("False", "Applying", True)] * 2, [("True", "Applied", True)] * 2


def _seen(lab: Lab) -> list[list[tuple[str, str, bool]]]:
    """What is told at each call, from now on."""
    seen: list[list[tuple[str, str, bool]]] = []
    lab.port.before_each = lambda call: seen.append(_told(lab))
    return seen


async def test_a17_ready_is_false_from_before_the_first_call_for_new_objects(lab: Lab) -> None:
    lab.groups(2)
    await lab.tags("tags", WANTED)
    await lab.cloud("metadata", "tags")
    seen = _seen(lab)
    await lab.work()
    assert seen and all(each == APPLYING for each in seen)
    assert _told(lab) == APPLIED


@pytest.mark.parametrize("restarted", [False, True], ids=["", "by another process"])
async def test_a17_ready_is_false_until_edited_tags_are_on_the_resources(lab: Lab, restarted: bool) -> None:
    arns = await _fleet(lab)
    if restarted:
        lab.restart()
    await lab.edit("AWSMetadata", "tags", {"resourcetags": {"env": "prod"}})
    seen = _seen(lab)
    await lab.work()
    assert seen and all(each == APPLYING for each in seen)
    assert _told(lab) == APPLIED
    assert all(lab.tags_on(arn)["env"] == "prod" for arn in arns)


async def test_a17_ready_is_false_while_an_edited_selection_is_worked_on(lab: Lab) -> None:
    await _fleet(lab)
    await lab.edit("CloudMetadata", "metadata", {"kinds": ["ec2:security-group"]})
    seen = _seen(lab)
    await lab.work()
    assert seen and all(each[0] == APPLYING[0] for each in seen)
    assert _told(lab) == APPLIED


@pytest.mark.parametrize("restarted", [False, True], ids=["", "by another process"])
async def test_a17_a_look_without_an_edit_leaves_ready_true(lab: Lab, restarted: bool) -> None:
    [arn, _] = await _fleet(lab)
    if restarted:
        lab.restart()
    lab.somebody_sets(arn, env="theirs")
    lab.wait()
    seen = _seen(lab)
    await lab.work()
    assert seen and all(each == APPLIED for each in seen)


async def test_a17_a_new_generation_that_fails_is_not_ready_until_it_is_done(lab: Lab) -> None:
    """Else trouble of a moment would be told as the tags from before."""
    await _fleet(lab)
    await lab.edit("AWSMetadata", "tags", {"resourcetags": {"env": "prod"}})
    lab.account.cloud.faults.add(Fault(Effect.THROTTLE, "ec2.CreateTags"))
    await lab.work()
    assert [each[0] for each in _told(lab)] == ["False", "False"]
    await lab.settle()
    assert _told(lab) == APPLIED


async def test_a17_an_object_that_is_edited_during_a_pass_is_not_ready_after_it(lab: Lab) -> None:
    [arn, _] = await _fleet(lab)
    await lab.edit("AWSMetadata", "tags", {"resourcetags": {"env": "prod"}})
    edited: list[bool] = []

    async def meanwhile(operation: str) -> None:
        if operation == "create_tags" and not edited:
            edited.append(True)
            await lab.edit("AWSMetadata", "tags", {"resourcetags": {"env": "stage"}})

    lab.port.between = meanwhile
    assert await lab.work() == RequeueAfter(1.0)
    assert _told(lab)[0] == APPLYING[0]
    await lab.work()
    assert (_told(lab), lab.tags_on(arn)["env"]) == (APPLIED, "stage")


async def test_a17_each_of_two_that_refer_to_an_object_is_not_ready_before_its_own_pass(lab: Lab) -> None:
    """The first one has told the new generation of the object by then."""
    await _fleet(lab)
    await lab.cloud("second", "tags", classifiers={"other": "1"})
    await lab.settle("second")
    lab.wait(10)
    await lab.edit("AWSMetadata", "tags", {"resourcetags": {"env": "prod"}})
    await lab.work()
    seen: list[tuple[str, str]] = []
    lab.port.before_each = lambda call: seen.append(lab.condition("Ready", name="second")[:2])
    await lab.work("second")
    assert seen and set(seen) == {("False", "Applying")}
    assert lab.condition("Ready", name="second")[0] == "True"


async def test_what_is_younger_than_the_index_is_tagged_after_its_lag(lab: Lab) -> None:
    """Else it would wait a whole period while Ready is true; once for each edit, and no more."""
    await _fleet(lab)
    lab.wait(INDEX_SECONDS)
    assert await lab.work() == RequeueAfter(600.0, at_rest=True)
    new = lab.group("new", **{CLASSIFIER: "owned"})
    await lab.edit("AWSMetadata", "tags", {"resourcetags": {"env": "prod"}})
    assert await lab.work() == RequeueAfter(INDEX_SECONDS, at_rest=True)
    assert "env" not in lab.tags_on(new)
    lab.wait(INDEX_SECONDS)
    assert await lab.work() == RequeueAfter(600.0, at_rest=True)
    assert lab.tags_on(new)["env"] == "prod"


async def test_a9_what_a_partial_list_leaves_out_is_told(lab: Lab) -> None:
    arns = [*lab.groups(1), lab.group("full", **{CLASSIFIER: "owned"}, **{f"z{n}": "1" for n in range(48)})]
    lab.wait()
    await lab.tags("tags", WANTED)
    await lab.cloud("metadata", "tags", controllerconfig={"limit": "POLICY_APPLY_PARTIAL"})
    await lab.settle()
    for type_, kind, name in (("Ready", "CloudMetadata", "metadata"), ("Applied", "AWSMetadata", "tags")):
        status, reason, message = lab.condition(type_, kind, name)
        assert (status, reason) == ("True", "Trimmed")
        assert f"the tag 'env' is left out on {arns[1]}, which can have 50 tags" in message
        assert lab.status(kind, name)["reason"] == "Trimmed"
    assert [reason for reason, _ in lab.events.said] == ["Trimmed"]
