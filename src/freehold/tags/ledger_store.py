"""The store of the ledger of what we wrote: ConfigMaps in the operator's namespace, owned by nobody (ADR 19).

Each is signed with the key ring and written by compare-and-set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol

from freehold.engine.journal import StaleObject
from freehold.engine.keys import KeyRing, ObjectKeys, is_same
from freehold.engine.ownership import Owner
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import CONFIG_MAPS, NAMESPACES, Json, Key, Resource
from freehold.tags.policy.ledger import Proof, Record
from freehold.tags.policy.ledger_format import SHARDS, DamagedLedger, Shard, by_shard, dumps, loads, shard_of

NAME: Final = "freehold-tags"
LABEL: Final = "freehold.dev/record"
TEXT, KEY, SIGNATURE = "record", "key", "signature"

_MEETINGS: Final = 20
"""Writers of other resources whom one write can meet; more is something that changes the object all the time."""

RECORD_UUID: Final = "6f2c1f0a-5a1e-4c52-9d0b-0f6f1b0e7a37"
"""Of the ledger, for the key ring. It never changes."""


class LedgerKeyMissing(Exception):
    """The ring lacks the key that the ledger was signed with: nothing of it can be believed or replaced."""


class LedgerClient(Protocol):
    """All that is needed of a client."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList: ...

    async def create(self, resource: Resource, obj: Json) -> Json: ...

    async def replace(self, resource: Resource, obj: Json) -> Json: ...


@dataclass(frozen=True)
class StoredShard:
    """``version`` is the resourceVersion, empty where there is no object; ``key`` the digest that signed it.

    ``is_lost``: there is an object, and it is damaged, or not signed by us.
    """

    shard: Shard = field(default_factory=Shard)
    version: str = ""
    key: str = ""
    is_lost: bool = False


@dataclass(frozen=True)
class StoredLedger:
    """The ledger as it was read. ``begun``: an object says that something was written for it."""

    shards: Mapping[int, StoredShard]
    begun: bool = False

    @property
    def is_stored(self) -> bool:
        return any(stored.version for stored in self.shards.values())

    @property
    def lost(self) -> int:
        """How many parts cannot be read: what they had counts as never written, until they are written again."""
        if self.begun and not self.is_stored:
            return SHARDS
        return sum(stored.is_lost for stored in self.shards.values())

    def find_record(self, resource: str) -> Record:
        return self._records.get(resource, {})

    @cached_property
    def _records(self) -> Mapping[str, Record]:
        """Of all shards: a resource is in one of them."""
        return {ident: each for stored in self.shards.values() for ident, each in stored.shard.records.items()}

    def written_for(self, writer: str) -> tuple[str, ...]:
        """List the resources on which something was written for this object."""
        found = (
            resource
            for resource, record in self._records.items()
            if any(entry.writer == writer for entry in record.values())
        )
        return tuple(sorted(found))

    def place(self, resource: str) -> str:
        """Say where it was when it was written; empty where its id says it, or nobody knows."""
        return self.shards[shard_of(resource)].shard.places.get(resource, "")

    def is_open_for(self, writer: str) -> bool:
        """Say whether a write for this object may be under way: intended, and not seen to have succeeded."""
        return any(
            entry.writer == writer and (entry.proof is Proof.INTENDED or len(entry.values) > 1)
            for record in self._records.values()
            for entry in record.values()
        )


class LedgerStore:
    """Reads and writes the ledger. Raises KubeError.

    ``name``: of its ConfigMaps; operators with different key rings must not share a ledger.
    """

    def __init__(self, client: LedgerClient, namespace: str, name: str = NAME) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    async def load(self, ring: KeyRing, *, begun: bool) -> StoredLedger:
        """Read all of it. ``begun``: see StoredRecord. Raises RecordKeyMissing.

        All ConfigMaps of the namespace are listed: a part that lost its label is still a part.
        """
        rows = {row["metadata"]["name"]: row for row in (await self._client.list(CONFIG_MAPS, self._namespace)).items}
        names = shard_names(self._name)
        return StoredLedger(
            {number: _open_shard(name, rows.get(name), ring) for number, name in enumerate(names)}, begun
        )

    async def save(
        self,
        known: StoredLedger,
        changes: Mapping[str, Record],
        ring: KeyRing,
        places: Mapping[str, str] | None = None,
    ) -> StoredLedger:
        """Store what differs, before anything is written that it is about. ``places``: see Shard.

        Raises StaleObject where somebody else has written of the same resource since, and RecordFull.
        """
        differing = {resource: record for resource, record in changes.items() if known.find_record(resource) != record}
        for resource, place in (places or {}).items():
            record = changes.get(resource, known.find_record(resource))
            if record and known.place(resource) != place:
                differing[resource] = record
        shards = dict(known.shards)
        for number, records in by_shard(differing).items():
            shards[number] = await self._write(number, known, records, ring, places or {})
        for number, stored in known.shards.items():
            if stored.version and stored.key not in ("", ring.writing) and shards[number] is stored:
                shards[number] = await self._write(number, known, {}, ring, {})
        return StoredLedger(shards, known.begun)

    async def _write(
        self,
        number: int,
        known: StoredLedger,
        records: Mapping[str, Record],
        ring: KeyRing,
        places: Mapping[str, str],
    ) -> StoredShard:
        """Onto what somebody else has stored meanwhile, if that is about other resources."""
        name, base = shard_names(self._name)[number], known.shards[number]
        for _ in range(_MEETINGS):
            shard = base.shard.with_records(records, {each: at for each, at in places.items() if each in records})
            try:
                return StoredShard(shard, await self._put(name, dumps(shard), base.version, ring), ring.writing)
            except (kube.Conflict, kube.AlreadyExists):
                base = _open_shard(name, await self._client.get(CONFIG_MAPS, Key(self._namespace, name)), ring)
            if any(base.shard.find_record(resource) != known.find_record(resource) for resource in records):
                break
        raise StaleObject(f"ConfigMap {self._namespace}/{name} changed since it was read")

    async def _put(self, name: str, text: str, version: str, ring: KeyRing) -> str:
        """Create it, or replace it at ``version``; the new resourceVersion."""
        metadata = {"name": name, "namespace": self._namespace, "labels": {LABEL: self._name}}
        signature = _signature(_keys(ring, name), ring.writing, text)
        row = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**metadata, **({"resourceVersion": version} if version else {})},
            "data": {TEXT: text, KEY: ring.writing, SIGNATURE: signature},
        }
        done = await (self._client.replace(CONFIG_MAPS, row) if version else self._create_config_map(row))
        return str(done["metadata"]["resourceVersion"])

    async def _create_config_map(self, row: Json) -> Json:
        try:
            return await self._client.create(CONFIG_MAPS, row)
        except kube.ObjectNotFound:  # on a laptop nobody has made the operator's namespace
            place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
            await self._client.create(NAMESPACES, place)
            return await self._client.create(CONFIG_MAPS, row)


def shard_names(name: str = NAME) -> list[str]:
    """Name the ConfigMaps of a ledger, by number."""
    return [f"{name}-{number:02d}" for number in range(SHARDS)]


def _keys(ring: KeyRing, name: str) -> ObjectKeys:
    """Not of the namespace: a restore may put the ledger into another one."""
    return ring.derive_keys(Owner(RECORD_UUID, "ConfigMap", "", name))


def _signature(keys: ObjectKeys, digest: str, text: str) -> str:
    return keys.signature(digest, "tag record", hashlib.sha256(text.encode()).hexdigest())


def _open_shard(name: str, row: Json | None, ring: KeyRing) -> StoredShard:
    """Read one object. What nobody signed, or a key that was accepted as lost, is lost. Raises RecordKeyMissing."""
    if row is None:
        return StoredShard()
    data: Mapping[str, str] = row.get("data") or {}
    digest, text = str(data.get(KEY, "")), str(data.get(TEXT, ""))
    lost = StoredShard(version=str(row["metadata"]["resourceVersion"]), key=digest, is_lost=True)
    if not digest or not text:
        return lost
    if ring.missing([digest], RECORD_UUID):
        raise LedgerKeyMissing(
            f"the record of what was written (ConfigMap {name}) is signed with the key {digest}, which the key ring "
            "lacks: no tag is changed. Put the key back (freehold keys add FILE); lost for ever: freehold keys accept "
            f"{digest}, and what was written before then stays on the resources"
        )
    if not ring.readable(digest, RECORD_UUID):
        return lost
    if not is_same(str(data.get(SIGNATURE, "")), _signature(_keys(ring, name), digest, text)):
        return lost
    try:
        return StoredShard(loads(text), lost.version, digest)
    except DamagedLedger:
        return lost
