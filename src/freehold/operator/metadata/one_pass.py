"""One pass over the resources of one demand: find, read, plan, then carry the plan out (reconcilers/metadata).

What is changed was read from its service in this pass; the index is a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from freehold.engine.errors import CloudError
from freehold.operator.metadata.places import Region, TagPlace
from freehold.operator.metadata.record import StoredRecord
from freehold.operator.metadata.work import Planned, TagWork
from freehold.reconcilers.metadata.active_list import keeping, listed_by
from freehold.reconcilers.metadata.clusters import ClusterKeys
from freehold.reconcilers.metadata.demand import Demand, Place
from freehold.reconcilers.metadata.fleet import Common, Fleet, must_be_read, plan_fleet, plan_removal
from freehold.reconcilers.metadata.outcome import Outcome
from freehold.tagging.classifiers import Selection, queries, released, select
from freehold.tagging.conflicts import Claim
from freehold.tagging.contested import Standing, Turns, is_over, removed, set_back, standing
from freehold.tagging.ownership import Record
from freehold.tagging.plan import ResourcePlan
from freehold.tagging.protected import Access, access
from freehold.tagging.resources import Resource


@dataclass
class PassMemory:
    """What one process remembers of an object between passes; losing it costs reads, never safety."""

    turns: dict[tuple[str, str], Turns] = field(default_factory=dict)
    """How often in a row a key of a resource was set back."""
    released: set[str] = field(default_factory=set)
    """Recorded resources that were read, and have lost their classifier."""
    turn: int = 0
    """Passes in a row in which something failed: each begins its calls at another resource."""
    retries: int = 0
    """Passes in a row that ended with something to try again, and wrote nothing."""
    version: tuple[str, int] | None = None
    """Uid and generation of the provider's object that a pass has begun with."""
    indexed_at: float | None = None
    """When the index shows what was there as a new generation came; None after a look since then."""

    def written(self, outcome: Outcome, now: float, period: float) -> None:
        for at in ((each.resource, each.key) for each in outcome.repairs):
            self.turns[at] = set_back(self.turns.get(at), now, period)
        for at in outcome.removed:
            self.turns[at] = removed(self.turns.get(at), now, period)
        for at in [at for at, turns in self.turns.items() if is_over(turns, now, period)]:
            del self.turns[at]

    def contested(self, now: float, period: float) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for (resource, key), turns in self.turns.items():
            if standing(turns, now, period) is Standing.CONTESTED:
                found.setdefault(resource, set()).add(key)
        return {resource: frozenset(keys) for resource, keys in found.items()}


@dataclass(frozen=True)
class TagPass:
    """``granted``: whether the object's namespace may touch a key."""

    demand: Demand
    others: Sequence[Demand]
    clusters: ClusterKeys
    granted: Callable[[str], bool]
    memory: PassMemory
    work: TagWork

    async def run(self, places: Sequence[TagPlace | Region], known: StoredRecord) -> Outcome:
        """Raises StaleObject and KubeError; what a cloud refuses is in the outcome."""
        asked, unasked = _asked(places)
        found = await self._find(asked, unasked)
        failed: dict[str, CloudError] = {}
        demand = self._keeping([each for each, _ in found.values()], known)
        draft = self._plan(demand, [each for each, _ in found.values()], known)
        doubtful = [plan.resource.id for plan in draft.plans.values() if self._must_be_read(demand, plan, found, known)]
        read: dict[str, Resource] = {}
        for place in asked:
            read |= await _read(place, [ident for ident in doubtful if found[ident][1] is place], failed)
        differing = [each for each in read.values() if each != found[each.id][0]]
        fleet = draft.planned_anew({*failed, *(each.id for each in differing)}, self._plan(demand, differing, known))
        forgotten = await self._look_for_released(asked, found, known)
        wanted = self._wanted(demand)
        outcome = Outcome(
            selected=len(fleet.plans),
            active=listed_by(demand, wanted, seen=bool(found) and not unasked),
            yielded=tuple(fleet.yielded.values()),
            failed=failed,
            unasked=unasked,
            released=len(self.memory.released),
            exempt=fleet.exempt,
            missing_kinds=self.demand.classifiers.kinds - fleet.kinds,
            other_kinds=fleet.other_kinds,
            lost=known.lost,
            plans=fleet.plans,
            period=self.demand.period,
        )
        routes = {ident: place for ident, (_, place) in found.items()}
        planned = Planned(fleet.plans, routes, forgotten, self.memory.turn, wanted)
        done = await self.work.carry_out(planned, known, outcome)
        self.memory.turn = self.memory.turn + 1 if done.failed else 0
        self.memory.written(done, self.work.clock.monotonic(), self.demand.period)
        return done

    # -- finding and reading ------------------------------------------------------------------------------------

    async def _find(
        self, asked: list[TagPlace], unasked: dict[str, CloudError]
    ) -> dict[str, tuple[Resource, TagPlace]]:
        """What the indexes show. A place that does not answer is left out, and nothing follows from what is there."""
        found: dict[str, tuple[Resource, TagPlace]] = {}
        for place in list(asked):
            try:
                rows = [each for query in queries([self.demand.classifiers]) for each in await place.find(query)]
            except CloudError as error:
                unasked[place.region or place.account] = error
                asked.remove(place)
                continue
            found |= {each.id: (each, place) for each in rows}
        return found

    def _keeping(self, found: Sequence[Resource], known: StoredRecord) -> Demand:
        selected = [each for each in found if select(self.demand.classifiers, each) is Selection.SELECTED]
        return keeping(self.demand, [(each, known.of(each.id)) for each in selected], self.work.configuration.ignored)

    def _must_be_read(
        self, demand: Demand, plan: ResourcePlan, found: Mapping[str, tuple[Resource, TagPlace]], known: StoredRecord
    ) -> bool:
        ident = plan.resource.id
        return must_be_read(plan, known.of(ident), found[ident][1].cost(ident), demand.claim)

    async def _look_for_released(
        self, asked: Sequence[TagPlace], found: Collection[str], known: StoredRecord
    ) -> dict[str, Record]:
        """Recorded resources that the index does not show: read once. The record forgets those without any tag."""
        self.memory.released.difference_update(found)
        recorded = known.written_for(self.demand.claim.claimant.uid)
        unseen = [each for each in recorded if each not in found and each not in self.memory.released]
        now: dict[str, Resource] = {}
        for place in asked:
            now |= await _read(place, [each for each in unseen if place.holds(each, known.place(each))], {})
        self.memory.released.update(
            released(recorded, [each for each in now.values() if each.tags], self.demand.classifiers)
        )
        return {ident: {} for ident, resource in now.items() if not resource.tags}

    def _wanted(self, demand: Demand) -> Mapping[str, str]:
        """What is to be there, without the keys that the operator is told to leave alone."""
        cloud, ignored = demand.place.cloud, self.work.configuration.ignored
        wanted = sorted({**(demand.claim.kept or {}), **demand.applied}.items())
        return {key: value for key, value in wanted if access(cloud, key, ignored) is not Access.IGNORED}

    # -- planning -----------------------------------------------------------------------------------------------

    def _plan(self, demand: Demand, resources: Iterable[Resource], known: StoredRecord) -> Fleet:
        contested = self.memory.contested(self.work.clock.monotonic(), self.demand.period)
        common = Common(self.work.configuration.ignored, contested, self.clusters, self.granted)
        return plan_fleet(resources, demand, self.others, known.of, common)


@dataclass(frozen=True)
class RemovalPass:
    """Takes off what the record says was written for an object that goes (docs/reference/metadata-compat.md A24).

    ``going``: its claim, without wants.
    """

    going: Claim
    place: Place
    others: Sequence[Demand]
    clusters: ClusterKeys
    granted: Callable[[str], bool]
    work: TagWork

    async def run(self, places: Sequence[TagPlace | Region], known: StoredRecord) -> Outcome:
        """Raises StaleObject and KubeError; what a cloud refuses is in the outcome."""
        asked, unasked = _asked(places)
        recorded = known.written_for(self.going.claimant.uid)
        failed: dict[str, CloudError] = {}
        found: dict[str, Resource] = {}
        routes: dict[str, TagPlace] = {}
        placed = {each for each in recorded if any(place.holds(each, known.place(each)) for place in asked)}
        for place in asked:
            mine = [each for each in recorded if _may_hold(place, each, known.place(each))]
            for ident, resource in (await _read(place, mine, failed)).items():
                if resource.tags or ident not in found:
                    found[ident], routes[ident] = resource, place
        common = Common(self.work.configuration.ignored, {}, self.clusters, self.granted)
        there = [each for each in found.values() if each.tags and each.id not in failed]
        fleet = plan_removal(there, self.going, self.place, self.others, known.of, common)
        silent = [each for each in recorded if each not in fleet.plans and each not in failed]
        forgotten: dict[str, Record] = {each: {} for each in silent if each in placed}
        nowhere = () if unasked else tuple(each for each in silent if each not in placed)
        outcome = Outcome(selected=len(fleet.plans), failed=failed, unasked=unasked, nowhere=nowhere)
        turn = int(self.work.clock.monotonic())
        return await self.work.carry_out(Planned(fleet.plans, routes, forgotten, turn), known, outcome)


def _asked(places: Sequence[TagPlace | Region]) -> tuple[list[TagPlace], dict[str, CloudError]]:
    unasked = {each.region: each.error for each in places if isinstance(each, Region)}
    return [each for each in places if not isinstance(each, Region)], unasked


def _may_hold(place: TagPlace, resource: str, address: str) -> bool:
    """Where nothing says where a resource is, each place is asked: one that has it shows its tags."""
    return place.holds(resource, address) or (not address and bool(place.address(resource)))


async def _read(place: TagPlace, ids: Sequence[str], failed: dict[str, CloudError]) -> dict[str, Resource]:
    """The resources as they are now; what could not be read is put into ``failed``."""
    found: dict[str, Resource] = {}
    for ident, now in (await place.read(ids)).items() if ids else ():
        if isinstance(now, CloudError):
            failed[ident] = now
        else:
            found[ident] = now
    return found
