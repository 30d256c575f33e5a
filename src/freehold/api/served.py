"""The kinds that Freehold serves, by name: one list for the operator, the CLI, the CRDs and the docs. Data only.

The types behind them are in :mod:`freehold.api.crd`, which is slow to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from freehold.api import names


class ClusterLink(Enum):
    """How the Cluster that an object belongs to is found (docs/reference/capi-contract.md C15, C17, C37)."""

    INFRASTRUCTURE = "infrastructureRef"  # owned by a Cluster, which references it in this field
    CONTROL_PLANE = "controlPlaneRef"  # likewise, in this field
    MACHINE = "machine"  # owned by a Machine, which names the Cluster
    NONE = "none"  # it belongs to no Cluster


@dataclass(frozen=True)
class MachineName:
    """The machines that use the infrastructure of a kind; they are deleted before it."""

    kind: str
    plural: str


@dataclass(frozen=True)
class ServedName:
    """The names of one kind, its finalizer, and its link to a Cluster."""

    group: str
    version: str
    kind: str
    plural: str
    finalizer: str
    link: ClusterLink = ClusterLink.INFRASTRUCTURE
    machines: MachineName | None = None
    namespaced: bool = True

    @property
    def crd(self) -> str:
        """The name of its CRD."""
        return f"{self.plural}.{self.group}"


POWERVS_CLUSTER = ServedName(
    names.INFRASTRUCTURE_GROUP,
    names.V1BETA2,
    names.POWERVS_CLUSTER_KIND,
    names.POWERVS_CLUSTER_PLURAL,
    names.POWERVS_CLUSTER_FINALIZER,
    machines=MachineName(names.POWERVS_MACHINE_KIND, names.POWERVS_MACHINE_PLURAL),
)

SERVED: tuple[ServedName, ...] = (POWERVS_CLUSTER,)


def served_of(kind: str) -> ServedName:
    """The served kind of this name. Raises KeyError."""
    return {each.kind: each for each in SERVED}[kind]
