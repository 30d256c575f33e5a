"""Steps of a write that look at nothing but its object: they read, complete and check it."""

from __future__ import annotations

import json
from typing import Any

from freehold_apiserver import errors, metadata
from freehold_apiserver.errors import Notes
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json, Key
from freehold_apiserver.write_options import WriteOptions


def is_same(one: Json, other: Json) -> bool:
    """Whether the write changes nothing. Compares as JSON, because in Python 1 equals True."""
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def take_identity(key: Key, meta: Json, was: Json) -> None:
    """Give the metadata of an update what only the server writes."""
    metadata.restore_server_owned(meta, was)
    meta.update(name=key[1], resourceVersion=was["resourceVersion"])
    if key[0]:
        meta["namespace"] = key[0]


def require_name(resource: Resource, meta: Json) -> None:
    """Refuse a new object that has neither a name nor a beginning of one."""
    if meta.get("name"):
        return
    if not meta.get("generateName"):
        problem = errors.FieldError.required("metadata.name", "name or generateName is required")
        raise errors.invalid(resource.group, resource.kind, "", [problem])
    if not isinstance(meta["generateName"], str):
        raise errors.bad_request("metadata.generateName is of the wrong type: it must be of type string")


def require_same_name(resource: Resource, key: Key, obj: Json) -> None:
    """Refuse a webhook's change of the name or the namespace."""
    for name, wanted in (("name", key[1]), ("namespace", key[0])):
        if (obj["metadata"].get(name) or "") != wanted:
            problem = errors.FieldError.invalid(f"metadata.{name}", obj["metadata"].get(name), "field is immutable")
            raise errors.invalid(resource.group, resource.kind, key[1], [problem])


def read_metadata(resource: Resource, namespace: str, obj: Any) -> Json:
    """Read the metadata of the object in a request. Raises 400 when the object does not match the URL."""
    if not isinstance(obj, dict):
        raise errors.bad_request("the body of the request is not an object")
    if not obj.get("kind"):
        raise errors.bad_request(f"Object 'Kind' is missing in the body of the request; expected {resource.kind}")
    given = (obj.get("apiVersion"), obj.get("kind"))
    if given[0] != resource.api_version:
        raise errors.bad_request(
            f"the API version in the data ({given[0]}) does not match the expected API version ({resource.api_version})"
        )
    if given[1] != resource.kind:
        raise errors.bad_request(
            f"the kind in the data ({given[1]}) does not match the expected kind ({resource.kind})"
        )
    meta = obj.setdefault("metadata", {})
    if not isinstance(meta, dict):
        raise errors.bad_request("metadata of the object is not an object")
    if not resource.namespaced:
        meta.pop("namespace", None)
    elif meta.get("namespace", namespace) != namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        meta["namespace"] = namespace
    return meta


def decode(resource: Resource, obj: Json, options: WriteOptions, notes: Notes) -> None:
    """Prune and default by schema; unknown and duplicate fields are errors, warnings or ignored."""
    unknown = metadata.normalize(obj["metadata"])
    findings = resource.strategy.decode(obj)
    notes.add(findings.warnings)
    problems = [f'unknown field "{path}"' for path in (*unknown, *findings.unknown_fields)]
    problems += [f'duplicate field "{path}"' for path in options.duplicates]
    if problems and options.field_validation == "Strict":
        raise errors.bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {', '.join(problems)}"
        )
    if options.field_validation == "Warn":
        notes.add(problems)


def validate(resource: Resource, obj: Json, old: Json | None) -> None:
    """Raise 422 for an object that its kind does not accept."""
    found = metadata.errors(obj["metadata"], old["metadata"] if old else None, resource.names)
    found += resource.strategy.validate(obj, old)
    if found:
        raise errors.invalid(resource.group, resource.kind, obj["metadata"]["name"], found)
