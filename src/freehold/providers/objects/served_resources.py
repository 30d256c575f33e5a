"""The kinds that are served, as resources of an API server."""

from __future__ import annotations

from freehold.api.served import METADATA, POWERVS_CLUSTER, REFERRED_TO, SERVED, ServedName
from freehold.kube.resources import Resource


def resource_of(served: ServedName) -> Resource:
    """Where the objects of this kind are."""
    return Resource(served.group, served.version, served.plural, served.kind, served.namespaced)


SERVED_RESOURCES: tuple[Resource, ...] = tuple(resource_of(served) for served in SERVED)
READ_RESOURCES: tuple[Resource, ...] = tuple(resource_of(served) for served in REFERRED_TO)
"""What is not reconciled, and read where an object of the kinds above names one."""
METADATA_RESOURCES: tuple[Resource, ...] = tuple(resource_of(served) for served in METADATA)
"""The kinds of the metadata controller."""
POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)
