"""The resources that an AWSCluster has for its machines, read from the stored object. Pure.

The ids of what is its own are those of its journal, each with the operator's signature: whoever may edit the object can
write other ids, also those of a stranger's load balancer. What it was given by id is in its spec too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from freehold.api import names
from freehold.engine.journal import CorruptJournal, Entry, Journal, RecordState, loads
from freehold.engine.keys import KeyRing, fingerprint
from freehold.engine.resources import NodeKey
from freehold.engine.value_texts import texts_in
from freehold.providers.aws.cluster.keys import CLASSIC_KIND, GROUP_KIND, SUBNET_KIND, TARGET_GROUP_KIND, VPC
from freehold.providers.aws.cluster.recorded import name_for_workloads
from freehold.providers.aws.cluster.subnets import is_aws_id

Vouch = Callable[[Journal, NodeKey, Entry], bool]
"""Returns whether the operator itself wrote this id."""


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


@dataclass(frozen=True)
class UnreadableView:
    """A cluster of which nothing can be told; ``why`` is for a person."""

    why: str


def vouch_with(ring: KeyRing | None) -> Vouch:
    """Return what checks signatures with this key ring. Without one all count: nothing is created then."""

    def vouch(journal: Journal, key: NodeKey, entry: Entry) -> bool:
        if ring is None:
            return True
        owner = journal.owner
        if ring.derive_keys(owner).vouches(entry.key, entry.signature, key.kind, entry.id, entry.incarnation):
            return True
        return ring.forgives(entry.key, owner.uuid, fingerprint(owner, str(key), entry.id, entry.incarnation))

    return vouch


def read_cluster(raw: Mapping[str, Any], vouch: Vouch) -> ClusterView | UnreadableView:
    """Read an AWSCluster. One that others manage has no journal: what its spec and status say counts.

    One of ours that has lost its journal says nothing: its machines stay as they are until it is back.
    """
    metadata, spec = raw["metadata"], raw.get("spec") or {}
    title, annotations = f"AWSCluster {metadata['name']!r}", metadata.get("annotations") or {}
    text = annotations.get(names.JOURNAL_ANNOTATION)
    if text is None and annotations.get(names.MANAGED_BY_ANNOTATION, names.MANAGED_BY_FREEHOLD) == (
        names.MANAGED_BY_FREEHOLD
    ):
        return UnreadableView(f"{title} has no record (annotation {names.JOURNAL_ANNOTATION}) yet, or has lost it")
    try:
        journal = loads(text) if text else None
    except CorruptJournal as problem:
        return UnreadableView(f"{title}: {problem}")
    found = _Recorded(journal, spec, vouch) if journal else _Managed(spec, raw.get("status") or {})
    return ClusterView(
        title,
        name_for_workloads(raw, journal.entries if journal else {}),
        str(spec.get("region") or ""),
        found.vpc,
        found.subnets,
        found.groups,
        found.registrations,
        found.forged,
        spec.get("sshKeyName"),
        dict(spec.get("additionalTags") or {}),
        ImageLookup(
            str(spec.get("imageLookupFormat") or ""),
            str(spec.get("imageLookupOrg") or ""),
            str(spec.get("imageLookupBaseOS") or ""),
        ),
        bool(metadata.get("deletionTimestamp")),
    )


class _Recorded:
    """The ids in the journal of a cluster of ours."""

    def __init__(self, journal: Journal, spec: Mapping[str, Any], vouch: Vouch) -> None:
        given = frozenset(texts_in(spec))
        counting = {
            key: entry
            for key, entry in journal.entries.items()
            if entry.id
            and not entry.deleting
            and "~" not in key.logical  # beside another one, and on its way out
            and (
                vouch(journal, key, entry)
                if entry.state.is_claimed
                else entry.state is RecordState.GIVEN and entry.id in given
            )
        }
        self.vpc = counting[VPC].id if VPC in counting else ""
        listed = list(_listed_subnets(spec))
        self.subnets = tuple(
            entry.id
            for _, _, entry in sorted(
                (listed.index(key.logical) if key.logical in listed else len(listed), key.logical, entry)
                for key, entry in counting.items()
                if key.kind == SUBNET_KIND
            )
        )
        self.groups = {key.logical: entry.id for key, entry in counting.items() if key.kind == GROUP_KIND}
        fronts = (TARGET_GROUP_KIND, CLASSIC_KIND)
        self.registrations = tuple(sorted(entry.id for key, entry in counting.items() if key.kind in fronts))
        self.forged = tuple(
            sorted(
                str(key)
                for key, entry in journal.entries.items()
                if key.kind in fronts and entry.state.is_claimed and entry.id and not vouch(journal, key, entry)
            )
        )


class _Managed:
    """The ids in spec and status of a cluster that others manage."""

    def __init__(self, spec: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        network = spec.get("network") or {}
        self.vpc = str((network.get("vpc") or {}).get("id") or "")
        self.subnets = tuple(filter(is_aws_id, (_id_of(each) for each in network.get("subnets") or ())))
        there = (status.get("networkStatus") or {}).get("securityGroups") or {}
        self.groups = {str(role): str(group["id"]) for role, group in there.items() if group.get("id")}
        self.registrations: tuple[str, ...] = ()
        self.forged: tuple[str, ...] = ()


def _listed_subnets(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names for life of the subnets that the spec lists, in its order."""
    for each in (spec.get("network") or {}).get("subnets") or ():
        yield str(each.get("id") or "")


def _id_of(subnet: Mapping[str, Any]) -> str:
    return str(subnet.get("resourceID") or subnet.get("id") or "")
