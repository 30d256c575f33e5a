"""Discovery: which groups, versions and resources are served (the plain, unaggregated documents)."""

from __future__ import annotations

from freehold_apiserver.resources import Registry, Resource, api_version
from freehold_apiserver.store import Json

SERVER_VERSION = {
    "major": "1",
    "minor": "32",
    "gitVersion": "v1.32.0+freehold",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "python",
}


def core_versions(address: str) -> Json:
    """Build the answer to ``/api``."""
    by_client = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": by_client}


def group_list(registry: Registry) -> Json:
    """``/apis``."""
    groups = [_group(name, versions) for name, versions in registry.groups().items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(registry: Registry, name: str) -> Json | None:
    """``/apis/{group}``; None when it is not served."""
    versions = registry.groups().get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def _group(name: str, versions: list[str]) -> Json:
    named = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": named, "preferredVersion": named[0]}


def resource_list(registry: Registry, group_name: str, version: str) -> Json | None:
    """``/api/v1`` and ``/apis/{group}/{version}``; None when it is not served."""
    found = registry.in_group(group_name, version)
    if not found:
        return None
    resources = [entry for resource in found for entry in _entries(resource)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version(group_name, version),
        "resources": resources,
    }


def _entries(resource: Resource) -> list[Json]:
    main: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": sorted(resource.verbs),
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    below = [
        {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": ["update"] if name == "finalize" else ["get", "patch", "update"],
        }
        for name in resource.subresources
    ]
    return [main, *below]
