"""Simulated EKS: clusters, node groups, add-ons."""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.eks import addons, clusters, nodegroups, tags, updates, versions

OPERATIONS: tuple[Operation, ...] = (
    *clusters.OPERATIONS,
    *updates.OPERATIONS,
    *versions.OPERATIONS,
    *nodegroups.OPERATIONS,
    *addons.OPERATIONS,
    *tags.OPERATIONS,
)
