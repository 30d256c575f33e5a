"""The interface of a cloud in the conformance suite, and the list of clouds: a new one is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.engine.clock import ManualClock
from freehold.engine.kinds import Registry
from freehold.engine.resources import NodeKey, Observed, ParentResource, Ref, State, Want
from harness.account import Recognised

HOUR = 3600.0
STEP = 1.0

Request = dict[str, Any]
Bench = Any
"""One simulated account; :class:`conformance.ibm.IbmBench` is an example."""


def place_of(kind: str, seen: Observed) -> ParentResource:
    return ParentResource(kind, Ref(seen.id, seen.target))


def has_birth_mark(seen: Observed, nonce: str) -> bool:
    """Whether the nonce of a create is in a name of what it made, or in a tag that it was born with."""
    return any(nonce in text for text in (*seen.nonce_fields, *(seen.tags or ())))


class Verbs:
    """What a test does with the resources of an account, by the verbs of their kinds. ``stands`` are made already."""

    kinds: Registry
    clock: ManualClock
    stands: dict[str, Observed]

    async def look(self, kind: str, seen: Observed) -> Observed | None:
        """Read one by its id."""
        return (await self.kinds[kind].driver.observe([Ref(seen.id, seen.target)])).get(seen.id)

    async def find(self, kind: str, request: Mapping[str, Any], *nonces: str) -> list[Observed]:
        want = self.want(kind, request, *nonces)
        return list((await self.kinds[kind].driver.find([want]))[want.key])

    def want(self, kind: str, request: Mapping[str, Any], *nonces: str) -> Want:
        return Want(NodeKey(kind, "main"), str(request["name"]), request, Recognised(*nonces))

    async def by_nonce(self, kind: str, places: Sequence[ParentResource], nonce: str, *wants: Want) -> list[Observed]:
        return list(await self.kinds[kind].driver.by_nonce(places, wants, Recognised(nonce)))

    def places(self, *without: str) -> list[ParentResource]:
        return [place_of(kind, seen) for kind, seen in self.stands.items() if kind not in without]

    async def ready(self, kind: str, made: Observed) -> Observed:
        return (await self.until(kind, made, State.READY))[0]

    async def until(self, kind: str, seen: Observed, wanted: State | None) -> tuple[Observed, float]:
        """Let the declared time pass, and more until the state is ``wanted`` (None: gone); the last read, how late."""
        entry = self.kinds[kind]
        self.clock.advance(entry.deletion.usual_time if wanted is None else entry.creation.usual_time)
        start = self.clock.now()
        while self.clock.now() - start < HOUR:
            now = await self.look(kind, seen)
            if (now.state if now else None) is wanted:
                return now or seen, self.clock.now() - start
            self.clock.advance(STEP)
        raise AssertionError(f"{kind} {seen.id} was not {wanted} within an hour")


@dataclass(frozen=True)
class CloudUnderTest:
    """``homes``: the kinds that are created inside another resource, and the kind of that resource.

    ``bench`` makes a fresh account, ``lagging`` one whose lists are that many seconds behind and step back,
    ``small_pages`` one whose lists have one item a page.
    """

    kinds: Registry
    homes: Mapping[str, str]
    bench: Callable[..., Bench]
    lagging: Callable[[float], Bench]
    small_pages: Callable[[], Bench]
