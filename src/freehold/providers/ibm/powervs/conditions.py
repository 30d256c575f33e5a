"""The conditions of an IBMPowerVSCluster."""

from __future__ import annotations

from freehold.api import names
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs import keys
from freehold.providers.objects.part_conditions import Parts

PARTS: Parts = {
    ibm_names.SERVICE_INSTANCE_READY: (keys.WORKSPACE.kind,),
    ibm_names.NETWORK_READY: (keys.NETWORK.kind,),
    ibm_names.VPC_READY: (keys.VPC.kind,),
    ibm_names.VPC_SUBNET_READY: (keys.SUBNET_KIND,),
    ibm_names.VPC_SECURITY_GROUP_READY: (keys.GROUP_KIND,),
    ibm_names.TRANSIT_GATEWAY_READY: (keys.GATEWAY.kind, keys.CONNECTION_KIND),
    names.LOAD_BALANCER_READY: (keys.BALANCER_KIND,),
    ibm_names.COS_INSTANCE_CREATED: (keys.COS_INSTANCE.kind, keys.COS_BUCKET.kind),
}
"""The kinds that each condition of v1beta2 speaks for (docs/reference/ibm-cloud.md#capibm)."""
