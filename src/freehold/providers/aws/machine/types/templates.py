"""``AWSMachineTemplate`` and ``AWSClusterTemplate``: data that Cluster API makes machines and clusters of.

Nothing reconciles them. AWSClusterTemplate cannot change, as upstream's; an AWSMachineTemplate must be changeable in a
dry run, by which Cluster API finds out whether to make a new one, and no rule of a schema can tell a dry run
(https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-machine#inframachinetemplate-support-cluster-topologies).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api.base import ApiModel, ApiRule, Items
from freehold.api.status import Condition
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.machine.types import rules
from freehold.providers.aws.machine.types.spec import AWSMachineSpec

_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
Quantity = Annotated[int | str, Field(json_schema_extra={"pattern": _QUANTITY})]


class TemplateMetadata(ApiModel):
    """Labels and annotations of what is made of the template."""

    annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels."""


class AWSMachineTemplateResource(ApiModel):
    """What a machine is made of."""

    RULES = rules.TEMPLATE_RULES

    metadata: TemplateMetadata | None = None
    """Labels and annotations of the machine."""
    spec: AWSMachineSpec
    """The spec of the machine."""


class AWSMachineTemplateSpec(ApiModel):
    """The template."""

    template: AWSMachineTemplateResource
    """What a machine is made of."""


class NodeInfo(ApiModel):
    """The nodes of the machines."""

    architecture: Literal["amd64", "arm64"] | None = None
    """Their architecture."""
    operating_system: Literal["linux", "windows"] | None = None
    """Their operating system."""


class AWSMachineTemplateStatus(ApiModel):
    """What an autoscaler wants to know. Not written."""

    capacity: dict[str, Quantity] = Field(default_factory=dict)
    """Resources of one machine."""
    conditions: Items[Condition] = ()
    """Conditions."""
    node_info: NodeInfo | None = None
    """Its node."""


class AWSMachineTemplate(ApiModel):
    """What a MachineDeployment, or a control plane, makes machines of."""

    spec: AWSMachineTemplateSpec | None = None
    """The template."""
    status: AWSMachineTemplateStatus | None = None
    """Not written."""


class AWSClusterTemplateResource(ApiModel):
    """What a cluster is made of."""

    metadata: TemplateMetadata | None = None
    """Labels and annotations of the cluster."""
    spec: AWSClusterSpec
    """The spec of the cluster."""


class AWSClusterTemplateSpec(ApiModel):
    """The template."""

    RULES = (ApiRule("self == oldSelf", "a template of clusters cannot change; make another one", field=".template"),)

    template: AWSClusterTemplateResource
    """What a cluster is made of."""


class AWSClusterTemplate(ApiModel):
    """What a ClusterClass makes the infrastructure of clusters of."""

    spec: AWSClusterTemplateSpec | None = None
    """The template."""
