"""The kinds that Freehold serves, by name: one list for the operator, the CLI, the CRDs and the docs. Data only.

The types behind them are in :mod:`freehold.api.crd`, which is slow to import.
"""

from __future__ import annotations

from dataclasses import dataclass

from freehold.api import names


@dataclass(frozen=True)
class ServedName:
    """The names of one kind, and the finalizer that we put on its objects."""

    group: str
    version: str
    kind: str
    plural: str
    finalizer: str

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
)

SERVED: tuple[ServedName, ...] = (POWERVS_CLUSTER,)
