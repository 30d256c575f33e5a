"""The condition that says whether what the workloads of an object made is collected with it."""

from __future__ import annotations

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.collection.policy import Collect, Policy, Skip, Unreadable
from freehold.collection.things import Task


def external_resource_gc(policy: Policy, collected: str = "") -> Observation:
    """Report the policy: True where the object is collected when it is deleted. ``collected``: what was in the end."""
    match policy:
        case Collect():
            message = collected or _collected(policy)
            return Observation(names.EXTERNAL_RESOURCE_GC, "True", names.REASON_COLLECTED, message)
        case Skip(reason, message):
            return Observation(names.EXTERNAL_RESOURCE_GC, "False", reason, message)
        case Unreadable(message):
            reason = names.REASON_INVALID_COLLECTION_POLICY
            return Observation(names.EXTERNAL_RESOURCE_GC, "False", reason, message)


def _collected(policy: Collect) -> str:
    volumes = f" (volumes: {policy.volumes})" if Task.VOLUME in policy.tasks else ""
    return f"collected with it: {', '.join(policy.tasks)}{volumes}; by {policy.source}"
