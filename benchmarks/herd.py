"""Many idle clusters: one is brought up for real in virtual time, the others are copies of its object and resources.

A copy has its own name, ids and CRNs, and marks sealed to them, so that the operator, started on object
and cloud together, finds nothing to do. What is copied is what a thousand runs would have left.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from freehold.api import names
from freehold.clouds.ibm.tags import IbmCodec
from freehold.kube.resources import Json
from freehold.lifecycle import journal as journals
from freehold.lifecycle.journal import Journal
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.ownership import deed, seal
from freehold.operator.ibm import IbmAccount
from freehold_sim.ibm.settings import Settings
from stage.powervs import Stage, example

_UUID = re.compile(r"\b[0-9a-f]{8}(?=-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b)")
_SERIALS = 1000
"""Numbers that the simulated cloud hands out to one cluster: more than any uses."""


@dataclass(frozen=True)
class Herd:
    """The objects as an API server stores them, the world that the simulated cloud has beside them, and their key."""

    objects: list[Json]
    world: dict[str, Any]
    ring: KeyRing


def idle(count: int) -> Herd:
    """``count`` clusters that are Ready and in which nothing is left to do."""
    stage = Stage(example(vpcSubnets=None), Settings())
    stage.up()
    stage.settle()
    original, world = json.dumps(stage.object.raw), json.dumps(stage.cloud.world.data)
    name = stage.object.raw["metadata"]["name"]
    starts = sorted({found for text in (original, world) for found in _UUID.findall(text)} - _shared(stage))
    pattern = re.compile("|".join((re.escape(name), *starts)))
    with IbmAccount(stage.cloud.settings.api_key, None, stage.clock) as account:
        secret = account.tools("the copies", stage.rings.ring).legacy_secret
    world_of_all = {**stage.cloud.world.data, "resources": {}, "index": {}, "tags": {}, "tag_names": {}}
    herd = Herd([], world_of_all, stage.rings.ring)
    for number in range(count):
        fresh = {name: f"cluster-{number:04d}"} | {start: f"{number:04x}{start[4:]}" for start in starts}
        _add(herd, secret, number, *(json.loads(_replaced(pattern, fresh, text)) for text in (original, world)))
    herd.world["serial"] = (count + 1) * _SERIALS
    return herd


def _replaced(pattern: re.Pattern[str], fresh: Mapping[str, str], text: str) -> str:
    return pattern.sub(lambda found: fresh[found[0]], text)


def _shared(stage: Stage) -> set[str]:
    """What belongs to the catalogue and not to the cluster."""
    return {record["plan"][:8] for record in stage.cloud.world.all("instance")}


def _add(herd: Herd, secret: bytes, number: int, copied: Json, world: dict[str, Any]) -> None:
    annotations = copied["metadata"]["annotations"]
    journal = _signed_anew(secret, journals.loads(annotations[names.JOURNAL_ANNOTATION]))
    annotations[names.JOURNAL_ANNOTATION] = journals.dumps(journal)
    spelled = dict(_sealed_anew(journal, world["tags"]))
    for history in world["tags"].values():
        for change in history:
            fresh = [spelled.get(tag, tag) for tag in change[1].values()]
            change[1] = {tag.casefold(): tag for tag in fresh}
            herd.world["tag_names"] |= change[1]
    for kind, records in world["resources"].items():
        for record in records.values():
            record["serial"] += number * _SERIALS
        herd.world["resources"].setdefault(kind, {}).update(records)
    herd.world["index"] |= world["index"]
    herd.world["tags"] |= world["tags"]
    herd.objects.append(copied)


def _signed_anew(secret: bytes, journal: Journal) -> Journal:
    """The copy's records with the deeds that the operator would have written for its ids."""
    for key, entry in journal.entries.items():
        journal = journal.put(key, replace(entry, deed=deed(secret, journal.owner, key.kind, entry.id)))
    return journal


def _sealed_anew(journal: Journal, tags: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The node marks that were copied, and what they must be on the copies: a seal names its resource."""
    codec = IbmCodec()
    for key, entry in journal.entries.items():
        right = codec.node(key, seal(journal.owner, key, entry.target))
        before = right.rpartition(".")[0] + "."
        for change in tags.get(entry.target, ()):
            yield from ((tag, right) for tag in change[1].values() if tag.startswith(before))
