"""One pass over the resources of one demand: find, read, plan, record, write, record again (reconcilers/metadata).

The order is what makes it safe: what is changed was read from its service in this pass, and what is written is on
record before (ADR 37).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from freehold.clouds.aws.native_tags import Reading, reading_of
from freehold.clouds.aws.tagged import named_in, region_of, resource_of
from freehold.lifecycle.clock import Clock
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.keys import KeyRing
from freehold.operator.tag_places import Region, TagPlace
from freehold.operator.tag_record import StoredRecord, TagRecord
from freehold.operator.tag_writes import Written, carry_out
from freehold.reconcilers.metadata.clusters import ClusterKeys
from freehold.reconcilers.metadata.demand import Demand
from freehold.reconcilers.metadata.fleet import Common, Fleet, ReadCost, must_be_read, plan_fleet, recorded_by
from freehold.reconcilers.metadata.outcome import Outcome, repairs_of
from freehold.tagging.approval import ApprovalNeeded, Risk, approval, risk
from freehold.tagging.batches import Batch, batches
from freehold.tagging.classifiers import queries, released
from freehold.tagging.configuration import Configuration
from freehold.tagging.contested import Standing, Turns, set_back, standing
from freehold.tagging.ownership import Record, RecordLost
from freehold.tagging.plan import ResourcePlan, Verdict
from freehold.tagging.resources import Resource
from freehold.tagging.stored_record import RecordFull


@dataclass
class PassMemory:
    """What one process remembers of an object between passes; losing it costs reads, never safety."""

    turns: dict[tuple[str, str], Turns] = field(default_factory=dict)
    """How often a key of a resource was set back."""
    released: set[str] = field(default_factory=set)
    """Recorded resources that were read, and have lost their classifier."""

    def contested(self, now: float, period: float) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for (resource, key), turns in self.turns.items():
            if standing(turns, now, period) is Standing.CONTESTED:
                found.setdefault(resource, set()).add(key)
        return {resource: frozenset(keys) for resource, keys in found.items()}


@dataclass(frozen=True)
class TagPass:
    """``begin`` notes on the provider's object that something is written for it. ``approved``: a digest, or empty."""

    demand: Demand
    others: Sequence[Demand]
    clusters: ClusterKeys
    store: TagRecord
    ring: KeyRing
    clock: Clock
    memory: PassMemory
    begin: Callable[[], Awaitable[None]]
    approved: str
    configuration: Configuration

    async def run(self, places: Sequence[TagPlace | Region], known: StoredRecord) -> Outcome:
        """Raises StaleObject and KubeError; what a cloud refuses is in the outcome."""
        unasked = {each.region: each.error for each in places if isinstance(each, Region)}
        asked = {each.region: each for each in places if isinstance(each, TagPlace)}
        found = await self._find(asked, unasked)
        failed: dict[str, CloudError] = {}
        draft = self._plan(found.values(), known)
        doubtful = [plan.resource for plan in draft.plans.values() if self._must_be_read(plan, known)]
        found |= await self._read(asked, doubtful, failed)
        fleet = self._plan((each for each in found.values() if each.id not in failed), known)
        forgotten = await self._look_for_released(asked, found, known)
        return await self._carry_out(asked, fleet, known, forgotten, unasked, failed)

    # -- finding and reading ------------------------------------------------------------------------------------

    async def _find(self, asked: dict[str, TagPlace], unasked: dict[str, CloudError]) -> dict[str, Resource]:
        """What the indexes show. A region that does not answer is left out, and nothing follows from what is there."""
        found: dict[str, Resource] = {}
        for region, place in list(asked.items()):
            try:
                rows = {
                    arn: tags
                    for query in queries([self.demand.classifiers])
                    for arn, tags in (await place.tagger.find(query)).items()
                }
            except CloudError as error:
                unasked[region] = error
                del asked[region]
                continue
            found |= {arn: resource_of(arn, tags, place.account, region) for arn, tags in rows.items()}
        return found

    async def _read(
        self, asked: Mapping[str, TagPlace], resources: Iterable[Resource], failed: dict[str, CloudError]
    ) -> dict[str, Resource]:
        """The resources as they are now; what could not be read is put into ``failed``."""
        by_region: dict[str, list[str]] = {}
        for resource in resources:
            by_region.setdefault(resource.region, []).append(resource.id)
        found: dict[str, Resource] = {}
        for region, arns in by_region.items():
            place = asked[region]
            for arn, tags in (await place.tagger.read(arns)).items():
                if isinstance(tags, CloudError):
                    failed[arn] = tags
                else:
                    found[arn] = resource_of(arn, tags, place.account, region)
        return found

    def _must_be_read(self, plan: ResourcePlan, known: StoredRecord) -> bool:
        cost = ReadCost.SHARED if reading_of(plan.resource.id) is Reading.TOGETHER else ReadCost.OWN
        return must_be_read(plan, known.of(plan.resource.id), cost)

    async def _look_for_released(
        self, asked: Mapping[str, TagPlace], found: Collection[str], known: StoredRecord
    ) -> dict[str, Record]:
        """Recorded resources that the index does not show: read once. The record forgets those without any tag."""
        self.memory.released.difference_update(found)
        recorded = known.written_for(self.demand.claim.claimant.uid)
        unseen = [
            resource_of(arn, {}, "", region)
            for arn in recorded
            if arn not in found and arn not in self.memory.released and (region := region_of(arn)) in asked
        ]
        failed: dict[str, CloudError] = {}
        now = await self._read(asked, unseen, failed)
        self.memory.released.update(
            released(recorded, [each for each in now.values() if each.tags], self.demand.classifiers)
        )
        return {arn: {} for arn, resource in now.items() if not resource.tags}

    # -- planning -----------------------------------------------------------------------------------------------

    def _plan(self, resources: Iterable[Resource], known: StoredRecord) -> Fleet:
        contested = self.memory.contested(self.clock.monotonic(), self.demand.period)
        common = Common(self.configuration.ignored, contested, self.clusters)
        return plan_fleet(resources, self.demand, self.others, known.of, common)

    # -- writing ------------------------------------------------------------------------------------------------

    async def _carry_out(
        self,
        asked: Mapping[str, TagPlace],
        fleet: Fleet,
        known: StoredRecord,
        forgotten: Mapping[str, Record],
        unasked: Mapping[str, CloudError],
        failed: dict[str, CloudError],
    ) -> Outcome:
        changing = [plan for plan in fleet.plans.values() if plan.verdict is Verdict.CHANGES]
        answer = approval(changing, self.configuration.approve_above, self.approved)
        waiting = answer if isinstance(answer, ApprovalNeeded) else None
        todo = [plan for plan in changing if waiting is None or risk(plan) is Risk.NONE]
        outcome = Outcome(
            self.demand,
            selected=len(fleet.plans),
            notes=tuple(note for plan in fleet.plans.values() for note in plan.notes),
            yielded=tuple(fleet.yielded.values()),
            failed=failed,
            unasked=unasked,
            approval=waiting,
            released=len(self.memory.released),
        )
        settled = [plan for plan in fleet.plans.values() if plan.verdict is Verdict.NOTHING_TO_DO]
        before = {**forgotten, **recorded_by(settled), **_records((plan, plan.record_before) for plan in todo)}
        try:
            known = await self.store.save(known, before, self.ring)
        except RecordFull as problem:
            return replace(outcome, problem=str(problem))
        if not todo:
            return outcome
        await self.begin()
        written = await carry_out(batches(todo), lambda batch: _send(asked, batch), named_in)
        return await self._after(outcome, todo, written, known)

    async def _after(
        self, outcome: Outcome, todo: Sequence[ResourcePlan], written: Written, known: StoredRecord
    ) -> Outcome:
        stopped = written.stopped
        done = [plan for plan in todo if plan.resource.id not in stopped]
        after = _records((plan, plan.record_after) for plan in done)
        await self.store.save(known, {**after, **{arn: {} for arn in written.vanished}}, self.ring)
        repairs = tuple(repair for plan in done for repair in repairs_of(plan))
        now = self.clock.monotonic()
        for each in repairs:
            at = (each.resource, each.key)
            self.memory.turns[at] = set_back(self.memory.turns.get(at), now, self.demand.period)
        return replace(
            outcome,
            selected=outcome.selected - len(written.vanished),
            changed=len(done),
            failed={**outcome.failed, **written.failed},
            later=frozenset(written.later | written.unsure),
            wait=written.wait,
            repairs=repairs,
        )


async def _send(asked: Mapping[str, TagPlace], batch: Batch) -> Mapping[str, CloudError]:
    return await asked[batch.region].tagger.send(batch)


def _records(pairs: Iterable[tuple[ResourcePlan, Record | RecordLost]]) -> dict[str, Record]:
    return {plan.resource.id: record for plan, record in pairs if not isinstance(record, RecordLost)}
