"""Server-side apply: a configuration is merged into an object, and its owner is recorded.

Semantics: https://kubernetes.io/docs/reference/using-api/server-side-apply/ ; the steps are those of
k8s.io/apimachinery ``pkg/util/managedfields`` and structured-merge-diff (``merge/update.go``, ``typed/merge.go``).
"""

from __future__ import annotations

import copy
import json
from collections import deque
from collections.abc import Iterator
from typing import Any

from freehold_apiserver import errors, metadata, ownership, structural
from freehold_apiserver.field_sets import (
    Fields,
    compare,
    duplicates,
    elements,
    fields_of,
    is_granular_list,
    is_granular_map,
    of_object,
    schema_below,
    shown,
    with_declared_parents,
    without,
    without_prefixes,
)
from freehold_apiserver.ownership import ApplyConflict, Manager, Owned
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json
from freehold_apiserver.structural import Schema

KUBECTL = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def tracked(
    resource: Resource, old: Json | None, new: Json, given: Any, manager: str, named: bool, subresource: str, now: str
) -> list[Json]:
    """``managedFields`` after a write that is no apply; empty while nobody owns anything.

    ``given`` is what the client sent as managedFields: clients may take entries away or clear them.
    """
    if ownership.is_reset(given) and not subresource:
        return []
    owners = ownership.decode(given) if not subresource else {}
    owners = owners or ownership.decode((old or {"metadata": {}})["metadata"].get("managedFields"))
    if not owners and (old is not None or not named):
        return []
    try:
        before = _unmanaged(resource.shown(old)) if old else {}
        change = compare(before, _unmanaged(resource.shown(new)), of_object(resource.schema))
    except ValueError:  # as upstream: what cannot be tracked is stored without owners
        return []
    change = change.but(_reset(resource, subresource))
    who = Manager(manager, "Update", subresource, resource.api_version)
    return ownership.encode(ownership.update(owners, change, who, resource.api_version, now))


def applied(
    resource: Resource, live: Json | None, patch: Json, manager: str, force: bool, subresource: str, now: str
) -> tuple[Json, list[Json]]:
    """Return the object after an apply, and its ``managedFields``. Raises 400, and 409 on fields of other managers."""
    schema = of_object(resource.schema)
    _check(resource, patch, schema)
    who = ownership.applier(manager, subresource)
    reset = _reset(resource, subresource)
    before = _unmanaged(live) if live else {}
    owners = ownership.decode(live["metadata"].get("managedFields")) if live else {}
    if live and not owners:
        everything = compare({}, before, schema).but(reset)
        first = Manager(ownership.BEFORE_FIRST_APPLY, "Update", "", resource.api_version)
        owners = ownership.update({}, everything, first, resource.api_version, now)
    mine = Owned(without_prefixes(frozenset(fields_of(patch, schema)), reset), resource.api_version, now)
    merged = _pruned(merge(before, patch, schema), {**owners, who: mine}, owners.get(who), schema)
    change = compare(before, merged, schema).but(reset)
    try:
        settled = ownership.apply(owners, change, who, mine, force=force)
    except ApplyConflict as conflict:
        if manager != KUBECTL or not _all(conflict) <= _last_applied(before, schema):
            raise
        settled = ownership.apply(owners, change, who, mine, force=True)
    if manager == KUBECTL and LAST_APPLIED in (merged["metadata"].get("annotations") or {}):
        annotations = {**merged["metadata"]["annotations"], LAST_APPLIED: _configuration(patch)}
        merged = {**merged, "metadata": {**merged["metadata"], "annotations": annotations}}
    return merged, ownership.encode(settled)


def merge(live: Any, patch: Any, schema: Schema) -> Any:
    """Merge what is granular in the schema by its keys; take anything else from the patch."""
    if is_granular_map(live, schema) and is_granular_map(patch, schema):
        merged = dict(live)
        for name, value in patch.items():
            merged[name] = merge(live[name], value, schema_below(schema, name)[0]) if name in live else value
        return merged
    if is_granular_list(live, schema) and is_granular_list(patch, schema):
        return list(_merged_items(live, patch, schema))
    return copy.deepcopy(patch)


def _merged_items(live: list[Any], patch: list[Any], schema: Schema) -> Iterator[Any]:
    """Items of both: shared ones in the patch's order, the others where they stand in their own list.

    The order is upstream's, step by step (``visitListItems`` of ``typed/merge.go``).
    """
    left, right = deque(elements(live, schema)), deque(elements(patch, schema))
    before, wanted = dict(left), dict(right)
    shared = deque(element for element, _ in right if element in before)
    done: set[str] = set()
    while left or right:
        head = left[0][0] if left else ""
        if left and head not in wanted:
            yield left.popleft()[1]
            continue
        if left and right and head != right[0][0] and shared and head != shared[0]:
            left.popleft()  # a shared item whose turn has not come
            continue
        if left and (head in done or (right and head == right[0][0])):
            left.popleft()
        if right:
            element, value = right.popleft()
            done.add(element)
            if shared and shared[0] == element:
                shared.popleft()
            yield merge(before[element], value, schema.get("items") or {}) if element in before else value


def _pruned(merged: Any, owners: dict[Manager, Owned], last: Owned | None, schema: Schema) -> Any:
    """Without the fields that this manager applied last time and now leaves out, unless others own them."""
    if last is None:
        return merged
    gone = with_declared_parents(last.fields, schema)
    there = with_declared_parents(frozenset(fields_of(merged, schema)), schema)
    owned: Fields = frozenset().union(*(each.fields for each in owners.values()))
    pruned = without(merged, gone, schema)
    kept = _present(pruned, schema) | with_declared_parents(owned, schema)
    pruned = without(merged, there - kept, schema)
    return without(merged, (there - _present(pruned, schema)) & gone, schema)


def _present(obj: Any, schema: Schema) -> Fields:
    return with_declared_parents(frozenset(fields_of(obj or {}, schema)), schema)


def _check(resource: Resource, patch: Json, schema: Schema) -> None:
    """Refuse with 400 what cannot be applied: unknown fields, and lists whose items have no identity."""
    if patch["metadata"].get("managedFields") is not None:
        raise errors.bad_request("metadata.managedFields must be nil")
    probe = copy.deepcopy(patch)
    unknown = [f".{path}: field not declared in schema" for path in metadata.normalize(probe["metadata"])]
    if resource.schema:
        unknown += [f".{path}: field not declared in schema" for path in structural.prune(probe, resource.schema)]
    try:
        twice = [
            f"{shown(path[:-1])}: duplicate entries for key {shown(path[-1:])}" for path in duplicates(patch, schema)
        ]
    except ValueError as problem:
        twice = [str(problem)]
    if unknown or twice:
        meta = patch["metadata"]
        named = f"{meta.get('namespace', '')}/{meta['name']}; {resource.api_version}, Kind={resource.kind}"
        raise errors.bad_request(f"failed to create typed patch object ({named}): {', '.join([*unknown, *twice])}")


def _all(conflict: ApplyConflict) -> Fields:
    return frozenset().union(*conflict.contested.values())


def _last_applied(live: Json, schema: Schema) -> Fields:
    """Fields that ``kubectl apply`` without --server-side set and nobody changed: kubectl may go on with them."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    try:
        last = json.loads(text or "null")
        if not isinstance(last, dict) or last.get("apiVersion") != live.get("apiVersion"):
            return frozenset()
        change = compare(last, live, schema)
        return frozenset(fields_of(last, schema)) - change.modified - change.added - change.removed
    except ValueError:
        return frozenset()


def _configuration(patch: Json) -> str:
    """Return a configuration as kubectl's annotation holds it."""
    body = copy.deepcopy(patch)
    (body["metadata"].get("annotations") or {}).pop(LAST_APPLIED, None)
    return json.dumps(body, separators=(",", ":"), sort_keys=True) + "\n"


def _reset(resource: Resource, subresource: str) -> tuple[tuple[str, ...], ...]:
    return ownership.reset_fields("status" in resource.subresources, subresource)


def _unmanaged(obj: Json) -> Json:
    meta = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": meta}
