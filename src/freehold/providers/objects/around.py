"""What surrounds a machine: its owner Machine, its Cluster, and what it is part of; and what surrounds that. Pure.

The order of the waits is that of the contract (docs/reference/capi-contract.md C38).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.api import names
from freehold.api.served import ClusterLink, InfrastructureName, ParentName, ServedName
from freehold.providers.objects.parents import kind_of_parent, read_standing


@dataclass(frozen=True)
class Around:
    """The raw objects around an object, in whichever version they were served; None for what there is not.

    ``parent`` is what a machine is part of: what the Cluster refers to, or what the label of a machine without owner
    names. ``infrastructure`` is that of a control plane's Cluster, and ``machines`` are those whose specs it depends
    on, of all kinds. ``unread`` says why one of these could not be read.
    """

    machine: Mapping[str, Any] | None = None
    cluster: Mapping[str, Any] | None = None
    parent: Mapping[str, Any] | None = None
    unread: str = ""
    infrastructure: Mapping[str, Any] | None = None
    machines: tuple[Mapping[str, Any], ...] = ()


NOTHING_AROUND = Around()


@dataclass(frozen=True)
class NamedParent:
    """What an object may be part of, by kind and name."""

    kind: ParentName
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.name!r}"


def find_named_parents(
    raw: Mapping[str, Any], cluster: Mapping[str, Any] | None, parents: Sequence[ParentName]
) -> tuple[NamedParent, ...]:
    """Find what an object may be part of, in the order in which it is looked for: the first that exists is it.

    A Cluster refers to it. The label of an object without one names an object of one of the kinds.
    """
    if cluster is None:
        label = str((raw["metadata"].get("labels") or {}).get(names.CLUSTER_NAME_LABEL) or "")
        return tuple(NamedParent(each, label) for each in parents if label)
    referred = ((each, find_referred_name(cluster, each)) for each in parents)
    return tuple(NamedParent(each, name) for each, name in referred if name)


def find_referred_name(cluster: Mapping[str, Any], served: ServedName | ParentName | InfrastructureName) -> str:
    """Find the object of this kind that a Cluster names in the field of its link; empty if it is of another kind."""
    reference = (cluster.get("spec") or {}).get(served.link.value) or {}
    group = reference.get("apiGroup") or str(reference.get("apiVersion", "")).partition("/")[0]
    ours = (group, reference.get("kind")) == (served.group, served.kind)
    return str(reference.get("name") or "") if ours else ""


def is_provisioned(cluster: Mapping[str, Any]) -> bool:
    """Return whether a Cluster says that its infrastructure is there, in v1beta2's words or in v1beta1's."""
    status = cluster.get("status") or {}
    initialization = status.get("initialization") or {}
    return initialization.get("infrastructureProvisioned") is True or status.get("infrastructureReady") is True


def is_initialized(cluster: Mapping[str, Any]) -> bool:
    """Return whether a Cluster says that its control plane takes requests, in v1beta2's words or in v1beta1's."""
    status = cluster.get("status") or {}
    initialization = status.get("initialization") or {}
    return initialization.get("controlPlaneInitialized") is True or status.get("controlPlaneReady") is True


_READY_FIELDS = {ClusterLink.INFRASTRUCTURE: "ready", ClusterLink.CONTROL_PLANE: "initialized"}
"""The fields of a status that say for good that machines can be made: they stay true once they were."""


def explain_parent_wait(raw: Mapping[str, Any], around: Around, parents: Sequence[ParentName]) -> str:
    """Explain what of the cluster a machine waits for; empty if there is all of it."""
    named = find_named_parents(raw, around.cluster, parents)
    if around.cluster is not None and (missing := _find_missing_word(around.cluster, named)):
        return f"Cluster {around.cluster['metadata']['name']!r} does not say yet that its {missing}"
    if not named:
        return f"{_explain_where(around.cluster, parents)}, and it must be part of one"
    if around.unread:
        return f"whether {_join(named)} is ready cannot be told: {around.unread}"
    if around.parent is None:
        return f"{_join(named)}, which it is part of, does not exist"
    kind = kind_of_parent(around.parent, parents)
    what = f"{kind.kind} {around.parent['metadata']['name']!r}"
    if around.cluster is None and (around.parent.get("status") or {}).get(_READY_FIELDS[kind.link]) is not True:
        return f"{what} is not {_READY_FIELDS[kind.link]} yet"
    if _is_deleting(around.parent) and not _is_made(raw):
        return f"{what} is being deleted: nothing is made for it any more"
    if read_standing(around.parent, kind) is None:
        return f"{what} has no identity yet"
    return ""


def _find_missing_word(cluster: Mapping[str, Any], named: Sequence[NamedParent]) -> str:
    """Find what a Cluster must say before there are machines, and does not say yet; empty if nothing."""
    if not is_provisioned(cluster):
        return "infrastructure is provisioned"
    of_control_plane = any(each.kind.link is ClusterLink.CONTROL_PLANE for each in named)
    return "control plane is initialized" if of_control_plane and not is_initialized(cluster) else ""


def _explain_where(cluster: Mapping[str, Any] | None, parents: Sequence[ParentName]) -> str:
    """Explain where no object of the kinds is named."""
    if cluster is None:
        return f"label {names.CLUSTER_NAME_LABEL} names no {' or '.join(each.kind for each in parents)}"
    return " and ".join(f"its Cluster's spec.{each.link.value} names no {each.kind}" for each in parents)


def _join(named: Sequence[NamedParent]) -> str:
    return " or ".join(map(str, named))


def find_bootstrap(raw: Mapping[str, Any], around: Around) -> str | None:
    """Find the name of the Secret with the bootstrap data; empty if there is to be none, None if it is not known yet.

    A machine that is made needs it no more.
    """
    if around.machine is not None:
        said = ((around.machine.get("spec") or {}).get("bootstrap") or {}).get("dataSecretName")
    else:
        said = (raw["metadata"].get("annotations") or {}).get(names.BOOTSTRAP_ANNOTATION)
        if said == names.NO_BOOTSTRAP:
            return ""
    return str(said) if said else ("" if _is_made(raw) else None)


def explain_bootstrap_wait(around: Around) -> str:
    """Explain who must say what a machine boots with."""
    if around.machine is not None:
        name = around.machine["metadata"]["name"]
        return f"Machine {name!r} names no Secret with bootstrap data yet (spec.bootstrap.dataSecretName)"
    return (
        f"annotation {names.BOOTSTRAP_ANNOTATION} must name the Secret with its bootstrap data, or say "
        f"{names.NO_BOOTSTRAP!r}"
    )


def _is_deleting(raw: Mapping[str, Any]) -> bool:
    return bool(raw["metadata"].get("deletionTimestamp"))


def _is_made(raw: Mapping[str, Any]) -> bool:
    return bool((raw.get("spec") or {}).get("providerID"))
