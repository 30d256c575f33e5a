"""The reconcile of a provider's object that is deleted with ``deletionPolicy: Remove``: its tags go before it does.

It needs no ``CloudMetadata``: what was written for it is on record (docs/reference/metadata-compat.md A24).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from freehold.api import names
from freehold.controllers.controller import Done, RequeueAfter, Result
from freehold.controllers.events import Severity
from freehold.engine.journal import StaleObject
from freehold.kube import errors as kube
from freehold.kube.resources import Key
from freehold.operator.metadata.means import (
    CONFLICT_SECONDS,
    GRANTS_UNKNOWN,
    OBJECTS_UNKNOWN,
    SLOW_SECONDS,
    SOON_SECONDS,
    UNKNOWN_SECONDS,
    Means,
)
from freehold.operator.metadata.one_pass import RemovalPass
from freehold.operator.metadata.places import Region
from freehold.operator.metadata.record import RecordKeyMissing
from freehold.operator.metadata.speaking import Referred
from freehold.operator.metadata.telling import tell_provider, tell_unreferred
from freehold.operator.metadata.trouble import Trouble
from freehold.reconcilers.metadata.clusters import cluster_keys
from freehold.reconcilers.metadata.demand import Deletion, claimant_of, deletion_of, place_of
from freehold.reconcilers.metadata.granting import removal_granted
from freehold.reconcilers.metadata.outcome import Outcome
from freehold.reconcilers.metadata.references import Provider, Reference, Refused
from freehold.reconcilers.metadata.writer import writer_of
from freehold.tagging.approval import RETAIN
from freehold.tagging.conflicts import Claim

_ADVICE: Final = f"or {RETAIN}"

LATE_SECONDS: Final = 60.0
"""After which a write that was under way, in another process too, has taken effect: it is not sent after 30 s."""


@dataclass(frozen=True)
class Late:
    """A write for the object may still take effect: what is removed before that comes back."""

    seconds: float


class TagRemoval:
    """Of the objects of one kind."""

    def __init__(self, means: Means, kind: str) -> None:
        self._means = means
        self._kind = kind
        self._trouble = Trouble()
        self._since: dict[Reference, float] = {}
        """When a deletion was first looked at."""

    async def reconcile(self, key: Key) -> Result:
        """One pass. Raises KubeError, RingError and what is a defect."""
        reference = Reference(self._kind, *key)
        async with self._means.alone(reference):
            provider = await self._means.provider(reference)
            if provider is None:
                return Done()
            try:
                if not provider.is_going:
                    await self._means.hold(provider)  # with or without a CloudMetadata
                    if await tell_unreferred(self._means, provider) is Referred.UNKNOWN:
                        return RequeueAfter(UNKNOWN_SECONDS, at_rest=True)
                if not provider.is_going or names.TAGS_FINALIZER not in provider.finalizers:
                    return Done()
                result = await self._remove(provider)
            except (StaleObject, kube.KubeError) as problem:
                return await self._troubled(provider, problem)
            self._trouble.over("", reference)
            return result

    async def _troubled(self, provider: Provider, problem: StaleObject | kube.KubeError) -> Result:
        if told := self._trouble.told("", provider.reference, problem):
            await tell_provider(self._means, provider, replace(told, message=f"{told.message}; {_ADVICE}"))
            return RequeueAfter(SLOW_SECONDS, at_rest=True)
        if isinstance(problem, StaleObject | kube.Conflict):
            return RequeueAfter(CONFLICT_SECONDS)
        raise problem

    async def _remove(self, provider: Provider) -> Result:
        writer = writer_of(provider, self._means.rings.ring)
        if deletion_of(provider) is Deletion.RETAIN:
            return await self._let_go(provider)
        outcome = await self._work(provider, writer.uid)
        if isinstance(outcome, Late):
            return RequeueAfter(outcome.seconds)
        if isinstance(outcome, Outcome) and outcome.is_complete:
            for note in outcome.notes:
                self._means.recorder.record(dict(provider.raw), Severity.WARNING, "TagKept", note.message)
            return await self._let_go(provider)
        await tell_provider(self._means, provider, outcome)
        if isinstance(outcome, Refused):
            return RequeueAfter(UNKNOWN_SECONDS if outcome is OBJECTS_UNKNOWN else SLOW_SECONDS, at_rest=True)
        return RequeueAfter(max(outcome.wait or 0.0, SOON_SECONDS) if outcome.later else SLOW_SECONDS)

    async def _work(self, provider: Provider, writer: str) -> Outcome | Refused | Late:
        means, ring = self._means, self._means.rings.ring
        try:
            known = await means.load(provider, ring)
        except RecordKeyMissing as problem:
            means.rings.missed()
            return Refused(names.REASON_KEY_MISSING, f"{problem}; {_ADVICE}")
        if known.lost:
            message = "part of the record of what was written is lost: tags that it does not name stay"
            means.recorder.record(dict(provider.raw), Severity.WARNING, "RecordLost", message)
        if not known.written_for(writer):
            return Outcome(selected=0)
        grants = means.grants()
        if grants is None:
            return GRANTS_UNKNOWN
        place = place_of(provider, means.defaults)
        if isinstance(place, Refused):
            return Refused(place.reason, f"{place.message}; {_ADVICE}")
        places = await means.accounts.at(place, str(provider.reference))
        if isinstance(places, Refused):
            return Refused(places.reason, f"{places.message}; {_ADVICE}")
        accounts = [each.account for each in places if not isinstance(each, Region)]
        allowed = removal_granted(grants, provider.reference.namespace, accounts, provider.cloud)
        if isinstance(allowed, Refused):
            return Refused(allowed.reason, f"{allowed.message}; {_ADVICE}")
        now = means.clock.monotonic()
        late = self._since.setdefault(provider.reference, now) + LATE_SECONDS - now
        if late > 0 and known.is_open_for(writer):
            return Late(late)
        clusters = means.stored.clusters()
        if clusters is None or means.stored.providers() is None:
            return OBJECTS_UNKNOWN
        work = RemovalPass(
            going=Claim(claimant_of(provider, writer), {}),
            place=place,
            others=means.demands(ring, grants, provider),
            clusters=cluster_keys(clusters),
            granted=allowed.allows_key,
            work=means.work(provider, ring, grants),
        )
        return await work.run(places, known)

    async def _let_go(self, provider: Provider) -> Result:
        self._since.pop(provider.reference, None)
        await self._means.release(provider)
        return Done()
