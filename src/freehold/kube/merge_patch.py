"""Merge patches (RFC 7396)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def build_merge_patch(current: Mapping[str, Any], wanted: Mapping[str, Any], last: Mapping[str, Any]) -> Json:
    """Build the patch that turns ``current`` into ``wanted``; empty when nothing differs.

    The patch removes fields that are in ``last`` but not in ``wanted``. Pass ``current`` as ``last`` to remove every
    field that is not wanted; pass the last applied object to keep fields set by others. A null in ``wanted`` counts
    as absent.
    """
    patch: Json = {name: None for name in last if name not in wanted and name in current}
    for name, value in wanted.items():
        if value is None:
            if name in current:
                patch[name] = None
        elif isinstance(value, dict):
            held, before = current.get(name), last.get(name)
            if not isinstance(held, dict):
                patch[name] = value
            elif inner := build_merge_patch(held, value, before if isinstance(before, dict) else {}):
                patch[name] = inner
        elif current.get(name) != value or name not in current:
            patch[name] = value
    return patch


def apply_merge_patch(current: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """Return ``current`` with ``patch`` applied; neither is changed."""
    found: Json = {name: value for name, value in current.items() if name not in patch}
    for name, value in patch.items():
        if isinstance(value, Mapping):
            held = current.get(name)
            found[name] = apply_merge_patch(held if isinstance(held, Mapping) else {}, value)
        elif value is not None:
            found[name] = value
    return found
