"""API server resources of served kinds."""

from __future__ import annotations

from freehold.api.served import InfrastructureName, MachineName, ParentName, ServedName
from freehold.kube.resources import Resource


def resource_of(served: ServedName) -> Resource:
    """Return the API server's resource of this kind."""
    return Resource(served.group, served.version, served.plural, served.kind, served.namespaced)


def resource_around(named: ParentName | MachineName | InfrastructureName) -> Resource:
    """Return the API server's resource of a kind around a served one."""
    return Resource(named.group, named.version, named.plural, named.kind)
