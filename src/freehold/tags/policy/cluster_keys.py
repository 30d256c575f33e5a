"""Keys that a cluster's spec asks for on its resources: no metadata object touches them. Pure.

Two writers of ours must not answer each other: the engine puts these on, and it comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from freehold.engine.journal import CorruptJournal
from freehold.providers.objects.identity import read_record
from freehold.tags.dialects import DIALECTS
from freehold.tags.policy.resources import TaggedResource

ClusterKeys = Mapping[str, Mapping[str, str]]
"""By the uuid of the owner, and by the id of what it tags though it is not its own: the keys as the cloud spells them,
with the cluster's name for people.
"""


def cluster_keys(clusters: Iterable[Mapping[str, Any]]) -> ClusterKeys:
    """Of objects of all kinds that have tags in their spec; one whose journal nobody can read asks for nothing."""
    found: dict[str, dict[str, str]] = {}
    for each in clusters:
        spec = each.get("spec") or {}
        keys = [key for dialect in DIALECTS.values() for key in dialect.tags_of_cluster(spec)]
        try:
            journal = read_record(each)
        except CorruptJournal:
            continue
        if journal is not None and keys:
            metadata = each["metadata"]
            name = f"{each.get('kind', '')} {metadata.get('namespace', '')}/{metadata['name']}"
            for place in (journal.owner.uuid, *journal.attached):
                found.setdefault(place, {}).update(dict.fromkeys(keys, name))
    return found


def asked_for_on(resource: TaggedResource, keys: ClusterKeys) -> Mapping[str, str]:
    """By the resource's own marks, or by the record of a cluster that tags it though it is somebody else's."""
    if not keys:
        return {}
    owners = [value for mark in resource.cloud.owner_marks for value in resource.tags.get(mark, ())]
    return {key: name for place in (resource.id, *owners) for key, name in keys.get(place, {}).items()}
