"""Where the record of what we wrote is kept: ConfigMaps in the operator's namespace, owned by nobody (ADR 19).

A head names the shards that were begun, so that one that went is told from one that never was. Each is signed with the
key ring and written by compare-and-set.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Protocol

from freehold.engine.journal import StaleObject
from freehold.engine.keys import KeyRing, ObjectKeys, is_same
from freehold.engine.ownership import Owner
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import CONFIG_MAPS, NAMESPACES, Json, Key, Resource
from freehold.operator.metadata.record_head import Head, head_of, head_text, merged
from freehold.tagging.ownership import Proof, Record, RecordLost
from freehold.tagging.stored_record import SHARDS, DamagedRecord, Knowledge, Shard, by_shard, dumps, loads, shard_of

NAME: Final = "freehold-tags"
LABEL: Final = "freehold.dev/record"
TEXT, KEY, SIGNATURE = "record", "key", "signature"

_MEETINGS: Final = 20
"""Writers of other resources whom one write can meet; more is something that changes the object all the time."""

RECORD_UUID: Final = "6f2c1f0a-5a1e-4c52-9d0b-0f6f1b0e7a37"
"""Of the record, for the key ring. It never changes."""


class RecordKeyMissing(Exception):
    """The ring lacks the key that the record was signed with: nothing of it can be believed or replaced."""


class Client(Protocol):
    """All that is needed of a client."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList: ...

    async def create(self, resource: Resource, obj: Json) -> Json: ...

    async def replace(self, resource: Resource, obj: Json) -> Json: ...


@dataclass(frozen=True)
class StoredShard:
    """``version`` is the resourceVersion, empty where there is no object; ``key`` the digest that signed it.

    ``key`` is empty where it must be written again: nobody signed it, or it lost its label.
    """

    shard: Shard = field(default_factory=Shard)
    version: str = ""
    key: str = ""


@dataclass(frozen=True)
class StoredRecord:
    """The record as it was read.

    ``witnessed`` is what objects say that all counts came to. A record that has counted less is from before then.
    """

    shards: Mapping[int, StoredShard]
    begun: frozenset[int]
    head: Head
    witnessed: int = 0

    @property
    def total(self) -> int:
        return self.head.base + sum(_counts(self.shards, self.head).values())

    @property
    def behind(self) -> int:
        return max(self.witnessed - self.total, 0)

    @property
    def has_head(self) -> bool:
        """Only then may an object say that something was written for it: without a head that reads as a loss."""
        return bool(self.head.version)

    def of(self, resource: str) -> Record | RecordLost:
        if resource in self._records or not self.lost:
            return self._records.get(resource, {})
        return self.shards[shard_of(resource)].shard.of(resource)

    @cached_property
    def _records(self) -> Mapping[str, Record]:
        """Of all shards: a resource is in one of them."""
        return {ident: each for stored in self.shards.values() for ident, each in stored.shard.records.items()}

    def written_for(self, writer: str) -> tuple[str, ...]:
        """The resources on which something was written for this object."""
        return tuple(
            sorted(
                resource
                for stored in self.shards.values()
                for resource, record in stored.shard.records.items()
                if any(entry.writer == writer for entry in record.values())
            )
        )

    def place(self, resource: str) -> str:
        """Where it was when it was written; empty where its id says it, or nobody knows."""
        return self.shards[shard_of(resource)].shard.places.get(resource, "")

    def is_open_for(self, writer: str) -> bool:
        """Whether a write for this object may be under way: intended, and not seen to have succeeded."""
        return any(
            entry.writer == writer and (entry.proof is Proof.INTENDED or len(entry.values) > 1)
            for stored in self.shards.values()
            for record in stored.shard.records.values()
            for entry in record.values()
        )

    @cached_property
    def lost(self) -> int:
        """How many shards do not know all."""
        return sum(stored.shard.knowledge is Knowledge.PART for stored in self.shards.values())


class TagRecord:
    """Reads and writes the record. Raises KubeError.

    ``name``: of the head; operators with different key rings must not share a record.
    """

    def __init__(self, client: Client, namespace: str, name: str = NAME) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    async def load(self, ring: KeyRing, *, begun: bool, witnessed: int = 0) -> StoredRecord:
        """``begun``: whether an object says that something was written for it; ``witnessed``: see StoredRecord.

        Raises RecordKeyMissing.
        """
        rows = (await self._client.list(CONFIG_MAPS, self._namespace, label_selector=f"{LABEL}={self._name}")).items
        found = {row["metadata"]["name"]: row for row in rows}
        if self._name not in found and (found or begun):
            found |= await self._by_name([self._name])
        head, named = self._head(found.get(self._name), ring)
        if named is None:
            named = frozenset(range(SHARDS)) if begun or head.version else frozenset()
        found |= await self._by_name([each for each in map(self._shard_name, sorted(named)) if each not in found])
        present = frozenset(number for number in range(SHARDS) if self._shard_name(number) in found)
        shards = {
            number: self._shard(number, found, named, ring, head.counts.get(number, 0)) for number in range(SHARDS)
        }
        record = StoredRecord(shards, named | present, head, witnessed)
        return _of_unknown_age(record) if record.behind else record

    async def save(
        self,
        known: StoredRecord,
        changes: Mapping[str, Record | RecordLost],
        ring: KeyRing,
        places: Mapping[str, str] | None = None,
    ) -> StoredRecord:
        """Store what differs, before anything is written that it is about. ``places``: see Shard.

        Raises StaleObject where somebody else has written of the same resource since, and RecordFull.
        """
        differing = {resource: record for resource, record in changes.items() if known.of(resource) != record}
        if known.behind:
            known = await self._keep_in_mind(known, ring)
        for resource, place in (places or {}).items():
            record = changes.get(resource, known.of(resource))
            if record and not isinstance(record, RecordLost) and known.place(resource) != place:
                differing[resource] = record
        shards = dict(known.shards)
        for number, records in by_shard(differing).items():
            shards[number] = await self._write_shard(number, known, records, ring, places)
        for number, stored in known.shards.items():
            if stored.version and stored.key != ring.writing and shards[number] is stored:
                shards[number] = await self._write_shard(number, known, {}, ring)
        head, begun = known.head, known.begun | {number for number, stored in shards.items() if stored.version}
        counts = _counts(shards, head)
        if begun != known.begun or counts != head.counts or (begun and head.key != ring.writing):
            head = await self._write_head(replace(head, counts=counts), begun, ring)
        return StoredRecord(shards, begun, head, known.witnessed)

    async def _keep_in_mind(self, known: StoredRecord, ring: KeyRing) -> StoredRecord:
        """What is from before is lost for good: the head, written last, has as high a count as was ever witnessed."""
        shards = dict(known.shards)
        for number, stored in known.shards.items():
            if stored.version:
                shards[number] = await self._replace_shard(number, stored.shard, stored.version, ring)
        head = replace(known.head, counts=_counts(shards, known.head), base=known.head.base + known.behind)
        return replace(known, shards=shards, head=await self._write_head(head, known.begun, ring))

    async def accept_loss(self, known: StoredRecord, ring: KeyRing) -> StoredRecord:
        """From now on what the record does not name counts as never written by us: a person has said so.

        Raises StaleObject where somebody else has written of a lost shard since.
        """
        shards = dict(known.shards)
        for number, stored in known.shards.items():
            if stored.shard.knowledge is not Knowledge.PART:
                continue
            known_part = {resource: record for resource, record in stored.shard.records.items() if record}
            accepted = replace(stored.shard, knowledge=Knowledge.ALL, records=known_part)
            if not stored.version:
                shards[number] = StoredShard(accepted)
                continue
            shards[number] = await self._replace_shard(number, accepted, stored.version, ring)
        begun = frozenset(number for number, stored in shards.items() if stored.version)
        head = replace(known.head, counts=_counts(shards, known.head), base=known.head.base + known.behind)
        try:
            version = await self._put(self._name, head_text(begun, head), known.head.version, ring)
        except (kube.Conflict, kube.AlreadyExists) as problem:
            raise StaleObject(f"ConfigMap {self._name} changed meanwhile") from problem
        return StoredRecord(shards, begun, replace(head, version=version, key=ring.writing), known.witnessed)

    async def _replace_shard(self, number: int, shard: Shard, version: str, ring: KeyRing) -> StoredShard:
        """Raises StaleObject."""
        try:
            stored = await self._put(self._shard_name(number), dumps(shard), version, ring)
        except kube.Conflict as problem:
            raise StaleObject(f"ConfigMap {self._shard_name(number)} changed meanwhile") from problem
        return StoredShard(shard, stored, ring.writing)

    async def _by_name(self, names: Iterable[str]) -> dict[str, Json]:
        """Those that exist. A list shows nothing that lost its label; what is read so is written again, with it."""
        found: dict[str, Json] = {}
        for name in names:
            with contextlib.suppress(kube.NotFound):
                found[name] = await self._client.get(CONFIG_MAPS, Key(self._namespace, name))
        return found

    def _shard_name(self, number: int) -> str:
        return f"{self._name}-{number:02d}"

    # -- reading ------------------------------------------------------------------------------------------------

    def _head(self, row: Json | None, ring: KeyRing) -> tuple[Head, frozenset[int] | None]:
        """The object, and the shards that it names; None where it is not there or not ours."""
        text, stored = _opened(self._name, row, ring)
        if text is None:
            return Head(stored.version, stored.key), None
        return head_of(text, stored.version, stored.key)

    def _shard(
        self, number: int, found: Mapping[str, Json], begun: frozenset[int], ring: KeyRing, least: int
    ) -> StoredShard:
        """``least``: what it has counted at least. One that has counted less was put back: it proves nothing."""
        name = self._shard_name(number)
        row = found.get(name)
        text, stored = _opened(name, row, ring)
        lost = Shard(Knowledge.PART if row is not None or number in begun else Knowledge.ALL, count=least)
        try:
            shard = lost if text is None else loads(text)
        except DamagedRecord:
            shard = lost
        return StoredShard(shard if shard.count >= least else lost, stored.version, stored.key)

    async def _read_again(self, number: int, ring: KeyRing, least: int) -> StoredShard:
        name = self._shard_name(number)
        found = {name: await self._client.get(CONFIG_MAPS, Key(self._namespace, name))}
        return self._shard(number, found, frozenset({number}), ring, least)

    # -- writing ------------------------------------------------------------------------------------------------

    async def _write_shard(
        self,
        number: int,
        known: StoredRecord,
        records: Mapping[str, Record | RecordLost],
        ring: KeyRing,
        places: Mapping[str, str] | None = None,
    ) -> StoredShard:
        """Onto what somebody else has stored meanwhile, if that is about other resources."""
        base = known.shards[number]
        for _ in range(_MEETINGS):
            shard = base.shard.with_records(
                records, {each: at for each, at in (places or {}).items() if each in records}
            )
            try:
                version = await self._put(self._shard_name(number), dumps(shard), base.version, ring)
                return StoredShard(shard, version, ring.writing)
            except (kube.Conflict, kube.AlreadyExists):
                base = await self._read_again(number, ring, known.head.counts.get(number, 0))
                if not base.key:  # no list shows it: who begins again must find it
                    base = await self._replace_shard(number, base.shard, base.version, ring)
            if any(base.shard.of(resource) != known.of(resource) for resource in records):
                break
        raise StaleObject(f"ConfigMap {self._namespace}/{self._shard_name(number)} changed since it was read")

    async def _write_head(self, head: Head, begun: frozenset[int], ring: KeyRing) -> Head:
        for _ in range(_MEETINGS):
            try:
                version = await self._put(self._name, head_text(begun, head), head.version, ring)
                return replace(head, version=version, key=ring.writing)
            except (kube.Conflict, kube.AlreadyExists):
                row = await self._client.get(CONFIG_MAPS, Key(self._namespace, self._name))
                stored, named = self._head(row, ring)
                begun |= named or frozenset()
                head = merged(head, stored)
        raise StaleObject(f"ConfigMap {self._namespace}/{self._name} changes all the time")

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
        if version:
            done = await self._client.replace(CONFIG_MAPS, row)
        else:
            done = await self._created(row)
        return str(done["metadata"]["resourceVersion"])

    async def _created(self, row: Json) -> Json:
        try:
            return await self._client.create(CONFIG_MAPS, row)
        except kube.NotFound:  # on a laptop nobody has made the operator's namespace
            place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
            await self._client.create(NAMESPACES, place)
            return await self._client.create(CONFIG_MAPS, row)


def _counts(shards: Mapping[int, StoredShard], head: Head) -> dict[int, int]:
    """A shard that went has counted what the head says."""
    counts = {number: max(stored.shard.count, head.counts.get(number, 0)) for number, stored in shards.items()}
    return {number: count for number, count in counts.items() if count}


def _of_unknown_age(record: StoredRecord) -> StoredRecord:
    """It was put back from before something was forgotten: no shard says more than that it exists."""
    shards = {
        number: replace(stored, shard=Shard(Knowledge.PART, count=stored.shard.count))
        for number, stored in record.shards.items()
    }
    return replace(record, shards=shards, begun=frozenset(range(SHARDS)))


def _keys(ring: KeyRing, name: str) -> ObjectKeys:
    """Not of the namespace: a restore may put the record into another one."""
    return ring.of(Owner(RECORD_UUID, "ConfigMap", "", name))


def _signature(keys: ObjectKeys, digest: str, text: str) -> str:
    return keys.signature(digest, "tag record", hashlib.sha256(text.encode()).hexdigest())


def _opened(name: str, row: Json | None, ring: KeyRing) -> tuple[str | None, StoredShard]:
    """The text of an object; None where there is none, or somebody else wrote it. Raises RecordKeyMissing."""
    if row is None:
        return None, StoredShard()
    data: Mapping[str, str] = row.get("data") or {}
    digest, text = str(data.get(KEY, "")), str(data.get(TEXT, ""))
    label = str((row["metadata"].get("labels") or {}).get(LABEL, ""))
    shown = digest if label and name.startswith(label) else ""
    stored = StoredShard(version=str(row["metadata"]["resourceVersion"]), key=shown)
    if not digest or not text:
        return None, stored
    if _is_missing(ring, [digest]):
        raise RecordKeyMissing(
            f"the record of what was written (ConfigMap {name}) is signed with the key {digest}, which the key ring "
            "lacks: no tag is changed. Put the key back (freehold keys add FILE); lost for ever: freehold keys accept "
            f"{digest}, and what was written before then stays on the resources"
        )
    if not ring.readable(digest, RECORD_UUID):
        return None, stored  # a person accepted that the key is lost, and with it what it signed
    good = is_same(str(data.get(SIGNATURE, "")), _signature(_keys(ring, name), digest, text))
    return (text if good else None), stored


def _is_missing(ring: KeyRing, digests: Iterable[str]) -> bool:
    return bool(ring.missing(digests, RECORD_UUID))
