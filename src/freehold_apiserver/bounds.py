"""Bounds of what a request may hold, so that one request cannot stop the server for all others.

kube-apiserver has the same kinds of bounds: 3 MiB in a body and in what a JSON patch copies, 10,000 operations in it
(k8s.io/apiserver ``pkg/server/config.go``, ``pkg/endpoints/handlers/patch.go``), 10,000 levels (Go's encoding/json).
Python recurses less deep than Go: objects of Kubernetes have some forty levels, OpenAPI schemas included.
"""

from __future__ import annotations

import math
from typing import Any

from freehold_apiserver import errors

MAX_BYTES = 3 * 1024 * 1024
MAX_OPERATIONS = 10_000
MAX_DEPTH = 200
MAX_DIGITS = 19
"""Most digits of a number in a query: those of the largest 64-bit integer."""


def is_too_deep(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Return True if lists and objects are nested in more than ``depth`` levels. Does not recurse."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return bool(level)


def require_shallow(value: Any) -> None:
    """Raise 400 for a value that is nested too deeply."""
    if is_too_deep(value):
        raise errors.bad_request(f"the object is nested in more than {MAX_DEPTH} levels")


def parse_float(text: str) -> float:
    """Return a number of JSON. Raises ValueError where it has no value in 64 bits, as Go does."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is out of range")
    return value


def refuse_constant(name: str) -> float:
    """Refuse ``NaN`` and ``Infinity``, which Python's decoder takes for JSON."""
    raise ValueError(f"{name} is no JSON")
