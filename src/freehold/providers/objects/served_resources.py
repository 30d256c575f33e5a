"""API server resources of served kinds."""

from __future__ import annotations

from freehold.api.served import ServedName
from freehold.kube.resources import Resource


def resource_of(served: ServedName) -> Resource:
    """Return the API server's resource of this kind."""
    return Resource(served.group, served.version, served.plural, served.kind, served.namespaced)
