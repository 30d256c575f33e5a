"""Keys that a cluster's spec asks for on its resources: no metadata object touches them. Pure.

Two writers of ours must not answer each other: the engine puts these on, and it comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from freehold.engine import keyed_codec as aws
from freehold.engine.journal import CorruptJournal
from freehold.providers.ibm import marks as ibm
from freehold.providers.ibm.api_names import POWERVS_CLUSTER_KIND
from freehold.providers.objects.identity import recorded
from freehold.tagging.resources import Cloud, Resource, ibm_tag_name, ibm_tags

ClusterKeys = Mapping[str, Mapping[str, str]]
"""By the uuid of the owner, and by the id of what it tags though it is not its own: the keys as the cloud spells them,
with the cluster's name for people.
"""

_OWNERS: Final[Mapping[Cloud, tuple[str, ...]]] = {Cloud.AWS: (aws.UUID, aws.WITHIN), Cloud.IBM: (ibm.UUID,)}
"""The marks with the uuid of a resource's owner, or of the cluster which its owner is part of."""


def cluster_keys(clusters: Iterable[Mapping[str, Any]]) -> ClusterKeys:
    """Of objects of all kinds that have tags in their spec; one whose journal nobody can read asks for nothing."""
    found: dict[str, dict[str, str]] = {}
    for each in clusters:
        keys = _keys(each)
        try:
            journal = recorded(each)
        except CorruptJournal:
            continue
        if journal is not None and keys:
            metadata = each["metadata"]
            name = f"{each.get('kind', '')} {metadata.get('namespace', '')}/{metadata['name']}"
            for place in (journal.owner.uuid, *journal.attached):
                found.setdefault(place, {}).update(dict.fromkeys(keys, name))
    return found


def _keys(cluster: Mapping[str, Any]) -> Iterable[str]:
    spec = cluster.get("spec") or {}
    if cluster.get("kind") == POWERVS_CLUSTER_KIND:
        rows = spec.get("tags") or ()
        return ibm_tags(ibm_tag_name(each["key"], each.get("value") or "") for each in rows if each.get("key"))
    return spec.get("additionalTags") or {}


def asked_for_on(resource: Resource, keys: ClusterKeys) -> Mapping[str, str]:
    """By the resource's own marks, or by the record of a cluster that tags it though it is somebody else's."""
    if not keys:
        return {}
    owners = [value for mark in _OWNERS[resource.cloud] for value in resource.tags.get(mark, ())]
    return {key: name for place in (resource.id, *owners) for key, name in keys.get(place, {}).items()}
