"""AWSManagedControlPlane as a kind of object: its names, and what the controllers need of it.

Imports no SDK and no types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from freehold.api import names
from freehold.api.served import ClusterLink, InfrastructureName, MachineName, ParentName, ServedName
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.control_plane.keys import (
    ACCESS_ENTRY_KIND,
    ADDON_KIND,
    CLUSTER_KIND,
    OIDC_KIND,
    ROLE_KIND,
)
from freehold.providers.aws.control_plane.types.fields import (
    AWS_MANAGED_CONTROL_PLANE_FIELDS,
    AWS_MANAGED_CONTROL_PLANE_STATUS_LEFT_OUT,
)
from freehold.providers.base import ConnectionContext, ObjectKind

if TYPE_CHECKING:
    from freehold.api.feature_gates import FeatureGates
    from freehold.api.served_kind import ServedKind
    from freehold.collection.selector import Selector
    from freehold.engine.journal import Entry
    from freehold.engine.resources import NodeKey
    from freehold.providers.aws.accounts import AwsAccount
    from freehold.providers.objects.adapter import Adapter

_INFRASTRUCTURE = (names.INFRASTRUCTURE_GROUP, names.V1BETA2)
INSTANCE_PROFILE: Final = "iamInstanceProfile"
"""The field of an AWSMachine on which a control plane depends: the profile's role needs access to the cluster."""

AWS_MANAGED_CONTROL_PLANE = ServedName(
    names.CONTROL_PLANE_GROUP,
    names.V1BETA2,
    aws_names.AWS_MANAGED_CONTROL_PLANE_KIND,
    aws_names.AWS_MANAGED_CONTROL_PLANE_PLURAL,
    aws_names.AWS_MANAGED_CONTROL_PLANE_FINALIZER,
    link=ClusterLink.CONTROL_PLANE,
    machines=(
        MachineName(*_INFRASTRUCTURE, aws_names.AWS_MACHINE_KIND, aws_names.AWS_MACHINE_PLURAL, (INSTANCE_PROFILE,)),
        MachineName(*_INFRASTRUCTURE, "AWSManagedMachinePool", "awsmanagedmachinepools"),
        MachineName(*_INFRASTRUCTURE, "AWSMachinePool", "awsmachinepools"),
    ),
    infrastructure=InfrastructureName(
        *_INFRASTRUCTURE, aws_names.AWS_MANAGED_CLUSTER_KIND, aws_names.AWS_MANAGED_CLUSTER_PLURAL
    ),
    fields=AWS_MANAGED_CONTROL_PLANE_FIELDS,
    once_in_account=True,
    collectable=True,
    left_out=AWS_MANAGED_CONTROL_PLANE_STATUS_LEFT_OUT,
    parts=aws_names.AWS_CONTROL_PLANE_PART_CONDITIONS,
)
AWS_MANAGED_CONTROL_PLANE_TEMPLATE = ServedName(
    names.CONTROL_PLANE_GROUP,
    names.V1BETA2,
    aws_names.AWS_MANAGED_CONTROL_PLANE_TEMPLATE_KIND,
    aws_names.AWS_MANAGED_CONTROL_PLANE_TEMPLATE_PLURAL,
    "",
    link=ClusterLink.NONE,
)

AS_PARENT = ParentName(
    AWS_MANAGED_CONTROL_PLANE.group,
    AWS_MANAGED_CONTROL_PLANE.version,
    AWS_MANAGED_CONTROL_PLANE.kind,
    AWS_MANAGED_CONTROL_PLANE.plural,
    ("region", "identityRef"),
    AWS_MANAGED_CONTROL_PLANE.link,
)
"""AWSManagedControlPlane as what the machines of a cluster are part of."""


def _describe() -> ServedKind:
    from freehold.providers.aws.control_plane.types.crd import AWS_MANAGED_CONTROL_PLANES

    return AWS_MANAGED_CONTROL_PLANES


def _adapt(account: AwsAccount, shared: ConnectionContext) -> Adapter:
    from freehold.providers.aws.control_plane.adapter import AWSManagedControlPlaneAdapter
    from freehold.providers.aws.control_plane.cluster_source import AwsClusterSource

    clusters = AwsClusterSource(account.client, account)
    return AWSManagedControlPlaneAdapter(
        account.facts, account.control_plane_facts, clusters, shared.gates, shared.gc_selector
    )


def _adapt_unasked(gates: FeatureGates, gc_selector: Selector | None) -> Adapter:
    from freehold.providers.aws.control_plane.adapter import AWSManagedControlPlaneAdapter
    from freehold.providers.aws.unasked import UnaskedControlPlane, UnaskedNetwork

    nobody = UnaskedControlPlane()
    return AWSManagedControlPlaneAdapter(UnaskedNetwork(), nobody, nobody, gates, gc_selector)


def _name(raw: Mapping[str, Any], entries: Mapping[NodeKey, Entry]) -> str:
    from freehold.providers.aws.control_plane.recorded import eks_name_of

    return eks_name_of(raw, entries)


CONTROL_PLANE = ObjectKind(
    AWS_MANAGED_CONTROL_PLANE,
    _describe,
    _adapt,
    _name,
    own=frozenset({CLUSTER_KIND, ROLE_KIND, OIDC_KIND, ADDON_KIND, ACCESS_ENTRY_KIND}),
    secret_verbs=("get", "create", "patch"),
    adapt_unasked=_adapt_unasked,
)
