"""Simulated EKS: clusters, node groups, add-ons."""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.eks import addons, clusters, nodegroups, tags, versions

OPERATIONS: tuple[Operation, ...] = (
    *clusters.OPERATIONS,
    *versions.OPERATIONS,
    *nodegroups.OPERATIONS,
    *addons.OPERATIONS,
    *tags.OPERATIONS,
)
