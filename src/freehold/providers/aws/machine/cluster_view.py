"""The resources that a cluster has for its machines, read from the stored object: here an AWSCluster. Pure.

The ids of what is its own are those of its journal, each with the operator's signature: whoever may edit the object can
write other ids, also those of a stranger's load balancer. What it was given by id is in its spec too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from freehold.api import names
from freehold.engine.journal import CorruptJournal, Entry, Journal, RecordState, loads
from freehold.engine.resources import NodeKey
from freehold.engine.value_texts import texts_in
from freehold.providers.aws.cluster.keys import CLASSIC_KIND, GROUP_KIND, SUBNET_KIND, TARGET_GROUP_KIND, VPC
from freehold.providers.aws.cluster.recorded import name_for_workloads
from freehold.providers.aws.cluster.subnets import is_aws_id
from freehold.providers.aws.machine.facts import EksCluster
from freehold.providers.objects.vouching import Vouch


@dataclass(frozen=True)
class ImageLookup:
    """How images of the cluster's machines are found; empty texts where it does not say."""

    format: str = ""
    org: str = ""
    base_os: str = ""


@dataclass(frozen=True)
class ClusterView:
    """A cluster as its machines see it.

    ``title`` is for people. ``cluster`` is the name in CAPA's tags. ``subnets`` are ids, in the order in which they are
    taken. ``groups`` are ids by role. ``registrations`` are what a control-plane machine is put behind: the ARNs of
    target groups, and the names of classic load balancers. ``forged`` are nodes among them with a record that the
    operator did not write, so that what belongs there is not known. ``key_name`` is None where the cluster has none.
    ``version`` is that of Kubernetes, empty where its machines have one each. ``eks``: EKS runs its control plane.
    """

    title: str
    cluster: str
    region: str = ""
    vpc: str = ""
    subnets: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    registrations: tuple[str, ...] = ()
    forged: tuple[str, ...] = ()
    key_name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    images: ImageLookup = ImageLookup()
    deleting: bool = False
    version: str = ""
    eks: EksCluster | None = None

    @property
    def of_workloads(self) -> str:
        """Return the name that the cluster's own controllers have in their tags."""
        return self.eks.name if self.eks else self.cluster


@dataclass(frozen=True)
class UnreadableView:
    """A cluster of which nothing can be told; ``why`` is for a person."""

    why: str


def read_cluster(raw: Mapping[str, Any], vouch: Vouch) -> ClusterView | UnreadableView:
    """Read an AWSCluster."""
    found = read_stored(raw, vouch)
    if isinstance(found, UnreadableView):
        return found
    return replace(build_view(raw, found), registrations=found.registrations, forged=found.forged)


def build_view(raw: Mapping[str, Any], found: StoredIds) -> ClusterView:
    """Build the view of what an AWSCluster and a control plane have in common, by the same fields of their specs."""
    metadata, spec = raw["metadata"], raw.get("spec") or {}
    return ClusterView(
        title_of(raw),
        name_for_workloads(raw, found.entries),
        str(spec.get("region") or ""),
        found.vpc,
        found.subnets,
        found.groups,
        key_name=spec.get("sshKeyName"),
        tags=dict(spec.get("additionalTags") or {}),
        images=ImageLookup(
            str(spec.get("imageLookupFormat") or ""),
            str(spec.get("imageLookupOrg") or ""),
            str(spec.get("imageLookupBaseOS") or ""),
        ),
        deleting=bool(metadata.get("deletionTimestamp")),
    )


def title_of(raw: Mapping[str, Any]) -> str:
    return f"{raw.get('kind', 'cluster')} {raw['metadata']['name']!r}"


def read_stored(raw: Mapping[str, Any], vouch: Vouch) -> StoredIds | UnreadableView:
    """Read which ids count. Of an object that others manage, which has no journal, those in its spec and status.

    One of ours that has lost its journal says nothing: its machines stay as they are until it is back.
    """
    title, annotations = title_of(raw), raw["metadata"].get("annotations") or {}
    text = annotations.get(names.JOURNAL_ANNOTATION)
    if text is None and annotations.get(names.MANAGED_BY_ANNOTATION, names.MANAGED_BY_FREEHOLD) == (
        names.MANAGED_BY_FREEHOLD
    ):
        return UnreadableView(f"{title} has no record (annotation {names.JOURNAL_ANNOTATION}) yet, or has lost it")
    spec = raw.get("spec") or {}
    if not text:
        return read_managed_ids(spec, raw.get("status") or {})
    try:
        return read_recorded_ids(loads(text), spec, vouch)
    except CorruptJournal as problem:
        return UnreadableView(f"{title}: {problem}")


@dataclass(frozen=True)
class StoredIds:
    """The ids that count (:class:`ClusterView`). ``entries`` are all of the journal, ``counting`` those that count.

    ``managed``: others manage the object, so that it has no journal.
    """

    vpc: str
    subnets: tuple[str, ...]
    groups: Mapping[str, str]
    registrations: tuple[str, ...] = ()
    forged: tuple[str, ...] = ()
    entries: Mapping[NodeKey, Entry] = field(default_factory=dict)
    counting: Mapping[NodeKey, Entry] = field(default_factory=dict)
    managed: bool = False


def read_recorded_ids(journal: Journal, spec: Mapping[str, Any], vouch: Vouch) -> StoredIds:
    """Read the ids in the journal of an object of ours."""
    counting = dict(_find_counting(journal, spec, vouch))
    listed = list(_listed_subnets(spec))
    subnets = sorted(
        (listed.index(key.logical) if key.logical in listed else len(listed), key.logical, entry.id)
        for key, entry in counting.items()
        if key.kind == SUBNET_KIND
    )
    fronts = (TARGET_GROUP_KIND, CLASSIC_KIND)
    forged = (
        str(key)
        for key, entry in journal.entries.items()
        if key.kind in fronts and entry.state.is_claimed and entry.id and not vouch(journal, key, entry)
    )
    return StoredIds(
        counting[VPC].id if VPC in counting else "",
        tuple(ident for _, _, ident in subnets),
        {key.logical: entry.id for key, entry in counting.items() if key.kind == GROUP_KIND},
        tuple(sorted(entry.id for key, entry in counting.items() if key.kind in fronts)),
        tuple(sorted(forged)),
        journal.entries,
        counting,
    )


def _find_counting(journal: Journal, spec: Mapping[str, Any], vouch: Vouch) -> Iterator[tuple[NodeKey, Entry]]:
    given = frozenset(texts_in(spec))
    for key, entry in journal.entries.items():
        if not entry.id or entry.deleting or "~" in key.logical:  # that is beside another one, and on its way out
            continue
        if entry.state.is_claimed:
            counts = vouch(journal, key, entry)
        else:
            counts = entry.state is RecordState.GIVEN and entry.id in given
        if counts:
            yield key, entry


def read_managed_ids(spec: Mapping[str, Any], status: Mapping[str, Any]) -> StoredIds:
    """Read the ids in spec and status of an object that others manage."""
    network = spec.get("network") or {}
    there = (status.get("networkStatus") or {}).get("securityGroups") or {}
    return StoredIds(
        str((network.get("vpc") or {}).get("id") or ""),
        tuple(filter(is_aws_id, (_id_of(each) for each in network.get("subnets") or ()))),
        {str(role): str(group["id"]) for role, group in there.items() if group.get("id")},
        managed=True,
    )


def _listed_subnets(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names for life of the subnets that the spec lists, in its order."""
    for each in (spec.get("network") or {}).get("subnets") or ():
        yield str(each.get("id") or "")


def _id_of(subnet: Mapping[str, Any]) -> str:
    return str(subnet.get("resourceID") or subnet.get("id") or "")
