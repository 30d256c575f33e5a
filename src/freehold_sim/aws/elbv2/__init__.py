"""Simulated Elastic Load Balancing, version 2: network and application load balancers."""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.elbv2 import attributes, balancers, listeners, tags, target_groups, targets

OPERATIONS: tuple[Operation, ...] = (
    *balancers.OPERATIONS,
    *attributes.OPERATIONS,
    *target_groups.OPERATIONS,
    *targets.OPERATIONS,
    *listeners.OPERATIONS,
    *tags.OPERATIONS,
)
