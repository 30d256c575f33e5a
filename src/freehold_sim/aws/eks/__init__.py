"""Simulated EKS: clusters, node groups, add-ons, access entries, Fargate profiles."""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.eks import (
    access_entries,
    addons,
    clusters,
    fargate,
    identity_providers,
    nodegroups,
    tags,
    updates,
    versions,
)

OPERATIONS: tuple[Operation, ...] = (
    *clusters.OPERATIONS,
    *updates.OPERATIONS,
    *versions.OPERATIONS,
    *nodegroups.OPERATIONS,
    *addons.OPERATIONS,
    *access_entries.OPERATIONS,
    *fargate.OPERATIONS,
    *identity_providers.OPERATIONS,
    *tags.OPERATIONS,
)
