"""Public names of the kinds on IBM Cloud: kinds, finalizers, annotations, tag keys, condition types, reasons.

Constants only, like :mod:`freehold.api.names`.
"""

from __future__ import annotations

from typing import Final

from freehold.api.names import LOAD_BALANCER_READY

IBM_METADATA_GROUP: Final = "metadata-controller.ibm.io"

POWERVS_CLUSTER_KIND: Final = "IBMPowerVSCluster"
POWERVS_MACHINE_KIND: Final = "IBMPowerVSMachine"
POWERVS_MACHINE_PLURAL: Final = "ibmpowervsmachines"
POWERVS_CLUSTER_PLURAL: Final = "ibmpowervsclusters"

CREATE_INFRA_ANNOTATION: Final = "powervs.cluster.x-k8s.io/create-infra"
"""``true`` requests the infrastructure; must parse as a boolean (docs/reference/requirements.md I5)."""

POWERVS_CLUSTER_FINALIZER: Final = "ibmpowervscluster.infrastructure.cluster.x-k8s.io"
"""The same name as upstream's (docs/reference/capi-contract.md C27), so that a take-over needs no second finalizer."""

TAG_PREFIX: Final = "powervs.cluster.x-k8s.io"
"""Prefix of our ownership tags, forbidden in user tags. IBM tags do not allow ``/``, hence ``.`` (ADR 5)."""

OWNER_TAG: Final = f"{TAG_PREFIX}.owner"
CLUSTER_UUID_TAG: Final = f"{TAG_PREFIX}.cluster-uuid"

# Condition types: v1beta2's (docs/reference/ibm-cloud.md#capibm)
SERVICE_INSTANCE_READY: Final = "ServiceInstanceReady"
NETWORK_READY: Final = "NetworkReady"
VPC_READY: Final = "VPCReady"
VPC_SUBNET_READY: Final = "VPCSubnetReady"
VPC_SECURITY_GROUP_READY: Final = "VPCSecurityGroupReady"
TRANSIT_GATEWAY_READY: Final = "TransitGatewayReady"
COS_INSTANCE_CREATED: Final = "COSInstanceCreated"

POWERVS_PART_CONDITIONS: Final[tuple[str, ...]] = (
    SERVICE_INSTANCE_READY,
    NETWORK_READY,
    VPC_READY,
    VPC_SUBNET_READY,
    VPC_SECURITY_GROUP_READY,
    TRANSIT_GATEWAY_READY,
    LOAD_BALANCER_READY,
    COS_INSTANCE_CREATED,
)
"""The conditions that ``Ready`` summarizes, in display order."""

REASON_CREATE_INFRA_NOT_REQUESTED: Final = "CreateInfraNotRequested"
