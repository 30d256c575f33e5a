"""Tags of an AWSCluster when its ``additionalTags`` change."""

from __future__ import annotations

import pytest

from freehold_sim.faults import Effect, Fault
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import own

NAMED = {"additionalTags": {"Name": "my"}}


@pytest.mark.parametrize("faults", [0, 6], ids=["at once", "also if the first attaches are throttled"])
def test_a_name_that_the_spec_drops_is_replaced_by_the_default_one(faults: int) -> None:
    """The value that is there is ours until the default one has been read: nobody else's tag is in the way."""
    default = AwsHarness()
    default.up()
    names = sorted((each["kind"], each["tags"].get("Name")) for each in own(default))
    harness = AwsHarness(aws_cluster(**NAMED))
    harness.up()
    harness.for_a_while(1200)
    assert {each["tags"].get("Name") for each in own(harness)} == {"my"}
    if faults:
        for operation in ("resourcegroupstaggingapi.TagResources", "ec2.CreateTags", "elb.AddTags"):
            harness.cloud.faults.add(Fault(Effect.THROTTLE, operation, count=faults))
    harness.object.patch({"spec": {"additionalTags": {"Name": None}}})
    harness.for_a_while(3600)
    assert sorted((each["kind"], each["tags"].get("Name")) for each in own(harness)) == names
    assert harness.ready()
    assert "TagTaken" not in str(harness.status())
