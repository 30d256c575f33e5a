"""Tags of an AWSCluster when its ``additionalTags`` change."""

from __future__ import annotations

import pytest

from freehold_sim.aws.strangers import Strangers
from freehold_sim.faults import Effect, Fault
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import own
from harness.standing import standing

NAMED = {"additionalTags": {"Name": "my"}}


@pytest.mark.parametrize("faults", [0, 6], ids=["at once", "also if the first attaches are throttled"])
def test_a_name_that_the_spec_drops_is_replaced_by_the_default_one(faults: int) -> None:
    """The value that is there is ours until the default one has been read: nobody else's tag is in the way."""
    default = standing(AwsHarness)
    names = sorted((each["kind"], each["tags"].get("Name")) for each in own(default))
    harness = standing(AwsHarness, aws_cluster(**NAMED))
    harness.for_a_while(1200)
    assert {each["tags"].get("Name") for each in own(harness)} == {"my"}
    if faults:
        for operation in ("resourcegroupstaggingapi.TagResources", "ec2.CreateTags", "elb.AddTags"):
            harness.cloud.faults.add(Fault(Effect.THROTTLE, operation, count=faults))
    harness.object.patch({"spec": {"additionalTags": {"Name": None}}})
    harness.for_a_while(1200)
    assert sorted((each["kind"], each["tags"].get("Name")) for each in own(harness)) == names
    assert harness.ready()
    assert "TagTaken" not in str(harness.status())


KEY = "kubernetes.io/cluster/demo"


def with_key(harness: AwsHarness) -> set[str]:
    return {each["name"] for each in own(harness, "security-group") if KEY in each["tags"]}


def test_the_cloud_controller_finds_one_security_group_whatever_the_user_tags() -> None:
    """With several it serves no load balancer; upstream takes the tag off all others, too."""
    harness = AwsHarness(aws_cluster(additionalTags={KEY: "owned", "team": "x"}))
    harness.up()
    harness.for_a_while(1200)
    assert with_key(harness) == {"demo-lb"}
    assert {each["tags"].get("team") for each in own(harness)} == {"x"}
    assert all(KEY in each["tags"] for each in own(harness, "vpc"))
    writes = len(harness.calls(mutating=True))
    harness.for_a_while(3600)
    assert len(harness.calls(mutating=True)) == writes
    assert harness.ready()


def test_a_tag_for_the_cloud_controller_that_an_earlier_version_put_on_a_group_is_taken_off() -> None:
    harness = AwsHarness(aws_cluster(additionalTags={KEY: "owned"}))
    harness.up()
    group = next(each for each in own(harness, "security-group") if each["name"] == "demo-node")
    Strangers(harness.cloud).tag(group["id"], {KEY: "owned"})
    harness.for_a_while(2400)
    assert with_key(harness) == {"demo-lb"}
