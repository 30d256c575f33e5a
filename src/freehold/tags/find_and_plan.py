"""The first two steps of a pass over tags: what the classifiers, or the ledger, find, and what is planned for it.

What is changed was read from its service in this pass; the index is a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from freehold.engine.errors import CloudError
from freehold.tags.ledger_store import StoredLedger
from freehold.tags.policy.applied_tags import add_kept_tags, next_active_list
from freehold.tags.policy.classifiers import Selection, find_released, queries, select
from freehold.tags.policy.cluster_keys import ClusterKeys
from freehold.tags.policy.ledger import Record
from freehold.tags.policy.outcome import Outcome
from freehold.tags.policy.plan import ResourcePlan
from freehold.tags.policy.plan_resources import Common, PlannedFleet, must_be_read, plan_fleet, plan_removal
from freehold.tags.policy.precedence import Claim
from freehold.tags.policy.protected import IgnoreList, KeyAccess, access
from freehold.tags.policy.resources import TaggedResource
from freehold.tags.policy.tag_request import TagRequest, TagScope
from freehold.tags.tag_endpoint import TagEndpoint, UnreachableRegion

Endpoints = Sequence[TagEndpoint | UnreachableRegion]


@dataclass
class PassMemory:
    """What one process remembers of an object between passes; losing it costs reads, never safety."""

    released: set[str] = field(default_factory=set)
    """Recorded resources that were read, and have lost their classifier."""
    refused: frozenset[str] = frozenset()
    """Resources of which a call was refused, since something was last refused at all: they go last."""
    retries: int = 0
    """Passes in a row that ended with something to try again, and wrote nothing."""
    version: tuple[str, int] | None = None
    """Uid and generation of the provider's object that a pass has begun with."""
    indexed_at: float | None = None
    """When the index shows what was there as a new generation came; None after a look since then."""


@dataclass(frozen=True)
class Planned:
    """``plans`` by resource, ``routes`` the endpoint of each; ``forgotten``: what the ledger need not have any more.

    ``outcome``: what is known before anything is written. ``wanted``: the tags that are to be there.
    """

    plans: Mapping[str, ResourcePlan]
    routes: Mapping[str, TagEndpoint]
    forgotten: Mapping[str, Record]
    outcome: Outcome
    wanted: Mapping[str, str] = field(default_factory=dict)


class Finder(Protocol):
    """What a pass is about."""

    async def find_and_plan(self, endpoints: Endpoints, known: StoredLedger) -> Planned:
        """Find, read and plan. Raises KubeError; what a cloud refuses is in the outcome."""
        ...


@dataclass(frozen=True)
class ClassifiedFleet:
    """Everything that the classifiers of a CloudMetadata select. ``granted``: whether its namespace may touch a key."""

    request: TagRequest
    others: Sequence[TagRequest]
    clusters: ClusterKeys
    granted: Callable[[str], bool]
    ignored: IgnoreList
    memory: PassMemory

    async def find_and_plan(self, endpoints: Endpoints, known: StoredLedger) -> Planned:
        asked, unasked = _divide_endpoints(endpoints)
        found = await self._find(asked, unasked)
        failed: dict[str, CloudError] = {}
        request = self._keeping([each for each, _ in found.values()], known)
        draft = self._plan(request, [each for each, _ in found.values()], known)
        doubtful = [
            ident
            for ident, plan in draft.plans.items()
            if must_be_read(plan, known.find_record(ident), found[ident][1].cost(ident), request.claim)
        ]
        read: dict[str, TaggedResource] = {}
        for endpoint in asked:
            read |= await _read(endpoint, [ident for ident in doubtful if found[ident][1] is endpoint], failed)
        differing = [each for each in read.values() if each != found[each.id][0]]
        fleet = draft.planned_anew({*failed, *(each.id for each in differing)}, self._plan(request, differing, known))
        forgotten = await self._look_for_released(asked, found, known)
        wanted = self._list_wanted_tags(request)
        outcome = Outcome(
            selected=len(fleet.plans),
            active=next_active_list(request, wanted, seen=bool(found) and not unasked),
            failed=failed,
            unasked=unasked,
            released=len(self.memory.released),
            exempt=fleet.exempt,
            lost=known.lost,
            plans=fleet.plans,
            period=self.request.period,
        )
        routes = {ident: endpoint for ident, (_, endpoint) in found.items()}
        return Planned(fleet.plans, routes, forgotten, outcome, wanted)

    async def _find(
        self, asked: list[TagEndpoint], unasked: dict[str, CloudError]
    ) -> dict[str, tuple[TaggedResource, TagEndpoint]]:
        """Ask the indexes. A region that does not answer is left out, and nothing follows from what is there."""
        found: dict[str, tuple[TaggedResource, TagEndpoint]] = {}
        for endpoint in list(asked):
            try:
                rows = [each for query in queries([self.request.classifiers]) for each in await endpoint.find(query)]
            except CloudError as error:
                unasked[endpoint.region or endpoint.account] = error
                asked.remove(endpoint)
                continue
            found |= {each.id: (each, endpoint) for each in rows}
        return found

    def _keeping(self, found: Sequence[TaggedResource], known: StoredLedger) -> TagRequest:
        selected = [each for each in found if select(self.request.classifiers, each) is Selection.SELECTED]
        return add_kept_tags(self.request, [(each, known.find_record(each.id)) for each in selected], self.ignored)

    async def _look_for_released(
        self, asked: Sequence[TagEndpoint], found: Collection[str], known: StoredLedger
    ) -> dict[str, Record]:
        """Read once what is recorded and the index does not show. The ledger forgets what has no tag any more."""
        self.memory.released.difference_update(found)
        recorded = known.written_for(self.request.claim.claimant.uid)
        unseen = [each for each in recorded if each not in found and each not in self.memory.released]
        now: dict[str, TaggedResource] = {}
        for endpoint in asked:
            now |= await _read(endpoint, [each for each in unseen if endpoint.holds(each, known.place(each))], {})
        self.memory.released.update(
            find_released(recorded, [each for each in now.values() if each.tags], self.request.classifiers)
        )
        return {ident: {} for ident, resource in now.items() if not resource.tags}

    def _list_wanted_tags(self, request: TagRequest) -> Mapping[str, str]:
        """Return what is to be there, without the keys that the operator is told to leave alone."""
        wanted = sorted({**(request.claim.kept or {}), **request.applied}.items())
        cloud = request.place.cloud
        return {key: value for key, value in wanted if access(cloud, key, self.ignored) is not KeyAccess.IGNORED}

    def _plan(self, request: TagRequest, resources: Iterable[TaggedResource], known: StoredLedger) -> PlannedFleet:
        return plan_fleet(
            resources, request, self.others, known.find_record, Common(self.ignored, self.clusters, self.granted)
        )


@dataclass(frozen=True)
class WrittenFor:
    """Everything that the ledger says was written for an object that goes (docs/reference/metadata-compat.md A24).

    ``going``: its claim, without wants.
    """

    going: Claim
    place: TagScope
    others: Sequence[TagRequest]
    clusters: ClusterKeys
    granted: Callable[[str], bool]
    ignored: IgnoreList

    async def find_and_plan(self, endpoints: Endpoints, known: StoredLedger) -> Planned:
        asked, unasked = _divide_endpoints(endpoints)
        recorded = known.written_for(self.going.claimant.uid)
        failed: dict[str, CloudError] = {}
        found: dict[str, TaggedResource] = {}
        routes: dict[str, TagEndpoint] = {}
        placed = {each for each in recorded if any(endpoint.holds(each, known.place(each)) for endpoint in asked)}
        for endpoint in asked:
            mine = [each for each in recorded if _may_hold(endpoint, each, known.place(each))]
            for ident, resource in (await _read(endpoint, mine, failed)).items():
                if resource.tags or ident not in found:
                    found[ident], routes[ident] = resource, endpoint
        there = [each for each in found.values() if each.tags and each.id not in failed]
        common = Common(self.ignored, self.clusters, self.granted)
        fleet = plan_removal(there, self.going, self.place, self.others, known.find_record, common)
        silent = [each for each in recorded if each not in fleet.plans and each not in failed]
        nowhere = () if unasked else tuple(each for each in silent if each not in placed)
        outcome = Outcome(selected=len(fleet.plans), failed=failed, unasked=unasked, nowhere=nowhere)
        return Planned(fleet.plans, routes, {each: {} for each in silent if each in placed}, outcome)


def _divide_endpoints(endpoints: Endpoints) -> tuple[list[TagEndpoint], dict[str, CloudError]]:
    unasked = {each.region: each.error for each in endpoints if isinstance(each, UnreachableRegion)}
    return [each for each in endpoints if not isinstance(each, UnreachableRegion)], unasked


def _may_hold(endpoint: TagEndpoint, resource: str, address: str) -> bool:
    """Where nothing says where a resource is, each endpoint is asked: one that has it shows its tags."""
    return endpoint.holds(resource, address) or (not address and bool(endpoint.address(resource)))


async def _read(endpoint: TagEndpoint, ids: Sequence[str], failed: dict[str, CloudError]) -> dict[str, TaggedResource]:
    """Read resources as they are now; what could not be read is put into ``failed``."""
    found: dict[str, TaggedResource] = {}
    for ident, now in (await endpoint.read(ids)).items() if ids else ():
        if isinstance(now, CloudError):
            failed[ident] = now
        else:
            found[ident] = now
    return found
