"""A cluster that is deleted takes with it what its own controllers made in its network, and nothing else."""

from __future__ import annotations

from typing import Any

from harness.aws_account import REGION
from harness.aws_cluster import AwsHarness
from harness.cloud_actors import OtherUser
from harness.cloud_controllers import Ground, everything


def ground_of(harness: AwsHarness) -> Ground:
    """Where the workloads of the harness's cluster live."""
    rows = {(row["kind"], row["name"]): row for row in harness.object.raw["status"]["resources"]}
    subnets = [row["id"] for (kind, _), row in rows.items() if kind == "subnet"][:2]
    return Ground("demo", rows["vpc", "demo-vpc"]["id"], subnets, rows["security-group", "demo-node"]["id"])


def left(harness: AwsHarness) -> list[dict[str, Any]]:
    """Everything in the account but what comes with a VPC, and what is shown for a while after its end."""
    rows = harness.cloud.strangers.resources()
    return [row for row in rows if not row["default"] and row["state"] not in ("deleted", "terminated")]


def test_everything_that_the_controllers_made_goes_with_the_cluster_but_volumes() -> None:
    harness = AwsHarness()
    harness.up()
    before = {row["id"] for row in left(harness)}
    everything(OtherUser(harness.cloud.strangers.act, region=REGION), ground_of(harness))
    assert len(left(harness)) > len(before)
    harness.down()
    assert {row["kind"] for row in left(harness)} == {"volume"}
