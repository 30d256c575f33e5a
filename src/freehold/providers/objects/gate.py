"""Gate: what may be done with an object now, decided from the object and its Cluster alone, without I/O.

The order is that of the contract (docs/reference/capi-contract.md): who else manages it, move, pause, and
only then deletion and creation. A Cluster that cannot be read is unknown, not absent, and the object is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import Any

from freehold.api import names
from freehold.api.served import ClusterLink, ServedName
from freehold.engine.keys import KeyRing
from freehold.engine.secret_values import NoSecrets, SecretReader
from freehold.providers.objects.around import (
    NOTHING_AROUND as NOTHING_AROUND,
)
from freehold.providers.objects.around import (
    Around as Around,
)
from freehold.providers.objects.around import (
    explain_bootstrap_wait,
    explain_parent_wait,
    find_bootstrap,
)
from freehold.providers.objects.around import (
    find_referred_name as find_referred_name,
)

DEFAULT_API_PORT = 6443
WAITS_OF_MACHINES = frozenset(
    {names.REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE, names.REASON_WAITING_FOR_BOOTSTRAP_DATA}
)
"""Reasons for which a machine cannot be made yet; nothing is wrong with its manifest."""
_STOPPED = "nothing is created, changed or deleted"


class ClusterApiMode(StrEnum):
    """The values of ``--cluster-api``."""

    AUTO = "auto"
    REQUIRED = "required"
    OFF = "off"


class Presence(Enum):
    """The presence of the CRDs of Cluster API."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class FoundCluster:
    """A Cluster that was found; raw, in whichever version it was served."""

    cluster: Mapping[str, Any]


@dataclass(frozen=True)
class NoCluster:
    """The answer that there is no Cluster. ``missing`` names the missing object (``Machine 'm1'``)."""

    missing: str = ""


@dataclass(frozen=True)
class UnreadableCluster:
    """A Cluster that could not be read (403, timeout, 5xx); ``why`` is for a person."""

    why: str


@dataclass(frozen=True, order=True)
class StandingMachine:
    """A machine, by kind and name, that stands on what is being deleted."""

    kind: str
    name: str


@dataclass(frozen=True)
class UnreadableMachines:
    """Machines that could not be read; ``why`` is for a person."""

    why: str


ClusterLookup = FoundCluster | NoCluster | UnreadableCluster


@dataclass(frozen=True)
class ClusterContext:
    """Everything that the gate needs besides the object.

    ``owner`` is the lookup of the ownerReference of :func:`owner_of` (NoCluster if there is none): the Cluster, or that
    of the Machine. ``referrer`` is a Cluster of the namespace that names the object (:func:`refers_to`). ``machines``
    are those that use an object in deletion, :class:`UnreadableMachines` if they could not be read. ``around`` is read
    for a kind with parents, and for a control plane.
    """

    mode: ClusterApiMode
    crds: Presence = Presence.ABSENT
    owner: ClusterLookup = NoCluster()
    referrer: ClusterLookup = NoCluster()
    machines: tuple[StandingMachine, ...] | UnreadableMachines = ()
    around: Around = NOTHING_AROUND


@dataclass(frozen=True)
class Proceed:
    """The decision to reconcile the spec. ``cluster`` is the name of its Cluster, or its own if it has none.

    ``around`` is what surrounds a machine, ``bootstrap`` the Secret with its bootstrap data, empty for none. ``ring``
    tells what the operator itself wrote into the records of others; None where nothing is created. ``secrets`` reads
    the Secrets of the object's namespace.
    """

    cluster: str
    port: int = DEFAULT_API_PORT
    standalone: bool = False
    around: Around = NOTHING_AROUND
    bootstrap: str = ""
    ring: KeyRing | None = field(default=None, repr=False, compare=False)
    secrets: SecretReader = field(default_factory=NoSecrets, repr=False, compare=False)


@dataclass(frozen=True)
class Release:
    """The decision to delete what is owned, and then remove the finalizer: the object is being deleted.

    Of ``around`` there may be nothing any more.
    """

    around: Around = NOTHING_AROUND


@dataclass(frozen=True)
class Pause:
    """The decision to write nothing but conditions (docs/reference/capi-contract.md C23, C24, C30)."""

    message: str


@dataclass(frozen=True)
class Hold:
    """The decision to wait for somebody else, without a cloud write."""

    reason: str
    message: str


@dataclass(frozen=True)
class WaitForMachines:
    """The decision to delete nothing before the machines are gone (docs/reference/capi-contract.md C22)."""

    message: str


@dataclass(frozen=True)
class ReleaseForMove:
    """The decision to drop the finalizer without a cloud call: it was moved (docs/reference/capi-contract.md C29)."""


@dataclass(frozen=True)
class Skip:
    """The decision to write nothing at all, not even status: it is not ours (docs/reference/capi-contract.md C26)."""

    message: str


GateDecision = Proceed | Release | WaitForMachines | Pause | Hold | ReleaseForMove | Skip


@dataclass(frozen=True)
class OwnerReference:
    """A reference to the Cluster, or the Machine, that an object belongs to."""

    kind: str
    name: str
    api_version: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


def owner_of(raw: Mapping[str, Any], link: ClusterLink) -> OwnerReference | None:
    """Find the ownerReference for this link, by group and kind (docs/reference/capi-contract.md C15, C37)."""
    kind = "Machine" if link is ClusterLink.MACHINE else "Cluster"
    for reference in raw["metadata"].get("ownerReferences") or ():
        group, _, version = str(reference.get("apiVersion", "")).partition("/")
        if group == names.CLUSTER_API_GROUP and version and reference.get("kind") == kind:
            return OwnerReference(kind, str(reference.get("name", "")), f"{group}/{version}")
    return None


def refers_to(cluster: Mapping[str, Any], raw: Mapping[str, Any], link: ClusterLink) -> bool:
    """Return whether a Cluster names the object in the field of this link (docs/reference/capi-contract.md C17)."""
    if link not in (ClusterLink.INFRASTRUCTURE, ClusterLink.CONTROL_PLANE):
        return False
    reference = (cluster.get("spec") or {}).get(link.value) or {}
    group = reference.get("apiGroup") or str(reference.get("apiVersion", "")).partition("/")[0]
    ours = str(raw.get("apiVersion", "")).partition("/")[0]
    return (group, reference.get("kind"), reference.get("name")) == (ours, raw.get("kind"), raw["metadata"]["name"])


def find_cluster(context: ClusterContext) -> Mapping[str, Any] | None:
    """Find the Cluster that owns an object, or refers to it; None if none is known."""
    found = [each.cluster for each in (context.owner, context.referrer) if isinstance(each, FoundCluster)]
    return found[0] if found else None


def leaves_alone(decision: GateDecision) -> bool:
    """Return whether nothing of the object is written but its status, or the finalizer in a move."""
    return isinstance(decision, Skip | Pause | ReleaseForMove)


def decide(raw: Mapping[str, Any], context: ClusterContext, served: ServedName) -> GateDecision:
    """Decide what may be done with ``raw`` now.

    Names are the object's own in both modes (upstream does the same), so that a Cluster which appears
    later changes no name of a resource (docs/reference/capi-contract.md C20).
    """
    metadata = raw["metadata"]
    annotations = metadata.get("annotations") or {}
    deleting = bool(metadata.get("deletionTimestamp"))
    manager = annotations.get(names.MANAGED_BY_ANNOTATION)
    if manager is not None and manager != names.MANAGED_BY_FREEHOLD:
        return Skip(f"annotation {names.MANAGED_BY_ANNOTATION} says that something else manages it")
    if deleting and served.finalizer not in (metadata.get("finalizers") or ()):
        return Skip("it is being deleted and nothing of ours holds it")
    if deleting and names.DELETE_FOR_MOVE_ANNOTATION in annotations:
        return ReleaseForMove()
    if annotations.get(names.PAUSED_ANNOTATION) == names.RECOVERED:
        return Pause(names.RECOVERED_WAITS)
    if names.PAUSED_ANNOTATION in annotations:
        return _explain_annotation_pause(raw)
    if served.link is ClusterLink.NONE:
        return Release() if deleting else Proceed(metadata["name"], standalone=True)
    return _decide_by_cluster(raw, context, served, deleting)


def _decide_by_cluster(
    raw: Mapping[str, Any], context: ClusterContext, served: ServedName, deleting: bool
) -> GateDecision:
    owner = owner_of(raw, served.link)
    lookup = context.owner if owner else context.referrer
    match lookup:
        case UnreadableCluster(why):
            return Hold(names.REASON_WAITING_FOR_CLUSTER, f"whether a Cluster owns it cannot be told: {why}")
        case FoundCluster(cluster) if (cluster.get("spec") or {}).get("paused") is True:
            return _explain_cluster_pause(raw, cluster)
    if deleting:
        # Also with the Cluster gone: nobody could unpause it any more, and only ReleaseForMove means a move.
        return _decide_release(context, served)
    if owner and context.mode is not ClusterApiMode.OFF:
        if isinstance(lookup, NoCluster):
            missing = lookup.missing or str(owner)
            return Hold(
                names.REASON_WAITING_FOR_CLUSTER,
                f"its ownerReference names {owner}, and {missing} does not exist; "
                "restore it or remove the ownerReference",
            )
        return _build_proceed(raw, lookup, context, served, standalone=False)
    return _decide_without_owner(raw, context, lookup, served)


def _explain_annotation_pause(raw: Mapping[str, Any]) -> Pause:
    """Explain the pause in Cluster API's words. A manifest that sets the annotation would bring it back."""
    metadata, kind = raw["metadata"], str(raw.get("kind", "object"))
    where = f" -n {metadata['namespace']}" if metadata.get("namespace") else ""
    return Pause(
        f"{kind} has the {names.PAUSED_ANNOTATION} annotation: {_STOPPED}. To go on: "
        f"kubectl annotate {kind.lower()} {metadata['name']}{where} {names.PAUSED_ANNOTATION}- (take it out of the "
        "manifest too, if it is there)"
    )


def _explain_cluster_pause(raw: Mapping[str, Any], cluster: Mapping[str, Any]) -> Pause:
    where = f" -n {raw['metadata']['namespace']}" if raw["metadata"].get("namespace") else ""
    return Pause(
        f"Cluster spec.paused is set to true: {_STOPPED}. To go on: kubectl patch clusters.{names.CLUSTER_API_GROUP} "
        f'{cluster["metadata"]["name"]}{where} --type=merge -p \'{{"spec":{{"paused":null}}}}\' (clusterctl move '
        "does so itself, at its end)"
    )


def find_cluster_name(raw: Mapping[str, Any], link: ClusterLink) -> str:
    """Find the Cluster name in the labels of the object's machines; the object's own name if it has no Cluster."""
    owner = owner_of(raw, link) if link is not ClusterLink.MACHINE else None
    label = (raw["metadata"].get("labels") or {}).get(names.CLUSTER_NAME_LABEL)
    return (owner.name if owner else label) or str(raw["metadata"]["name"])


def _decide_release(context: ClusterContext, served: ServedName) -> Release | WaitForMachines | Hold:
    """Decide whether to wait for machines. Cluster API deletes them first; without it only this wait does.

    A machine waits for nothing: without what is around it, its record says where it is.
    """
    if served.infrastructure is not None and context.around.unread:
        why = context.around.unread
        return Hold(
            names.REASON_WAITING_FOR_CLUSTER, f"what belongs to it cannot be told, so nothing is deleted: {why}"
        )
    match context.machines:
        case UnreadableMachines(why):
            return WaitForMachines(f"whether machines stand on it cannot be told, so nothing is deleted: {why}")
        case ():
            return Release(context.around)
        case machines:
            kinds = dict.fromkeys(each.kind for each in machines)
            shown = "; ".join(
                _list_names(kind, [each.name for each in machines if each.kind == kind]) for kind in kinds
            )
            return WaitForMachines(f"{shown} of this cluster must be deleted first")


def _list_names(kind: str, of_kind: Sequence[str]) -> str:
    rest = f" and {len(of_kind) - 5} more" if len(of_kind) > 5 else ""
    return f"{kind} {', '.join(of_kind[:5])}{rest}"


def _decide_without_owner(
    raw: Mapping[str, Any], context: ClusterContext, lookup: ClusterLookup, served: ServedName
) -> GateDecision:
    """Decide without an owner: wait for one if one may still come (docs/reference/capi-contract.md C18)."""
    if context.mode is ClusterApiMode.OFF:
        return _build_proceed(raw, lookup, context, served, standalone=True)
    metadata = raw["metadata"]
    annotations = metadata.get("annotations") or {}
    label = (metadata.get("labels") or {}).get(names.CLUSTER_NAME_LABEL)
    reason = names.REASON_WAITING_FOR_CLUSTER
    owner = "Machine" if served.link is ClusterLink.MACHINE else "Cluster"
    if isinstance(lookup, FoundCluster):
        name = lookup.cluster["metadata"]["name"]
        return Hold(reason, f"Cluster {name!r} refers to it; Cluster API has not set the ownerReference yet")
    if label is not None and not served.parents:  # that of a machine names what it is part of
        return Hold(
            reason,
            f"label {names.CLUSTER_NAME_LABEL} says that it belongs to Cluster {label!r}, which has not set the "
            "ownerReference yet; without Cluster API, start freehold with --cluster-api=off or remove the label",
        )
    if context.mode is ClusterApiMode.REQUIRED:
        return Hold(reason, f"no {owner} owns it; create one that refers to it, or start with --cluster-api=auto")
    if context.crds is Presence.UNKNOWN:
        return Hold(reason, "whether Cluster API is installed cannot be told; check that CRDs may be read")
    opted_in = names.STANDALONE_ANNOTATION in annotations and annotations[names.STANDALONE_ANNOTATION] != "false"
    if context.crds is Presence.ABSENT or opted_in or names.JOURNAL_ANNOTATION in annotations:
        # The journal: it was served alone before Cluster API came (docs/reference/capi-contract.md C20).
        return _build_proceed(raw, lookup, context, served, standalone=True)
    return Hold(
        reason,
        f"no {owner} owns it and Cluster API is installed; create one that refers to it, or set annotation "
        f"{names.STANDALONE_ANNOTATION}: 'true' to serve it alone",
    )


def _build_proceed(
    raw: Mapping[str, Any], lookup: ClusterLookup, context: ClusterContext, served: ServedName, *, standalone: bool
) -> Proceed | Hold:
    proceed = replace(_build_plain_proceed(raw, lookup, standalone=standalone), around=context.around)
    if served.parents:
        return _decide_by_around(raw, proceed, served)
    if context.around.unread:
        return Hold(names.REASON_WAITING_FOR_CLUSTER, f"what belongs to it cannot be told: {context.around.unread}")
    return proceed


def _decide_by_around(raw: Mapping[str, Any], proceed: Proceed, served: ServedName) -> Proceed | Hold:
    """Decide whether a machine can be made yet (docs/reference/capi-contract.md C38). A delete never comes here."""
    if waits := explain_parent_wait(raw, proceed.around, served.parents):
        return Hold(names.REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE, waits)
    bootstrap = find_bootstrap(raw, proceed.around)
    if bootstrap is None:
        return Hold(names.REASON_WAITING_FOR_BOOTSTRAP_DATA, explain_bootstrap_wait(proceed.around))
    return replace(proceed, cluster=_find_name_of_cluster(raw, proceed), bootstrap=bootstrap)


def _find_name_of_cluster(raw: Mapping[str, Any], proceed: Proceed) -> str:
    return proceed.cluster if proceed.around.cluster else find_cluster_name(raw, ClusterLink.MACHINE)


def _build_plain_proceed(raw: Mapping[str, Any], lookup: ClusterLookup, *, standalone: bool) -> Proceed:
    if not isinstance(lookup, FoundCluster):
        return Proceed(raw["metadata"]["name"], standalone=standalone)
    network = (lookup.cluster.get("spec") or {}).get("clusterNetwork") or {}
    port = network.get("apiServerPort") or DEFAULT_API_PORT
    return Proceed(lookup.cluster["metadata"]["name"], int(port), standalone)
