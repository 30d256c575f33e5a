"""Patch bodies: JSON merge patch (RFC 7386), JSON patch (RFC 6902), and a subset of strategic merge."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
from jsonpointer import JsonPointerException

from freehold.apiserver import errors
from freehold.apiserver.store import Json

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


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


def strategic(target: Any, patch: Any) -> Any:
    """Strategic merge without merge keys: maps as in :func:`merge`, lists replaced, directives applied.

    Real API servers merge lists by the keys in the Go types (``ports`` by ``containerPort`` …). Of the
    fields stored here only finalizers (a set) and ownerReferences (by uid) have such lists.
    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    if patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            merged[name] = [each for each in merged.get(name) or [] if each not in value]
        elif key.startswith("$"):
            continue
        elif value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
            merged.pop(key, None)
        elif key in _LIST_IDENTITY and isinstance(value, list):
            merged[key] = _merge_list(merged.get(key) or [], value, _LIST_IDENTITY[key])
        else:
            merged[key] = strategic(merged.get(key), value)
    return merged


_LIST_IDENTITY = {"finalizers": "", "ownerReferences": "uid"}


def _merge_list(target: list[Any], patch: list[Any], identity: str) -> list[Any]:
    if not identity:
        return target + [each for each in patch if each not in target]
    merged = {each.get(identity): each for each in target}
    for each in patch:
        if each.get("$patch") == "delete":
            merged.pop(each.get(identity), None)
        else:
            merged[each.get(identity)] = strategic(merged.get(each.get(identity)), each)
    return list(merged.values())


def json_patch(target: Json, operations: Any) -> Json:
    """RFC 6902. Raises 400 on a malformed patch, 422 when it cannot be applied (a failed ``test`` too)."""
    if not isinstance(operations, list):
        raise errors.bad_request("error decoding patch: a JSON patch is a list of operations")
    try:
        patched = jsonpatch.JsonPatch(operations).apply(target)
    except jsonpatch.InvalidJsonPatch as problem:
        raise errors.bad_request(f"error decoding patch: {problem}") from problem
    except (jsonpatch.JsonPatchException, JsonPointerException) as problem:
        raise errors.ApiError(
            422, "Invalid", f"the server rejected our request due to an error in our request: {problem}"
        ) from problem
    if not isinstance(patched, dict):
        raise errors.bad_request("the patch leaves no object")
    return patched


def apply_to(target: Json, patch: Any, content_type: str, *, custom: bool) -> Json:
    """``target`` with a patch of this content type applied.

    Raises 415 for an unsupported type: strategic merge on a custom resource (real API servers refuse it
    too), and apply in CBOR. Apply in YAML is not here (:mod:`freehold.apiserver.applying`).
    """
    if content_type == JSON_PATCH:
        return json_patch(target, patch)
    if content_type == MERGE or (content_type == STRATEGIC and not custom):
        if not isinstance(patch, dict):
            raise errors.bad_request("error decoding patch: a merge patch is an object")
        merged: Json = merge(target, patch) if content_type == MERGE else strategic(target, patch)
        return merged
    offered = [JSON_PATCH, MERGE, *([] if custom else [STRATEGIC]), APPLY]
    raise errors.unsupported_media(
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(offered)
    )
