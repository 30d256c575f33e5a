"""AWSManagedControlPlane as a kind of object: its names, and what the controllers need of it.

Imports no SDK and no types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from freehold.api import names
from freehold.api.served import ClusterLink, MachineName, ServedName
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.control_plane.types.fields import (
    AWS_MANAGED_CONTROL_PLANE_FIELDS,
    AWS_MANAGED_CONTROL_PLANE_STATUS_LEFT_OUT,
)
from freehold.providers.base import ConnectionContext, ObjectKind

if TYPE_CHECKING:
    from freehold.api.served_kind import ServedKind
    from freehold.engine.journal import Entry
    from freehold.engine.resources import NodeKey
    from freehold.providers.aws.accounts import AwsAccount
    from freehold.providers.objects.adapter import Adapter

AWS_MANAGED_CONTROL_PLANE = ServedName(
    names.CONTROL_PLANE_GROUP,
    names.V1BETA2,
    aws_names.AWS_MANAGED_CONTROL_PLANE_KIND,
    aws_names.AWS_MANAGED_CONTROL_PLANE_PLURAL,
    aws_names.AWS_MANAGED_CONTROL_PLANE_FINALIZER,
    link=ClusterLink.CONTROL_PLANE,
    machines=(
        MachineName(
            names.INFRASTRUCTURE_GROUP, names.V1BETA2, aws_names.AWS_MACHINE_KIND, aws_names.AWS_MACHINE_PLURAL
        ),
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


def _describe() -> ServedKind:
    from freehold.providers.aws.control_plane.types.crd import AWS_MANAGED_CONTROL_PLANES

    return AWS_MANAGED_CONTROL_PLANES


def _adapt(account: AwsAccount, shared: ConnectionContext) -> Adapter:
    from freehold.providers.aws.control_plane.adapter import AWSManagedControlPlaneAdapter

    return AWSManagedControlPlaneAdapter(
        account.facts, account.control_plane_facts, account, shared.gates, shared.gc_selector
    )


def _name(raw: Mapping[str, Any], entries: Mapping[NodeKey, Entry]) -> str:
    from freehold.providers.aws.control_plane.recorded import eks_name_of

    return eks_name_of(raw, entries)


CONTROL_PLANE = ObjectKind(AWS_MANAGED_CONTROL_PLANE, _describe, _adapt, _name)
