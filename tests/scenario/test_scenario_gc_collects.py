"""A cluster that is deleted takes with it what its own controllers made in its network, and nothing else."""

from __future__ import annotations

from harness.aws_cluster import AwsHarness
from harness.cloud_controllers import everything
from harness.collected import ground_of, left, user_of
from harness.standing import standing


def test_everything_that_the_controllers_made_goes_with_the_cluster_but_volumes() -> None:
    harness = standing(AwsHarness)
    before = {row["id"] for row in left(harness)}
    everything(user_of(harness), ground_of(harness))
    assert len(left(harness)) > len(before)
    harness.down()
    assert {row["kind"] for row in left(harness)} == {"volume"}
