"""``status.resourcetags`` of an AWSMetadata: the tags that every resource has, and none once nobody keeps them."""

from __future__ import annotations

import pytest

from freehold.lifecycle.port import Call
from freehold.operator.controller import RequeueAfter
from freehold_sim.faults import Effect, Fault
from harness.metadata import WANTED, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


def _listed(lab: Lab, name: str = "tags") -> object:
    return lab.status("AWSMetadata", name).get("resourcetags")


async def _fleet(lab: Lab, tags: dict[str, str] = WANTED, **spec: str) -> None:
    await lab.tags("tags", tags, **spec)
    await lab.cloud("metadata", "tags")


async def test_a5_a_tag_that_waits_for_an_approval_is_not_listed() -> None:
    lab = Lab(approve_above=0)
    lab.groups(2, env="theirs", centre="eng")
    await _fleet(lab)
    await lab.settle()
    assert lab.condition("Approved")[1] == "ApprovalNeeded"
    assert _listed(lab) == {"centre": "eng"}


async def test_a5_where_nothing_is_found_nothing_is_listed(lab: Lab) -> None:
    await _fleet(lab)
    await lab.settle()
    assert _listed(lab) == {}
    lab.groups(1)
    await lab.settle()
    assert _listed(lab) == WANTED


async def test_a5_a_tag_that_one_resource_refuses_is_not_listed(lab: Lab) -> None:
    """TagExists there; the other resource has it."""
    arns = lab.groups(2)
    lab.somebody_sets(arns[0], env="theirs")
    lab.wait()
    await _fleet(lab, opcode="add")
    await lab.settle()
    assert lab.tags_on(arns[1])["env"] == "test"
    assert lab.condition("Policy")[1] == "TagExists"
    assert _listed(lab) == {"centre": "eng"}


async def test_a5_a_tag_that_the_cloud_refuses_is_not_listed(lab: Lab) -> None:
    arns = lab.groups(2)
    lab.somebody_sets(arns[0], centre="eng")
    lab.somebody_sets(arns[1], centre="eng")
    lab.wait()
    await _fleet(lab)
    lab.account.cloud.faults.add(Fault(Effect.DENIED, "ec2.CreateTags", count=None))
    await lab.work()
    assert _listed(lab) == {"centre": "eng"}
    lab.account.cloud.faults.clear()
    lab.wait()
    await lab.settle()
    assert _listed(lab) == WANTED


async def test_a5_what_cannot_be_looked_at_makes_no_tag_come_or_go(lab: Lab) -> None:
    """Else the list would be emptied by a cloud that does not answer for a moment."""
    lab.groups(2)
    await _fleet(lab, {"env": "test"})
    await lab.settle()
    await lab.edit("AWSMetadata", "tags", {"resourcetags": {"centre": "eng"}})
    lab.wait()
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "resourcegroupstaggingapi.GetResources"))
    assert await lab.work() == RequeueAfter(5.0)
    assert _listed(lab) == {"env": "test"}
    lab.wait(5.0)
    await lab.settle()
    assert _listed(lab) == WANTED


async def test_a5_a_resource_that_cannot_be_read_lists_nothing_new(lab: Lab) -> None:
    """The group has the tag; of the secret nothing is known."""
    lab.groups(1)
    (secret,) = lab.secrets(1)
    lab.somebody_sets(secret, env="theirs")
    lab.wait()
    await _fleet(lab)
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "secretsmanager.DescribeSecret"))
    await lab.work()
    assert _listed(lab) == {}
    lab.wait(5.0)
    await lab.settle()
    assert _listed(lab) == WANTED


async def test_a5_a_resource_that_has_gone_takes_no_tag_off_the_list(lab: Lab) -> None:
    """It goes while its tags are being written."""
    arns = lab.groups(2)
    going = arns[:1]
    await _fleet(lab)

    def before(call: Call) -> None:
        if call.operation == "create_tags" and going:
            lab.account.cloud.strangers.delete(going.pop())

    lab.port.before_each = before
    await lab.settle()
    assert not going and lab.tags_on(arns[1]).items() >= WANTED.items()
    assert _listed(lab) == WANTED
