"""The reconcile of a provider's object: it says where nothing refers to it, and its tags go before it does.

With ``deletionPolicy: Remove`` what was written for it is taken off when it is deleted. That needs no
``CloudMetadata``: it is on record (docs/reference/metadata-compat.md A24).
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
from freehold.tags.context import (
    GRANTS_UNKNOWN,
    OBJECTS_UNKNOWN,
    SLOW_SECONDS,
    SOON_SECONDS,
    UNKNOWN_SECONDS,
    Context,
    refusal_of_api_server,
)
from freehold.tags.find_and_plan import WrittenFor
from freehold.tags.ledger_store import LedgerKeyMissing
from freehold.tags.policy.approval import RETAIN
from freehold.tags.policy.cluster_keys import cluster_keys
from freehold.tags.policy.grants import check_removal_grant
from freehold.tags.policy.ledger_identity import writer_of
from freehold.tags.policy.outcome import Outcome
from freehold.tags.policy.precedence import Claim
from freehold.tags.policy.references import ProviderObject, Reference, Refused
from freehold.tags.policy.tag_request import Deletion, claimant_of, deletion_of, place_of
from freehold.tags.status_writer import write_of_provider, write_unreferred
from freehold.tags.tag_endpoint import UnreachableRegion

LATE_SECONDS: Final = 60.0
"""After which a write that was under way, in another process too, has taken effect: it is not sent after 30 s."""


@dataclass(frozen=True)
class Late:
    """A write for the object may still take effect: what is removed before that comes back."""

    seconds: float


class ProviderReconciler:
    """Reconciles the providers' objects of one kind."""

    def __init__(self, context: Context, kind: str) -> None:
        self._context = context
        self._kind = kind
        self._since: dict[Reference, float] = {}
        """When a deletion was first looked at."""

    async def reconcile(self, key: Key) -> Result:
        """Do one pass. Raises KubeError, RingError and what is a defect."""
        reference = Reference(self._kind, *key)
        async with self._context.alone(reference):
            provider = await self._context.provider(reference)
            if provider is None:
                return Done()
            try:
                return await (self._remove(provider) if provider.is_going else self._stay(provider))
            except StaleObject as problem:
                raise kube.Conflict(str(problem)) from problem
            except kube.KubeError as problem:
                if refused := refusal_of_api_server(problem):
                    return await self._wait(provider, refused)
                raise

    async def _stay(self, provider: ProviderObject) -> Result:
        context, reference = self._context, provider.reference
        await context.hold(provider)  # with or without a CloudMetadata
        grants = context.grants()
        if grants is None or not context.stored.knows_clouds():
            return RequeueAfter(UNKNOWN_SECONDS, at_rest=True)
        if context.namespace and any(reference.namespace in each.spec.references for each in grants.readable):
            return Done()  # perhaps a namespace that another operator serves refers to it
        if next(context.referring(reference, grants), None) is None:
            await write_unreferred(context, provider)
        return Done()

    async def _remove(self, provider: ProviderObject) -> Result:
        if names.TAGS_FINALIZER not in provider.finalizers:
            return Done()
        writer = writer_of(provider, self._context.rings.ring)
        if deletion_of(provider) is Deletion.RETAIN:
            return await self._let_go(provider)
        outcome = await self._work(provider, writer.uid)
        if isinstance(outcome, Late):
            return RequeueAfter(outcome.seconds)
        if isinstance(outcome, Outcome) and outcome.is_complete:
            for note in outcome.notes:
                self._context.recorder.record(dict(provider.raw), Severity.WARNING, "TagKept", note.message)
            return await self._let_go(provider)
        return await self._wait(provider, outcome)

    async def _wait(self, provider: ProviderObject, outcome: Outcome | Refused) -> Result:
        if isinstance(outcome, Refused):
            advised = replace(outcome, message=f"{outcome.message}; or {RETAIN}") if provider.is_going else outcome
            await write_of_provider(self._context, provider, advised)
            return RequeueAfter(UNKNOWN_SECONDS if outcome is OBJECTS_UNKNOWN else SLOW_SECONDS, at_rest=True)
        await write_of_provider(self._context, provider, outcome)
        return RequeueAfter(max(outcome.wait or 0.0, SOON_SECONDS) if outcome.later else SLOW_SECONDS)

    async def _work(self, provider: ProviderObject, writer: str) -> Outcome | Refused | Late:
        context, ring = self._context, self._context.rings.ring
        try:
            known = await context.load(provider, ring)
        except LedgerKeyMissing as problem:
            context.rings.report_missing_key()
            return Refused(names.REASON_KEY_MISSING, str(problem))
        if known.lost:
            message = "part of the record of what was written cannot be read: tags that it had stay"
            context.recorder.record(dict(provider.raw), Severity.WARNING, "RecordLost", message)
        if not known.written_for(writer):
            return Outcome(selected=0)
        grants = context.grants()
        if grants is None:
            return GRANTS_UNKNOWN
        place = place_of(provider, context.defaults)
        if isinstance(place, Refused):
            return place
        endpoints = await context.accounts.find_endpoints(place, str(provider.reference))
        if isinstance(endpoints, Refused):
            return endpoints
        accounts = [each.account for each in endpoints if not isinstance(each, UnreachableRegion)]
        allowed = check_removal_grant(grants, provider.reference.namespace, accounts, provider.cloud)
        if isinstance(allowed, Refused):
            return allowed
        now = context.clock.monotonic()
        late = self._since.setdefault(provider.reference, now) + LATE_SECONDS - now
        if late > 0 and known.is_open_for(writer):
            return Late(late)
        clusters = context.stored.clusters()
        if clusters is None or context.stored.providers() is None:
            return OBJECTS_UNKNOWN
        written = WrittenFor(
            Claim(claimant_of(provider, writer), {}),
            place,
            context.requests(ring, grants, provider),
            cluster_keys(clusters),
            allowed.allows_key,
            context.configuration.ignored,
        )
        return await context.tag_pass(written, provider, ring, grants).run(endpoints, known)

    async def _let_go(self, provider: ProviderObject) -> Result:
        self._since.pop(provider.reference, None)
        await self._context.release(provider)
        return Done()
