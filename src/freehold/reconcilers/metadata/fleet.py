"""All resources of one demand: which of them are its own, what is planned on each, and what must be read first. Pure.

The index of a cloud is a hint. What a plan on it would change is read from the service, and planned again on that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from freehold.reconcilers.metadata.clusters import ClusterKeys, asked_for_on
from freehold.reconcilers.metadata.demand import Demand, Place
from freehold.tagging.alike import Plans
from freehold.tagging.classifiers import Selection, select
from freehold.tagging.conflicts import Claim, Claimant
from freehold.tagging.ownership import Record, RecordLost
from freehold.tagging.plan import ResourcePlan, Terms, Verdict, terms
from freehold.tagging.protected import IgnoreList
from freehold.tagging.resources import Cloud, Resource, canonical
from freehold.tagging.rules import Rules

RecordOf = Callable[[str], Record | RecordLost]


@dataclass(frozen=True)
class Yielded:
    """Left to an older CloudMetadata that refers to the same object and selects the same resource."""

    resource: str
    to: str

    @property
    def message(self) -> str:
        return f"{self.to} is older, refers to the same object, and selects {self.resource} too: change the classifiers"


@dataclass(frozen=True)
class Fleet:
    """``plans`` and ``yielded`` are by the resource's id; what is in neither is not selected.

    ``exempt``: how many of these are so only because of the tag that exempts them. ``kinds``: of all that has the
    classifiers; ``other_kinds``: of those that only their kind excludes.
    """

    plans: Mapping[str, ResourcePlan]
    yielded: Mapping[str, Yielded]
    exempt: int = 0
    kinds: frozenset[str] = frozenset()
    other_kinds: frozenset[str] = frozenset()

    def planned_anew(self, outdated: Collection[str], anew: Fleet) -> Fleet:
        """``anew`` instead of what was planned for ``outdated``: an equal resource has an equal plan."""
        plans = {ident: plan for ident, plan in self.plans.items() if ident not in outdated}
        yielded = {ident: each for ident, each in self.yielded.items() if ident not in outdated}
        return Fleet(
            {**plans, **anew.plans},
            {**yielded, **anew.yielded},
            self.exempt + anew.exempt,
            self.kinds | anew.kinds,
            self.other_kinds | anew.other_kinds,
        )


@dataclass(frozen=True)
class Common:
    """What holds whoever asks. ``contested``: keys by the resource's id. ``granted``: whether a key may be touched."""

    ignored: IgnoreList
    contested: Mapping[str, frozenset[str]]
    clusters: ClusterKeys
    granted: Callable[[str], bool] = lambda key: True


class Rivals:
    """Other demands by their classifiers: of a thousand objects few meet on one resource."""

    def __init__(self, others: Iterable[Demand]) -> None:
        self._by_tag: dict[tuple[Cloud, str, str], dict[int, Demand]] = {}
        for number, other in enumerate(others):
            cloud = other.place.cloud
            for each in other.classifiers.any_of:
                tag = cloud, canonical(cloud, each.key), canonical(cloud, each.value)
                self._by_tag.setdefault(tag, {})[number] = other

    def on(self, resource: Resource, place: Place) -> list[Demand]:
        """Those that act on it too, in the order in which they were given."""
        if not self._by_tag:
            return []
        found: dict[int, Demand] = {}
        for key, values in resource.tags.items():
            for value in values:
                found |= self._by_tag.get((resource.cloud, key, value), {})
        return [found[number] for number in sorted(found) if _meets(found[number], place, resource)]


def plan_fleet(
    resources: Iterable[Resource], acting: Demand, others: Sequence[Demand], record_of: RecordOf, common: Common
) -> Fleet:
    """``others``: every other demand, whether it meets this one or not."""
    plans: dict[str, ResourcePlan] = {}
    yielded: dict[str, Yielded] = {}
    own = dict.fromkeys(acting.classifiers.keys, acting.selector.name)
    rivals, terms_of = Rivals(others), _TermsOf(acting.claim, acting.selector, own, common)
    alike, exempt = Plans(acting.claim.claimant.uid), 0
    kinds: dict[Selection, set[str]] = {each: set() for each in Selection}
    for resource in resources:
        selection = select(acting.classifiers, resource)
        kinds[selection].add(resource.kind)
        if selection is not Selection.SELECTED:
            exempt += selection is Selection.EXEMPT
            continue
        met = rivals.on(resource, acting.place)
        elder = [other.selector for other in met if _is_same_object_elder(other, acting)]
        if elder:
            yielded[resource.id] = Yielded(resource.id, min(elder).name)
            continue
        plans[resource.id] = alike.on(resource, terms_of.on(resource, met), record_of(resource.id))
    fitting, excluded = kinds[Selection.SELECTED] | kinds[Selection.EXEMPT], kinds[Selection.OTHER_KIND]
    return Fleet(plans, yielded, exempt, frozenset(fitting | excluded), frozenset(excluded))


def plan_removal(
    resources: Iterable[Resource],
    going: Claim,
    place: Place,
    others: Sequence[Demand],
    record_of: RecordOf,
    common: Common,
) -> Fleet:
    """What was written for an object goes with it, but for keys that somebody else's object wants.

    ``going``: its claim, without wants. Source: docs/reference/metadata-compat.md A24.
    """
    plans: dict[str, ResourcePlan] = {}
    rivals, terms_of, alike = Rivals(others), _TermsOf(going, going.claimant, {}, common), Plans(going.claimant.uid)
    for resource in resources:
        there = terms_of.on(resource, rivals.on(resource, place))
        plans[resource.id] = alike.on(resource, there, record_of(resource.id))
    return Fleet(plans, {})


class _TermsOf:
    """Worked out once for all resources on which the same demands meet: in a large fleet these are nearly all.

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

    def on(self, resource: Resource, met: Sequence[Demand]) -> Terms:
        clusters = asked_for_on(resource, self._common.clusters)
        contested = self._common.contested.get(resource.id, frozenset())
        if not (met or clusters or contested):
            return self._alone
        classifiers = {**self._own, **self._classifiers(resource, met)} if met else self._own
        same = (tuple(map(id, met)), tuple(classifiers.items()), tuple(clusters.items()), contested)
        if same not in self._known:
            self._known[same] = self._terms(met, classifiers, clusters, contested)
        return self._known[same]

    @cached_property
    def _alone(self) -> Terms:
        """Where nobody else asks for anything."""
        return self._terms((), self._own, {}, frozenset())

    def _terms(
        self,
        met: Sequence[Demand],
        classifiers: Mapping[str, str],
        clusters: Mapping[str, str],
        contested: frozenset[str],
    ) -> Terms:
        rules = Rules(
            ignored=self._common.ignored,
            classifier_keys=classifiers,
            cluster_keys=clusters,
            contested=contested,
            granted=self._common.granted,
        )
        return terms(_claims(self._claim, met), rules)

    def _classifiers(self, resource: Resource, met: Sequence[Demand]) -> dict[str, str]:
        """The oldest object that has a key gives it its name."""
        elder = sorted(
            (each for each in met if each.selector < self._age), key=lambda each: each.selector, reverse=True
        )
        found = {key: each.selector.name for each in elder for key in each.classifiers.keys_that_select(resource)}
        return dict(sorted(found.items()))


def _meets(other: Demand, place: Place, resource: Resource) -> bool:
    """Whether the other one acts on the resource too: in its region and account, and by its classifiers."""
    if other.accounts and resource.account not in other.accounts:
        return False
    if other.place.regions and resource.region not in other.place.regions:
        return False
    if other.place.role != place.role and other.place.account not in ("", resource.account):
        return False
    return select(other.classifiers, resource) is Selection.SELECTED


def _is_same_object_elder(other: Demand, acting: Demand) -> bool:
    return other.claim.claimant.uid == acting.claim.claimant.uid and other.selector < acting.selector


def _claims(acting: Claim, met: Sequence[Demand]) -> list[Claim]:
    """One for each provider object."""
    found = {each.claim.claimant.uid: each.claim for each in met}
    return list({**found, acting.claimant.uid: acting}.values())


class ReadCost(StrEnum):
    """What it takes to ask a resource itself for its tags."""

    SHARED = "Shared"
    OWN = "Own"
    IMPOSSIBLE = "Impossible"


def must_be_read(plan: ResourcePlan, record: Record | RecordLost, cost: ReadCost, claim: Claim) -> bool:
    """Before a value is overwritten or removed, before the record forgets a key, and before a call whose reply was
    lost is sent again. ``claim``: of the object that acts.

    What adds keys that we never wrote is read too where many resources share a call. Elsewhere each would cost a call,
    and what may be there unseen is a value that is younger than the index: it matters where it would not be taken over.
    """
    if plan.verdict is Verdict.NOTHING_TO_DO:
        return plan.record_after != record
    if cost is ReadCost.SHARED or isinstance(record, RecordLost):
        return True
    delta = plan.delta
    if delta.removals or delta.replaces or not delta.written.isdisjoint(record):
        return True
    return cost is ReadCost.OWN and not delta.written.isdisjoint(claim.minded)


def recorded_by(settled: Iterable[ResourcePlan]) -> dict[str, Record]:
    """What becomes of the record without any write: keys that are gone, values that were seen."""
    return {plan.resource.id: plan.record_after for plan in settled if not isinstance(plan.record_after, RecordLost)}
