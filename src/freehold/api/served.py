"""Names of a kind that Freehold serves, for the operator, the CLI, the CRDs and the docs. Data only.

The kinds are listed in :mod:`freehold.providers.registry`; their types are slow to import and come with
:mod:`freehold.providers.crds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from freehold.api import names
from freehold.api.served_fields import ServedField


class ClusterLink(Enum):
    """The way from an object to its Cluster (docs/reference/capi-contract.md C15, C17, C37)."""

    INFRASTRUCTURE = "infrastructureRef"  # owned by a Cluster, which references it in this field
    CONTROL_PLANE = "controlPlaneRef"  # likewise, in this field
    MACHINE = "machine"  # owned by a Machine, which names the Cluster
    NONE = "none"  # it belongs to no Cluster


@dataclass(frozen=True)
class MachineName:
    """A kind of machines that use the infrastructure of a kind; they are deleted before it.

    ``inputs`` are the fields of their specs that what they use depends on: it reads them in each pass.
    """

    group: str
    version: str
    kind: str
    plural: str
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class ParentName:
    """A kind that an object can be part of, as an AWSMachine is of an AWSCluster.

    ``place`` are the fields of its spec that say in which account it is: its children are there, too. ``link``: the
    field in which a Cluster refers to it.
    """

    group: str
    version: str
    kind: str
    plural: str
    place: tuple[str, ...]
    link: ClusterLink = ClusterLink.INFRASTRUCTURE


@dataclass(frozen=True)
class InfrastructureName:
    """The kind that a Cluster names as its infrastructure beside a control plane; its annotations count there too."""

    group: str
    version: str
    kind: str
    plural: str
    link: ClusterLink = ClusterLink.INFRASTRUCTURE


@dataclass(frozen=True)
class ServedName:
    """The names of one kind, its finalizer, and its link to a Cluster.

    ``fields`` says which spec fields are acted on; if it is empty, the kind's own code does. ``left_out``: upstream's
    status fields that are never written. ``parts``: the types of its conditions that ``Ready`` summarizes, in the order
    in which they are shown. ``collectable``: the leftovers of its workloads can be collected with it.
    ``once_in_account``: an account can have only one cluster of a name, because the resources of two could not be
    distinguished. ``parents``: the kinds of what each object of the kind is part of, of which it has one.
    ``infrastructure`` is that of a control plane, where its Cluster has another one.
    ``waiting_part``: that of ``parts`` which tells, beside ``Ready``, what it waits for around it. ``defaults``: the
    generation of the defaults that new objects get; those that are there keep theirs
    (:attr:`journal.Journal.defaults`). ``annotations`` are those that its spec is checked with.
    """

    group: str
    version: str
    kind: str
    plural: str
    finalizer: str
    link: ClusterLink = ClusterLink.INFRASTRUCTURE
    machines: tuple[MachineName, ...] = ()
    namespaced: bool = True
    fields: tuple[ServedField, ...] = ()
    once_in_account: bool = False
    collectable: bool = False
    left_out: tuple[ServedField, ...] = ()
    parts: tuple[str, ...] = ()
    parents: tuple[ParentName, ...] = ()
    infrastructure: InfrastructureName | None = None
    waiting_part: str = ""
    defaults: int = 0
    annotations: tuple[str, ...] = ()

    @property
    def checked_annotations(self) -> tuple[str, ...]:
        """The annotations whose values can be wrong."""
        return (*self.annotations, *(names.COLLECTION_ANNOTATIONS if self.collectable else ()))

    @property
    def crd(self) -> str:
        """The name of its CRD."""
        return f"{self.plural}.{self.group}"


CLOUD_METADATA = ServedName(
    names.METADATA_GROUP, names.METADATA_VERSION, "CloudMetadata", "cloudmetadatas", "", link=ClusterLink.NONE
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
"""Kinds of the metadata controller, which has neither journal nor graph; they own no resource."""
