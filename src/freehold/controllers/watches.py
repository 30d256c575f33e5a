"""Watches of what surrounds the objects of a kind: their Cluster, machines and parents."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from freehold.api.served import ClusterLink, ServedName
from freehold.controllers import predicates
from freehold.controllers.controller import WatchedResource
from freehold.controllers.owner_cluster import (
    CLUSTERS,
    MACHINES,
    build_cluster_mapper,
    map_belonging,
    map_machine,
    map_parent,
)
from freehold.kube.resources import Json
from freehold.providers.objects.gate import ClusterApiMode
from freehold.providers.objects.served_resources import resource_around


def build_watches(
    served: ServedName, mode: ClusterApiMode, objects: Callable[[], Iterable[Json]], namespace: str
) -> list[WatchedResource]:
    """Build the watches of what surrounds the objects of a kind.

    Those of Cluster API also where it is not installed (yet): a watch looks again from time to time. No Secret is
    watched, because that would read all of a cluster.
    """
    found = []
    if mode is not ClusterApiMode.OFF and served.link is not ClusterLink.NONE:
        changed = predicates.anything_changed if not served.parents else predicates.machine_inputs_changed
        found.append(WatchedResource(CLUSTERS, build_cluster_mapper(served, objects), changed, namespace))
        if served.link is ClusterLink.MACHINE:
            found.append(WatchedResource(MACHINES, map_machine(served), predicates.machine_inputs_changed, namespace))
    for each in served.parents:
        parent = resource_around(each)
        found.append(WatchedResource(parent, map_parent(objects), predicates.machine_inputs_changed, namespace))
    if served.infrastructure is not None:
        belonging = map_belonging(served, objects)
        beside = resource_around(served.infrastructure)
        found.append(WatchedResource(beside, belonging, predicates.spec_or_metadata_changed, namespace))
        for machines in (each for each in served.machines if each.inputs):
            inputs = predicates.build_fields_changed(machines.inputs)
            found.append(WatchedResource(resource_around(machines), belonging, inputs, namespace))
    return found
