"""Shard keeper: holds this replica's part of the shards, each of them a Lease, and hands over what is too much.

Each replica renews a Lease of its own, its membership, and lists all Leases of the namespace: Kubernetes keeps all
state. A shard is handed over once nothing of it is in hand. One that is lost in another way ends the process, as the
only Lease does (ADR 28).
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from freehold.controllers.leadership import lease as leases
from freehold.controllers.leadership.elector import REQUEST_SECONDS, Claim, LeaseStore
from freehold.controllers.leadership.interface import LeadershipLost
from freehold.controllers.leadership.lease import LEASES, Observation
from freehold.controllers.leadership.shards import find_shard, find_share
from freehold.controllers.observers import Standing
from freehold.kube.errors import KubeError
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource, key_of

_LOG = logging.getLogger(__name__)

MEMBER_LABEL = "freehold.dev/member"
SHARDS_LABEL = "freehold.dev/shards"
"""On a membership: into how many shards this replica divides the objects."""
GONE_SECONDS = 600.0
"""Seconds after which the Lease of a member that has not renewed it is deleted."""


class ListedLeases(LeaseStore, Protocol):
    """The part of a client of the API server that is used here."""

    async def list(self, resource: Resource, namespace: str = "") -> ObjectList: ...

    async def delete(self, resource: Resource, key: Key, *, resource_version: str = "") -> Json: ...


async def _drain_nothing(shard: int) -> None:
    """Wait for nothing: no work has begun."""


class ShardKeeper:
    """The shards of this replica (interface.Leadership).

    ``on_taken`` is called with a shard that this replica serves from now on. ``drain`` waits until nothing of a shard
    is in hand and forgets its objects; none of them is begun meanwhile.
    """

    def __init__(
        self,
        store: ListedLeases,
        namespace: str,
        identity: str,
        shards: int,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._namespace, self._identity, self._monotonic = store, namespace, identity, monotonic
        self._claims = [
            Claim(store, Key(namespace, f"{leases.NAME}-shard-{number}"), identity, monotonic=monotonic)
            for number in range(shards)
        ]
        name = f"{leases.NAME}-member-{identity.rpartition('_')[2]}"
        self._member = Claim(
            store,
            Key(namespace, name),
            identity,
            labels={MEMBER_LABEL: "true", SHARDS_LABEL: str(shards)},
            monotonic=monotonic,
        )
        self._due: dict[Claim, float] = {}
        self._members: dict[Key, Observation] = {}
        self._strangers: dict[Key, Observation] = {}
        """Members that divide the objects differently, and all Leases but those of members."""
        self._held: frozenset[int] = frozenset()
        self._leaving: frozenset[int] = frozenset()
        self._handing_over: set[asyncio.Task[None]] = set()
        self._retires = False
        self._elected = asyncio.Event()
        self.on_taken: Callable[[int], None] = lambda shard: None
        self.drain: Callable[[int], Awaitable[None]] = _drain_nothing
        self.on_standing: Callable[[Standing], None] = lambda standing: None

    # --- what is held --------------------------------------------------------------------------

    def holds(self, uid: str) -> bool:
        number = find_shard(uid, len(self._claims))
        return number in self._held and number not in self._leaving and self._claims[number].remaining() > 0

    def remaining(self) -> float:
        """Return the seconds for which every held shard is certain: a port does not know of which one a call is."""
        return min((self._claims[number].remaining() for number in self._held), default=0.0)

    def held_share(self) -> float:
        return len(self._held) / len(self._claims)

    def read_standing(self) -> Standing:
        """Return the standing, for those who look on."""
        return Standing(self.remaining() > 0, len(self._held), len(self._claims), self.held_share())

    # --- running -------------------------------------------------------------------------------

    async def wait_until_elected(self) -> None:
        """Wait until this replica holds a shard."""
        await self._elected.wait()

    async def run(self) -> None:
        """Keep this replica's part until cancelled. Raises LeadershipLost, and what a drain raises."""
        await self._renew()  # the others know of this replica before it takes anything
        while True:
            await asyncio.sleep(leases.RETRY_SECONDS)
            self._require_held()
            await self._renew()
            self._require_held()
            await self._look_around()

    def retire(self) -> None:
        """Take nothing new: this process is about to end."""
        self._retires = True

    async def release(self) -> None:
        """Leave: the others divide what this replica gives back."""
        for task in self._handing_over:
            task.cancel()
        held, self._held = self._held, frozenset()
        await self._forget_member()
        await asyncio.gather(*(self._claims[number].release() for number in held))

    def _require_held(self) -> None:
        for number in self._held:
            claim = self._claims[number]
            if not claim.remaining():
                why = f"{claim.holder} holds it now" if claim.is_anothers else claim.problem or "it ran out"
                raise LeadershipLost(
                    f"this process serves nothing any more, for Lease {claim.key} is lost: {why}. It ends, and is to "
                    "be started anew"
                )
        for task in [each for each in self._handing_over if each.done()]:
            self._handing_over.discard(task)
            task.result()  # a defect of the drain

    async def _renew(self) -> None:
        """Renew what is due, all of it at a time."""
        now = self._monotonic()
        claims = [self._member, *(self._claims[number] for number in self._held)]
        await asyncio.gather(*(self._attempt(claim) for claim in claims if self._due.get(claim, -math.inf) <= now))

    async def _attempt(self, claim: Claim) -> None:
        begun = self._monotonic()
        self._due[claim] = begun + await claim.attempt()

    # --- the fair part -------------------------------------------------------------------------

    async def _look_around(self) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                stored = {key_of(each): each for each in (await self._store.list(LEASES, self._namespace)).items}
        except (KubeError, TimeoutError) as problem:
            _LOG.debug("the Leases of %s cannot be listed: %s", self._namespace, problem)
            return
        for number, claim in enumerate(self._claims):
            if number not in self._held:
                claim.note(stored.get(claim.key))
        self._note_members(stored)
        if self._retires:
            return
        await self._sweep_members(stored)
        if other := self._find_other_division():
            _LOG.debug("%s divides the objects differently; this process takes nothing until it has ended", other)
            return
        share = find_share(self._count_held(), self._identity, len(self._claims))
        await self._take_up_to(share)
        self._hand_over_down_to(share)

    def _note_members(self, stored: dict[Key, Json]) -> None:
        now, before = self._monotonic(), {**self._strangers, **self._members}
        self._members, self._strangers = {}, {}
        for key, each in stored.items():
            labels = each["metadata"].get("labels") or {}
            ours = MEMBER_LABEL in labels and labels.get(SHARDS_LABEL) == str(len(self._claims))
            known = self._members if ours else self._strangers
            known[key] = leases.observe(before.get(key), leases.read_record(each), now)

    def _find_other_division(self) -> str:
        """Return who serves shards of another number now; empty if nobody does. It may serve the same objects."""
        now = self._monotonic()
        living = {key: each.record.holder for key, each in self._strangers.items() if leases.find_wait(each, "", now)}
        if leader := living.get(Key(self._namespace, leases.NAME)):
            return leader
        others = {holder for key, holder in living.items() if key.name.startswith(f"{leases.NAME}-member-")}
        return next((each for key, each in living.items() if each in others and "-shard-" in key.name), "")

    def _count_held(self) -> dict[str, int]:
        """Count the shards of each living member."""
        now = self._monotonic()
        living = {each.record.holder for each in self._members.values() if leases.find_wait(each, "", now)}
        holders = Counter(
            claim.holder for number, claim in enumerate(self._claims) if number not in self._held and claim.find_wait()
        )
        found = {each: holders[each] for each in living if each}
        return {**found, self._identity: len(self._held)}

    async def _take_up_to(self, share: int) -> None:
        for number, claim in enumerate(self._claims):
            if len(self._held) - len(self._leaving) >= share:
                return
            if number in self._held or claim.find_wait():
                continue
            await self._attempt(claim)
            if claim.remaining():
                self._held |= {number}
                _LOG.info("this process serves shard %d of %d", number, len(self._claims))
                self._elected.set()
                self.on_taken(number)
                self.on_standing(self.read_standing())

    def _hand_over_down_to(self, share: int) -> None:
        """Hand over the highest numbers: shard 0, with what only one replica does, moves only when its holder ends."""
        staying = sorted(self._held - self._leaving)
        for number in staying[share:]:
            self._leaving |= {number}
            self._handing_over.add(asyncio.create_task(self._hand_over(number)))

    async def _hand_over(self, number: int) -> None:
        await self.drain(number)
        self._held, self._leaving = self._held - {number}, self._leaving - {number}
        await self._claims[number].release()
        _LOG.info("this process has handed over shard %d of %d", number, len(self._claims))
        self.on_standing(self.read_standing())

    async def _sweep_members(self, stored: dict[Key, Json]) -> None:
        """Delete the membership of replicas that were killed. The holder of shard 0 does it."""
        if 0 not in self._held:
            return
        for key, each in self._members.items():
            if self._monotonic() - each.since > GONE_SECONDS:
                with suppress(KubeError):
                    version = str(stored[key]["metadata"]["resourceVersion"])
                    await self._store.delete(LEASES, key, resource_version=version)

    async def _forget_member(self) -> None:
        with suppress(KubeError, TimeoutError):
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._store.delete(LEASES, self._member.key)
