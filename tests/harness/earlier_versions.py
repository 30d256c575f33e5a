"""Objects and worlds of earlier versions, loaded into today's harness.

The README of each version below tests/fixtures tells what wrote them, and when.
"""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from freehold.engine.port import InlinePort, Port
from freehold_sim.ibm.settings import Assumptions, Settings
from harness.powervs import Harness

FIXTURES = Path(__file__).parents[1] / "fixtures"
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


def load(version: str, fixture: str, *, port: Callable[[], Port] = InlinePort) -> Harness:
    """Today's operator, just started, with the fixture of that moment."""
    world, _, moment = fixture.partition("/")
    found = json.loads(_texts(version, world)[moment])
    harness = Harness(settings=Settings(assumptions=_ASSUMPTIONS[world]), port=port)
    harness.clock.jump(found["time"] - harness.clock.now())
    harness.cloud.world.data = found["world"]
    harness.object.raw = found["object"]
    return harness
