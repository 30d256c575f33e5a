"""Objects and worlds of earlier versions, loaded into today's harness.

The README of each version below tests/fixtures tells what wrote them, and when.
"""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from freehold.api import names
from freehold.lifecycle import journal as journals
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.port import InlinePort, Port
from freehold_sim.ibm.settings import Assumptions, Settings
from harness.powervs import Harness

FIXTURES = Path(__file__).parents[1] / "fixtures"
BEFORE_KEY_RING = "before_key_ring"
KEYED = "keyed_objects"
_ASSUMPTIONS = {"plain": Assumptions(), "all": Assumptions(dhcp_network_has_crn=False)}


@functools.cache
def _texts(version: str, world: str) -> Mapping[str, str]:
    found: dict[str, Any] = json.loads(lzma.decompress((FIXTURES / version / f"{world}.json.xz").read_bytes()))
    return {moment: json.dumps(content) for moment, content in found.items()}


def _every(version: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for world in _ASSUMPTIONS:
        for moment, text in _texts(version, world).items():
            yield f"{world}/{moment}", json.loads(text)


def moments(version: str, *, deleting: bool) -> list[str]:
    """The fixtures, as ``world/moment``, in which the object is being deleted or not."""
    return [name for name, found in _every(version) if ("deletionTimestamp" in found["object"]["metadata"]) is deleting]


def uuids(version: str) -> frozenset[str]:
    """The identities of all objects of the fixtures."""
    texts = (found["object"]["metadata"]["annotations"][names.JOURNAL_ANNOTATION] for _, found in _every(version))
    return frozenset(journals.loads(text).owner.uuid for text in texts)


def load(
    version: str,
    fixture: str,
    *,
    api_key: str = "",
    ring: KeyRing | None = None,
    port: Callable[[], Port] = InlinePort,
) -> Harness:
    """Today's operator, just started, with the fixture of that moment."""
    world, _, moment = fixture.partition("/")
    found = json.loads(_texts(version, world)[moment])
    settings = Settings(assumptions=_ASSUMPTIONS[world])
    settings = replace(settings, api_key=api_key or settings.api_key)
    harness = Harness(settings=settings, port=port)
    if ring is not None:
        harness.rings.ring = ring
    put(harness, found["object"], found["world"], found["time"])
    return harness


def put(harness: Harness, raw: dict[str, Any], world: dict[str, Any], time: float) -> None:
    """This object in this world at this time."""
    harness.clock.jump(time - harness.clock.now())
    harness.cloud.world.data = world
    harness.object.raw = raw
