"""The check of a new cluster's name against the stored objects, where one account can have one cluster of a name.

The operator decides by the account, which only the cloud tells. Here a name is refused where the two objects say the
same of it: so much is certain before anything is asked. Whatever is not found here is a condition later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from freehold.api.names import CLUSTER_NAME_LABEL
from freehold.api.parse import SpecProblem
from freehold.controllers.name_claims import (
    NameHolder,
    explain_precedence,
    explain_taken_name,
    may_hold_name,
    read_cluster_name,
)
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Resource, key_of
from freehold.providers.base import ObjectKind
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import PROVIDERS

PATIENCE_SECONDS: Final = 1.0
"""Seconds for this check, of the 5 that the API server waits for the whole answer."""
_LOG = logging.getLogger(__name__)


class ObjectLister(Protocol):
    """The part of a client of the API server that is used here."""

    async def list(
        self, resource: Resource, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> ObjectList: ...


class NameCheck:
    """The check by reads through ``lister``; ``namespace`` is the only one that the operator serves, empty for all."""

    def __init__(self, lister: ObjectLister, namespace: str = "") -> None:
        self._lister = lister
        self._namespace = namespace
        served = [kind for provider in PROVIDERS for kind in provider.objects]
        self._kinds = {(each.served.group, each.served.kind): each for each in served if each.served.once_in_account}
        self._places = {(parent.group, parent.kind): parent.place for each in served for parent in each.served.parents}

    async def find_problem(self, group: str, kind: str, raw: Json) -> SpecProblem | None:
        """Find the object that has the name of a new one; None also where the API server cannot be asked now."""
        found = self._kinds.get((group, kind))
        if found is None:
            return None
        name = read_cluster_name(found.cluster_name, raw)
        if not name:  # it has none yet
            return None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                candidates = await self._list_candidates(resource_of(found.served), name)
        except (kube.KubeError, TimeoutError) as problem:
            _LOG.info("whether the name %s is taken is left to the operator: %s", name, problem or "no answer in time")
            return None
        return self._judge(found, raw, name, candidates)

    async def _list_candidates(self, resource: Resource, name: str) -> Iterable[Json]:
        """List the objects that can have a name: those that are called so, and those with the label of a Cluster."""
        called = await self._lister.list(resource, self._namespace, field_selector=f"metadata.name={name}")
        labelled = await self._lister.list(resource, self._namespace, label_selector=f"{CLUSTER_NAME_LABEL}={name}")
        return {key_of(each): each for each in (*called.items, *labelled.items)}.values()

    def _judge(self, kind: ObjectKind, raw: Json, name: str, candidates: Iterable[Json]) -> SpecProblem | None:
        fields = self._places.get((kind.served.group, kind.served.kind), ())
        own, place = key_of(raw), _read_fields(raw, fields)
        for each in candidates:
            if key_of(each) == own or not may_hold_name(each):
                continue
            if read_cluster_name(kind.cluster_name, each) == name and _read_fields(each, fields) == place:
                holder = NameHolder(key_of(each), explain_precedence(each))
                return explain_taken_name(kind.served, name, "the same account", holder)
        return None


def _read_fields(raw: Mapping[str, Any], fields: Iterable[str]) -> tuple[Any, ...]:
    spec = raw.get("spec")
    return tuple(spec.get(each) for each in fields) if isinstance(spec, dict) else ()
