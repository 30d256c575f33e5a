"""AWSCluster as a kind of object: its names, and what the controllers need of it. Imports no SDK and no types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from freehold.api import names
from freehold.api.served import MachineName, ParentName, ServedName
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster.types.fields import AWS_CLUSTER_FIELDS, AWS_CLUSTER_STATUS_LEFT_OUT
from freehold.providers.base import ConnectionContext, ObjectKind

if TYPE_CHECKING:
    from freehold.api.feature_gates import FeatureGates
    from freehold.api.served_kind import ServedKind
    from freehold.collection.selector import Selector
    from freehold.engine.journal import Entry
    from freehold.engine.resources import NodeKey
    from freehold.providers.aws.accounts import AwsAccount
    from freehold.providers.objects.adapter import Adapter

QUICK_HEALTH_CHECKS: Final = 1
"""The generation of defaults since which health checks are quick (:mod:`load_balancers`)."""

AWS_CLUSTER = ServedName(
    names.INFRASTRUCTURE_GROUP,
    names.V1BETA2,
    aws_names.AWS_CLUSTER_KIND,
    aws_names.AWS_CLUSTER_PLURAL,
    aws_names.AWS_CLUSTER_FINALIZER,
    machines=(
        MachineName(
            names.INFRASTRUCTURE_GROUP, names.V1BETA2, aws_names.AWS_MACHINE_KIND, aws_names.AWS_MACHINE_PLURAL
        ),
    ),
    fields=AWS_CLUSTER_FIELDS,
    once_in_account=True,
    collectable=True,
    left_out=AWS_CLUSTER_STATUS_LEFT_OUT,
    parts=aws_names.AWS_PART_CONDITIONS,
    defaults=QUICK_HEALTH_CHECKS,
)

AS_PARENT = ParentName(
    AWS_CLUSTER.group, AWS_CLUSTER.version, AWS_CLUSTER.kind, AWS_CLUSTER.plural, ("region", "identityRef")
)
"""AWSCluster as what the machines of a cluster are part of."""


def _describe() -> ServedKind:
    from freehold.providers.aws.cluster.types.crd import AWS_CLUSTERS

    return AWS_CLUSTERS


def _adapt(account: AwsAccount, shared: ConnectionContext) -> Adapter:
    from freehold.providers.aws.cluster.adapter import AWSClusterAdapter

    return AWSClusterAdapter(account.facts, shared.gates, shared.gc_selector)


def _adapt_unasked(gates: FeatureGates, gc_selector: Selector | None) -> Adapter:
    from freehold.providers.aws.cluster.adapter import AWSClusterAdapter
    from freehold.providers.aws.unasked import UnaskedNetwork

    return AWSClusterAdapter(UnaskedNetwork(), gates, gc_selector)


def _name(raw: Mapping[str, Any], entries: Mapping[NodeKey, Entry]) -> str:
    from freehold.providers.aws.cluster.recorded import name_of

    return name_of(raw, entries)


CLUSTER = ObjectKind(AWS_CLUSTER, _describe, _adapt, _name, adapt_unasked=_adapt_unasked)
