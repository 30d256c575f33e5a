"""Names that other people see: groups, annotations, labels, finalizers, tag keys, condition types and reasons.

Constants only, and no import of pydantic, so that every command may use them.
"""

from __future__ import annotations

from typing import Final

# --- groups, versions, kinds -------------------------------------------------------------------

INFRASTRUCTURE_GROUP: Final = "infrastructure.cluster.x-k8s.io"
CLUSTER_API_GROUP: Final = "cluster.x-k8s.io"
V1BETA2: Final = "v1beta2"

POWERVS_CLUSTER_KIND: Final = "IBMPowerVSCluster"
POWERVS_MACHINE_KIND: Final = "IBMPowerVSMachine"
POWERVS_MACHINE_PLURAL: Final = "ibmpowervsmachines"
POWERVS_CLUSTER_PLURAL: Final = "ibmpowervsclusters"

# --- annotations -------------------------------------------------------------------------------

CREATE_INFRA_ANNOTATION: Final = "powervs.cluster.x-k8s.io/create-infra"
"""Seed 001: ``true`` asks for the infrastructure; must parse as a boolean."""

JOURNAL_ANNOTATION: Final = "freehold.dev/journal"
"""Design §4.1: what cannot be derived (identity, open intents, carried ids, requested deletes)."""

STANDALONE_ANNOTATION: Final = "freehold.dev/standalone"
"""An object without a Cluster opts in to being served where Cluster API is installed (capi-contract 5.3)."""

PAUSED_ANNOTATION: Final = "cluster.x-k8s.io/paused"
"""Any value, also an empty one, pauses (capi-contract 1.14)."""

MANAGED_BY_ANNOTATION: Final = "cluster.x-k8s.io/managed-by"
"""Any value but ``MANAGED_BY_FREEHOLD`` means: not ours, skip wholly (capi-contract 1.17)."""

MANAGED_BY_FREEHOLD: Final = "freehold"

DELETE_FOR_MOVE_ANNOTATION: Final = "clusterctl.cluster.x-k8s.io/delete-for-move"
"""On a deleting object: drop our finalizer, no cloud call (capi-contract M4)."""


# --- labels ------------------------------------------------------------------------------------

CLUSTER_NAME_LABEL: Final = "cluster.x-k8s.io/cluster-name"
PROVIDER_LABEL: Final = "cluster.x-k8s.io/provider"
"""On a served CRD: an upstream provider is installed beside us (capi-contract 0.6)."""

CONTRACT_V1BETA1_LABEL: Final = "cluster.x-k8s.io/v1beta1"
"""On a CRD: the API versions that follow the v1beta1 contract (capi-contract 0.2)."""

# --- finalizers --------------------------------------------------------------------------------

POWERVS_CLUSTER_FINALIZER: Final = "ibmpowervscluster.infrastructure.cluster.x-k8s.io"
"""Upstream's own name (capi-contract 1.18), so that a take-over needs no second finalizer."""

# --- tag keys (IBM) ----------------------------------------------------------------------------

TAG_PREFIX: Final = "powervs.cluster.x-k8s.io"
"""Every mark of ours begins with it; user tags may not (seed 000's ``/`` is not legal in an IBM tag, hence ``.``)."""

OWNER_TAG: Final = f"{TAG_PREFIX}.owner"
CLUSTER_UUID_TAG: Final = f"{TAG_PREFIX}.cluster-uuid"

# --- conditions of IBMPowerVSCluster (v1beta2's types, ibm-cloud.md §2.7) -----------------------

READY: Final = "Ready"
PAUSED: Final = "Paused"
DELETING: Final = "Deleting"

SERVICE_INSTANCE_READY: Final = "ServiceInstanceReady"
NETWORK_READY: Final = "NetworkReady"
VPC_READY: Final = "VPCReady"
VPC_SUBNET_READY: Final = "VPCSubnetReady"
VPC_SECURITY_GROUP_READY: Final = "VPCSecurityGroupReady"
TRANSIT_GATEWAY_READY: Final = "TransitGatewayReady"
LOAD_BALANCER_READY: Final = "LoadBalancerReady"
COS_INSTANCE_CREATED: Final = "COSInstanceCreated"

SPEC_VALID: Final = "SpecValid"
"""Ours: False names what a person must change in the manifest."""

FIELDS_SERVED: Final = "FieldsServed"
"""Ours: False lists the fields that are accepted and kept but not acted on."""

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
"""The conditions that ``Ready`` sums up, in the order in which they are shown."""

# --- reasons: stable, documented, matching conditions.REASON_PATTERN -----------------------------

REASON_READY: Final = "Ready"
REASON_NOT_READY: Final = "NotReady"
REASON_READY_UNKNOWN: Final = "ReadyUnknown"
REASON_PAUSED: Final = "Paused"
REASON_NOT_PAUSED: Final = "NotPaused"
REASON_DELETING: Final = "Deleting"
REASON_NOT_DELETING: Final = "NotDeleting"
REASON_KEY_MISSING: Final = "KeyMissing"
REASON_WAITING_FOR_CLUSTER: Final = "WaitingForOwnerCluster"
REASON_WAITING_FOR_DEPENDENTS: Final = "WaitingForDependents"
REASON_INVALID_SPEC: Final = "InvalidSpec"
REASON_VALID_SPEC: Final = "ValidSpec"
REASON_FIELDS_IGNORED: Final = "FieldsIgnored"
REASON_ALL_FIELDS_SERVED: Final = "AllFieldsServed"
REASON_REUSED_BY_NAME: Final = "ReusedByName"
"""Design §4.2: an unmarked resource, explicitly named in the spec, is used and never changed."""

REASON_CREATE_INFRA_NOT_REQUESTED: Final = "CreateInfraNotRequested"
