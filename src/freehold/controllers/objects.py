"""One Kubernetes object in one pass: the newest version, and writes that fail when it is not the newest.

Every write to metadata carries the resourceVersion it was decided on (compare-and-set), so a process
that lost its turn gets a conflict instead of overwriting (docs/reference/kubernetes.md#requests).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import Journal, StaleObject
from freehold.kube import errors as kube
from freehold.kube import field_managers
from freehold.kube.client import KubeClient
from freehold.kube.merge_patch import merge_patch
from freehold.kube.resources import Json, Key, Resource, key_of


async def separate_managers(client: KubeClient, resource: Resource, raw: Json) -> Json:
    """The object with its fields divided among our managers, where an earlier version wrote it as one (ADR 21).

    It is done at first sight: until then kubectl's server-side apply takes all of them over.
    """
    patch = field_managers.separation(raw)
    return raw if patch is None else await client.patch(resource, key_of(raw), patch)


class ObjectHandle:
    """The object as last read or written in this pass. Raises StaleObject when somebody else was faster."""

    def __init__(self, client: KubeClient, resource: Resource, raw: Json) -> None:
        self._client = client
        self._resource = resource
        self.raw = raw

    @property
    def key(self) -> Key:
        return Key(self.metadata.get("namespace", ""), self.metadata["name"])

    @property
    def metadata(self) -> Json:
        found: Json = self.raw["metadata"]
        return found

    @property
    def version(self) -> str:
        return str(self.metadata["resourceVersion"])

    async def save(self, journal: Journal) -> None:
        """The journal's place: one annotation (engine.journal.Store)."""
        await self.apply({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journals.dumps(journal)}}})

    async def apply(self, patch: Mapping[str, Any]) -> None:
        """A merge patch of metadata or spec, on the version that this document shows now."""
        metadata = {**patch.get("metadata", {}), "resourceVersion": self.version}
        self.raw = await self._send({**patch, "metadata": metadata})

    async def newest(self) -> Json:
        """Return the object as it is stored now; this pass goes on with what it has read."""
        try:
            found = await self._client.get(self._resource, self.key)
        except kube.NotFound as error:
            raise StaleObject(f"{self.key} is gone") from error
        if found["metadata"]["uid"] != self.metadata["uid"]:
            raise StaleObject(f"{self.key} is another object")
        return found

    async def patch_status(self, status: Mapping[str, Any]) -> None:
        """Replace the status, if anything in it differs; an equal one is not written."""
        before = self.raw.get("status") or {}
        if before == status:
            return
        changes = merge_patch(before, status, last=before)
        body = {"metadata": {"resourceVersion": self.version}, "status": changes}
        self.raw = await self._send(body, "status")

    async def _send(self, body: Json, subresource: str = "") -> Json:
        try:
            return await self._client.patch(self._resource, self.key, body, subresource=subresource)
        except kube.Conflict as error:
            raise StaleObject(f"{self.key} changed since it was read") from error
        except kube.NotFound as error:
            raise StaleObject(f"{self.key} is gone") from error
