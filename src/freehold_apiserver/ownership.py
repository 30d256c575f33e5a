"""Who owns which field: ``metadata.managedFields``.

Semantics: k8s.io/apimachinery ``pkg/util/managedfields`` and ``merge/update.go`` of structured-merge-diff. One
difference saves work: a real API server records the owners of every object, this one of the objects whose
creation named a ``fieldManager``, or that were applied once. Until then nobody's writes are recorded; the first
apply records what it finds under ``before-first-apply``, as a real one does with an object without owners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from freehold_apiserver import errors
from freehold_apiserver.field_sets import Comparison, Fields, Path, from_fields_v1, shown, to_fields_v1
from freehold_apiserver.store import Json

Operation = Literal["Apply", "Update"]
BEFORE_FIRST_APPLY = "before-first-apply"

_NOT_OWNED: Fields = frozenset({
    ("f:apiVersion",), ("f:kind",), ("f:metadata",),
    *(("f:metadata", f"f:{name}") for name in (
        "name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion",
        "deletionTimestamp", "deletionGracePeriodSeconds",
    )),
})  # fmt: skip


class Manager(NamedTuple):
    """Who writes. Writes of one name by several ways are several managers; an applier is one in all versions."""

    name: str
    operation: Operation
    subresource: str
    api_version: str

    def __str__(self) -> str:
        text = f'"{self.name}"' + (f' with subresource "{self.subresource}"' if self.subresource else "")
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


def applier(name: str, subresource: str) -> Manager:
    return Manager(name, "Apply", subresource, "")


@dataclass(frozen=True)
class Owned:
    """What one manager owns, the version in which it wrote, and when its share changed last."""

    fields: Fields
    api_version: str
    time: str = ""


Owners = Mapping[Manager, Owned]


_TEXTS = ("manager", "operation", "apiVersion", "time", "fieldsType", "subresource")


def decode(entries: Sequence[Any] | None) -> dict[Manager, Owned]:
    """Read the owners in ``metadata.managedFields``; none when an entry cannot be read, as upstream does.

    Raises 400 for entries of the wrong type.
    """
    owners = {}
    for entry in entries or ():
        if not isinstance(entry, dict):
            raise errors.bad_request("metadata.managedFields is of the wrong type: its entries must be objects")
        if not all(isinstance(entry.get(name, ""), str) for name in _TEXTS):
            raise errors.bad_request(f"metadata.managedFields is of the wrong type: {', '.join(_TEXTS)} are strings")
        if entry.get("operation") not in ("Apply", "Update"):
            return {}
        if entry.get("fieldsType") != "FieldsV1" or not entry.get("apiVersion"):
            return {}
        version = entry["apiVersion"]
        manager = Manager(
            entry.get("manager", ""), entry["operation"], entry.get("subresource", ""),
            version if entry["operation"] == "Update" else "",
        )  # fmt: skip
        try:
            fields = frozenset(from_fields_v1(entry.get("fieldsV1") or {}))
        except ValueError:
            return {}
        owners[manager] = Owned(fields, version, entry.get("time") or "")
    return owners


def encode(owners: Owners) -> list[Json]:
    """Build the entries of ``metadata.managedFields``, in upstream's order."""
    entries = []
    for manager, owned in owners.items():
        entry: Json = {"manager": manager.name, "operation": manager.operation, "apiVersion": owned.api_version}
        if owned.time:
            entry["time"] = owned.time
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": to_fields_v1(owned.fields)}
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    return sorted(entries, key=lambda each: (each["operation"], each.get("time", ""), each["manager"],
                                             each["apiVersion"], each.get("subresource", "")))  # fmt: skip


def is_reset(entries: Any) -> bool:
    """Whether the client asks to forget the owners: an empty list, or a list of one empty entry."""
    return entries in ([], [{}])


def update(owners: Owners, change: Comparison, manager: Manager, version: str, now: str) -> dict[Manager, Owned]:
    """Compute the owners after a write that is no apply: whoever changes a field owns it alone."""
    if not change:
        return dict(owners)
    kept = _yielded(owners, change.added | change.modified | change.removed)
    mine = kept[manager].fields if manager in kept else frozenset()
    fields = (mine | change.added | change.modified) - _NOT_OWNED
    if fields:
        kept[manager] = Owned(fields, version, now)
    return kept


def apply(owners: Owners, change: Comparison, manager: Manager, mine: Owned, *, force: bool) -> dict[Manager, Owned]:
    """Compute the owners after an apply. Raises 409 when it changes fields of others, unless ``force``."""
    others = {each: owned for each, owned in owners.items() if each != manager}
    changed = change.added | change.modified
    contested = {each: owned.fields & changed for each, owned in others.items()}
    if not force and any(contested.values()):
        raise _conflict({each: fields for each, fields in contested.items() if fields})
    kept = _yielded(others, changed | change.removed)
    fields = mine.fields - _NOT_OWNED
    if fields:
        before = owners.get(manager)
        unchanged = before is not None and before.fields == fields and not change
        kept[manager] = replace(mine, fields=fields, time=before.time if before and unchanged else mine.time)
    return kept


def _yielded(owners: Owners, fields: Fields) -> dict[Manager, Owned]:
    """Return the owners without these fields; whoever has none left is no owner."""
    left = {manager: replace(owned, fields=owned.fields - fields) for manager, owned in owners.items()}
    return {manager: owned for manager, owned in left.items() if owned.fields}


def _conflict(contested: Mapping[Manager, Fields]) -> errors.ApiError:
    found = sorted((str(manager), shown(path)) for manager, fields in contested.items() for path in fields)
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": field}
        for manager, field in found
    ]
    if len(found) == 1:
        message = f"Apply failed with 1 conflict: conflict with {found[0][0]}: {found[0][1]}"
    else:
        lines = []
        for name in dict.fromkeys(manager for manager, _ in found):
            lines += [f"conflicts with {name}:", *(f"- {field}" for manager, field in found if manager == name)]
        message = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    return ApplyConflict(message, causes, contested)


class ApplyConflict(errors.ApiError):
    """A refused apply; ``contested`` are the fields of other managers that it would change."""

    def __init__(self, message: str, causes: list[dict[str, str]], contested: Mapping[Manager, Fields]) -> None:
        super().__init__(409, "Conflict", message, details={"causes": causes})
        self.contested = contested


def reset_fields(has_status: bool, subresource: str) -> tuple[Path, ...]:
    """List the parts of an object that a write to this resource or subresource cannot change, so nobody owns by it."""
    if subresource:
        return (("f:spec",),)
    return (("f:status",),) if has_status else ()
