"""The kinds that are served, as resources of an API server."""

from __future__ import annotations

from freehold.api.served import POWERVS_CLUSTER, SERVED, ServedName
from freehold.kube.resources import Resource


def resource_of(served: ServedName) -> Resource:
    """Where the objects of this kind are."""
    return Resource(served.group, served.version, served.plural, served.kind, served.namespaced)


SERVED_RESOURCES: tuple[Resource, ...] = tuple(resource_of(served) for served in SERVED)
POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)
