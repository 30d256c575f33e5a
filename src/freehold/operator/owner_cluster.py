"""What the gate must know besides the object: its Cluster, a referring Cluster, and whether Cluster API is there.

Answers come from watches' caches; a cache that is not in step answers "unknown", never "absent"
(docs/reference/capi-contract.md C19).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from freehold.api import names
from freehold.kube import errors as kube
from freehold.kube.client import KubeClient
from freehold.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Json, Key, Resource
from freehold.reconcilers import gate

CLUSTERS = Resource(names.CLUSTER_API_GROUP, names.V1BETA2, "clusters", "Cluster")
MACHINES = Resource(names.INFRASTRUCTURE_GROUP, names.V1BETA2, names.POWERVS_MACHINE_PLURAL, names.POWERVS_MACHINE_KIND)
CLUSTER_CRD = Key("", f"clusters.{names.CLUSTER_API_GROUP}")


class OwnerClusterReader:
    """Looks the Cluster up at the API server, once a pass: a pass is rare, and a stale answer could create."""

    def __init__(self, client: KubeClient, mode: gate.Mode) -> None:
        self._client = client
        self._mode = mode

    async def context(self, raw: Mapping[str, Any]) -> gate.ClusterContext:
        """Everything that :func:`gate.decide` must know besides the object."""
        context = await self._cluster_of(raw)
        if raw["metadata"].get("deletionTimestamp"):
            return replace(context, machines=await self._machines(raw))
        return context

    async def _cluster_of(self, raw: Mapping[str, Any]) -> gate.ClusterContext:
        if self._mode is gate.Mode.OFF:
            return gate.ClusterContext(gate.Mode.OFF)
        crds = await self._crds()
        owner = gate.owner_of(raw)
        namespace = raw["metadata"].get("namespace", "")
        if owner is not None:
            return gate.ClusterContext(self._mode, crds, await self._get(Key(namespace, owner.name)))
        if crds is gate.Presence.ABSENT:
            return gate.ClusterContext(self._mode, crds)
        return gate.ClusterContext(self._mode, crds, referrer=await self._referrer(namespace, raw))

    async def _crds(self) -> gate.Presence:
        try:
            await self._client.get(CUSTOM_RESOURCE_DEFINITIONS, CLUSTER_CRD)
        except kube.NotFound:
            return gate.Presence.ABSENT
        except kube.KubeError:
            return gate.Presence.UNKNOWN
        return gate.Presence.PRESENT

    async def _get(self, key: Key) -> gate.ClusterLookup:
        try:
            return gate.FoundCluster(await self._client.get(CLUSTERS, key))
        except kube.NotFound:
            return gate.NoCluster()
        except kube.KubeError as error:
            return gate.UnreadableCluster(str(error))

    async def _machines(self, raw: Mapping[str, Any]) -> tuple[str, ...] | gate.UnreadableMachines:
        """The machines of its cluster, served by any controller; none where there is no such kind.

        Source: docs/reference/capi-contract.md C22.
        """
        selector = f"{names.CLUSTER_NAME_LABEL}={gate.cluster_name(raw)}"
        try:
            found = await self._client.list(MACHINES, raw["metadata"].get("namespace", ""), label_selector=selector)
        except kube.NotFound:
            return ()
        except kube.KubeError as error:
            return gate.UnreadableMachines(str(error))
        return tuple(sorted(str(machine["metadata"]["name"]) for machine in found.items))

    async def _referrer(self, namespace: str, raw: Mapping[str, Any]) -> gate.ClusterLookup:
        try:
            clusters = await self._client.list(CLUSTERS, namespace)
        except kube.NotFound:
            return gate.NoCluster()
        except kube.KubeError as error:
            return gate.UnreadableCluster(str(error))
        for cluster in clusters.items:
            if gate.refers_to(cluster, raw):
                return gate.FoundCluster(cluster)
        return gate.NoCluster()


def map_cluster(cluster: Json) -> Iterable[Key]:
    """Which of our objects a change of this Cluster concerns: the one in it (docs/reference/capi-contract.md C25)."""
    reference = (cluster.get("spec") or {}).get("infrastructureRef") or {}
    if reference.get("kind") == names.POWERVS_CLUSTER_KIND and reference.get("name"):
        yield Key(cluster["metadata"].get("namespace", ""), str(reference["name"]))
