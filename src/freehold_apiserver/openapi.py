"""OpenAPI v3, limited to what kubectl reads.

``kubectl explain`` needs schemas that carry ``x-kubernetes-group-version-kind``; ``kubectl apply``
needs a PATCH operation with a ``fieldValidation`` parameter, or it falls back to OpenAPI v2
(docs/reference/kubernetes.md#kubectl). For ``kind: List`` kubectl always uses v2, so an empty v2
document is served, which leaves validation to this server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from freehold_apiserver.resources import Registry, Resource
from freehold_apiserver.store import Json, encode

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

VERSION_2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
VERSION_2 = b"\x0a\x032.0\x12\x19\x0a\x08Freehold\x12\x0dv1.32.0+empty"
"""``/openapi/v2``, which kubectl reads as protobuf only: Document{swagger: 1, info: 2 {title: 1, version: 2}}.

Field numbers: openapiv2/OpenAPIv2.proto of github.com/google/gnostic-models. kubectl does not
validate a kind that it does not define, and sends the write with ``fieldValidation=Strict``.
"""


def index(registry: Registry) -> Json:
    """``/openapi/v3``: the URL of the document of each group and version, with a hash of its content."""
    paths = {}
    for resource in registry:
        path = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
        if path not in paths:
            digest = hashlib.sha256(encode(document(registry, resource.group, resource.version))).hexdigest()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest.upper()}"}
    return {"paths": paths}


def document(registry: Registry, group: str, version: str) -> Json:
    """``/openapi/v3/apis/{group}/{version}``; without resources the document is empty."""
    paths: Json = {}
    schemas: Json = {_META: _METADATA_SCHEMA}
    for resource in registry.in_group(group, version):
        name = _schema_name(resource)
        schemas[name] = _schema(resource)
        schemas[f"{name}List"] = _list_schema(resource, name)
        paths |= _paths(resource, name)
    info = {"title": "Freehold embedded API server", "version": "v1.32.0"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _schema_name(resource: Resource) -> str:
    if not resource.group:
        return f"io.k8s.api.core.{resource.version}.{resource.kind}"
    return f"{'.'.join(reversed(resource.group.split('.')))}.{resource.version}.{resource.kind}"


def _gvk(resource: Resource, kind: str = "") -> Json:
    return {"group": resource.group, "version": resource.version, "kind": kind or resource.kind}


def _schema(resource: Resource) -> Json:
    given = dict(resource.schema) or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    properties = {
        "apiVersion": {"type": "string", "description": "APIVersion defines the version of this representation."},
        "kind": {"type": "string", "description": "Kind is the REST resource that this object represents."},
        **{name: below for name, below in (given.get("properties") or {}).items() if name != "metadata"},
        "metadata": {"allOf": [{"$ref": f"#/components/schemas/{_META}"}], "default": {},
                     "description": "Standard object's metadata."},
    }  # fmt: skip
    return {**given, "properties": properties, "x-kubernetes-group-version-kind": [_gvk(resource)]}


def _list_schema(resource: Resource, name: str) -> Json:
    items = {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}
    return {
        "type": "object",
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "required": ["items"],
        "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "items": items},
        "x-kubernetes-group-version-kind": [_gvk(resource, resource.list_kind)],
    }


def _paths(resource: Resource, name: str) -> Json:
    base = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    collection = (
        f"{base}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"{base}/{resource.plural}"
    )
    reference = {"$ref": f"#/components/schemas/{name}"}
    return {
        collection: {"post": _operation(resource, "post", reference), "get": _operation(resource, "list", reference)},
        f"{collection}/{{name}}": {
            verb: _operation(resource, verb, reference) for verb in ("get", "put", "patch", "delete")
        },
    }


def _operation(resource: Resource, action: str, reference: Mapping[str, Any]) -> Json:
    operation: Json = {
        "operationId": f"{action}{resource.group.title().replace('.', '')}{resource.version.title()}{resource.kind}",
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": dict(reference)}}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(resource),
    }
    if action in ("post", "put", "patch"):
        operation["parameters"] = [
            {"name": name, "in": "query", "description": text, "schema": {"type": "string", "uniqueItems": True}}
            for name, text in _WRITE_PARAMETERS.items()
        ]
    return operation


_WRITE_PARAMETERS = {
    "dryRun": "All: process the request without storing anything.",
    "fieldManager": "Name of who writes, recorded in metadata.managedFields.",
    "fieldValidation": "Ignore, Warn or Strict: what to do about unknown and duplicate fields.",
}

_STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA_SCHEMA: Json = {
    "type": "object",
    "description": "ObjectMeta is metadata that all persisted objects have.",
    "properties": {
        "name": {"type": "string", "description": "Unique within a namespace; cannot be changed."},
        "generateName": {"type": "string", "description": "A prefix from which the server makes a unique name."},
        "namespace": {"type": "string", "description": "The namespace within which the name is unique."},
        "labels": {**_STRINGS, "description": "Keys and values to select objects by."},
        "annotations": {**_STRINGS, "description": "Keys and values that tools keep on the object."},
        "finalizers": {"type": "array", "items": {"type": "string"},
                       "description": "Must be empty before the object is deleted."},
        "ownerReferences": {"type": "array", "items": {"type": "object"},
                            "description": "Owners of this object; it is deleted when all of them are gone."},
        "uid": {"type": "string", "description": "Unique in time and space; set by the server."},
        "resourceVersion": {"type": "string", "description": "Changes with every write; set by the server."},
        "generation": {"type": "integer", "format": "int64", "description": "Counts changes of the desired state."},
        "creationTimestamp": {"type": "string", "format": "date-time", "description": "Set by the server."},
        "deletionTimestamp": {"type": "string", "format": "date-time", "description": "When deletion was requested."},
    },
}  # fmt: skip
