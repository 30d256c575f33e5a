"""More than the limit is not overwritten or removed without a person, in whatever parts it comes."""

from __future__ import annotations

import re

import pytest

from freehold.api import names
from freehold.controllers.controller import RequeueAfter
from freehold.kube.resources import Key
from freehold_sim.faults import Effect, Fault
from harness.metadata import CLASSIFIER, RESOURCES, WANTED, Lab
from harness.simulated_aws import tagged

APPROVE = names.APPROVE_TAGS_ANNOTATION


def _approve(lab: Lab, name: str = "metadata") -> str:
    found = re.search(r"\b[0-9a-f]{64}\b", lab.condition("Approved", name=name)[2])
    assert found is not None
    lab.object("CloudMetadata", name)["metadata"].setdefault("annotations", {})[APPROVE] = found[0]
    return found[0]


async def _follow(lab: Lab, message: str) -> None:
    """Run the command that a message has."""
    found = re.search(r"kubectl annotate (\S+) (\S+) -n (\S+) --overwrite ([^=\s]+)=([0-9a-f]+)", message)
    assert found is not None, message
    kind, name, namespace, annotation, digest = found.groups()
    (resource,) = [each for each in RESOURCES.values() if each.kind.lower() == kind]
    await lab.objects.patch(resource, Key(namespace, name), {"metadata": {"annotations": {annotation: digest}}})


def _values(lab: Lab, arns: list[str]) -> set[str]:
    return {lab.tags_on(arn)["env"] for arn in arns}


def _theirs(lab: Lab, count: int, **tags: str) -> list[str]:
    """Resources with a value of somebody else."""
    name = "-".join(["group", *tags.values()])
    return [lab.group(f"{name}-{n}", **{CLASSIFIER: "owned"}, env="theirs", **tags) for n in range(count)]


NOT_ENABLED = "me-south-1"
"""To the simulated AWS, as to an account that has not opted in, a region in which no credentials are good."""


async def test_a_region_that_is_not_enabled_keeps_no_drift_from_being_repaired() -> None:
    """It may never answer. It is told, and what is known is repaired, pass after pass."""
    lab = Lab()
    arns = lab.groups(2)
    await lab.tags("tags", WANTED, regions=["us-east-1", NOT_ENABLED])
    await lab.cloud("metadata", "tags")
    for _ in range(2):
        await lab.settle()
        assert [lab.tags_on(each) for each in arns] == [{CLASSIFIER: "owned", **WANTED}] * 2
        lab.somebody_sets(arns[0], env="theirs")
        lab.somebody_strips(arns[1], "centre")
        lab.wait()
    await lab.work()
    assert [lab.tags_on(each) for each in arns] == [{CLASSIFIER: "owned", **WANTED}] * 2
    status, _, message = lab.condition("Ready")
    assert status == "False" and NOT_ENABLED in message
    await lab.edit("AWSMetadata", "tags", {"resourcetags": {"centre": None}})
    await lab.work()
    assert [lab.tags_on(each) for each in arns] == [{CLASSIFIER: "owned", "env": "test"}] * 2


async def test_a_region_that_is_not_enabled_takes_no_need_of_an_approval_away() -> None:
    lab = Lab(approve_above=1)
    arns = _theirs(lab, 2)
    lab.wait(60)
    await lab.tags("tags", {"env": "test"}, regions=["us-east-1", NOT_ENABLED])
    await lab.cloud("metadata", "tags")
    await lab.settle()
    assert _values(lab, arns) == {"theirs"}
    assert "2 resources, more than 1" in lab.condition("Approved")[2]
    _approve(lab)
    await lab.settle()
    assert _values(lab, arns) == {"test"}


async def test_a_region_that_is_not_enabled_keeps_no_tags_of_others_when_the_object_goes() -> None:
    lab = Lab()
    arns = lab.groups(1)
    await lab.tags("tags", WANTED, regions=["us-east-1", NOT_ENABLED], deletionPolicy="Remove")
    await lab.cloud("metadata", "tags")
    await lab.settle()
    await lab.remove("tags")
    assert lab.tags_on(arns[0]) == {CLASSIFIER: "owned"}


async def test_a_region_that_cannot_be_asked_for_a_moment_is_waited_for() -> None:
    """What is there counts, too: six would be overwritten as three and three."""
    lab = Lab(approve_above=3)
    east = _theirs(lab, 3)
    fresh = lab.group("fresh", **{CLASSIFIER: "owned"})
    spec = {"CidrBlock": "10.0.0.0/16", "TagSpecifications": tagged("vpc", **{CLASSIFIER: "owned", "env": "theirs"})}
    west = [str(lab.account.cloud.strangers.create("ec2", "CreateVpc", spec, region="eu-west-1")["arn"])]
    west += [str(lab.account.cloud.strangers.create("ec2", "CreateVpc", spec, region="eu-west-1")["arn"])]
    lab.wait(60)
    await lab.tags("tags", {"env": "test"}, regions=["us-east-1", "eu-west-1"])
    await lab.cloud("metadata", "tags")
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "resourcegroupstaggingapi.GetResources", nth=2))
    await lab.work()
    assert _values(lab, east + west) == {"theirs"}
    assert lab.tags_on(fresh)["env"] == "test", "what only adds waits for nobody"
    lab.wait(5.0)
    await lab.settle()
    assert _values(lab, east + west) == {"theirs"}
    assert "5 resources, more than 3" in lab.condition("Approved")[2]
    _approve(lab)
    await lab.settle()
    assert _values(lab, east + west) == {"test"}


async def test_a_resource_that_could_not_be_read_counts() -> None:
    lab = Lab(approve_above=1)
    (group,) = _theirs(lab, 1)
    (secret,) = lab.secrets(1)
    lab.somebody_sets(secret, env="theirs")
    lab.wait()
    await lab.tags("tags", {"env": "test"})
    await lab.cloud("metadata", "tags")
    lab.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "secretsmanager.DescribeSecret"))
    assert await lab.work() == RequeueAfter(5.0)
    assert _values(lab, [group, secret]) == {"theirs"}
    lab.wait(5.0)
    await lab.settle()
    assert _values(lab, [group, secret]) == {"theirs"}
    assert "2 resources, more than 1" in lab.condition("Approved")[2]


async def test_an_approval_is_used_once() -> None:
    """People who set their values back have decided something else since."""
    lab = Lab(approve_above=1)
    arns = _theirs(lab, 2)
    lab.wait(60)
    await lab.tags("tags", {"env": "test"})
    await lab.cloud("metadata", "tags")
    await lab.settle()
    _approve(lab)
    lab.object("CloudMetadata", "metadata")["metadata"]["annotations"][APPROVE] += ",0123456789abcdef"
    await lab.settle()
    assert _values(lab, arns) == {"test"}
    left = lab.object("CloudMetadata", "metadata")["metadata"]["annotations"][APPROVE]
    assert left == "0123456789abcdef", "that of another plan stays"
    for arn in arns:
        lab.somebody_sets(arn, env="theirs")
    lab.wait()
    await lab.settle()
    assert _values(lab, arns) == {"theirs"}
    assert lab.condition("Approved")[1] == "ApprovalNeeded"


async def test_an_approval_of_which_nothing_was_done_stays() -> None:
    lab = Lab(approve_above=1)
    arns = _theirs(lab, 2)
    lab.wait(60)
    await lab.tags("tags", {"env": "test"})
    await lab.cloud("metadata", "tags")
    await lab.settle()
    _approve(lab)
    lab.account.cloud.faults.add(Fault(Effect.THROTTLE, "ec2.CreateTags"))
    await lab.work()
    lab.wait(5.0)
    await lab.settle()
    assert _values(lab, arns) == {"test"}


@pytest.mark.parametrize("at", ["CloudMetadata metadata", "AWSMetadata tags"])
async def test_what_a_status_says_of_an_approval_can_be_followed(at: str) -> None:
    """Both objects name the one that is asked: an annotation on the AWSMetadata approves nothing of a fleet."""
    lab = Lab(approve_above=1)
    arns = _theirs(lab, 2)
    lab.wait(60)
    await lab.tags("tags", {"env": "test"})
    await lab.cloud("metadata", "tags")
    await lab.settle()
    assert _values(lab, arns) == {"theirs"}
    await _follow(lab, lab.condition("Approved", *at.split())[2])
    await lab.settle()
    assert _values(lab, arns) == {"test"}


async def test_what_an_object_in_deletion_says_of_an_approval_can_be_followed() -> None:
    """There the object itself is asked; no classifier decides what goes."""
    lab = Lab(approve_above=1)
    arns = lab.groups(2)
    await lab.tags("tags", {"env": "test"}, deletionPolicy="Remove")
    await lab.cloud("metadata", "tags")
    await lab.settle()
    await lab.remove("tags")
    message = lab.condition("Approved", "AWSMetadata", "tags")[2]
    assert message.endswith("or set spec.deletionPolicy: Retain, and the tags stay")
    await _follow(lab, message)
    await lab.let_go("tags")
    assert all("env" not in lab.tags_on(arn) for arn in arns)
