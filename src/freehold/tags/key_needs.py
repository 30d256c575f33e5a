"""What the metadata controller needs of the key ring: the keys of its record, and of its annotations (ADR 19)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from freehold.controllers.keyring.needs import KeyNeed
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import CONFIG_MAPS, Json, Key, Resource
from freehold.providers.registry import EVERYTHING, Kinds
from freehold.tags.context import list_tag_resources
from freehold.tags.ledger_store import KEY, NAME, RECORD_UUID, shard_names
from freehold.tags.policy.ledger_identity import key_of_annotation
from freehold.tags.policy.references import ProviderObject


class ListingClient(Protocol):
    """All that is needed of a client."""

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList: ...


async def tag_needs(
    client: ListingClient,
    namespace: str,
    record: str = NAME,
    of_objects_in: str = "",
    *,
    kinds: Kinds = EVERYTHING,
    label_selector: str = "",
) -> list[KeyNeed]:
    """``namespace`` and ``record``: where the record is. Raises KubeError."""
    objects = await _of_objects(client, of_objects_in, kinds, label_selector)
    return [*await _of_record(client, namespace, record), *objects]


async def _of_record(client: ListingClient, namespace: str, record: str) -> list[KeyNeed]:
    """One for all of its parts: they are read together, or not at all."""
    names = shard_names(record)
    rows = [row for row in (await client.list(CONFIG_MAPS, namespace)).items if row["metadata"]["name"] in names]
    digests = frozenset(str((row.get("data") or {}).get(KEY, "")) for row in rows) - {""}
    return [KeyNeed(Key(namespace, record), RECORD_UUID, digests)] if digests else []


async def _of_objects(client: ListingClient, namespace: str, kinds: Kinds, label_selector: str) -> list[KeyNeed]:
    found: list[KeyNeed] = []
    for kind, resource in list_tag_resources(kinds).items():
        try:
            listing = await client.list(resource, namespace, label_selector=label_selector)
        except kube.ObjectNotFound:
            continue
        found += _read_key_needs(kind, listing.items)
    return found


def _read_key_needs(kind: str, rows: Iterable[Json]) -> Iterator[KeyNeed]:
    """Each as an object of its own, also where two carry one annotation: a copied one says nothing."""
    for raw in rows:
        provider = ProviderObject(kind, raw)
        if digest := key_of_annotation(provider):
            reference = provider.reference
            yield KeyNeed(Key(reference.namespace, reference.name), str(reference), frozenset({digest}))
