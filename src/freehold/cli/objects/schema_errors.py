"""Refusals of an API server, in words: rules of ours, unknown fields, values of others."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from freehold.api.patterns import WORDS
from freehold.kube.errors import Conflict, Forbidden, InvalidRequest, KubeError
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Json, Key, Resource

_PATTERN = re.compile(
    r"Invalid value: (?P<value>\".*\"): (?P<path>\S+) in body should match '(?P<pattern>.*)'", re.DOTALL
)
"""How Kubernetes words it (k8s.io/kube-openapi, pkg/validation/errors, patternFail)."""
_TYPE_NAME = re.compile(r'^Invalid value: "(?:array|object|string)": ')
"""What a rule puts in the place of its value."""
_METADATA = ("annotations", "finalizers", "labels", "name", "namespace", "ownerReferences")
_PART = re.compile(r"\[\d+\]|[^.\[]+")


def sentences(refusal: KubeError) -> list[str]:
    """Say each thing that is wrong in a sentence, with its field's path."""
    causes = refusal.details.get("causes") if isinstance(refusal, InvalidRequest | Forbidden | Conflict) else None
    if not isinstance(causes, list) or not causes:
        return [refusal.message]
    return [_cause(each) for each in causes if isinstance(each, dict)] or [refusal.message]


def _cause(cause: Json) -> str:
    field, message = str(cause.get("field") or ""), str(cause.get("message") or "is wrong")
    if cause.get("reason") == "FieldManagerConflict":
        return f"{field.lstrip('.')} has another value: {message}"
    message = _reword(message)
    return message if field in ("", "<nil>") or message.startswith(f"{field}:") else f"{field}: {message}"


def is_contested(refusal: KubeError) -> bool:
    """Return whether other managers set other values, and not just an older version was looked at."""
    causes = refusal.details.get("causes") if isinstance(refusal, Conflict) else None
    return any(isinstance(each, dict) and each.get("reason") == "FieldManagerConflict" for each in causes or ())


def _reword(message: str) -> str:
    """Say what is allowed, in words, where the rule is one of ours."""
    found = _PATTERN.fullmatch(message)
    if found is None or found["pattern"] not in WORDS:
        return _TYPE_NAME.sub("", message)
    return f"{_value(found['value'])!r} is not allowed: {WORDS[found['pattern']]}"


def _value(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted[1:-1]


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
        at = at.get("items") if part.startswith("[") else _find_property_schema(at, part)
        at = at if isinstance(at, dict) else {}
    known = _METADATA if above == ["metadata"] else tuple(at.get("properties") or ())
    return "".join(f"; did you mean {each}?" for each in get_close_matches(last, known, 1))


def _find_property_schema(schema: Json, name: str) -> Any:
    properties = schema.get("properties") or {}
    return properties[name] if name in properties else schema.get("additionalProperties")
