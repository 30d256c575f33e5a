"""The conditions of an AWSCluster, with upstream's names and in the order of its steps."""

from __future__ import annotations

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster import keys
from freehold.providers.aws.cluster.wish import ClusterWish
from freehold.providers.objects.part_conditions import Parts

_PARTS: Parts = {
    aws_names.AWS_VPC_READY: (keys.VPC.kind,),
    aws_names.SECONDARY_CIDRS_READY: (),
    aws_names.SUBNETS_READY: (keys.SUBNET_KIND,),
    aws_names.INTERNET_GATEWAY_READY: (keys.INTERNET_GATEWAY.kind,),
    aws_names.EGRESS_ONLY_INTERNET_GATEWAY_READY: (keys.EGRESS_GATEWAY.kind,),
    aws_names.NAT_GATEWAYS_READY: (keys.ELASTIC_IP_KIND, keys.NAT_GATEWAY_KIND),
    aws_names.ROUTE_TABLES_READY: (keys.ROUTE_TABLE_KIND,),
    aws_names.VPC_ENDPOINTS_READY: (keys.S3_ENDPOINT.kind,),
    aws_names.CLUSTER_SECURITY_GROUPS_READY: (keys.GROUP_KIND,),
    aws_names.BASTION_HOST_READY: (keys.BASTION.kind,),
    names.LOAD_BALANCER_READY: (
        keys.CLASSIC_KIND,
        keys.NETWORK_KIND,
        keys.TARGET_GROUP_KIND,
        keys.LISTENER_KIND,
    ),
    aws_names.S3_BUCKET_CREATED: (keys.BUCKET.kind,),
}
"""The kinds that each condition speaks for."""

IDENTITY = (
    Observation(aws_names.PRINCIPAL_USAGE_ALLOWED, "True", names.REASON_READY),
    Observation(aws_names.PRINCIPAL_CREDENTIAL_RETRIEVED, "True", names.REASON_READY),
)
"""Whoever reaches the cloud was allowed to, with credentials that work."""


def parts_of(wish: ClusterWish | None) -> Parts:
    """Secondary ranges are parts of the VPC, which speaks for them where there are any."""
    secondary = (keys.VPC.kind,) if wish and wish.vpc.secondary else ()
    return {**_PARTS, aws_names.SECONDARY_CIDRS_READY: secondary}
