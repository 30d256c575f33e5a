"""Validation ratcheting: an update is not refused for what was wrong before and did not change.

Without it, a CRD with a new rule would block every later write to the objects that break it, the removal of a
finalizer too.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from freehold_apiserver.errors import FieldError
from freehold_apiserver.store import Json

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_ABSENT = object()


def ratcheted(found: Sequence[FieldError], before: Sequence[FieldError], new: Json, old: Json) -> list[FieldError]:
    """Keep the errors in ``found`` that the old object did not have, or whose value is another one now."""
    known = set(before)
    return [each for each in found if each not in known or _at(new, each.path) != _at(old, each.path)]


def _at(obj: Any, path: str) -> Any:
    """Find the value at ``spec.parts[0].name``."""
    for name, index in _STEP.findall(path):
        if name and isinstance(obj, dict) and name in obj:
            obj = obj[name]
        elif index and isinstance(obj, list) and int(index) < len(obj):
            obj = obj[int(index)]
        else:
            return _ABSENT
    return obj
