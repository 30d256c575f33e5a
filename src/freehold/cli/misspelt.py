"""Suggestions for fields of a manifest that the server does not know, from the schema that it has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from freehold.kube.errors import KubeError
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Json, Key, Resource

_METADATA = ("annotations", "finalizers", "labels", "name", "namespace", "ownerReferences")
_PART = re.compile(r"\[\d+\]|[^.\[]+")


async def unknown_fields(client: ObjectClient, resource: Resource, paths: Sequence[str]) -> list[str]:
    """Return a sentence for each path of a field that ``resource`` does not have."""
    schema = await _schema(client, resource) if paths else {}
    return [f"{path}: unknown field{suggestion(path, schema)}" for path in paths]


async def _schema(client: ObjectClient, resource: Resource) -> Json:
    """Return the schema of the custom resource; empty where there is none, or this user may not read it."""
    try:
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, Key("", str(resource)))
    except KubeError:
        return {}
    versions = (each for each in found["spec"]["versions"] if each["name"] == resource.version)
    return next((each["schema"]["openAPIV3Schema"] for each in versions if each.get("schema")), {})


def suggestion(path: str, schema: Json) -> str:
    """Return what to write in place of the last part of ``path``; empty where nothing beside it is like it."""
    *above, last = _PART.findall(path)
    at: Any = schema
    for part in above:
        at = at.get("items") if part.startswith("[") else _below(at, part)
        at = at if isinstance(at, dict) else {}
    known = _METADATA if above == ["metadata"] else tuple(at.get("properties") or ())
    return "".join(f"; did you mean {each}?" for each in get_close_matches(last, known, 1))


def _below(schema: Json, name: str) -> Any:
    properties = schema.get("properties") or {}
    return properties[name] if name in properties else schema.get("additionalProperties")
