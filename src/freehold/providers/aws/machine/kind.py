"""AWSMachine as a kind of object, and the templates beside it. Imports no SDK and no types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.api import names
from freehold.api.served import ClusterLink, ServedName
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster import kind as cluster
from freehold.providers.aws.control_plane import kind as control_plane
from freehold.providers.aws.machine.types.fields import AWS_MACHINE_FIELDS, AWS_MACHINE_STATUS_LEFT_OUT
from freehold.providers.base import ConnectionContext, ObjectKind

if TYPE_CHECKING:
    from freehold.api.feature_gates import FeatureGates
    from freehold.api.served_kind import ServedKind
    from freehold.collection.selector import Selector
    from freehold.providers.aws.accounts import AwsAccount
    from freehold.providers.objects.adapter import Adapter

AWS_MACHINE = ServedName(
    names.INFRASTRUCTURE_GROUP,
    names.V1BETA2,
    aws_names.AWS_MACHINE_KIND,
    aws_names.AWS_MACHINE_PLURAL,
    aws_names.AWS_MACHINE_FINALIZER,
    link=ClusterLink.MACHINE,
    parents=(cluster.AS_PARENT, control_plane.AS_PARENT),
    waiting_part=aws_names.INSTANCE_READY,
    fields=AWS_MACHINE_FIELDS,
    left_out=AWS_MACHINE_STATUS_LEFT_OUT,
    parts=aws_names.AWS_MACHINE_PART_CONDITIONS,
)


def _name_template(kind: str, plural: str) -> ServedName:
    """Name a kind that is data for Cluster API. Nothing is created for it, so it has no finalizer."""
    return ServedName(names.INFRASTRUCTURE_GROUP, names.V1BETA2, kind, plural, "", link=ClusterLink.NONE)


AWS_MACHINE_TEMPLATE = _name_template(aws_names.AWS_MACHINE_TEMPLATE_KIND, aws_names.AWS_MACHINE_TEMPLATE_PLURAL)
AWS_CLUSTER_TEMPLATE = _name_template(aws_names.AWS_CLUSTER_TEMPLATE_KIND, aws_names.AWS_CLUSTER_TEMPLATE_PLURAL)


def _describe() -> ServedKind:
    from freehold.providers.aws.machine.types.crd import AWS_MACHINES

    return AWS_MACHINES


def _adapt(account: AwsAccount, shared: ConnectionContext) -> Adapter:
    from freehold.providers.aws.machine.adapter import AWSMachineAdapter

    return AWSMachineAdapter(account.machine_facts)


def _adapt_unasked(gates: FeatureGates, gc_selector: Selector | None) -> Adapter:
    from freehold.providers.aws.machine.adapter import AWSMachineAdapter
    from freehold.providers.aws.unasked import UnaskedMachine

    return AWSMachineAdapter(UnaskedMachine())


MACHINE = ObjectKind(AWS_MACHINE, _describe, _adapt, secret_verbs=("get",), adapt_unasked=_adapt_unasked)
