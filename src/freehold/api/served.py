"""The kinds that Freehold serves, by name: for the operator, the CLI, the CRDs and the docs. Data only.

The types behind them are in :mod:`freehold.api.crd`, which is slow to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from freehold.api import names
from freehold.api.served_fields import ServedField
from freehold.providers.aws.types.fields import AWS_CLUSTER_FIELDS, AWS_CLUSTER_STATUS_LEFT_OUT


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
    """The names of one kind, its finalizer, and its link to a Cluster.

    ``fields`` says which are acted on; without a list, the kind's own code does. ``left_out``: fields of upstream's
    status that are never written. ``collectable``: what its workloads made can be collected with it.
    ``once_in_account``: an account can have one cluster of a name, because what two
    create would count as one cluster's.
    """

    group: str
    version: str
    kind: str
    plural: str
    finalizer: str
    link: ClusterLink = ClusterLink.INFRASTRUCTURE
    machines: MachineName | None = None
    namespaced: bool = True
    fields: tuple[ServedField, ...] = ()
    once_in_account: bool = False
    collectable: bool = False
    left_out: tuple[ServedField, ...] = ()

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

AWS_CLUSTER = ServedName(
    names.INFRASTRUCTURE_GROUP,
    names.V1BETA2,
    names.AWS_CLUSTER_KIND,
    names.AWS_CLUSTER_PLURAL,
    names.AWS_CLUSTER_FINALIZER,
    machines=MachineName(names.AWS_MACHINE_KIND, names.AWS_MACHINE_PLURAL),
    fields=AWS_CLUSTER_FIELDS,
    once_in_account=True,
    collectable=True,
    left_out=AWS_CLUSTER_STATUS_LEFT_OUT,
)

CLOUD_METADATA = ServedName(
    names.METADATA_GROUP, names.METADATA_VERSION, "CloudMetadata", "cloudmetadatas", "", link=ClusterLink.NONE
)
AWS_METADATA = ServedName(
    names.AWS_METADATA_GROUP, names.METADATA_VERSION, "AWSMetadata", "awsmetadatas", "", link=ClusterLink.NONE
)
IBM_METADATA = ServedName(
    names.IBM_METADATA_GROUP, names.METADATA_VERSION, "IBMMetadata", "ibmmetadatas", "", link=ClusterLink.NONE
)
METADATA_GRANT = ServedName(
    names.METADATA_GROUP,
    names.METADATA_VERSION,
    "MetadataGrant",
    "metadatagrants",
    "",
    link=ClusterLink.NONE,
    namespaced=False,
)
"""They own no resource: they have no finalizer, but for tags that are to go with their object."""


def _identity(kind: str, plural: str) -> ServedName:
    """One that AWSClusters refer to. Nothing is created for it, so it has no finalizer."""
    return ServedName(
        names.INFRASTRUCTURE_GROUP, names.V1BETA2, kind, plural, "", link=ClusterLink.NONE, namespaced=False
    )


AWS_STATIC_IDENTITY = _identity(names.AWS_STATIC_IDENTITY_KIND, names.AWS_STATIC_IDENTITY_PLURAL)
AWS_ROLE_IDENTITY = _identity(names.AWS_ROLE_IDENTITY_KIND, names.AWS_ROLE_IDENTITY_PLURAL)
AWS_CONTROLLER_IDENTITY = _identity(names.AWS_CONTROLLER_IDENTITY_KIND, names.AWS_CONTROLLER_IDENTITY_PLURAL)

SERVED: tuple[ServedName, ...] = (POWERVS_CLUSTER, AWS_CLUSTER)
"""The kinds that are reconciled."""
REFERRED_TO: tuple[ServedName, ...] = (AWS_STATIC_IDENTITY, AWS_ROLE_IDENTITY, AWS_CONTROLLER_IDENTITY)
"""The kinds that are only read, where an object of a kind above names one."""
METADATA_PROVIDERS: tuple[ServedName, ...] = (AWS_METADATA, IBM_METADATA)
METADATA: tuple[ServedName, ...] = (CLOUD_METADATA, *METADATA_PROVIDERS, METADATA_GRANT)
"""The kinds of the metadata controller, which has neither journal nor graph (operator/metadata/reconcile.py)."""


def served_of(kind: str) -> ServedName:
    """The served kind of this name. Raises KeyError."""
    return {each.kind: each for each in SERVED}[kind]
