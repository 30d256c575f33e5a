"""What asks a person to take a mark off something gives the vendor's command for it, quoted for a shell."""

from __future__ import annotations

import shlex

import pytest

from freehold.engine.outcomes import Blocked
from freehold.engine.tag_text import text
from freehold.providers.aws.tags.tag_map import AwsCodec
from freehold.providers.ibm.marks import IbmCodec
from lab.life import Life
from lab.world import MemoryWorld, node

CRN = "crn:v1:bluemix:public:is:us-south:a/1::vpc:r006-1"
ARN = "arn:aws:ec2:us-east-1:123456789012:vpc/vpc-1"


def test_ibms_command_takes_several_tags_off_one_resource() -> None:
    command = IbmCodec().detach_command(CRN, ["powervs.cluster.x-k8s.io.owner:a.b c", "x:y; rm -rf ~"])
    assert shlex.split(command) == [
        *("ibmcloud", "resource", "tag-detach", "--resource-id", CRN, "--tag-names"),
        "powervs.cluster.x-k8s.io.owner:a.b c,x:y; rm -rf ~",
    ]


@pytest.mark.parametrize("arn", [ARN, "arn:aws:iam::123456789012:role/a"], ids=["in a region", "in none"])
def test_that_of_aws_names_the_keys_and_the_region(arn: str) -> None:
    command = AwsCodec().detach_command(arn, [text("freehold.dev/owner", "a/b"), text("k $(x)", "v")])
    region = ["--region", "us-east-1"] if arn == ARN else []
    assert shlex.split(command) == [
        *("aws", "resourcegroupstaggingapi", "untag-resources", *region, "--resource-arn-list", arn),
        *("--tag-keys", "k $(x)", "freehold.dev/owner"),
    ]


def test_a_resource_of_two_owners_tells_how_to_free_it_from_each() -> None:
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    world.meddle("claim_uuid", "site")
    life.invalidate()
    life.delete()
    assert life.last is not None
    (outcome,) = (each for each in life.last.outcomes.values() if isinstance(each, Blocked))
    assert outcome.observed is not None
    target = outcome.observed.target
    first, second = outcome.message.split("If it is not of this object, ")[1].split(". If it is, ")
    assert first.startswith(f"detach its marks: detach {target} ") and f"uuid:{life.owner.uuid}" in first
    assert second.startswith(f"detach its marks: detach {target} uuid:") and life.owner.uuid not in second
