"""The conditions of an IBMPowerVSCluster."""

from __future__ import annotations

from freehold.api import names
from freehold.providers.ibm.powervs import keys
from freehold.providers.objects.part_conditions import Parts

PARTS: Parts = {
    names.SERVICE_INSTANCE_READY: (keys.WORKSPACE.kind,),
    names.NETWORK_READY: (keys.NETWORK.kind,),
    names.VPC_READY: (keys.VPC.kind,),
    names.VPC_SUBNET_READY: (keys.SUBNET_KIND,),
    names.VPC_SECURITY_GROUP_READY: (keys.GROUP_KIND,),
    names.TRANSIT_GATEWAY_READY: (keys.GATEWAY.kind, keys.CONNECTION_KIND),
    names.LOAD_BALANCER_READY: (keys.BALANCER_KIND,),
    names.COS_INSTANCE_CREATED: (keys.COS_INSTANCE.kind, keys.COS_BUCKET.kind),
}
"""The kinds that each condition of v1beta2 speaks for (docs/reference/ibm-cloud.md#capibm)."""
