"""One reconcile of a ``CloudMetadata``: reads it and what it refers to, works on the tags, and writes the statuses.

Level-triggered, without journal and graph: these objects own nothing. Ready never stops it, and neither does a failure
(docs/reference/metadata-compat.md A16).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from freehold.api import names
from freehold.controllers.controller import Done, RequeueAfter, Result
from freehold.engine.journal import StaleObject
from freehold.engine.keys import KeyRing
from freehold.kube import errors as kube
from freehold.kube.resources import Json, Key, key_of
from freehold.tags.context import (
    CLOUD_METADATAS,
    GRANTS_UNKNOWN,
    OBJECTS_UNKNOWN,
    SLOW_SECONDS,
    UNKNOWN_SECONDS,
    Context,
    refusal_of_api_server,
)
from freehold.tags.find_and_plan import ClassifiedFleet, Endpoints, PassMemory
from freehold.tags.ledger_store import LedgerKeyMissing, StoredLedger
from freehold.tags.policy.cluster_keys import cluster_keys
from freehold.tags.policy.grants import Grants, check_grants
from freehold.tags.policy.ledger_identity import key_of_annotation, writer_of
from freehold.tags.policy.references import ProviderObject, Reference, Refused, references_of
from freehold.tags.policy.status import APPLIED, READY, has_observed
from freehold.tags.policy.sync_period import retry_after, with_jitter
from freehold.tags.policy.tag_request import TagRequest, TagScope
from freehold.tags.status_writer import ProviderResult, write_applying, write_statuses
from freehold.tags.tag_endpoint import UnreachableRegion
from freehold.tags.tag_pass import TagPass

INDEX_SECONDS: Final = 60.0
"""After which the index of a cloud shows a new resource. No vendor says how long that takes."""


@dataclass(frozen=True)
class Prepared:
    """A pass that may go, with where it goes and the ledger. ``granted``: by which grants, for people."""

    work: TagPass
    endpoints: Endpoints
    known: StoredLedger
    granted: str


class CloudReconciler:
    """Reconciles ``CloudMetadata`` objects, one at a time for each."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._memory: dict[tuple[Key, Reference], PassMemory] = {}
        self._periods: dict[Key, float] = {}
        self._accounts: dict[TagScope, frozenset[str]] = {}
        self._referred: dict[Key, tuple[Reference, ...]] = {}
        """The objects to which each CloudMetadata referred in its last pass."""

    async def reconcile(self, key: Key) -> Result:
        """Do one pass. Raises KubeError, RingError and what is a defect."""
        context = self._context
        cloud = await context.get(CLOUD_METADATAS, key)
        if cloud is None or "deletionTimestamp" in cloud["metadata"]:
            for known in [each for each in self._memory if each[0] == key]:
                del self._memory[known]
            context.hooks.passed(key, None)
            self._refer(key, ())
            return Done()  # its tags stay (docs/reference/metadata-compat.md A24)
        references = references_of(cloud)
        if isinstance(references, Refused):
            self._refer(key, ())
            context.hooks.passed(key, [references])
            await write_statuses(context, cloud, (), references)
            return RequeueAfter(SLOW_SECONDS, at_rest=True)
        self._refer(key, references)
        parts = []
        for each in references:
            async with context.alone(each):
                parts.append(await self._pass(cloud, each))
        context.hooks.passed(key, [each.outcome for each in parts])
        await write_statuses(context, cloud, parts)
        return min((self._next(key, each) for each in parts), key=lambda each: each.seconds)

    def _refer(self, key: Key, references: tuple[Reference, ...]) -> None:
        """Wake what is not referred to any more: it says so itself."""
        for each in set(self._referred.pop(key, ())) - set(references):
            self._context.wake(each)
        if references:
            self._referred[key] = references

    async def _pass(self, cloud: Json, reference: Reference) -> ProviderResult:
        """Work for one provider's object. What the API server refuses for good is told."""
        if refused := self._context.refuse_unserved(reference.kind):
            return ProviderResult(reference, None, refused)
        provider = await self._context.provider(reference)
        if refused := self._context.refuse_filtered(provider):
            return ProviderResult(reference, None, refused)
        try:
            prepared = await self._prepare(cloud, reference, provider)
            if isinstance(prepared, Refused):
                return ProviderResult(reference, provider, prepared)
            outcome = await prepared.work.run(prepared.endpoints, prepared.known)
        except StaleObject as problem:
            raise kube.Conflict(str(problem)) from problem
        except kube.KubeError as problem:
            if refused := refusal_of_api_server(problem):
                return ProviderResult(reference, provider, refused)
            raise
        memory = self._memory[key_of(cloud), reference]
        memory.refused = memory.refused | outcome.refused if outcome.failed else frozenset()
        return ProviderResult(reference, provider, replace(outcome, granted=prepared.granted))

    async def _prepare(self, cloud: Json, reference: Reference, provider: ProviderObject | None) -> Prepared | Refused:
        """Find out whether there may be a pass, and all that it takes."""
        context, ring = self._context, self._context.rings.ring
        grants = context.grants()
        if grants is None:
            return GRANTS_UNKNOWN
        if context.stored.clusters() is None or context.stored.providers() is None:
            return OBJECTS_UNKNOWN
        request = context.request(cloud, reference, provider, ring, grants)
        if isinstance(request, Refused):
            return request
        assert provider is not None, "a request has tags"
        self._periods[key_of(cloud)] = request.period
        memory = await self._begin(cloud, reference, provider)
        endpoints = await context.accounts.find_endpoints(request.place, request.selector.name)
        if isinstance(endpoints, Refused):
            self._accounts.pop(request.place, None)  # what it asks for must not keep others from acting
            return endpoints
        accounts = self._accounts[request.place] = _accounts(endpoints)
        allowed = check_grants(grants, str(cloud["metadata"]["namespace"]), request, accounts)
        if isinstance(allowed, Refused):
            return allowed
        if key_of_annotation(provider) not in ("", ring.writing):  # so that the earlier key can be taken out
            await context.sign(provider, ring)
        await context.hold(provider)
        try:
            known = await context.load(provider, ring)
        except LedgerKeyMissing as problem:
            context.rings.report_missing_key()
            return Refused(names.REASON_KEY_MISSING, str(problem))
        if not writer_of(provider, ring).begun and known.written_for(request.claim.claimant.uid):
            await context.sign(provider, ring)  # somebody took the annotation off
        others = await self._others(request, ring, grants, provider)
        clusters = context.stored.clusters()
        if clusters is None or context.stored.providers() is None:
            return OBJECTS_UNKNOWN
        ignored = context.configuration.ignored
        fleet = ClassifiedFleet(request, others, cluster_keys(clusters), allowed.allows_key, ignored, memory)
        work = context.tag_pass(fleet, provider, ring, grants, cloud, memory)
        return Prepared(work, endpoints, known, allowed.message)

    async def _begin(self, cloud: Json, reference: Reference, provider: ProviderObject) -> PassMemory:
        """Say that Ready is false from before the first call for a new generation, of either object, until it is so."""
        memory = self._memory.setdefault((key_of(cloud), reference), PassMemory())
        metadata = provider.raw["metadata"]
        version = str(metadata["uid"]), int(metadata.get("generation", 0))
        known = has_observed(provider.raw, APPLIED) if memory.version is None else memory.version == version
        if not (known and has_observed(cloud, READY)):
            await write_applying(self._context, cloud, provider)
            memory.indexed_at = self._context.clock.monotonic() + INDEX_SECONDS
        memory.version = version
        return memory

    async def _others(
        self, acting: TagRequest, ring: KeyRing, grants: Grants, newest: ProviderObject
    ) -> list[TagRequest]:
        """List every other request. One whose identity cannot be used never acts."""
        found: list[TagRequest] = []
        for each in self._context.requests(ring, grants, newest):
            if (each.selector, each.claim.claimant.uid) == (acting.selector, acting.claim.claimant.uid):
                continue
            accounts = await self._accounts_of(each, acting)
            if accounts is not None:
                found.append(replace(each, accounts=accounts))
        return found

    async def _accounts_of(self, other: TagRequest, acting: TagRequest) -> frozenset[str] | None:
        """Find where it acts, empty where that cannot be told; None where it cannot act at all."""
        if other.place not in self._accounts:
            if _is_same_caller(other.place, acting.place):
                return frozenset()
            endpoints = await self._context.accounts.find_endpoints(other.place, other.selector.name)
            if isinstance(endpoints, Refused):
                return None
            self._accounts[other.place] = _accounts(endpoints)
        return self._accounts[other.place]

    # -- when again ---------------------------------------------------------------------------------------------

    def _next(self, key: Key, part: ProviderResult) -> RequeueAfter:
        """Soon where something is to be tried again; each time twice as late while no pass comes to anything."""
        outcome = part.outcome
        if outcome is OBJECTS_UNKNOWN:
            return RequeueAfter(UNKNOWN_SECONDS, at_rest=True)  # no object wakes it when the watch works again
        if isinstance(outcome, Refused):
            return RequeueAfter(SLOW_SECONDS, at_rest=True)  # what it refers to wakes it sooner
        period = with_jitter(self._periods[key], self._context.fraction())
        memory = self._memory[key, part.reference]
        if not outcome.is_passing:
            memory.retries = 0
            return RequeueAfter(min(period, self._until_indexed(memory)), at_rest=True)
        soon = retry_after(memory.retries)
        memory.retries = 0 if outcome.changed else memory.retries + 1
        return RequeueAfter(min(max(outcome.wait or 0.0, soon), period))

    def _until_indexed(self, memory: PassMemory) -> float:
        """Return the seconds until the index shows what was new with a generation: another look follows it."""
        left = math.inf if memory.indexed_at is None else memory.indexed_at - self._context.clock.monotonic()
        if left > 0:
            return left
        memory.indexed_at = None
        return math.inf


def _accounts(endpoints: Endpoints) -> frozenset[str]:
    return frozenset(each.account for each in endpoints if not isinstance(each, UnreachableRegion))


def _is_same_caller(one: TagScope, other: TagScope) -> bool:
    """Say whether both call with the same credentials, by the right of the same namespace."""
    return (one.namespace, one.identity, one.role, one.external_id) == (
        other.namespace, other.identity, other.role, other.external_id,
    )  # fmt: skip
