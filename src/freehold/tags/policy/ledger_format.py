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
from functools import lru_cache
from typing import Any, Final

from freehold.tags.policy.ledger import LedgerEntry, Proof, Record

SHARDS: Final = 16
LARGEST: Final = 900_000
"""Characters of one shard. A ConfigMap holds 1 MiB, an object in etcd 1.5 MiB."""

_VERSION: Final = 2


@dataclass(frozen=True)
class Shard:
    """A part of the ledger: the records of some resources."""

    records: Mapping[str, Record] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    """Where those resources are whose id does not say it, as their cloud spells it: a bucket."""

    def find_record(self, resource: str) -> Record:
        return self.records.get(resource, {})

    def with_records(self, changed: Mapping[str, Record], places: Mapping[str, str] | None = None) -> Shard:
        """Return the shard with other records. An empty record is none."""
        records = {resource: record for resource, record in {**self.records, **changed}.items() if record}
        known = {**self.places, **(places or {})}
        return Shard(records, {resource: known[resource] for resource in known if resource in records})


class DamagedLedger(ValueError):
    """No text that :func:`dumps` made."""


class LedgerFull(Exception):
    """A shard would outgrow its object; nothing that it does not have may be written."""


@lru_cache(maxsize=1 << 17)  # a pass saves the record twice
def shard_of(resource: str) -> int:
    return hashlib.sha256(resource.encode()).digest()[0] % SHARDS


def by_shard(records: Mapping[str, Record]) -> dict[int, dict[str, Record]]:
    found: dict[int, dict[str, Record]] = {}
    for resource, record in records.items():
        found.setdefault(shard_of(resource), {})[resource] = record
    return found


def dumps(shard: Shard) -> str:
    """Equal shards have equal texts. Raises RecordFull."""
    spelled = _spell_records(shard.records)
    numbers = {each: number for number, each in enumerate(sorted(set(spelled.values())))}
    stored: dict[str, Any] = {
        "version": _VERSION,
        "sets": [json.loads(each) for each in numbers],
        "resources": {resource: numbers[each] for resource, each in spelled.items()},
    }
    if shard.places:
        stored["places"] = dict(shard.places)
    text = base64.b64encode(zlib.compress(_text(stored).encode())).decode()
    if len(text) > LARGEST:
        raise LedgerFull(
            f"the record of what was written is full: {len(shard.records)} resources in one of its {SHARDS} parts need "
            f"{len(text)} characters of {LARGEST}. Narrow the classifiers, or serve fewer resources with this operator"
        )
    return text


def loads(text: str) -> Shard:
    """Read a shard; what earlier versions also said, of what was forgotten, is passed over. Raises DamagedRecord."""
    try:
        stored = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
        if stored["version"] != _VERSION:
            raise DamagedLedger(f"its version is {stored['version']!r}, not {_VERSION}")
        sets = [_record(each) for each in stored["sets"]]
        records = {str(resource): sets[number] for resource, number in stored["resources"].items()}
        places = {str(resource): str(place) for resource, place in stored.get("places", {}).items()}
        return Shard(records, places)
    except (
        ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError, zlib.error
    ) as problem:  # fmt: skip
        raise DamagedLedger(f"it is no record of tags: {problem}") from problem


def _spell_records(records: Mapping[str, Record]) -> dict[str, str]:
    """Spell each record. Few differ, and to tell that they do not is cheaper than to spell each of them."""
    texts: dict[frozenset[tuple[str, LedgerEntry]], str] = {}
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
    found: dict[str, LedgerEntry] = {}
    for key, entry in row.items():
        writer, values, proof = entry
        found[str(key)] = LedgerEntry(str(writer), frozenset(map(str, values)), Proof(proof))
    return found


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=True)
