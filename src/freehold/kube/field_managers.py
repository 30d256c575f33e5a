"""Field managers: who of us writes what, and the split of what earlier versions wrote as one manager.

Earlier versions wrote as manager ``freehold`` (operation Update), the operator's fields and those of applied manifests
alike, and ``freehold up`` set kubectl's last-applied annotation. ``kubectl apply --server-side`` takes over all fields
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
"""Owns the finalizer, our annotations, the endpoint and the status."""
CLI: Final = "freehold-cli"
"""Owns what applied manifests say, by server-side apply."""
EARLIER: Final = "freehold"
"""Owned both in earlier versions."""

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""What kubectl's client-side apply applied last, and so did earlier versions of ``freehold up``."""

Tree = dict[str, Any]
"""``fieldsV1`` of an entry of ``managedFields``."""


def was_written_by_earlier_version(metadata: Mapping[str, Any]) -> bool:
    """Return whether fields still belong to the one manager of earlier versions."""
    return any(map(_is_earlier, metadata.get("managedFields") or ()))


def separation(raw: Json) -> Json | None:
    """The merge patch that gives each of our managers its own fields; None where nothing is to be split.

    What the last manifest said, and still is so, goes to the CLI's; all else to the operator's. The last-applied
    annotation goes where it was ours. Other managers keep what they have.
    """
    metadata = raw["metadata"]
    entries = metadata.get("managedFields") or []
    earlier = [each for each in entries if _is_earlier(each)]
    if not earlier:
        return None
    applied = any(_owns_last_applied(each) for each in earlier)
    manifest = _last_applied(metadata) if applied else {}
    split: list[Json] = []
    for each in earlier:
        if each.get("subresource"):
            split.append({**each, "manager": OPERATOR})
            continue
        fields = _without_last_applied(each.get("fieldsV1") or {}) if applied else each.get("fieldsV1") or {}
        said, rest = _divided(fields, manifest, raw)
        split += [{**each, "manager": OPERATOR, "fieldsV1": rest}] if rest else []
        split += [{**each, "manager": CLI, "operation": "Apply", "fieldsV1": said}] if said else []
    kept = [each for each in entries if not _is_earlier(each)]
    patch: Json = {"resourceVersion": metadata["resourceVersion"], "managedFields": _merged([*kept, *split])}
    if applied:
        patch["annotations"] = {LAST_APPLIED: None}
    return {"metadata": patch}


def handed_to_cli(raw: Json, manifest: Json, manager: str) -> Json:
    """The merge patch that gives what ``manifest`` says of the updates of ``manager`` to the applies of the CLI."""
    entries = []
    for each in raw["metadata"].get("managedFields") or ():
        if each.get("manager") != manager or each.get("operation") != "Update" or each.get("subresource"):
            entries.append(each)
            continue
        said, rest = _divided(each.get("fieldsV1") or {}, manifest, raw)
        entries += [{**each, "fieldsV1": rest}] if rest else []
        entries += [{**each, "manager": CLI, "operation": "Apply", "fieldsV1": said}] if said else []
    return {"metadata": {"resourceVersion": raw["metadata"]["resourceVersion"], "managedFields": _merged(entries)}}


Writer = tuple[str, str, str]
"""An entry of ``managedFields``: manager, operation, when its fields changed last."""


def other_writers(metadata: Mapping[str, Any]) -> frozenset[Writer]:
    """Everybody but the operator who owns fields of the object itself."""
    return frozenset(
        (str(each.get("manager", "")), str(each.get("operation", "")), str(each.get("time", "")))
        for each in metadata.get("managedFields") or ()
        if each.get("manager") != OPERATOR and not each.get("subresource")
    )


def left_out(fields: Tree, manifest: Json) -> bool:
    """Return whether there are fields that the manifest does not say."""
    return bool(_divided(fields, manifest, manifest)[1])


def _is_earlier(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == EARLIER and entry.get("operation") == "Update"


def _owns_last_applied(entry: Mapping[str, Any]) -> bool:
    annotations = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:annotations") or {}
    return f"f:{LAST_APPLIED}" in annotations


def _without_last_applied(fields: Tree) -> Tree:
    metadata = fields["f:metadata"]
    annotations = {name: each for name, each in metadata["f:annotations"].items() if name != f"f:{LAST_APPLIED}"}
    left = {name: each for name, each in metadata.items() if name != "f:annotations"}
    if set(annotations) - {"."}:
        left["f:annotations"] = annotations
    found = {name: each for name, each in fields.items() if name != "f:metadata"}
    return {**found, "f:metadata": left} if left else found


def _last_applied(metadata: Mapping[str, Any]) -> Json:
    try:
        found = json.loads((metadata.get("annotations") or {}).get(LAST_APPLIED) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _divided(tree: Tree, manifest: Any, live: Any) -> tuple[Tree, Tree]:
    """The fields that the manifest says as they are now, and all others. What contains both goes to both."""
    said: Tree = {}
    rest: Tree = {}
    for element, below in tree.items():
        if element == ".":
            continue
        wanted, found = inside(manifest, element), inside(live, element)
        if wanted is ABSENT:
            rest[element] = below
        elif not below:
            (said if wanted == found else rest)[element] = below
        else:
            for half, part in zip((said, rest), _divided(below, wanted, found), strict=True):
                if part:
                    half[element] = part
            if "." in below:
                said[element] = {".": {}, **said.get(element, {})}
    return said, rest


ABSENT: Final = object()


def inside(value: Any, element: str) -> Any:
    """Return what a path element of ``fieldsV1`` names in ``value``."""
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


def _merged(entries: Iterable[Json]) -> list[Json]:
    """One entry for each manager: two of one manager and operation make the list unreadable for a server."""
    found: dict[tuple[str, ...], Json] = {}
    for each in entries:
        version = "" if each["operation"] == "Apply" else str(each.get("apiVersion", ""))
        identity = (str(each["manager"]), str(each["operation"]), str(each.get("subresource", "")), version)
        if held := found.get(identity):
            each = {**held, **each, "fieldsV1": _union(held.get("fieldsV1") or {}, each.get("fieldsV1") or {})}
        found[identity] = each
    return list(found.values())


def _union(one: Tree, other: Tree) -> Tree:
    both = dict(one)
    for element, below in other.items():
        both[element] = _union(one[element], below) if element in one else below
    return both
