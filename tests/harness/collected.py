"""An AWSCluster with workloads: where they live, who makes things there, and what is left in the account."""

from __future__ import annotations

from typing import Any

from harness.aws_account import REGION
from harness.aws_cluster import AwsHarness
from harness.cloud_actors import OtherUser
from harness.cloud_controllers import Ground


def user_of(harness: AwsHarness) -> OtherUser:
    """Another user of the account."""
    return OtherUser(harness.cloud.strangers.act, region=REGION)


def ground_of(harness: AwsHarness) -> Ground:
    """Where the workloads of the harness's cluster live."""
    name, rows = harness.object.raw["metadata"]["name"], harness.object.raw["status"]["resources"]
    ids = {(row["kind"], row["name"]): row["id"] for row in rows}
    subnets = [ident for (kind, _), ident in ids.items() if kind == "subnet"][:2]
    return Ground(name, ids["vpc", f"{name}-vpc"], subnets, ids["security-group", f"{name}-node"])


def left(harness: AwsHarness) -> list[dict[str, Any]]:
    """Everything in the account but what comes with a VPC, and what is shown for a while after its end."""
    rows = harness.cloud.strangers.resources()
    return [row for row in rows if not row["default"] and row["state"] not in ("deleted", "terminated")]
