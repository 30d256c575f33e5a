"""The condition that says whether the leftovers of an object's workloads are collected with it."""

from __future__ import annotations

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.collection.policy import Collect, Policy, SkipCollection, UnreadablePolicy
from freehold.collection.things import CollectionTask


def observe_collection(policy: Policy, collected: str = "") -> Observation:
    """Build the condition from the policy. ``collected`` is the summary of a finished collection."""
    match policy:
        case Collect():
            message = collected or _describe_tasks(policy)
            return Observation(names.EXTERNAL_RESOURCE_GC, "True", names.REASON_COLLECTED, message)
        case SkipCollection(reason, message):
            return Observation(names.EXTERNAL_RESOURCE_GC, "False", reason, message)
        case UnreadablePolicy(message):
            reason = names.REASON_INVALID_COLLECTION_POLICY
            return Observation(names.EXTERNAL_RESOURCE_GC, "False", reason, message)


def _describe_tasks(policy: Collect) -> str:
    volumes = f" (volumes: {policy.volumes})" if CollectionTask.VOLUME in policy.tasks else ""
    return f"collected with it: {', '.join(policy.tasks)}{volumes}; by {policy.source}"
