"""All resources of one request: which of them are its own, what is planned on each, and what must be read first. Pure.

The index of a cloud is a hint. What a plan on it would change is read from the service, and planned again on that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from freehold.tags.policy.classifiers import Selection, select
from freehold.tags.policy.cluster_keys import ClusterKeys, asked_for_on
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.key_decision import Rules
from freehold.tags.policy.ledger import Record
from freehold.tags.policy.limits import limit_of, slots_used
from freehold.tags.policy.plan import PlanVerdict, ResourcePlan, Terms, plan_on, terms
from freehold.tags.policy.precedence import Claim, Claimant
from freehold.tags.policy.protected import IgnoreList
from freehold.tags.policy.resources import TaggedResource
from freehold.tags.policy.tag_request import TagRequest, TagScope

RecordOf = Callable[[str], Record]


@dataclass(frozen=True)
class PlannedFleet:
    """``plans`` are by the resource's id; what is in none is not selected.

    ``exempt``: how many of these are so only because of the tag that exempts them.
    """

    plans: Mapping[str, ResourcePlan]
    exempt: int = 0

    def planned_anew(self, outdated: Collection[str], anew: PlannedFleet) -> PlannedFleet:
        """``anew`` instead of what was planned for ``outdated``: an equal resource has an equal plan."""
        plans = {ident: plan for ident, plan in self.plans.items() if ident not in outdated}
        return PlannedFleet({**plans, **anew.plans}, self.exempt + anew.exempt)


@dataclass(frozen=True)
class Common:
    """What holds whoever asks. ``granted``: whether a key may be touched."""

    ignored: IgnoreList
    clusters: ClusterKeys
    granted: Callable[[str], bool] = lambda key: True


class Rivals:
    """Other requests by their classifiers: of a thousand objects few meet on one resource."""

    def __init__(self, others: Iterable[TagRequest]) -> None:
        self._by_tag: dict[tuple[TagDialect, str, str], dict[int, TagRequest]] = {}
        for number, other in enumerate(others):
            cloud = other.place.cloud
            for each in other.classifiers.any_of:
                tag = cloud, cloud.canonical(each.key), cloud.canonical(each.value)
                self._by_tag.setdefault(tag, {})[number] = other

    def list_rivals(self, resource: TaggedResource, place: TagScope) -> list[TagRequest]:
        """Those that act on it too, in the order in which they were given."""
        if not self._by_tag:
            return []
        found: dict[int, TagRequest] = {}
        for key, values in resource.tags.items():
            for value in values:
                found |= self._by_tag.get((resource.cloud, key, value), {})
        return [found[number] for number in sorted(found) if _meets(found[number], place, resource)]


def plan_fleet(
    resources: Iterable[TaggedResource],
    acting: TagRequest,
    others: Sequence[TagRequest],
    record_of: RecordOf,
    common: Common,
) -> PlannedFleet:
    """``others``: every other request, whether it meets this one or not."""
    plans: dict[str, ResourcePlan] = {}
    own = dict.fromkeys(acting.classifiers.keys, acting.selector.name)
    rivals, terms_of = Rivals(others), _TermsOf(acting.claim, acting.selector, own, common)
    alike, exempt = Plans(acting.claim.claimant.uid), 0
    for resource in resources:
        selection = select(acting.classifiers, resource)
        if selection is not Selection.SELECTED:
            exempt += selection is Selection.EXEMPT
            continue
        met = rivals.list_rivals(resource, acting.place)
        plans[resource.id] = alike.plan_once(resource, terms_of.find_terms(resource, met), record_of(resource.id))
    return PlannedFleet(plans, exempt)


def plan_removal(
    resources: Iterable[TaggedResource],
    going: Claim,
    place: TagScope,
    others: Sequence[TagRequest],
    record_of: RecordOf,
    common: Common,
) -> PlannedFleet:
    """Remove what was written for an object that goes, but for keys that somebody else's object wants.

    ``going``: its claim, without wants. Source: docs/reference/metadata-compat.md A24.
    """
    plans: dict[str, ResourcePlan] = {}
    rivals, terms_of, alike = Rivals(others), _TermsOf(going, going.claimant, {}, common), Plans(going.claimant.uid)
    for resource in resources:
        there = terms_of.find_terms(resource, rivals.list_rivals(resource, place))
        plans[resource.id] = alike.plan_once(resource, there, record_of(resource.id))
    return PlannedFleet(plans)


class _TermsOf:
    """Worked out once for all resources on which the same requests meet: in a large fleet these are nearly all.

    ``age``: the acting object's. A classifier of a younger one protects nothing: whoever may make an object could
    otherwise keep a key of an older one from being written (docs/reference/metadata-compat.md A18, A22).
    ``own``: the keys of its own classifiers.
    """

    def __init__(self, claim: Claim, age: Claimant, own: Mapping[str, str], common: Common) -> None:
        self._claim = claim
        self._age = age
        self._own = own
        self._common = common
        self._known: dict[tuple[Hashable, ...], Terms] = {}

    def find_terms(self, resource: TaggedResource, met: Sequence[TagRequest]) -> Terms:
        clusters = asked_for_on(resource, self._common.clusters)
        if not (met or clusters):
            return self._alone
        classifiers = {**self._own, **self._classifiers(resource, met)} if met else self._own
        same = (tuple(map(id, met)), tuple(classifiers.items()), tuple(clusters.items()))
        if same not in self._known:
            self._known[same] = self._terms(met, classifiers, clusters)
        return self._known[same]

    @cached_property
    def _alone(self) -> Terms:
        """Where nobody else asks for anything."""
        return self._terms((), self._own, {})

    def _terms(
        self,
        met: Sequence[TagRequest],
        classifiers: Mapping[str, str],
        clusters: Mapping[str, str],
    ) -> Terms:
        rules = Rules(
            ignored=self._common.ignored,
            classifier_keys=classifiers,
            cluster_keys=clusters,
            granted=self._common.granted,
        )
        return terms(_claims(self._claim, met), rules)

    def _classifiers(self, resource: TaggedResource, met: Sequence[TagRequest]) -> dict[str, str]:
        """Name the object of each classifier key: the oldest that has it."""
        elder = sorted(
            (each for each in met if each.selector < self._age), key=lambda each: each.selector, reverse=True
        )
        found = {key: each.selector.name for each in elder for key in each.classifiers.keys_that_select(resource)}
        return dict(sorted(found.items()))


def _meets(other: TagRequest, place: TagScope, resource: TaggedResource) -> bool:
    """Whether the other one acts on the resource too: in its region and account, and by its classifiers."""
    if other.accounts and resource.account not in other.accounts:
        return False
    if other.place.regions and resource.region not in other.place.regions:
        return False
    if other.place.role != place.role and other.place.account not in ("", resource.account):
        return False
    return select(other.classifiers, resource) is Selection.SELECTED


def _claims(acting: Claim, met: Sequence[TagRequest]) -> list[Claim]:
    """One for each provider object."""
    found = {each.claim.claimant.uid: each.claim for each in met}
    return list({**found, acting.claimant.uid: acting}.values())


class ReadCost(StrEnum):
    """What it takes to ask a resource itself for its tags."""

    SHARED = "Shared"
    OWN = "Own"
    IMPOSSIBLE = "Impossible"


def must_be_read(plan: ResourcePlan, record: Record, cost: ReadCost, claim: Claim) -> bool:
    """Before a value is overwritten or removed, before the record forgets a key, and before a call whose reply was
    lost is sent again. ``claim``: of the object that acts.

    What adds keys that we never wrote is read too where many resources share a call. Elsewhere each would cost a call,
    and what may be there unseen is a value that is younger than the index: it matters where it would not be taken over.
    """
    if plan.verdict is PlanVerdict.NOTHING_TO_DO:
        return plan.record_after != record
    if cost is ReadCost.SHARED:
        return True
    delta = plan.delta
    if delta.removals or delta.replaces or not delta.written.isdisjoint(record):
        return True
    return cost is ReadCost.OWN and not delta.written.isdisjoint(claim.minded)


def settled_records(settled: Iterable[ResourcePlan]) -> dict[str, Record]:
    """Return what becomes of the record without any write: keys that are gone, values that were seen."""
    return {plan.resource.id: plan.record_after for plan in settled}


class Plans:
    """For the one whose uid is ``acting``. The terms that it was given are kept: they are compared by identity."""

    def __init__(self, acting: str) -> None:
        self._acting = acting
        self._known: dict[Hashable, ResourcePlan] = {}
        self._terms: dict[int, Terms] = {}

    def plan_once(self, resource: TaggedResource, terms: Terms, record: Record) -> ResourcePlan:
        """Return what :func:`freehold.tags.policy.plan.plan_on` does."""
        self._terms[id(terms)] = terms
        state = _state(resource, terms, record)
        if (known := self._known.get(state)) is not None:
            return ResourcePlan(resource, known.delta, known.notes, known.record_before, known.record_after)
        plan = plan_on(resource, terms, record, self._acting)
        if not plan.notes:  # these name the resource
            self._known[state] = plan
        return plan


def _state(resource: TaggedResource, terms: Terms, record: Record) -> Hashable:
    """All of a resource that its plan depends on."""
    tags = resource.tags
    return (
        id(terms),
        resource.cloud,
        limit_of(resource) - slots_used(resource),
        tags.get(resource.cloud.exempt_key),
        tuple(map(tags.get, terms.decisive)),
        tuple([(key, entry, tags.get(key)) for key, entry in record.items()]),
    )
