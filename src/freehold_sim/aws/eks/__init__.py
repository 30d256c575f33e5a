"""Simulated EKS: clusters, node groups, add-ons, access entries."""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.eks import access_entries, addons, clusters, nodegroups, tags, updates, versions

OPERATIONS: tuple[Operation, ...] = (
    *clusters.OPERATIONS,
    *updates.OPERATIONS,
    *versions.OPERATIONS,
    *nodegroups.OPERATIONS,
    *addons.OPERATIONS,
    *access_entries.OPERATIONS,
    *tags.OPERATIONS,
)
