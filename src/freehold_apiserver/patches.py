"""Patch bodies: JSON merge patch (RFC 7386), JSON patch (RFC 6902), and strategic merge."""

from __future__ import annotations

import copy
import json
from typing import Any

from freehold_apiserver import bounds, errors
from freehold_apiserver.field_sets import schema_below
from freehold_apiserver.store import Json
from freehold_apiserver.structural import Schema

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


_NO_SCHEMA: Schema = {}


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386: maps are merged, null removes, other values replace. ``target`` is not changed."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def strategic(target: Any, patch: Any, schema: Schema = _NO_SCHEMA) -> Any:
    """Strategic merge: maps as in :func:`merge`, lists by their merge keys or replaced, directives applied.

    Semantics: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    if patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    merged = dict(target) if isinstance(target, dict) else {}
    if isinstance(kept := patch.get("$retainKeys"), list):
        merged = {key: value for key, value in merged.items() if key in kept}
    for key, value in patch.items():
        below = schema_below(schema, key)[0]
        identity = _LIST_IDENTITY.get(key) if key in _LIST_IDENTITY else below.get("x-kubernetes-patch-merge-key")
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            merged[name] = [each for each in merged.get(name) or [] if each not in value]
        elif key.startswith("$"):
            continue
        elif value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
            merged.pop(key, None)
        elif identity is not None and isinstance(value, list):
            order = patch.get(f"$setElementOrder/{key}") or []
            items = below.get("items") or {}
            merged[key] = _merge_list(merged.get(key) or [], value, identity, items, order)
        else:
            merged[key] = strategic(merged.get(key), value, below)
    return merged


_LIST_IDENTITY = {"finalizers": "", "ownerReferences": "uid"}
"""Lists of the metadata, which no schema describes: what their items are known by, empty for the item itself."""


def _merge_list(target: list[Any], patch: list[Any], identity: str, items: Schema, order: list[Any]) -> list[Any]:
    if not identity:
        return target + [each for each in patch if each not in target]
    if {"$patch": "replace"} in patch:
        return [copy.deepcopy(each) for each in patch if each != {"$patch": "replace"}]
    merged = {each.get(identity): each for each in target}
    for each in patch:
        if each.get("$patch") == "delete":
            merged.pop(each.get(identity), None)
        else:
            merged[each.get(identity)] = strategic(merged.get(each.get(identity)), each, items)
    places = {each.get(identity): place for place, each in enumerate(order)}
    # Items that the client does not know keep their place behind those that it orders.
    return sorted(merged.values(), key=lambda each: places.get(each.get(identity), len(places)))


def json_patch(target: Json, operations: Any) -> Json:
    """RFC 6902. Raises 400 on a malformed patch, 422 when it cannot be applied (a failed ``test`` too)."""
    if not isinstance(operations, list):
        raise errors.bad_request("error decoding patch: a JSON patch is a list of operations")
    if len(operations) > bounds.MAX_OPERATIONS:
        most = f"The allowed maximum operations in a JSON patch is {bounds.MAX_OPERATIONS}, got {len(operations)}"
        raise errors.ApiError(413, "RequestEntityTooLarge", most)
    for index, operation in enumerate(operations):
        if problem := _malformed(operation):
            raise errors.bad_request(f"error decoding patch: operation {index}: {problem}")
    patched: Any = copy.deepcopy(target)
    copied = 0
    try:
        for operation in operations:
            if operation["op"] == "copy":
                copied += _copied_bytes(patched, operation["from"])
                if copied > bounds.MAX_BYTES:
                    raise _refused(
                        "Unable to complete the copy, the accumulated size increase of copy is "
                        f"{copied}, exceeding the limit {bounds.MAX_BYTES}"
                    )
            patched = _applied(patched, operation)
    except RecursionError:
        raise errors.bad_request("the patch nests the object too deeply") from None
    if not isinstance(patched, dict):
        raise errors.bad_request("the patch leaves no object")
    return patched


_MEMBERS = {
    "add": "value", "replace": "value", "test": "value", "remove": "", "move": "from", "copy": "from",
}  # fmt: skip
"""Operation -> the member that it needs besides ``path``."""


def _malformed(operation: Any) -> str:
    """Why this is no operation of a JSON patch; empty if it is one."""
    if not isinstance(operation, dict):
        return "it is not an object"
    kind = operation.get("op")
    if kind not in _MEMBERS:
        return f"op is {errors.shown(kind)}; use one of {', '.join(_MEMBERS)}"
    for name in ("path", *(["from"] if _MEMBERS[kind] == "from" else [])):
        pointer = operation.get(name)
        if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
            return f"{kind} needs {name}, a JSON pointer such as /metadata/labels"
    if _MEMBERS[kind] == "value" and "value" not in operation:
        return f"{kind} needs a value"
    return ""


def _applied(document: Any, operation: Json) -> Any:
    """One operation applied. The library's messages show Python's types; these are those of a real API server."""
    import jsonpatch  # hardly any client sends such patches
    from jsonpointer import JsonPointerException

    kind, path = operation["op"], operation["path"]
    try:
        return jsonpatch.JsonPatch([operation]).apply(document, in_place=True)
    except jsonpatch.JsonPatchTestFailed:
        why = f"testing value {path} failed: test failed"
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError, IndexError, ValueError):
        missing = path if kind not in ("move", "copy") or _resolves(document, operation["from"]) else operation["from"]
        why = f"{kind} operation does not apply: doc is missing path: {missing}"
    raise _refused(why)


def _refused(why: str) -> errors.ApiError:
    return errors.ApiError(422, "Invalid", f"the server rejected our request due to an error in our request: {why}")


def _copied_bytes(document: Any, pointer: str) -> int:
    """Return the size of what a copy adds, in JSON; 0 where there is nothing to copy."""
    from jsonpointer import resolve_pointer

    return len(json.dumps(resolve_pointer(document, pointer))) if _resolves(document, pointer) else 0


def _resolves(document: Any, pointer: str) -> bool:
    from jsonpointer import JsonPointerException, resolve_pointer

    try:
        resolve_pointer(document, pointer)
    except (JsonPointerException, TypeError, KeyError, IndexError, ValueError):
        return False
    return True


def apply_to(target: Json, patch: Any, content_type: str, schema: Schema, *, custom: bool) -> Json:
    """``target`` with a patch of this content type applied.

    Raises 415 for an unsupported type: strategic merge on a custom resource (real API servers refuse it
    too), and apply in CBOR. Apply in YAML is not here (:mod:`freehold_apiserver.applying`).
    """
    if content_type == JSON_PATCH:
        return json_patch(target, patch)
    if content_type == MERGE or (content_type == STRATEGIC and not custom):
        if not isinstance(patch, dict):
            raise errors.bad_request("error decoding patch: a merge patch is an object")
        try:
            merged: Json = merge(target, patch) if content_type == MERGE else strategic(target, patch, schema)
        except (TypeError, AttributeError) as problem:  # an entry of a list that is merged is no object
            raise errors.bad_request(f"error decoding patch: {problem}") from problem
        return merged
    offered = [JSON_PATCH, MERGE, *([] if custom else [STRATEGIC]), APPLY]
    raise errors.unsupported_media(
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(offered)
    )
