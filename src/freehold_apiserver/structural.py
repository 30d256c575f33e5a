"""Pruning and defaulting by a structural schema (the ``openAPIV3Schema`` of a CRD).

Semantics: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

ROOT_FIELDS = ("apiVersion", "kind", "metadata")


def prune(value: Any, schema: Schema, path: str = "", *, keeps_root: bool = True) -> list[str]:
    """Remove, in place, the fields that are not in the schema; returns their paths.

    ``x-kubernetes-preserve-unknown-fields`` keeps the unknown fields of its node; its known fields
    are still pruned below. ``apiVersion``, ``kind`` and ``metadata`` are known at the root and in
    embedded resources.
    """
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [
            gone
            for index, each in enumerate(value)
            for gone in prune(each, items, f"{path}[{index}]", keeps_root=False)
        ]
    if not isinstance(value, dict):
        return []
    preserves = schema.get("x-kubernetes-preserve-unknown-fields") is True
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    rooted = keeps_root or schema.get("x-kubernetes-embedded-resource") is True
    gone: list[str] = []
    for name in list(value):
        below = f"{path}.{name}" if path else name
        if rooted and name in ROOT_FIELDS:
            continue
        if name in properties:
            gone += prune(value[name], properties[name], below, keeps_root=False)
        elif isinstance(additional, dict):
            gone += prune(value[name], additional, below, keeps_root=False)
        elif not preserves and additional is not True:
            del value[name]
            gone.append(below)
    return gone


def default(value: Any, schema: Schema) -> None:
    """Fill in, in place, the defaults of absent fields and of null fields that are not nullable.

    A null in a field that is neither nullable nor has a default is dropped, as upstream does.
    """
    if isinstance(value, list):
        items = schema.get("items")
        if items:
            for each in value:
                default(each, items)
        return
    if not isinstance(value, dict):
        return
    properties = schema.get("properties") or {}
    for name, below in properties.items():
        absent = name not in value
        if not absent and value[name] is None and not below.get("nullable"):
            del value[name]
            absent = True
        if absent and "default" in below:
            value[name] = copy.deepcopy(below["default"])
        if name in value:
            default(value[name], below)
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        for name in value:
            if name not in properties:
                default(value[name], additional)
