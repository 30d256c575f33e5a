"""Each limit is reached: what is up to it is made, one more is refused with the service's own code."""

from dataclasses import fields
from typing import Any

import pytest

from freehold_sim.aws.settings import Quotas
from harness.aws_limits import LIMITS, MOST
from harness.simulated_aws import refused


@pytest.mark.parametrize("quota", [field.name for field in fields(Quotas)])
def test_a_limit_is_reached(make_sim: Any, quota: str) -> None:
    limit = LIMITS[quota]
    sim = make_sim(quotas=Quotas(**{quota: MOST + limit.held}), limits={})
    make = limit.prepare(sim)
    for number in range(MOST):
        make(number)
    with refused(limit.code):
        make(MOST)


def test_the_groups_of_an_instance_have_a_code_of_their_own(make_sim: Any) -> None:
    sim = make_sim(quotas=Quotas(groups_per_interface=1))
    vpc = sim.vpc()
    subnet, groups = sim.subnet(vpc), [sim.group(vpc, name) for name in ("one", "other")]
    with refused("SecurityGroupsPerInstanceLimitExceeded"):
        sim.instance(subnet, SecurityGroupIds=groups)
