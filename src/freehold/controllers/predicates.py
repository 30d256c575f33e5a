"""Which changes of an object wake its reconcile. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from freehold.api import names
from freehold.kube.resources import Json

Predicate = Callable[[Json, Json], bool]
"""Whether a change from the first to the second object matters. Appearing and going always do."""

OWN_ANNOTATIONS = frozenset({names.JOURNAL_ANNOTATION})
"""Written by us as we go; waking on them would answer every write with another pass."""

_COMPARED = ("uid", "deletionTimestamp", "finalizers", "labels", "ownerReferences")


def on_spec_or_metadata(old: Json, new: Json, own_annotations: Iterable[str] = OWN_ANNOTATIONS) -> bool:
    """Spec (by generation), finalizers, labels, owners, deletion, others' annotations. Not status."""
    before, after = old["metadata"], new["metadata"]
    if any(before.get(name) != after.get(name) for name in _COMPARED):
        return True
    if _foreign(before, own_annotations) != _foreign(after, own_annotations):
        return True
    if _own(before, own_annotations) != _own(after, own_annotations):
        return True
    if "generation" in before and "generation" in after:
        return bool(before["generation"] != after["generation"])
    # Secrets, ConfigMaps and their like have no generation.
    return _content(old) != _content(new)


def on_any_change(old: Json, new: Json) -> bool:
    """Everything, status too."""
    return bool(old["metadata"].get("resourceVersion") != new["metadata"].get("resourceVersion"))


def _foreign(meta: Json, own: Iterable[str]) -> Json:
    return {name: value for name, value in (meta.get("annotations") or {}).items() if name not in own}


def _own(meta: Json, own: Iterable[str]) -> set[str]:
    """Return which annotations of ours are there: others take them off, or put them back from a backup."""
    return set(own) & (meta.get("annotations") or {}).keys()


def _content(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}
