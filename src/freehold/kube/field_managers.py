"""Field managers of the operator and the CLI, and the split of the single manager of earlier versions.

Earlier versions wrote as manager ``freehold`` (operation Update) both the operator's fields and those of manifests,
and ``freehold up`` set kubectl's last-applied annotation. ``kubectl apply --server-side`` takes over all fields
of the manager that owns this annotation, and drops what its manifest lacks: the finalizer, the journal, the endpoint
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#upgrading-from-client-side-to-server-side-apply;
client-go ``util/csaupgrade``). Today there are two managers (ADR 21). Everything here is pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from freehold.kube.resources import Json

OPERATOR: Final = "freehold-operator"
"""The manager of the finalizer, our annotations, the endpoint and the status."""
CLI: Final = "freehold-cli"
"""The manager of the fields of applied manifests, by server-side apply."""
EARLIER: Final = "freehold"
"""The manager of both in earlier versions."""

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation with the last manifest of kubectl's client-side apply, and of earlier versions of ``freehold up``."""

Tree = dict[str, Any]
"""``fieldsV1`` of an entry of ``managedFields``."""


def was_written_by_earlier_version(metadata: Mapping[str, Any]) -> bool:
    """Return whether fields still belong to the one manager of earlier versions."""
    return any(map(_is_earlier, metadata.get("managedFields") or ()))


def build_separation_patch(raw: Json) -> Json | None:
    """Build the merge patch that gives each of our managers its own fields; None if nothing must be split.

    Fields that still have the values of the last manifest go to the CLI, all others to the operator. The last-applied
    annotation is removed if it was ours. Other managers keep their fields.
    """
    metadata = raw["metadata"]
    entries = metadata.get("managedFields") or []
    earlier = [each for each in entries if _is_earlier(each)]
    if not earlier:
        return None
    applied = any(_owns_last_applied(each) for each in earlier)
    manifest = _read_last_applied(metadata) if applied else {}
    split: list[Json] = []
    for each in earlier:
        if each.get("subresource"):
            split.append({**each, "manager": OPERATOR})
            continue
        fields = _remove_last_applied(each.get("fieldsV1") or {}) if applied else each.get("fieldsV1") or {}
        said, rest = _divide(fields, manifest, raw)
        split += [{**each, "manager": OPERATOR, "fieldsV1": rest}] if rest else []
        split += [{**each, "manager": CLI, "operation": "Apply", "fieldsV1": said}] if said else []
    kept = [each for each in entries if not _is_earlier(each)]
    patch: Json = {"resourceVersion": metadata["resourceVersion"], "managedFields": _merge_entries([*kept, *split])}
    if applied:
        patch["annotations"] = {LAST_APPLIED: None}
    return {"metadata": patch}


def build_handover_patch(raw: Json, manifest: Json, manager: str) -> Json:
    """Build the merge patch that moves the fields of ``manifest`` from ``manager``'s updates to the CLI's applies."""
    entries = []
    for each in raw["metadata"].get("managedFields") or ():
        if each.get("manager") != manager or each.get("operation") != "Update" or each.get("subresource"):
            entries.append(each)
            continue
        said, rest = _divide(each.get("fieldsV1") or {}, manifest, raw)
        entries += [{**each, "fieldsV1": rest}] if rest else []
        entries += [{**each, "manager": CLI, "operation": "Apply", "fieldsV1": said}] if said else []
    return {
        "metadata": {"resourceVersion": raw["metadata"]["resourceVersion"], "managedFields": _merge_entries(entries)}
    }


Writer = tuple[str, str, str]
"""An entry of ``managedFields``: manager, operation, when its fields changed last."""


def list_other_writers(metadata: Mapping[str, Any]) -> frozenset[Writer]:
    """List all managers but the operator that own fields of the object itself."""
    return frozenset(
        (str(each.get("manager", "")), str(each.get("operation", "")), str(each.get("time", "")))
        for each in metadata.get("managedFields") or ()
        if each.get("manager") != OPERATOR and not each.get("subresource")
    )


def has_other_fields(fields: Tree, manifest: Json) -> bool:
    """Return whether ``fields`` has some that the manifest does not set."""
    return bool(_divide(fields, manifest, manifest)[1])


def _is_earlier(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == EARLIER and entry.get("operation") == "Update"


def _owns_last_applied(entry: Mapping[str, Any]) -> bool:
    annotations = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:annotations") or {}
    return f"f:{LAST_APPLIED}" in annotations


def _remove_last_applied(fields: Tree) -> Tree:
    metadata = fields["f:metadata"]
    annotations = {name: each for name, each in metadata["f:annotations"].items() if name != f"f:{LAST_APPLIED}"}
    left = {name: each for name, each in metadata.items() if name != "f:annotations"}
    if set(annotations) - {"."}:
        left["f:annotations"] = annotations
    found = {name: each for name, each in fields.items() if name != "f:metadata"}
    return {**found, "f:metadata": left} if left else found


def _read_last_applied(metadata: Mapping[str, Any]) -> Json:
    try:
        found = json.loads((metadata.get("annotations") or {}).get(LAST_APPLIED) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _divide(tree: Tree, manifest: Any, live: Any) -> tuple[Tree, Tree]:
    """Divide fields into those that the manifest sets to their current values, and all others. Parents go to both."""
    said: Tree = {}
    rest: Tree = {}
    for element, below in tree.items():
        if element == ".":
            continue
        wanted, found = find_element(manifest, element), find_element(live, element)
        if wanted is ABSENT:
            rest[element] = below
        elif not below:
            (said if wanted == found else rest)[element] = below
        else:
            for half, part in zip((said, rest), _divide(below, wanted, found), strict=True):
                if part:
                    half[element] = part
            if "." in below:
                said[element] = {".": {}, **said.get(element, {})}
    return said, rest


ABSENT: Final = object()


def find_element(value: Any, element: str) -> Any:
    """Find what a path element of ``fieldsV1`` names in ``value``; ABSENT if there is nothing."""
    form, _, text = element.partition(":")
    if form == "f":
        return value.get(text, ABSENT) if isinstance(value, dict) else ABSENT
    if not isinstance(value, list):
        return ABSENT
    named = json.loads(text)
    if form == "v":
        return named if named in value else ABSENT
    items = (each for each in value if isinstance(each, dict))
    fit = (each for each in items if all(each.get(name, wanted) == wanted for name, wanted in named.items()))
    return next(fit, ABSENT) if form == "k" else ABSENT


def _merge_entries(entries: Iterable[Json]) -> list[Json]:
    """Merge the entries of each manager: a server refuses two entries of one manager and operation."""
    found: dict[tuple[str, ...], Json] = {}
    for each in entries:
        version = "" if each["operation"] == "Apply" else str(each.get("apiVersion", ""))
        identity = (str(each["manager"]), str(each["operation"]), str(each.get("subresource", "")), version)
        if held := found.get(identity):
            each = {**held, **each, "fieldsV1": _merge_trees(held.get("fieldsV1") or {}, each.get("fieldsV1") or {})}
        found[identity] = each
    return list(found.values())


def _merge_trees(one: Tree, other: Tree) -> Tree:
    both = dict(one)
    for element, below in other.items():
        both[element] = _merge_trees(one[element], below) if element in one else below
    return both
