"""A served kind as a resource of an API server."""

from __future__ import annotations

from freehold.api.served import ServedName
from freehold.kube.resources import Resource


def resource_of(served: ServedName) -> Resource:
    """Return where the objects of this kind are."""
    return Resource(served.group, served.version, served.plural, served.kind, served.namespaced)
