"""Many idle clusters: one is brought up for real in virtual time, the others are copies of its object and resources.

A copy has its own name, ids and CRNs, and marks sealed to them, so that the operator, started on object
and cloud together, finds nothing to do. What is copied is what a thousand runs would have left.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.kube.resources import Json
from freehold_sim.ibm.settings import Settings
from harness.powervs import Harness, StoredObject, example

_UUID = re.compile(r"\b[0-9a-f]{8}(?=-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b)")
_SERIALS = 1000
"""Numbers that the simulated cloud hands out to one cluster: more than any uses."""


@dataclass(frozen=True)
class Herd:
    """The objects as an API server stores them, the world that the simulated cloud has beside them, and their key."""

    objects: list[Json]
    world: dict[str, Any]
    ring: KeyRing


def stored(raw: Json, now: Callable[[], float]) -> StoredObject:
    """An object of a herd as the harness stores it, with the UID that its marks are made for."""
    obj = StoredObject(raw, now)
    obj.raw["metadata"]["uid"] = raw["metadata"]["uid"]
    return obj


def idle(count: int) -> Herd:
    """``count`` clusters that are Ready and in which nothing is left to do."""
    harness = Harness(example(vpcSubnets=None), Settings())
    harness.up()
    harness.settle()
    original, world = json.dumps(harness.object.raw), json.dumps(harness.cloud.world.data)
    name = harness.object.raw["metadata"]["name"]
    starts = sorted({found for text in (original, world) for found in _UUID.findall(text)} - _shared(harness))
    pattern = re.compile("|".join((re.escape(name), *starts)))
    world_of_all = {**harness.cloud.world.data, "resources": {}, "index": {}, "tags": {}, "tag_names": {}}
    herd = Herd([], world_of_all, harness.rings.ring)
    journal = _journal(harness.object.raw)
    for number in range(count):
        fresh = {name: f"cluster-{number:04d}"} | {start: f"{number:04x}{start[4:]}" for start in starts}
        _add(
            herd, number, *_copied(herd.ring, journal, (_replaced(pattern, fresh, text) for text in (original, world)))
        )
    herd.world["serial"] = (count + 1) * _SERIALS
    return herd


def _replaced(pattern: re.Pattern[str], fresh: Mapping[str, str], text: str) -> str:
    return pattern.sub(lambda found: fresh[found[0]], text)


def _shared(harness: Harness) -> set[str]:
    """What belongs to the catalogue and not to the cluster."""
    return {record["plan"][:8] for record in harness.cloud.world.all("instance")}


def _copied(ring: KeyRing, original: Journal, texts: Iterable[str]) -> tuple[Json, Json]:
    """Object and world with every word that is made with the key: as the operator would have made it for the copy."""
    obj, world = texts
    before, after = _keyed_words(ring, original), _keyed_words(ring, _journal(json.loads(obj)))
    fresh = dict(zip(before, after, strict=True))
    keyed = re.compile("|".join(map(re.escape, before)))
    return json.loads(_replaced(keyed, fresh, obj)), json.loads(_replaced(keyed, fresh, world))


def _journal(raw: Json) -> Journal:
    return journals.loads(raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])


def _keyed_words(ring: KeyRing, journal: Journal) -> list[str]:
    """Signature, seals and nonces of each record, in one order for an object and its copies."""
    keys, words = ring.derive_keys(journal.owner), []
    for key, entry in sorted(journal.entries.items()):
        bare = entry.id.rpartition("/")[2]
        words += [
            keys.signature(entry.key, key.kind, entry.id),
            keys.seal(entry.key, key, entry.target),
            keys.carried_seal(entry.key, key.kind, bare, entry.target),
            *(keys.nonce(entry.key, key, attempt) for attempt in range(1, entry.attempt + 1)),
        ]
    return words


def _add(herd: Herd, number: int, copied: Json, world: Json) -> None:
    for history in world["tags"].values():
        for change in history:
            herd.world["tag_names"] |= change[1]
    for kind, records in world["resources"].items():
        for record in records.values():
            record["serial"] += number * _SERIALS
        herd.world["resources"].setdefault(kind, {}).update(records)
    herd.world["index"] |= world["index"]
    herd.world["tags"] |= world["tags"]
    herd.objects.append(copied)
