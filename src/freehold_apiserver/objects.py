"""The write pipeline: create, update, patch and delete, the same for every kind.

Every write is synchronous, from reading the stored object to committing the new one, so on one event
loop it is atomic and the resourceVersion check cannot race.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from freehold_apiserver import applying, bounds, errors, metadata, patches
from freehold_apiserver.errors import Notes
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json, Key, Store, Stored

_NAMESPACES = "/namespaces"
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
"""Finalizers that select the deletion policy for dependants (:mod:`freehold_apiserver.garbage`)."""
_HOLDS = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


@dataclass(frozen=True)
class WriteOptions:
    """Query parameters of every write. ``field_validation`` is Strict, Warn or Ignore.

    ``field_manager`` is what the client calls itself; ``user_agent`` stands in for it where owners are recorded.
    """

    dry_run: bool = False
    field_validation: str = "Warn"
    duplicates: tuple[str, ...] = ()
    field_manager: str = ""
    user_agent: str = ""
    force: bool = False


@dataclass(frozen=True)
class DeleteOptions:
    """The body of a DELETE. Empty preconditions are not checked."""

    dry_run: bool = False
    uid: str = ""
    resource_version: str = ""
    propagation: str = "Background"


@dataclass(frozen=True)
class Deleted:
    """The result of a delete: the last state of the object, and whether it is removed or only marked."""

    stored: Stored
    gone: bool


class Objects:
    """Writes to a store, by the strategies of the kinds."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def get(self, resource: Resource, namespace: str, name: str) -> Stored:
        """Get an object. Raises 404 NotFound."""
        found = self._store.get(resource.collection, (namespace, name))
        if found is None:
            raise errors.not_found(resource.group, resource.plural, name)
        return found

    def create(self, resource: Resource, namespace: str, obj: Json, options: WriteOptions, notes: Notes) -> Stored:
        """Create an object. Raises 400, 403 (namespace ends), 404 (no namespace), 409 AlreadyExists, 422 Invalid."""
        meta = _checked(resource, namespace, obj)
        if meta.get("resourceVersion"):
            raise errors.bad_request("resourceVersion should not be set on objects to be created")
        if not meta.get("name"):
            if not meta.get("generateName"):
                problem = errors.FieldError.required("metadata.name", "name or generateName is required")
                raise errors.invalid(resource.group, resource.kind, "", [problem])
            if not isinstance(meta["generateName"], str):
                raise errors.bad_request("metadata.generateName is of the wrong type: it must be of type string")
            meta["name"] = metadata.generated_name(meta["generateName"])
        key = (namespace, meta["name"])
        return self._insert(resource, key, resource.to_storage(obj), options, notes)

    def _insert(
        self,
        resource: Resource,
        key: Key,
        obj: Json,
        options: WriteOptions,
        notes: Notes,
        managed: list[Json] | None = None,
    ) -> Stored:
        meta = obj["metadata"]
        self._require_namespace(resource, key[0], key[1])
        self._decode(resource, obj, options, notes)
        given = meta.get("managedFields")
        metadata.stamp_new(meta, self._now())
        resource.strategy.prepare_create(obj)
        self._validate(resource, obj, None)
        if self._store.get(resource.collection, key):
            raise errors.already_exists(resource.group, resource.plural, key[1])
        self._record_owners(resource, None, obj, given, options, "", managed)
        return self._save(resource, key, obj, options)

    def apply(
        self, resource: Resource, key: Key, patch: Any, options: WriteOptions, notes: Notes, subresource: str = ""
    ) -> tuple[Stored, bool]:
        """Server-side apply; creates what does not exist. Returns the object, and whether it was created.

        Raises the errors of :meth:`create` and :meth:`update`, and 409 on a field that another manager owns.
        """
        meta = _checked(resource, key[0], patch)
        if meta.setdefault("name", key[1]) != key[1]:
            raise errors.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({key[1]})"
            )
        old = self._store.get(resource.collection, key)
        if old is None and (subresource or meta.get("resourceVersion")):
            raise errors.not_found(resource.group, resource.plural, key[1])
        if old is None and meta.get("uid"):
            why = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found"
            raise errors.conflict(resource.group, resource.plural, key[1], why)
        live, now = resource.shown(old.obj) if old else None, metadata.timestamp(self._now())
        merged, managed = applying.applied(
            resource, live, patch, options.field_manager, options.force, subresource, now
        )  # fmt: skip
        obj = resource.to_storage(copy.deepcopy(merged))
        if old is None:
            return self._insert(resource, key, obj, options, notes, managed), True
        return self._replace(resource, key, old, obj, options, notes, subresource, managed), False

    def _record_owners(
        self,
        resource: Resource,
        old: Json | None,
        obj: Json,
        given: Any,
        options: WriteOptions,
        subresource: str,
        managed: list[Json] | None,
    ) -> None:
        """Set ``managedFields``: those of an apply, or what this write makes of the recorded owners."""
        if managed is None:
            name = options.field_manager or options.user_agent or "unknown"
            now = metadata.timestamp(self._now())
            managed = applying.tracked(
                resource, old, obj, given, name, bool(options.field_manager), subresource, now
            )  # fmt: skip
        obj["metadata"].pop("managedFields", None)
        if managed:
            obj["metadata"]["managedFields"] = managed

    def update(
        self,
        resource: Resource,
        key: Key,
        obj: Json,
        options: WriteOptions,
        notes: Notes,
        subresource: str = "",
    ) -> Stored:
        """Replace the object, or only its ``subresource``. Raises 400, 404, 409 Conflict, 422 Invalid."""
        old = self.get(resource, *key)
        meta = _checked(resource, key[0], obj)
        if meta.get("name", key[1]) != key[1]:
            raise errors.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({key[1]})"
            )
        if not meta.get("resourceVersion") and not resource.strategy.unconditional_update:
            problem = errors.FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(resource.group, resource.kind, key[1], [problem])
        return self._replace(resource, key, old, resource.to_storage(obj), options, notes, subresource)

    def patch(
        self,
        resource: Resource,
        key: Key,
        patch: Any,
        content_type: str,
        options: WriteOptions,
        notes: Notes,
        *,
        custom: bool,
        subresource: str = "",
    ) -> Stored:
        """Apply a patch body. Raises the errors of :meth:`update`, and 415 for an unsupported patch type."""
        old = self.get(resource, *key)
        base = resource.shown(old.obj)
        patched = patches.apply_to(base, patch, content_type, resource.schema, custom=custom)
        bounds.require_shallow(patched)
        obj = copy.deepcopy(patched)
        if obj.get("kind") != resource.kind or obj.get("apiVersion") != resource.api_version:
            raise errors.bad_request("a patch may not change apiVersion or kind")
        if not isinstance(obj.get("metadata"), dict) or obj["metadata"].get("name") != key[1]:
            raise errors.bad_request("a patch may not change metadata.name")
        return self._replace(resource, key, old, resource.to_storage(obj), options, notes, subresource)

    def delete(self, resource: Resource, key: Key, options: DeleteOptions) -> Deleted:
        """Remove the object, or mark it if it has finalizers. Raises 404, and 409 on a failed precondition."""
        old = self.get(resource, *key)
        meta = old.obj["metadata"]
        for name, wanted, actual in (
            ("UID", options.uid, meta["uid"]),
            ("ResourceVersion", options.resource_version, meta["resourceVersion"]),
        ):
            if wanted and wanted != actual:
                why = f"Precondition failed: {name} in precondition: {wanted}, {name} in object meta: {actual}"
                raise errors.conflict(resource.group, resource.plural, key[1], why)
        obj = copy.deepcopy(old.obj)
        resource.strategy.prepare_delete(obj)
        if hold := _HOLDS.get(options.propagation):
            finalizers = obj["metadata"].setdefault("finalizers", [])
            if hold not in finalizers and not meta.get("deletionTimestamp"):
                finalizers.append(hold)
        if not obj["metadata"].get("finalizers") and not resource.strategy.blocks_deletion(obj):
            return Deleted(old if options.dry_run else self._store.remove(resource.collection, key), gone=True)
        if meta.get("deletionTimestamp"):
            return Deleted(old, gone=False)
        obj["metadata"]["deletionTimestamp"] = metadata.timestamp(self._now())
        obj["metadata"]["deletionGracePeriodSeconds"] = 0
        if "generation" in meta:
            obj["metadata"]["generation"] = meta["generation"] + 1
        return Deleted(self._save(resource, key, obj, WriteOptions(dry_run=options.dry_run)), gone=False)

    def _replace(
        self,
        resource: Resource,
        key: Key,
        old: Stored,
        obj: Json,
        options: WriteOptions,
        notes: Notes,
        subresource: str,
        managed: list[Json] | None = None,
    ) -> Stored:
        meta, was = obj["metadata"], old.obj["metadata"]
        if meta.get("uid", was["uid"]) != was["uid"]:
            why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {was['uid']}"
            raise errors.conflict(resource.group, resource.plural, key[1], why)
        if meta.get("resourceVersion") and meta["resourceVersion"] != was["resourceVersion"]:
            raise errors.conflict(resource.group, resource.plural, key[1], errors.STALE)
        given = meta.get("managedFields")
        metadata.restore_server_owned(meta, was)
        meta.update(name=key[1], resourceVersion=was["resourceVersion"])
        if key[0]:
            meta["namespace"] = key[0]
        self._decode(resource, obj, options, notes)
        resource.strategy.prepare_update(obj, old.obj, subresource)
        self._validate(resource, obj, old.obj)
        self._record_owners(resource, old.obj, obj, given, options, subresource, managed)
        obj["apiVersion"] = old.obj["apiVersion"]
        if _same(obj, old.obj):
            return old
        released = not obj["metadata"].get("finalizers") and not resource.strategy.blocks_deletion(obj)
        if obj["metadata"].get("deletionTimestamp") and released and not options.dry_run:
            return self._store.remove(resource.collection, key)
        return self._save(resource, key, obj, options)

    def _decode(self, resource: Resource, obj: Json, options: WriteOptions, notes: Notes) -> None:
        """Prune and default by schema; unknown and duplicate fields are errors, warnings or ignored."""
        unknown = metadata.normalize(obj["metadata"])
        findings = resource.strategy.decode(obj)
        notes.warnings += findings.warnings
        problems = [f'unknown field "{path}"' for path in (*unknown, *findings.unknown_fields)]
        problems += [f'duplicate field "{path}"' for path in options.duplicates]
        if problems and options.field_validation == "Strict":
            raise errors.bad_request(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
                f"strict decoding error: {', '.join(problems)}"
            )
        if options.field_validation == "Warn":
            notes.warnings += problems

    def _validate(self, resource: Resource, obj: Json, old: Json | None) -> None:
        found = metadata.errors(obj["metadata"], old["metadata"] if old else None, resource.names)
        found += resource.strategy.validate(obj, old)
        if found:
            raise errors.invalid(resource.group, resource.kind, obj["metadata"]["name"], found)

    def _save(self, resource: Resource, key: Key, obj: Json, options: WriteOptions) -> Stored:
        obj["apiVersion"] = resource.storage_api_version
        if options.dry_run:
            return Stored(self._store.revision, obj, b"")
        return self._store.put(resource.collection, key, obj)

    def _require_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        if not resource.namespaced:
            return
        found = self._store.get(_NAMESPACES, ("", namespace))
        if found is None:
            raise errors.not_found("", "namespaces", namespace)
        if found.obj["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated",
                     "field": "metadata.namespace"}  # fmt: skip
            raise errors.forbidden(resource.group, resource.plural, name, why, [cause])


def _same(one: Json, other: Json) -> bool:
    """Whether the write changes nothing. Compares as JSON, because in Python 1 equals True."""
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _checked(resource: Resource, namespace: str, obj: Any) -> Json:
    """Read the metadata of the object in a request. Raises 400 when the object does not match the URL."""
    if not isinstance(obj, dict):
        raise errors.bad_request("the body of the request is not an object")
    if not obj.get("kind"):
        raise errors.bad_request(f"Object 'Kind' is missing in the body of the request; expected {resource.kind}")
    given = (obj.get("apiVersion"), obj.get("kind"))
    if given[0] != resource.api_version:
        raise errors.bad_request(
            f"the API version in the data ({given[0]}) does not match the expected API version ({resource.api_version})"
        )
    if given[1] != resource.kind:
        raise errors.bad_request(
            f"the kind in the data ({given[1]}) does not match the expected kind ({resource.kind})"
        )
    meta = obj.setdefault("metadata", {})
    if not isinstance(meta, dict):
        raise errors.bad_request("metadata of the object is not an object")
    if not resource.namespaced:
        meta.pop("namespace", None)
    elif meta.get("namespace", namespace) != namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        meta["namespace"] = namespace
    return meta
