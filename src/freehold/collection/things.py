"""Kinds of resources that workloads leave in the cloud."""

from __future__ import annotations

from enum import StrEnum


class CollectionTask(StrEnum):
    """The tasks of a collection, in order of dependency; the first three names are upstream's.

    Source: https://cluster-api-aws.sigs.k8s.io/topics/external-resource-gc
    """

    LOAD_BALANCER = "load-balancer"
    TARGET_GROUP = "target-group"
    SECURITY_GROUP = "security-group"
    NETWORK_INTERFACE = "network-interface"
    VOLUME = "volume"


DEFAULT_TASKS = tuple(task for task in CollectionTask if task is not CollectionTask.VOLUME)
"""The default has no volumes: they block no deletion, and hold data."""
