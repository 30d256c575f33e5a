"""Objects of an API server in memory: compare-and-set, generations, a status apart from the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from freehold.kube import errors as kube
from freehold.kube.merge_patch import apply_merge_patch
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource, key_of


def _copied(obj: Json) -> Json:
    """Benchmarks measure a process that has this API server in it, and copy.deepcopy takes five times as long."""
    return {name: _value(each) for name, each in obj.items()}


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return _copied(value)
    return [_value(each) for each in value] if isinstance(value, list) else value


async def _nobody(name: str) -> None:
    """Nobody else is at work."""


class MemoryObjects:
    """``before`` and ``after`` get the verb and the name of each write: there a test puts another writer or a crash.

    ``between`` is awaited before each write: there another process works.
    """

    def __init__(self, now: Callable[[], str] = lambda: "2026-11-23T00:00:00Z") -> None:
        self.objects: dict[tuple[str, Key], Json] = {}
        self.written: list[str] = []
        self.before: Callable[[str, str], None] = lambda verb, name: None
        self.after: Callable[[str, str], None] = lambda verb, name: None
        self.between: Callable[[str], Awaitable[None]] = _nobody
        self._now = now
        self._version = 0

    async def get(self, resource: Resource, key: Key) -> Json:
        if (resource.kind, key) not in self.objects:
            raise kube.ObjectNotFound(f"no {resource} {key}", code=404)
        return _copied(self.objects[resource.kind, key])

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        rows = [row for (kind, key), row in sorted(self.objects.items()) if kind == resource.kind]
        chosen = [
            _copied(row)
            for row in rows
            if namespace in ("", row["metadata"].get("namespace"))
            and (not label_selector or label_selector in map("=".join, row["metadata"].get("labels", {}).items()))
        ]
        return ObjectList(chosen, str(self._version))

    async def create(self, resource: Resource, obj: Json) -> Json:
        await self._about_to("create", obj["metadata"]["name"])
        key = key_of(obj)
        if (resource.kind, key) in self.objects:
            raise kube.AlreadyExists(f"{resource} {key} exists", code=409)
        made = _copied(obj)
        made["metadata"] |= {"uid": f"uid-{self._version}", "creationTimestamp": self._now(), "generation": 1}
        return self._store(resource, key, made)

    async def replace(self, resource: Resource, obj: Json) -> Json:
        await self._about_to("update", obj["metadata"]["name"])
        stored = await self.get(resource, key_of(obj))
        self._check(stored, obj["metadata"].get("resourceVersion"))
        return self._store(resource, key_of(obj), {**_copied(obj), "metadata": stored["metadata"] | obj["metadata"]})

    async def patch(self, resource: Resource, key: Key, body: Json, *, subresource: str = "") -> Json:
        """A merge patch, of the status alone or of all the rest."""
        await self._about_to(f"patch {subresource}".strip(), key.name)
        stored = await self.get(resource, key)
        self._check(stored, (body.get("metadata") or {}).get("resourceVersion"))
        given = {"status": body["status"]} if subresource else {n: v for n, v in body.items() if n != "status"}
        changed = apply_merge_patch(stored, given)
        if changed.get("spec") != stored.get("spec"):
            changed["metadata"]["generation"] += 1
        if "deletionTimestamp" in changed["metadata"] and not changed["metadata"].get("finalizers"):
            del self.objects[resource.kind, key]
            return changed
        return self._store(resource, key, changed)

    async def delete(self, resource: Resource, key: Key) -> None:
        stored = await self.get(resource, key)
        if stored["metadata"].get("finalizers"):
            self._store(resource, key, apply_merge_patch(stored, {"metadata": {"deletionTimestamp": self._now()}}))
        else:
            del self.objects[resource.kind, key]

    async def _about_to(self, verb: str, name: str) -> None:
        await self.between(name)
        self.before(verb, name)
        self.written.append(f"{verb} {name}")

    def _check(self, stored: Json, version: str | None) -> None:
        if version is not None and version != stored["metadata"]["resourceVersion"]:
            raise kube.Conflict(f"{key_of(stored)} changed", code=409)

    def _store(self, resource: Resource, key: Key, obj: Json) -> Json:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        self.objects[resource.kind, key] = obj
        self.after("stored", key.name)
        return _copied(obj)
