"""China and GovCloud are AWS with other ARNs, and China with other names of load balancers."""

from __future__ import annotations

from typing import Any

import pytest

from freehold_sim.aws.settings import Settings
from harness.aws_served import ServedAws

PLACES = {"cn-north-1": ("aws-cn", "amazonaws.com.cn"), "us-gov-west-1": ("aws-us-gov", "amazonaws.com")}


@pytest.mark.parametrize("region", PLACES)
@pytest.mark.parametrize("kind", ["classic", "nlb"])
async def test_a_cluster_lives_in_another_partition(region: str, kind: str) -> None:
    partition, suffix = PLACES[region]
    settings = Settings(regions={region: tuple(f"{region}{letter}" for letter in "abc")})
    served = ServedAws(settings=settings, region=region, controlPlaneLoadBalancer={"loadBalancerType": kind})
    await served.up()
    assert served.object.raw["spec"]["controlPlaneEndpoint"]["host"].endswith(suffix)
    assert {row["arn"].split(":")[1] for row in _ours(served)} == {partition}
    assert all("freehold.dev/seal" in row["tags"] for row in _ours(served))
    await served.down()
    assert _ours(served) == []


def _ours(served: ServedAws) -> list[dict[str, Any]]:
    rows = served.sim.cloud.resources()
    return [row for row in rows if "freehold.dev/owner-uuid" in row["tags"] and row["state"] != "deleted"]
