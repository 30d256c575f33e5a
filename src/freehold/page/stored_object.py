"""A stored object as the page reads it: what has another shape than a status of ours is left out. Pure.

Anybody who may edit an object can write annotations, and a foreign program its status. Each still gets its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from freehold.kube.resources import Json, Resource

MOST_RESOURCES = 2_000
"""The most resources of one object that are shown."""
LONGEST_TEXT, LONGEST_NAME = 2_000, 300
"""Characters of a message, and of a name or an id, that are shown."""


def cut_text(text: object, most: int = LONGEST_TEXT) -> str:
    """Return the text, cut where it is longer; empty for None."""
    said = "" if text is None else text if isinstance(text, str) else str(text)
    return said if len(said) <= most else f"{said[: most - 1]}…"


def cut_name(text: object) -> str:
    """Return a name or an id, cut where it is longer than any cloud's."""
    return cut_text(text, LONGEST_NAME)


def object_key(kind: str, namespace: str, name: str) -> str:
    """Return the key of an object in the page: ``Kind/namespace/name``."""
    return f"{kind}/{namespace}/{name}"


def key_of_stored(resource: Resource, raw: Json) -> str:
    """Return the key of a stored object."""
    metadata = as_mapping(raw.get("metadata"))
    return object_key(resource.kind, _text(metadata.get("namespace")), _text(metadata.get("name")))


def read_stored(resource: Resource, raw: Json) -> Json:
    """Return the object with the fields that the page reads, each of the type that it has when we wrote it."""
    metadata, spec, status = (as_mapping(raw.get(field)) for field in ("metadata", "spec", "status"))
    kept: Json = {
        "name": _text(metadata.get("name")),
        "namespace": _text(metadata.get("namespace")),
        "generation": _number(metadata.get("generation")),
        "labels": as_texts(metadata.get("labels")),
        "annotations": as_texts(metadata.get("annotations")),
        "ownerReferences": [each for each in as_mappings(metadata.get("ownerReferences")) if _names_an_owner(each)],
        "resourceVersion": _text(metadata.get("resourceVersion")),
        "creationTimestamp": _text(metadata.get("creationTimestamp")),
    }
    if metadata.get("deletionTimestamp"):
        kept["deletionTimestamp"] = _text(metadata["deletionTimestamp"])
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": kept,
        "spec": {**spec, "controlPlaneEndpoint": _endpoint(spec.get("controlPlaneEndpoint"))},
        "status": {
            "conditions": [_condition(each) for each in as_mappings(status.get("conditions"))],
            "resources": read_resources(status),
            "identity": as_mapping(status.get("identity")),
        },
    }


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object; else an empty one."""
    return value if isinstance(value, dict) else {}


def as_mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the JSON objects in a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list | tuple) else []


def as_texts(value: object) -> dict[str, str]:
    """Return the entries of a JSON object that are texts."""
    return {name: said for name, said in as_mapping(value).items() if isinstance(said, str)}


def _names_an_owner(reference: Mapping[str, Any]) -> bool:
    return all(isinstance(reference.get(field), str) for field in ("apiVersion", "kind", "name"))


_PLAIN: Final = frozenset({str, int})


def _condition(condition: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a condition of which each field is a text, and the generation a number; mostly it is so already."""
    if _PLAIN.issuperset(map(type, condition.values())) and type(condition.get("observedGeneration", 0)) is int:
        return condition
    texts = {name: _text(condition.get(name)) for name in ("type", "status", "reason", "message", "lastTransitionTime")}
    return {**texts, "observedGeneration": _number(condition.get("observedGeneration"))}


def read_resources(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of a status."""
    return [_resource(each) for each in as_mappings(status.get("resources"))]


def _resource(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row whose ``waitsFor`` is a list; its other fields are read as texts, whatever they are."""
    return row if isinstance(row.get("waitsFor", ()), list | tuple) else {**row, "waitsFor": ()}


def _endpoint(value: object) -> dict[str, Any]:
    endpoint = as_mapping(value)
    return {"host": _text(endpoint.get("host")), "port": _number(endpoint.get("port"))}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
