"""Synchronizes the registry of served resources with the stored CRDs."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence

from freehold_apiserver.crds import COLLECTION, serve, serve_stored
from freehold_apiserver.errors import ApiError, Notes
from freehold_apiserver.objects import Objects
from freehold_apiserver.resources import Registry, Resource
from freehold_apiserver.store import Change, Json, Store
from freehold_apiserver.webhook_client import WebhookClient
from freehold_apiserver.write_options import WriteOptions

_LOG = logging.getLogger(__name__)
NAMESPACES = ("default", "kube-system")


class Definitions:
    """Serves each stored CRD from its creation until its removal."""

    def __init__(
        self, store: Store, objects: Objects, registry: Registry, crd: Resource, client: WebhookClient
    ) -> None:
        self._store = store
        self._objects = objects
        self._registry = registry
        self._crd = crd
        self._client = client
        self._wanted: dict[str, Json] = {}
        serve_stored(store, registry, client)
        store.observe(self._follow)

    async def install(self, crds: Sequence[Json]) -> None:
        """Create or update these CRDs, now and when one is deleted. Raises ValueError naming one that is refused."""
        for crd in crds:
            name = crd["metadata"]["name"]
            self._wanted[name] = crd
            try:
                await self._install(name, crd)
            except ApiError as problem:
                raise ValueError(f"CRD {name} cannot be installed: {problem.message}") from problem

    async def restore(self) -> list[str]:
        """Put back the installed CRDs that someone deleted; returns their names. Their objects stay deleted."""
        missing = [name for name in self._wanted if self._store.get(COLLECTION, ("", name)) is None]
        for name in missing:
            _LOG.warning("CRD %s was deleted and is put back; its objects were deleted with it", name)
            await self._install(name, self._wanted[name])
        return missing

    async def _install(self, name: str, crd: Json) -> None:
        # Only what the server changes is a copy: schemas are large, and each server of a process has the same.
        crd = {**crd, "metadata": copy.deepcopy(crd["metadata"])}
        crd.pop("status", None)
        notes = Notes()
        if self._store.get(COLLECTION, ("", name)) is None:
            await self._objects.create(self._crd, "", crd, WriteOptions(), notes)
        else:
            await self._forget_versions(name, crd)
            # The caller determines the content of these CRDs, so resourceVersions are not compared.
            await self._objects.update(self._crd, ("", name), crd, WriteOptions(), notes)
        for warning in notes.warnings:
            _LOG.warning("CRD %s: %s", name, warning)

    async def _forget_versions(self, name: str, crd: Json) -> None:
        """Forget the stored versions that a new CRD lacks, where objects of one can be read as those of another.

        Otherwise the CRD would be refused, as on a real server, and this one would not start after an upgrade.
        """
        old = self._objects.get(self._crd, "", name).obj
        if (crd["spec"].get("conversion") or {}).get("strategy", "None") != "None":
            return
        known = [each["name"] for each in crd["spec"]["versions"]]
        stored = old["status"]["storedVersions"]
        kept = [each for each in stored if each in known]
        if kept != stored:
            changed = copy.deepcopy(old)
            changed["status"]["storedVersions"] = kept
            await self._objects.update(self._crd, ("", name), changed, WriteOptions(), Notes(), "status")

    async def create_namespaces(self) -> None:
        """Create the standard namespaces that are missing."""
        namespaces = self._registry.find("", "v1", "namespaces")
        assert namespaces is not None
        for name in NAMESPACES:
            if self._store.get(namespaces.collection, ("", name)) is None:
                body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                await self._objects.create(namespaces, "", body, WriteOptions(), Notes())

    def _follow(self, collection: str, change: Change) -> None:
        if collection != COLLECTION:
            return
        if change.type == "DELETED":
            self._registry.drop_custom(change.key[1])
        elif change.old is None or change.old.obj["spec"] != change.new.obj["spec"]:
            serve(change.new.obj, self._registry, self._client)
