"""The kinds of resources that workloads leave in the cloud."""

from __future__ import annotations

from enum import StrEnum


class Task(StrEnum):
    """What can be collected, in order of dependency; the first three words are upstream's.

    Source: https://cluster-api-aws.sigs.k8s.io/topics/external-resource-gc
    """

    LOAD_BALANCER = "load-balancer"
    TARGET_GROUP = "target-group"
    SECURITY_GROUP = "security-group"
    NETWORK_INTERFACE = "network-interface"
    VOLUME = "volume"


DEFAULT_TASKS = tuple(task for task in Task if task is not Task.VOLUME)
"""Volumes block no deletion, and hold data: they go only where somebody asks for it."""
