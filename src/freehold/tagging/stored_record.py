"""The stored form of the record of what we wrote: shards by a digest of the resource's id (ADR 19). Pure.

A shard holds each set of entries once, however many resources have it, and is compressed: a thousand volumes with the
same tags cost what differs in their ids. 100,000 resources fit into :data:`SHARDS` objects of a few hundred kilobytes.
Few shards, because a pass over a whole fleet writes each of them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from freehold.tagging.ownership import Entry, Proof, Record, RecordLost, forgets

SHARDS: Final = 16
LARGEST: Final = 900_000
"""Characters of one shard. A ConfigMap holds 1 MiB, an object in etcd 1.5 MiB."""

_VERSION: Final = 2


class Knowledge(StrEnum):
    """Whether a shard knows all that was ever written on its resources."""

    ALL = "All"
    PART = "Part"
    """It was lost once: of a resource that it does not have it is not known what was written."""


@dataclass(frozen=True)
class Shard:
    knowledge: Knowledge = Knowledge.ALL
    records: Mapping[str, Record] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    """Where those resources are whose id does not say it, as their cloud spells it: a bucket."""
    count: int = 0
    """How often it has forgotten something: one that is put back from before then is told by it."""

    def of(self, resource: str) -> Record | RecordLost:
        if resource in self.records:
            return self.records[resource]
        return RecordLost() if self.knowledge is Knowledge.PART else {}

    def with_records(
        self, changed: Mapping[str, Record | RecordLost], places: Mapping[str, str] | None = None
    ) -> Shard:
        """An empty record says in a shard that was lost that nothing of ours is left; elsewhere absence says it."""
        records = {
            resource: record
            for resource, record in {**self.records, **changed}.items()
            if not isinstance(record, RecordLost) and (record or self.knowledge is Knowledge.PART)
        }
        known = {**self.places, **(places or {})}
        kept = {resource: known[resource] for resource in known if resource in records}
        both = changed.keys() & self.records.keys()
        alike = {(id(self.records[resource]), id(changed[resource])): resource for resource in both}  # one of each
        forgot = any(forgets(self.records[resource], changed[resource]) for resource in alike.values())
        return Shard(self.knowledge, records, kept, self.count + forgot)


class DamagedRecord(ValueError):
    """No text that :func:`dumps` made."""


class RecordFull(Exception):
    """A shard would outgrow its object; nothing that it does not have may be written."""


@lru_cache(maxsize=1 << 17)  # a pass saves the record twice
def shard_of(resource: str) -> int:
    return hashlib.sha256(resource.encode()).digest()[0] % SHARDS


def by_shard(records: Mapping[str, Record | RecordLost]) -> dict[int, dict[str, Record | RecordLost]]:
    found: dict[int, dict[str, Record | RecordLost]] = {}
    for resource, record in records.items():
        found.setdefault(shard_of(resource), {})[resource] = record
    return found


def dumps(shard: Shard) -> str:
    """Equal shards have equal texts. Raises RecordFull."""
    spelled = _spelled(shard.records)
    numbers = {each: number for number, each in enumerate(sorted(set(spelled.values())))}
    stored: dict[str, Any] = {
        "version": _VERSION,
        "knowledge": shard.knowledge.value,
        "sets": [json.loads(each) for each in numbers],
        "resources": {resource: numbers[each] for resource, each in spelled.items()},
    }
    if shard.places:
        stored["places"] = dict(shard.places)
    if shard.count:
        stored["count"] = shard.count
    text = base64.b64encode(zlib.compress(_text(stored).encode())).decode()
    if len(text) > LARGEST:
        raise RecordFull(
            f"the record of what was written is full: {len(shard.records)} resources in one of its {SHARDS} parts need "
            f"{len(text)} characters of {LARGEST}. Narrow the classifiers, or serve fewer resources with this operator"
        )
    return text


def loads(text: str) -> Shard:
    """Raises DamagedRecord."""
    try:
        stored = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
        if stored["version"] != _VERSION:
            raise DamagedRecord(f"its version is {stored['version']!r}, not {_VERSION}")
        sets = [_record(each) for each in stored["sets"]]
        records = {str(resource): sets[number] for resource, number in stored["resources"].items()}
        places = {str(resource): str(place) for resource, place in stored.get("places", {}).items()}
        return Shard(Knowledge(stored["knowledge"]), records, places, int(stored.get("count", 0)))
    except (
        ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError, zlib.error
    ) as problem:  # fmt: skip
        raise DamagedRecord(f"it is no record of tags: {problem}") from problem


def _spelled(records: Mapping[str, Record]) -> dict[str, str]:
    """The text of each record. Few differ, and to tell that they do not is cheaper than to spell each of them."""
    texts: dict[frozenset[tuple[str, Entry]], str] = {}
    of_object: dict[int, str] = {}
    spelled: dict[str, str] = {}
    for resource, record in records.items():
        if id(record) not in of_object:  # those of one plan are one object
            entries = frozenset(record.items())
            if entries not in texts:
                texts[entries] = _text(_row(record))
            of_object[id(record)] = texts[entries]
        spelled[resource] = of_object[id(record)]
    return spelled


def _row(record: Record) -> dict[str, list[Any]]:
    return {key: [entry.writer, sorted(entry.values), entry.proof.value] for key, entry in sorted(record.items())}


def _record(row: Mapping[str, Iterable[Any]]) -> Record:
    found: dict[str, Entry] = {}
    for key, entry in row.items():
        writer, values, proof = entry
        found[str(key)] = Entry(str(writer), frozenset(map(str, values)), Proof(proof))
    return found


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=True)
