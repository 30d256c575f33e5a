"""Predicates: which changes of an object wake its reconcile. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from freehold.api import names
from freehold.api.conditions import find_condition
from freehold.kube.resources import Json

Predicate = Callable[[Json, Json], bool]
"""A test whether a change from the first to the second object matters. Creation and deletion always do."""

OWN_ANNOTATIONS = frozenset({names.JOURNAL_ANNOTATION})
"""Annotations that a pass writes; waking on them would answer every write with another pass."""

_COMPARED = ("uid", "deletionTimestamp", "finalizers", "labels", "ownerReferences")


def spec_or_metadata_changed(old: Json, new: Json, own_annotations: Iterable[str] = OWN_ANNOTATIONS) -> bool:
    """Return whether spec (by generation), finalizers, labels, owners, deletion or others' annotations changed."""
    before, after = old["metadata"], new["metadata"]
    if any(before.get(name) != after.get(name) for name in _COMPARED):
        return True
    if _select_foreign(before, own_annotations) != _select_foreign(after, own_annotations):
        return True
    if _select_own(before, own_annotations) != _select_own(after, own_annotations):
        return True
    if "generation" in before and "generation" in after:
        return bool(before["generation"] != after["generation"])
    # Secrets, ConfigMaps and their like have no generation.
    return _strip_metadata(old) != _strip_metadata(new)


def anything_changed(old: Json, new: Json) -> bool:
    """Return whether anything changed, status included."""
    return bool(old["metadata"].get("resourceVersion") != new["metadata"].get("resourceVersion"))


def is_at_rest(obj: Json) -> bool:
    """Return whether only looks are left to do: it is Ready or blocked, and neither edited nor deleted since.

    A guess from a report: it decides on the order of passes only.
    """
    metadata, status = obj["metadata"], obj.get("status") or {}
    if "deletionTimestamp" in metadata or status.get("observedGeneration") != metadata.get("generation"):
        return False
    ready = find_condition(status.get("conditions") or (), names.READY) or {}
    return ready.get("status") == "True" or status.get("phase") == "Blocked"


def build_fields_changed(fields: Iterable[str]) -> Predicate:
    """Build the test whether one of these fields of the spec changed, or to which cluster the object belongs."""

    def have_changed(old: Json, new: Json) -> bool:
        before, after = old.get("spec") or {}, new.get("spec") or {}
        moved = any(old["metadata"].get(name) != new["metadata"].get(name) for name in ("labels", "ownerReferences"))
        return moved or any(before.get(name) != after.get(name) for name in fields)

    return have_changed


def machine_inputs_changed(old: Json, new: Json) -> bool:
    """Return whether something changed that machines of ours depend on, in a Machine, a Cluster or our own cluster.

    Not conditions, counters and rows: a hundred machines look again for each change.
    """
    return spec_or_metadata_changed(old, new) or any(
        (old.get("status") or {}).get(name) != (new.get("status") or {}).get(name) for name in _INPUTS
    )


_INPUTS = ("initialization", "infrastructureReady", "controlPlaneReady", "initialized", "nodeRef", "ready", "network")


def _select_foreign(meta: Json, own: Iterable[str]) -> Json:
    return {name: value for name, value in (meta.get("annotations") or {}).items() if name not in own}


def _select_own(meta: Json, own: Iterable[str]) -> set[str]:
    """Return which annotations of ours exist: others remove them, or restore them from a backup."""
    return set(own) & (meta.get("annotations") or {}).keys()


def _strip_metadata(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}
