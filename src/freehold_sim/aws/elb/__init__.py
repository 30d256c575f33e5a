"""Simulated Elastic Load Balancing, the classic generation."""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.elb import balancers, parts, tags

OPERATIONS: tuple[Operation, ...] = (*balancers.OPERATIONS, *parts.OPERATIONS, *tags.OPERATIONS)
