"""What a second apply changes: a merge patch from three versions of an object. Pure.

As kubectl does for custom resources
(https://kubernetes.io/docs/reference/kubernetes-api/, "Declarative management", last-applied annotation):
what the last apply set and the new manifest leaves out is removed; what others have set stays.
"""

from __future__ import annotations

import json
from typing import Any

from freehold.api.names import LAST_APPLIED
from freehold.kube.merge_patch import merge_patch

Json = dict[str, Any]


def with_last_applied(wanted: Json) -> Json:
    """``wanted``, with itself in the annotation that the next apply compares with."""
    metadata = dict(wanted["metadata"])
    annotations = dict(metadata.get("annotations") or {})
    annotations.pop(LAST_APPLIED, None)
    if annotations or "annotations" in metadata:
        metadata["annotations"] = annotations
    plain = json.dumps({**wanted, "metadata": metadata}, separators=(",", ":"), sort_keys=True)
    return {**wanted, "metadata": {**metadata, "annotations": {**annotations, LAST_APPLIED: plain}}}


def apply_patch(current: Json, wanted: Json) -> Json:
    """The RFC 7396 patch from ``current`` to ``wanted`` (marked); empty when nothing differs."""
    recorded = ((current.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    return merge_patch(current, wanted, _recorded(recorded))


def _recorded(text: Any) -> Json:
    try:
        last = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return last if isinstance(last, dict) else {}
