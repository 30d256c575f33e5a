"""Keys that a cluster's spec asks for on its resources: no metadata object touches them. Pure.

Two writers of ours must not answer each other: the engine puts these on, and it comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from freehold.lifecycle.journal import CorruptJournal
from freehold.lifecycle.keyed_codec import UUID, WITHIN
from freehold.reconcilers.identity import recorded
from freehold.tagging.resources import Resource

ClusterKeys = Mapping[str, Mapping[str, str]]
"""By the uuid of the owner: the keys, with the cluster's name for people."""


def cluster_keys(clusters: Iterable[Mapping[str, Any]]) -> ClusterKeys:
    """Of objects with ``spec.additionalTags``; one whose journal nobody can read asks for nothing."""
    found: dict[str, dict[str, str]] = {}
    for each in clusters:
        keys = (each.get("spec") or {}).get("additionalTags") or {}
        try:
            journal = recorded(each)
        except CorruptJournal:
            continue
        if journal is not None and keys:
            metadata = each["metadata"]
            name = f"{each.get('kind', '')} {metadata.get('namespace', '')}/{metadata['name']}"
            found[journal.owner.uuid] = dict.fromkeys(keys, name)
    return found


def asked_for_on(resource: Resource, keys: ClusterKeys) -> Mapping[str, str]:
    """By the resource's own marks: its owner's, or that of the cluster which its owner is part of."""
    owners = [value for mark in (UUID, WITHIN) for value in resource.tags.get(mark, ())]
    return {key: name for owner in owners for key, name in keys.get(owner, {}).items()}
