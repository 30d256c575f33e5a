"""A Kubernetes object during one pass: its last known version, and writes that fail if there is a newer one.

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
from freehold.kube.merge_patch import build_merge_patch
from freehold.kube.resources import Json, Key, Resource, key_of


async def separate_managers(client: KubeClient, resource: Resource, raw: Json) -> Json:
    """Divide the fields of an object among our managers if an earlier version wrote all as one manager (ADR 21).

    Until that is done, kubectl's server-side apply would take all fields over.
    """
    patch = field_managers.build_separation_patch(raw)
    return raw if patch is None else await client.patch(resource, key_of(raw), patch)


class ApiObject:
    """The stored object as last read or written in this pass. Writes raise StaleObject if somebody else was faster."""

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
        """Save the journal in its annotation (engine.journal.Store)."""
        await self.apply({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journals.dumps(journal)}}})

    async def apply(self, patch: Mapping[str, Any]) -> None:
        """Apply a merge patch of metadata or spec to the version that ``raw`` has now."""
        metadata = {**patch.get("metadata", {}), "resourceVersion": self.version}
        self.raw = await self._send({**patch, "metadata": metadata})

    async def read_newest(self) -> Json:
        """Return the object as it is stored now; this pass goes on with what it has read."""
        try:
            found = await self._client.get(self._resource, self.key)
        except kube.ObjectNotFound as error:
            raise StaleObject(f"{self.key} is gone") from error
        if found["metadata"]["uid"] != self.metadata["uid"]:
            raise StaleObject(f"{self.key} is another object")
        return found

    async def patch_status(self, status: Mapping[str, Any]) -> None:
        """Replace the status, if anything in it differs; an equal one is not written."""
        before = self.raw.get("status") or {}
        if before == status:
            return
        changes = build_merge_patch(before, status, last=before)
        body = {"metadata": {"resourceVersion": self.version}, "status": changes}
        self.raw = await self._send(body, "status")

    async def _send(self, body: Json, subresource: str = "") -> Json:
        try:
            return await self._client.patch(self._resource, self.key, body, subresource=subresource)
        except kube.Conflict as error:
            raise StaleObject(f"{self.key} changed since it was read") from error
        except kube.ObjectNotFound as error:
            raise StaleObject(f"{self.key} is gone") from error
