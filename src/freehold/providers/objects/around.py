"""What surrounds a machine: its owner Machine, its Cluster, and the infrastructure that it is part of. Pure.

The order of the waits is that of the contract (docs/reference/capi-contract.md C38).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freehold.api import names
from freehold.api.served import ParentName
from freehold.providers.objects.parents import read_standing


@dataclass(frozen=True)
class Around:
    """The raw objects around a machine, in whichever version they were served; None for what there is not.

    ``infrastructure`` is what the Cluster refers to, or the cluster that the label of a machine without owner names.
    ``unread`` says why it could not be read.
    """

    machine: Mapping[str, Any] | None = None
    cluster: Mapping[str, Any] | None = None
    infrastructure: Mapping[str, Any] | None = None
    unread: str = ""


NOTHING_AROUND = Around()


def find_infrastructure_name(
    raw: Mapping[str, Any], cluster: Mapping[str, Any] | None, group: str, parent: ParentName
) -> str:
    """Find the name of the infrastructure: in the Cluster, without one in the label. Empty if it is of another kind."""
    if cluster is None:
        return str((raw["metadata"].get("labels") or {}).get(names.CLUSTER_NAME_LABEL) or "")
    reference = (cluster.get("spec") or {}).get("infrastructureRef") or {}
    said = reference.get("apiGroup") or str(reference.get("apiVersion", "")).partition("/")[0]
    return str(reference.get("name") or "") if (said, reference.get("kind")) == (group, parent.kind) else ""


def is_provisioned(cluster: Mapping[str, Any]) -> bool:
    """Return whether a Cluster says that its infrastructure is there, in v1beta2's words or in v1beta1's."""
    status = cluster.get("status") or {}
    initialization = status.get("initialization") or {}
    return initialization.get("infrastructureProvisioned") is True or status.get("infrastructureReady") is True


def explain_infrastructure_wait(raw: Mapping[str, Any], around: Around, group: str, parent: ParentName) -> str:
    """Explain what of the cluster a machine waits for; empty if there is all of it."""
    name = find_infrastructure_name(raw, around.cluster, group, parent)
    what = f"{parent.kind} {name!r}"
    if around.cluster is not None and not is_provisioned(around.cluster):
        return f"Cluster {around.cluster['metadata']['name']!r} does not say yet that its infrastructure is provisioned"
    if not name:
        where = (
            f"label {names.CLUSTER_NAME_LABEL}" if around.cluster is None else "its Cluster's spec.infrastructureRef"
        )
        return f"{where} names no {parent.kind}, and it must be part of one"
    if around.unread:
        return f"whether {what} is ready cannot be told: {around.unread}"
    if around.infrastructure is None:
        return f"{what}, which it is part of, does not exist"
    if around.cluster is None and (around.infrastructure.get("status") or {}).get("ready") is not True:
        return f"{what} is not ready yet"
    if _is_deleting(around.infrastructure) and not _is_made(raw):
        return f"{what} is being deleted: nothing is made for it any more"
    if read_standing(around.infrastructure, parent) is None:
        return f"{what} has no identity yet"
    return ""


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
