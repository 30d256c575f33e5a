"""One reconcile of a ``CloudMetadata``: reads it and what it refers to, works on the tags, and tells all of them.

Level-triggered, without journal and graph: these objects own nothing. Ready never stops it, and neither does a failure
(docs/reference/metadata-compat.md A16).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from freehold.api import names
from freehold.controllers.controller import Done, RequeueAfter, Result
from freehold.engine.journal import StaleObject
from freehold.engine.keys import KeyRing
from freehold.kube import errors as kube
from freehold.kube.resources import Json, Key, key_of
from freehold.operator.metadata.means import (
    CLOUD_METADATAS,
    CONFLICT_SECONDS,
    GRANTS_UNKNOWN,
    OBJECTS_UNKNOWN,
    SLOW_SECONDS,
    UNKNOWN_SECONDS,
    Means,
)
from freehold.operator.metadata.one_pass import PassMemory, TagPass
from freehold.operator.metadata.places import Region
from freehold.operator.metadata.record import RecordKeyMissing
from freehold.operator.metadata.speaking import Referred
from freehold.operator.metadata.telling import Part, tell, tell_applying, tell_unreferred
from freehold.operator.metadata.trouble import Trouble
from freehold.reconcilers.metadata.clusters import cluster_keys
from freehold.reconcilers.metadata.demand import Demand, Place
from freehold.reconcilers.metadata.granting import Grants, granted
from freehold.reconcilers.metadata.outcome import Outcome
from freehold.reconcilers.metadata.references import Provider, Reference, Refused, references_of
from freehold.reconcilers.metadata.status import APPLIED, READY, has_observed
from freehold.reconcilers.metadata.writer import Begun, key_of_annotation, writer_of
from freehold.tagging.sync_period import retry_after, with_jitter

INDEX_SECONDS: Final = 60.0
"""After which the index of a cloud shows a new resource. No vendor says how long that takes."""


class MetadataReconciler:
    """Reconciles ``CloudMetadata`` objects, one at a time for each."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._memory: dict[tuple[Key, Reference], PassMemory] = {}
        self._periods: dict[Key, float] = {}
        self._accounts: dict[Place, frozenset[str]] = {}
        self._trouble = Trouble()
        self._referred: dict[Key, frozenset[Reference]] = {}
        """The objects to which each CloudMetadata refers, and those that do not know yet that it does not any more."""

    async def reconcile(self, key: Key) -> Result:
        """One pass. Raises KubeError, RingError and what is a defect."""
        means = self._means
        cloud = await means.get(CLOUD_METADATAS, key)
        if cloud is None or "deletionTimestamp" in cloud["metadata"]:
            for known in [each for each in self._memory if each[0] == key]:
                del self._memory[known]
            means.observe(key, None)
            return await self._gone(key)  # its tags stay (docs/reference/metadata-compat.md A24)
        references = references_of(cloud)
        try:
            await self._give_up(key, () if isinstance(references, Refused) else references)
            if isinstance(references, Refused):
                means.observe(key, [references])
                await tell(means, cloud, (), references)
                return RequeueAfter(SLOW_SECONDS, at_rest=True)
            parts = [await self._part(cloud, each) for each in references]
            means.observe(key, [each.outcome for each in parts])
            await tell(means, cloud, parts)
        except (StaleObject, kube.Conflict):
            return RequeueAfter(CONFLICT_SECONDS)
        nexts = [self._next(key, each) for each in parts]
        return min(nexts, key=lambda each: each.seconds)

    async def _gone(self, key: Key) -> Result:
        try:
            await self._give_up(key, ())
        except kube.Conflict:
            return RequeueAfter(CONFLICT_SECONDS)
        return RequeueAfter(UNKNOWN_SECONDS, at_rest=True) if key in self._referred else Done()

    async def _give_up(self, key: Key, references: Collection[Reference]) -> None:
        """What it does not refer to any more says so itself, unless another one refers to it."""
        before = self._referred.pop(key, frozenset())
        left = self._referred[key] = before | set(references)
        for each in before - set(references):
            provider = await self._means.provider(each)
            if provider is None or await tell_unreferred(self._means, provider, key) is not Referred.UNKNOWN:
                left = self._referred[key] = left - {each}
        if not left:
            del self._referred[key]

    async def _part(self, cloud: Json, reference: Reference) -> Part:
        async with self._means.alone(reference):
            provider = await self._means.provider(reference)
            return Part(reference, provider, await self._permitted(cloud, reference, provider))

    async def _permitted(self, cloud: Json, reference: Reference, provider: Provider | None) -> Outcome | Refused:
        """What the operator may not do in the API server is told: no tag is written without its record."""
        subject = str(key_of(cloud))
        try:
            outcome = await self._work(cloud, reference, provider)
        except (StaleObject, kube.KubeError) as problem:
            told = self._trouble.told(subject, reference, problem)
            if told is None:
                raise
            return told
        self._trouble.over(subject, reference)
        if isinstance(outcome, Refused) and provider is not None:
            self._means.risks.tell(provider, cloud)
        return outcome

    async def _work(self, cloud: Json, reference: Reference, provider: Provider | None) -> Outcome | Refused:
        means, ring = self._means, self._means.rings.ring
        grants = means.grants()
        if grants is None:
            return GRANTS_UNKNOWN
        if means.stored.clusters() is None or means.stored.providers() is None:
            return OBJECTS_UNKNOWN
        demand = means.demand(cloud, reference, provider, ring, grants)
        if isinstance(demand, Refused):
            return demand
        assert provider is not None, "a demand has tags"
        self._periods[key_of(cloud)] = demand.period
        await self._begin(cloud, reference, provider)
        places = await means.accounts.at(demand.place, demand.selector.name)
        if isinstance(places, Refused):
            self._accounts.pop(demand.place, None)  # what it asks for must not keep others from acting
            return places
        accounts = frozenset(each.account for each in places if not isinstance(each, Region))
        self._accounts[demand.place] = accounts
        allowed = granted(grants, str(cloud["metadata"]["namespace"]), demand, accounts)
        if isinstance(allowed, Refused):
            return allowed
        await self._hold(provider, ring)
        try:
            known = await means.load(provider, ring)
        except RecordKeyMissing as problem:
            means.rings.missed()
            return Refused(names.REASON_KEY_MISSING, str(problem))
        unsigned = writer_of(provider, ring).begun is Begun.NOT_YET
        if unsigned and known.has_head and known.written_for(demand.claim.claimant.uid):
            await means.sign(provider, ring)  # somebody took the annotation off
        if means.stored.providers() is None:
            return OBJECTS_UNKNOWN
        others = await self._others(demand, ring, grants, provider)
        clusters = means.stored.clusters()
        if clusters is None:
            return OBJECTS_UNKNOWN
        work = TagPass(
            demand=demand,
            others=others,
            clusters=cluster_keys(clusters),
            granted=allowed.allows_key,
            memory=self._memory.setdefault((key_of(cloud), reference), PassMemory()),
            work=means.work(provider, ring, grants, cloud),
        )
        return replace(await work.run(places, known), granted=allowed.message)

    async def _begin(self, cloud: Json, reference: Reference, provider: Provider) -> None:
        """Ready is false from before the first call for a new generation, of either object, until it is done."""
        memory = self._memory.setdefault((key_of(cloud), reference), PassMemory())
        metadata = provider.raw["metadata"]
        version = str(metadata["uid"]), int(metadata.get("generation", 0))
        known = has_observed(provider.raw, APPLIED) if memory.version is None else memory.version == version
        if not (known and has_observed(cloud, READY)):
            await tell_applying(self._means, cloud, provider)
            memory.indexed_at = self._means.clock.monotonic() + INDEX_SECONDS
        memory.version = version

    async def _hold(self, provider: Provider, ring: KeyRing) -> None:
        """What an earlier key signed is signed again, so that this key can be taken out of the ring."""
        if key_of_annotation(provider) not in ("", ring.writing):
            await self._means.sign(provider, ring)
        await self._means.hold(provider)

    async def _others(self, acting: Demand, ring: KeyRing, grants: Grants, newest: Provider) -> list[Demand]:
        """Every other demand. One whose identity cannot be used never acts."""
        found: list[Demand] = []
        for each in self._means.demands(ring, grants, newest):
            same = (each.selector, each.claim.claimant.uid) == (acting.selector, acting.claim.claimant.uid)
            if same:
                continue
            accounts = await self._accounts_of(each, acting)
            if accounts is not None:
                found.append(replace(each, accounts=accounts))
        return found

    async def _accounts_of(self, other: Demand, acting: Demand) -> frozenset[str] | None:
        """Where it acts, empty where that cannot be told; None where it cannot act at all."""
        if other.place not in self._accounts:
            if _is_same_caller(other.place, acting.place):
                return frozenset()
            places = await self._means.accounts.at(other.place, other.selector.name)
            if isinstance(places, Refused):
                return None
            self._accounts[other.place] = frozenset(each.account for each in places if not isinstance(each, Region))
        return self._accounts[other.place]

    # -- when again ---------------------------------------------------------------------------------------------

    def _next(self, key: Key, part: Part) -> RequeueAfter:
        """Soon where something is to be tried again; each time twice as late while no pass comes to anything."""
        outcome = part.outcome
        if outcome is OBJECTS_UNKNOWN:
            return RequeueAfter(UNKNOWN_SECONDS, at_rest=True)  # no object wakes it when the watch works again
        if isinstance(outcome, Refused):
            return RequeueAfter(SLOW_SECONDS, at_rest=True)  # what it refers to wakes it sooner
        period = with_jitter(self._periods[key], self._means.fraction())
        memory = self._memory[key, part.reference]
        if not outcome.is_passing:
            memory.retries = 0
            return RequeueAfter(min(period, self._until_indexed(memory)), at_rest=True)
        soon = retry_after(memory.retries)
        memory.retries = 0 if outcome.changed else memory.retries + 1
        return RequeueAfter(min(max(outcome.wait or 0.0, soon), period))

    def _until_indexed(self, memory: PassMemory) -> float:
        """What is younger than the lag of an index is in no look before then: another one follows a new generation."""
        left = math.inf if memory.indexed_at is None else memory.indexed_at - self._means.clock.monotonic()
        if left > 0:
            return left
        memory.indexed_at = None
        return math.inf


def _is_same_caller(one: Place, other: Place) -> bool:
    """Say whether both call with the same credentials, by the right of the same namespace."""
    return (one.namespace, one.identity, one.role, one.external_id) == (
        other.namespace, other.identity, other.role, other.external_id,
    )  # fmt: skip
