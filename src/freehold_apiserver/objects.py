"""The write pipeline: create, update, patch and delete, the same for every kind.

From the last look at the stored object to the commit of the new one a write does not await, so on one event loop the
resourceVersion check cannot race. Webhooks (admission, conversion) are awaited before that look. Where another write
came in between, the write begins again from what is stored then, as ``GuaranteedUpdate`` of k8s.io/apiserver does.
Without webhooks nothing is awaited.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from freehold_apiserver import applying, bounds, errors, metadata, patches
from freehold_apiserver.admission.attributes import NAMESPACES, Attributes, Gate, describe_write
from freehold_apiserver.conversion import show, to_storage
from freehold_apiserver.errors import Notes
from freehold_apiserver.resources import Registry, Resource
from freehold_apiserver.store import Json, Key, Store, Stored
from freehold_apiserver.write_options import DeleteOptions, WriteOptions
from freehold_apiserver.write_owners import draft_owners, record_owners
from freehold_apiserver.write_steps import (
    decode,
    is_same,
    read_metadata,
    require_name,
    require_same_name,
    take_identity,
    validate,
)

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
"""Finalizers that select the deletion policy for dependants (:mod:`freehold_apiserver.garbage`)."""
_HOLDS = {"Foreground": FOREGROUND, "Orphan": ORPHAN}


_T = TypeVar("_T")
_TIMEOUT = 34.0
"""Longest time of a write, in seconds: k8s.io/apiserver ``pkg/endpoints/handlers/rest.go``."""


class _Overtaken(Exception):
    """Another write came in between. ``name`` is that of the object."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class Deleted:
    """The result of a delete: the last state of the object, and whether it is removed or only marked."""

    stored: Stored
    gone: bool


class Objects:
    """Writes to a store, by the strategies of the kinds and past a gate: the webhooks that are configured."""

    def __init__(self, store: Store, registry: Registry, admission: Gate, now: Callable[[], datetime]) -> None:
        self._store = store
        self._registry = registry
        self._admission = admission
        self._now = now

    def get(self, resource: Resource, namespace: str, name: str) -> Stored:
        """Get an object as it is stored. Raises 404 NotFound."""
        found = self._store.get(resource.collection, (namespace, name))
        if found is None:
            raise errors.not_found(resource.group, resource.plural, name)
        return found

    async def create(
        self, resource: Resource, namespace: str, obj: Json, options: WriteOptions, notes: Notes
    ) -> Stored:
        """Create an object. Raises 400, 403 (namespace ends), 404 (no namespace), 409 AlreadyExists, 422 Invalid."""
        meta = read_metadata(resource, namespace, obj)
        if meta.get("resourceVersion"):
            raise errors.bad_request("resourceVersion should not be set on objects to be created")
        require_name(resource, meta)

        async def attempt() -> Stored:
            return await self._insert(resource, namespace, resource.to_storage(obj), options, notes)

        try:
            return await self._until_stored(resource, attempt)
        except _Overtaken as other:
            raise errors.already_exists(resource.group, resource.plural, other.name) from None

    async def _insert(
        self,
        resource: Resource,
        namespace: str,
        obj: Json,
        options: WriteOptions,
        notes: Notes,
        managed: list[Json] | None = None,
    ) -> Stored:
        """Store a new object. Raises _Overtaken where there is one of its name."""
        self._require_namespace(resource, namespace, obj["metadata"].get("name", ""))
        decode(resource, obj, options, notes)
        if self._admission.mutates:
            managed = draft_owners(resource, None, obj, options, "", self._now()) if managed is None else managed
            asked = describe_write(resource, "CREATE", namespace, obj, None, options, "", managed)
            obj = await self._mutate(asked, obj, notes)
            require_name(resource, read_metadata(resource, namespace, obj))
        meta = obj["metadata"]
        if not meta.get("name"):
            meta["name"] = metadata.generated_name(meta["generateName"])
        key, given = (namespace, meta["name"]), meta.get("managedFields")
        metadata.stamp_new(meta, self._now())
        resource.strategy.prepare_create(obj)
        validate(resource, obj, None)
        record_owners(resource, None, obj, given, options, "", self._now(), managed)
        if self._admission.validates:
            asked = describe_write(resource, "CREATE", namespace, obj, None, options, "")
            await self._admission.validate(asked, notes)
        converted, answer = await self._convert_to_storage(resource, obj)
        # No await from here on.
        self._require_namespace(resource, *key)
        if self._store.get(resource.collection, key):
            raise _Overtaken(key[1])
        return self._save(resource, key, answer, converted, options)

    async def apply(
        self, resource: Resource, key: Key, patch: Any, options: WriteOptions, notes: Notes, subresource: str = ""
    ) -> tuple[Stored, bool]:
        """Server-side apply; creates what does not exist. Returns the object, and whether it was created.

        Raises the errors of :meth:`create` and :meth:`update`, and 409 on a field that another manager owns.
        """
        meta = read_metadata(resource, key[0], patch)
        if meta.setdefault("name", key[1]) != key[1]:
            raise errors.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({key[1]})"
            )

        async def attempt() -> tuple[Stored, bool]:
            return await self._applied(resource, key, patch, options, notes, subresource)

        return await self._until_stored(resource, attempt, again=True)

    async def _applied(
        self, resource: Resource, key: Key, patch: Json, options: WriteOptions, notes: Notes, subresource: str
    ) -> tuple[Stored, bool]:
        meta, old = patch["metadata"], self._store.get(resource.collection, key)
        if old is None and (subresource or meta.get("resourceVersion")):
            raise errors.not_found(resource.group, resource.plural, key[1])
        if old is None and meta.get("uid"):
            why = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found"
            raise errors.conflict(resource.group, resource.plural, key[1], why)
        before = (await show([old], resource))[0].obj if old else None
        live, now = resource.shown(before) if before else None, metadata.timestamp(self._now())
        merged, managed = applying.applied(
            resource, live, patch, options.field_manager, options.force, subresource, now
        )  # fmt: skip
        obj = resource.to_storage(copy.deepcopy(merged))
        if old is None or before is None:
            return await self._insert(resource, key[0], obj, options, notes, managed), True
        return await self._replace(resource, key, old, before, obj, options, notes, subresource, managed), False

    async def _until_stored(
        self, resource: Resource, attempt: Callable[[], Awaitable[_T]], *, again: bool = False
    ) -> _T:
        """Attempt a write; ``again`` as long as another write comes in between. Raises 504 when it takes too long."""
        if not self._waits(resource):
            return await attempt()
        try:
            async with asyncio.timeout(_TIMEOUT):
                while True:
                    try:
                        return await attempt()
                    except _Overtaken:
                        if not again:
                            raise
        except TimeoutError:
            raise errors.timed_out() from None

    def _waits(self, resource: Resource) -> bool:
        """Whether a write may wait for a webhook."""
        return self._admission.mutates or self._admission.validates or resource.converter is not None

    async def _mutate(self, asked: Attributes, obj: Json, notes: Notes) -> Json:
        """Return the object after the mutating webhooks, pruned and defaulted anew if they changed it."""
        mutated = await self._admission.mutate(asked, notes)
        if mutated is None or mutated is asked.obj:
            return obj
        changed = asked.resource.to_storage(mutated)
        metadata.normalize(changed["metadata"])
        asked.resource.strategy.decode(changed)
        return changed

    async def _convert_to_storage(self, resource: Resource, obj: Json) -> tuple[Json, Json]:
        """Return the object as it is stored, and as it is answered."""
        if resource.converter is None:
            obj["apiVersion"] = resource.storage_api_version
            return obj, obj
        storage = self._registry.of_collection(resource.collection) or resource
        return await to_storage(obj, resource, storage)

    async def update(
        self,
        resource: Resource,
        key: Key,
        obj: Json,
        options: WriteOptions,
        notes: Notes,
        subresource: str = "",
    ) -> Stored:
        """Replace the object, or only its ``subresource``. Raises 400, 404, 409 Conflict, 422 Invalid."""
        self.get(resource, *key)
        meta = read_metadata(resource, key[0], obj)
        if meta.get("name", key[1]) != key[1]:
            raise errors.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({key[1]})"
            )
        if not meta.get("resourceVersion") and not resource.strategy.unconditional_update:
            problem = errors.FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(resource.group, resource.kind, key[1], [problem])
        waits = self._waits(resource)

        async def attempt() -> Stored:
            old = self.get(resource, *key)
            before = old.obj if resource.converter is None else (await show([old], resource))[0].obj
            given = resource.to_storage(copy.deepcopy(obj) if waits else obj)
            return await self._replace(resource, key, old, before, given, options, notes, subresource)

        return await self._until_stored(resource, attempt, again=True)

    async def patch(
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

        async def attempt() -> Stored:
            old = self.get(resource, *key)
            before = old.obj if resource.converter is None else (await show([old], resource))[0].obj
            base = resource.shown(before)
            patched = patches.apply_to(base, patch, content_type, resource.schema, custom=custom)
            bounds.require_shallow(patched)
            obj = copy.deepcopy(patched)
            if obj.get("kind") != resource.kind or obj.get("apiVersion") != resource.api_version:
                raise errors.bad_request("a patch may not change apiVersion or kind")
            if not isinstance(obj.get("metadata"), dict) or obj["metadata"].get("name") != key[1]:
                raise errors.bad_request("a patch may not change metadata.name")
            return await self._replace(
                resource, key, old, before, resource.to_storage(obj), options, notes, subresource
            )  # fmt: skip

        return await self._until_stored(resource, attempt, again=True)

    async def delete(
        self, resource: Resource, key: Key, options: DeleteOptions, notes: Notes, *, named: bool = True
    ) -> Deleted:
        """Remove the object, or mark it if it has finalizers. Raises 404, and 409 on a failed precondition.

        ``named`` is False for an object of a collection that is deleted: webhooks are not told its name.
        """

        async def attempt() -> Deleted:
            return await self._delete(resource, key, options, notes, named=named)

        return await self._until_stored(resource, attempt, again=True)

    async def _delete(
        self, resource: Resource, key: Key, options: DeleteOptions, notes: Notes, *, named: bool
    ) -> Deleted:
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
        if self._admission.mutates or self._admission.validates:
            await self._admit_deletion(resource, key, old, options, notes, named=named)
        # No await from here on.
        self._require_unchanged(resource, key, old)
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
        if options.dry_run:
            return Deleted(Stored(self._store.revision, obj, b""), gone=False)
        return Deleted(self._store.put(resource.collection, key, obj), gone=False)

    async def _admit_deletion(
        self, resource: Resource, key: Key, old: Stored, options: DeleteOptions, notes: Notes, *, named: bool
    ) -> None:
        before = copy.deepcopy(resource.shown((await show([old], resource))[0].obj))
        namespace = key[1] if resource.collection == NAMESPACES else key[0]
        asked = Attributes(
            resource, namespace, key[1] if named else "", "", "DELETE", None, before, options.shown(), options.dry_run
        )
        await self._admission.mutate(asked, notes)
        await self._admission.validate(asked, notes)

    def _require_unchanged(self, resource: Resource, key: Key, old: Stored) -> None:
        if self._store.get(resource.collection, key) is not old:
            raise _Overtaken(key[1])

    async def _replace(
        self,
        resource: Resource,
        key: Key,
        old: Stored,
        before: Json,
        obj: Json,
        options: WriteOptions,
        notes: Notes,
        subresource: str,
        managed: list[Json] | None = None,
    ) -> Stored:
        """Store an object in place of ``old``, which is ``before`` in the version of the request.

        Raises _Overtaken where another write came in between.
        """
        meta, was = obj["metadata"], before["metadata"]
        if meta.get("uid", was["uid"]) != was["uid"]:
            why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {was['uid']}"
            raise errors.conflict(resource.group, resource.plural, key[1], why)
        if meta.get("resourceVersion") and meta["resourceVersion"] != was["resourceVersion"]:
            raise errors.conflict(resource.group, resource.plural, key[1], errors.STALE)
        given = meta.get("managedFields")
        take_identity(key, meta, was)
        decode(resource, obj, options, notes)
        if self._admission.mutates:
            if managed is None:
                obj["metadata"]["managedFields"] = given
                managed = draft_owners(resource, before, obj, options, subresource, self._now())
                obj["metadata"].pop("managedFields")
            asked = describe_write(resource, "UPDATE", key[0], obj, before, options, subresource, managed)
            obj = await self._mutate(asked, obj, notes)
            require_same_name(resource, key, obj)
            take_identity(key, obj["metadata"], was)
        resource.strategy.prepare_update(obj, before, subresource)
        validate(resource, obj, before)
        record_owners(resource, before, obj, given, options, subresource, self._now(), managed)
        if self._admission.validates:
            asked = describe_write(resource, "UPDATE", key[0], obj, before, options, subresource)
            await self._admission.validate(asked, notes)
        obj["apiVersion"] = before["apiVersion"]
        changed = not is_same(obj, before) or old.obj["apiVersion"] != resource.storage_api_version
        obj["apiVersion"] = resource.api_version
        converted, answer = await self._convert_to_storage(resource, obj)
        # No await from here on.
        self._require_unchanged(resource, key, old)
        if not changed:
            return old if before is old.obj else Stored(old.revision, before, b"")
        released = not obj["metadata"].get("finalizers") and not resource.strategy.blocks_deletion(obj)
        if obj["metadata"].get("deletionTimestamp") and released and not options.dry_run:
            last = self._store.remove(resource.collection, key)
            return last if before is old.obj else Stored(last.revision, obj, b"")
        return self._save(resource, key, answer, converted, options)

    def _save(self, resource: Resource, key: Key, answer: Json, converted: Json, options: WriteOptions) -> Stored:
        """Store ``converted``. Returns it as ``answer``, in the version of the request, where that is another one."""
        if options.dry_run:
            return Stored(self._store.revision, answer, b"")
        stored = self._store.put(resource.collection, key, converted)
        if answer is converted:
            return stored
        meta = {**answer["metadata"], "resourceVersion": stored.obj["metadata"]["resourceVersion"]}
        return Stored(stored.revision, {**answer, "metadata": meta}, b"")

    def _require_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        if not resource.namespaced:
            return
        found = self._store.get(NAMESPACES, ("", namespace))
        if found is None:
            raise errors.not_found("", "namespaces", namespace)
        if found.obj["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated",
                     "field": "metadata.namespace"}  # fmt: skip
            raise errors.forbidden(resource.group, resource.plural, name, why, [cause])
