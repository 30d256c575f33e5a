"""Reader of the gate's context: the object's Cluster, a referring Cluster, and whether Cluster API is installed.

A read that fails answers "unknown", never "absent"
(docs/reference/capi-contract.md C19).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from freehold.api import names
from freehold.api.served import ClusterLink, InfrastructureName, MachineName, ServedName
from freehold.kube import errors as kube
from freehold.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Json, Key, Resource, key_of
from freehold.providers.base import ObjectReader
from freehold.providers.objects import gate
from freehold.providers.objects.around import Around, find_named_parents
from freehold.providers.objects.served_resources import resource_around

CLUSTERS = Resource(names.CLUSTER_API_GROUP, names.V1BETA2, "clusters", "Cluster")
MACHINES = Resource(names.CLUSTER_API_GROUP, names.V1BETA2, "machines", "Machine")
CLUSTER_CRD = Key("", f"clusters.{names.CLUSTER_API_GROUP}")


class OwnerClusterReader:
    """A reader that asks the API server once a pass: a pass is rare, and a stale answer could cause a create."""

    def __init__(self, client: ObjectReader, mode: gate.ClusterApiMode, served: ServedName) -> None:
        self._client = client
        self._mode = mode
        self._served = served

    async def read_context(self, raw: Mapping[str, Any]) -> gate.ClusterContext:
        """Read everything that :func:`gate.decide` needs besides the object."""
        context = await self._read_cluster(raw)
        if self._served.parents:
            context = replace(context, around=await self._complete_around(raw, context))
        if self._served.infrastructure is not None:
            context = replace(context, around=await self._read_belongings(raw, context, self._served.infrastructure))
        if raw["metadata"].get("deletionTimestamp"):
            return replace(context, machines=await self._list_machines(raw))
        return context

    async def _read_cluster(self, raw: Mapping[str, Any]) -> gate.ClusterContext:
        if self._mode is gate.ClusterApiMode.OFF or self._served.link is ClusterLink.NONE:
            return gate.ClusterContext(self._mode)
        crds = await self._find_crds()
        owner = gate.owner_of(raw, self._served.link)
        namespace = raw["metadata"].get("namespace", "")
        if owner is not None:
            key = Key(namespace, owner.name)
            if self._served.link is not ClusterLink.MACHINE:
                return gate.ClusterContext(self._mode, crds, await self._get_cluster(key))
            machine, found = await self._get_machine_and_cluster(key)
            return gate.ClusterContext(self._mode, crds, found, around=Around(machine))
        if crds is gate.Presence.ABSENT or self._served.link is ClusterLink.MACHINE:
            return gate.ClusterContext(self._mode, crds)
        return gate.ClusterContext(self._mode, crds, referrer=await self.find_referrer(raw))

    async def _complete_around(self, raw: Mapping[str, Any], context: gate.ClusterContext) -> Around:
        """Read what a machine is part of. With an owner only its Cluster tells what that is."""
        served, around = self._served, context.around
        if isinstance(context.owner, gate.FoundCluster):
            around = replace(around, cluster=context.owner.cluster)
        elif self._mode is not gate.ClusterApiMode.OFF and gate.owner_of(raw, served.link) is not None:
            return around
        namespace = raw["metadata"].get("namespace", "")
        for each in find_named_parents(raw, around.cluster, served.parents):
            try:
                found = await self._client.get(resource_around(each.kind), Key(namespace, each.name))
            except kube.ObjectNotFound:
                continue
            except kube.KubeError as error:
                return replace(around, unread=str(error))
            return replace(around, parent=found)
        return around

    async def _read_belongings(
        self, raw: Mapping[str, Any], context: gate.ClusterContext, beside: InfrastructureName
    ) -> Around:
        """Read what belongs to a control plane: the infrastructure of its Cluster, and the machines it depends on."""
        namespace, cluster = raw["metadata"].get("namespace", ""), gate.find_cluster(context)
        if self._mode is gate.ClusterApiMode.OFF:  # a Cluster may be kept all the same, as on a laptop
            kept = await self.find_referrer(raw)
            if isinstance(kept, gate.UnreadableCluster):
                return replace(context.around, unread=kept.why)
            cluster = kept.cluster if isinstance(kept, gate.FoundCluster) else None
        name = gate.find_referred_name(cluster, beside) if cluster else ""
        machines: list[Json] = []
        try:
            for each in self._served.machines:
                machines += await self._list_of_cluster(raw, each) if each.inputs else ()
            found = await self._client.get(resource_around(beside), Key(namespace, name)) if name else None
        except kube.ObjectNotFound:
            found = None
        except kube.KubeError as error:
            return replace(context.around, unread=str(error))
        return replace(context.around, infrastructure=found, machines=tuple(machines))

    async def _find_crds(self) -> gate.Presence:
        try:
            await self._client.get(CUSTOM_RESOURCE_DEFINITIONS, CLUSTER_CRD)
        except kube.ObjectNotFound:
            return gate.Presence.ABSENT
        except kube.KubeError:
            return gate.Presence.UNKNOWN
        return gate.Presence.PRESENT

    async def _get_cluster(self, key: Key) -> gate.ClusterLookup:
        try:
            return gate.FoundCluster(await self._client.get(CLUSTERS, key))
        except kube.ObjectNotFound:
            return gate.NoCluster(f"Cluster {key.name!r}")
        except kube.KubeError as error:
            return gate.UnreadableCluster(str(error))

    async def _get_machine_and_cluster(self, key: Key) -> tuple[Json | None, gate.ClusterLookup]:
        """Read a Machine, and the Cluster that it names (docs/reference/capi-contract.md C37)."""
        try:
            machine = await self._client.get(MACHINES, key)
        except kube.ObjectNotFound:
            return None, gate.NoCluster(f"Machine {key.name!r}")
        except kube.KubeError as error:
            return None, gate.UnreadableCluster(str(error))
        name = str((machine.get("spec") or {}).get("clusterName") or "")
        if not name:
            return machine, gate.NoCluster(f"the Cluster of Machine {key.name!r}")
        return machine, await self._get_cluster(Key(key.namespace, name))

    async def _list_machines(
        self, raw: Mapping[str, Any]
    ) -> tuple[gate.StandingMachine, ...] | gate.UnreadableMachines:
        """List the machines of the object's cluster, of any controller.

        Source: docs/reference/capi-contract.md C22.
        """
        found: list[gate.StandingMachine] = []
        for each in self._served.machines:
            try:
                listed = await self._list_of_cluster(raw, each)
            except kube.KubeError as error:
                return gate.UnreadableMachines(str(error))
            found += sorted(gate.StandingMachine(each.kind, str(machine["metadata"]["name"])) for machine in listed)
        return tuple(found)

    async def _list_of_cluster(self, raw: Mapping[str, Any], machines: MachineName) -> list[Json]:
        """List the machines of one kind; none if the kind is not installed."""
        selector = f"{names.CLUSTER_NAME_LABEL}={gate.find_cluster_name(raw, self._served.link)}"
        namespace = raw["metadata"].get("namespace", "")
        try:
            found = await self._client.list(resource_around(machines), namespace, label_selector=selector)
        except kube.ObjectNotFound:
            return []
        return list(found.items)

    async def find_referrer(self, raw: Mapping[str, Any]) -> gate.ClusterLookup:
        """Find the Cluster of the namespace that refers to the object."""
        try:
            clusters = await self._client.list(CLUSTERS, raw["metadata"].get("namespace", ""))
        except kube.ObjectNotFound:
            return gate.NoCluster()
        except kube.KubeError as error:
            return gate.UnreadableCluster(str(error))
        for cluster in clusters.items:
            if gate.refers_to(cluster, raw, self._served.link):
                return gate.FoundCluster(cluster)
        return gate.NoCluster()


def map_machine(served: ServedName) -> Callable[[Json], Iterable[Key]]:
    """Build the mapping from a changed Machine to our object that it refers to."""

    def find_concerned(machine: Json) -> Iterable[Key]:
        reference = (machine.get("spec") or {}).get("infrastructureRef") or {}
        if reference.get("kind") == served.kind and reference.get("name"):
            yield Key(machine["metadata"].get("namespace", ""), str(reference["name"]))

    return find_concerned


def map_parent(objects: Callable[[], Iterable[Json]]) -> Callable[[Json], Iterable[Key]]:
    """Build the mapping from a changed parent to the machines of its cluster among ``objects``."""

    def find_concerned(parent: Json) -> Iterable[Key]:
        metadata = parent["metadata"]
        clusters = {metadata["name"], gate.find_cluster_name(parent, ClusterLink.INFRASTRUCTURE)}
        yield from _find_of_clusters(objects(), metadata.get("namespace", ""), clusters)

    return find_concerned


def map_belonging(served: ServedName, objects: Callable[[], Iterable[Json]]) -> Callable[[Json], Iterable[Key]]:
    """Build the mapping from what belongs to a Cluster to its object of the served kind among ``objects``."""

    def find_concerned(belonging: Json) -> Iterable[Key]:
        metadata = belonging["metadata"]
        named = gate.find_cluster_name(belonging, ClusterLink.INFRASTRUCTURE)
        for raw in objects():
            same = raw["metadata"].get("namespace", "") == metadata.get("namespace", "")
            if same and gate.find_cluster_name(raw, served.link) == named:
                yield key_of(raw)

    return find_concerned


def _find_of_clusters(objects: Iterable[Json], namespace: str, clusters: Collection[str]) -> Iterable[Key]:
    for raw in objects:
        metadata = raw["metadata"]
        label = (metadata.get("labels") or {}).get(names.CLUSTER_NAME_LABEL)
        if metadata.get("namespace", "") == namespace and label in clusters:
            yield Key(namespace, metadata["name"])


def build_cluster_mapper(served: ServedName, objects: Callable[[], Iterable[Json]]) -> Callable[[Json], Iterable[Key]]:
    """Build the mapping from a changed Cluster to our objects (docs/reference/capi-contract.md C25).

    The mapping gives the object that the Cluster names, or its machines among ``objects`` (all known ones).
    """

    def find_concerned(cluster: Json) -> Iterable[Key]:
        namespace = cluster["metadata"].get("namespace", "")
        if served.link is ClusterLink.MACHINE:
            yield from _find_of_clusters(objects(), namespace, {str(cluster["metadata"].get("name"))})
            return
        reference = (cluster.get("spec") or {}).get(served.link.value) or {}
        if reference.get("kind") == served.kind and reference.get("name"):
            yield Key(namespace, str(reference["name"]))

    return find_concerned
