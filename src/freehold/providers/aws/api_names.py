"""Public names of the kinds on AWS: groups, kinds, finalizers, annotations, tag keys, condition types, reasons.

Constants only, like :mod:`freehold.api.names`.
"""

from __future__ import annotations

from typing import Final

from freehold.api.names import LOAD_BALANCER_READY

AWS_METADATA_GROUP: Final = "metadata-controller.aws.io"

AWS_CLUSTER_KIND: Final = "AWSCluster"
AWS_CLUSTER_PLURAL: Final = "awsclusters"
AWS_MACHINE_KIND: Final = "AWSMachine"
AWS_MACHINE_PLURAL: Final = "awsmachines"
AWS_MACHINE_TEMPLATE_KIND: Final = "AWSMachineTemplate"
AWS_MACHINE_TEMPLATE_PLURAL: Final = "awsmachinetemplates"
AWS_CLUSTER_TEMPLATE_KIND: Final = "AWSClusterTemplate"
AWS_CLUSTER_TEMPLATE_PLURAL: Final = "awsclustertemplates"
AWS_MANAGED_CONTROL_PLANE_KIND: Final = "AWSManagedControlPlane"
AWS_MANAGED_CONTROL_PLANE_PLURAL: Final = "awsmanagedcontrolplanes"
AWS_MANAGED_CONTROL_PLANE_TEMPLATE_KIND: Final = "AWSManagedControlPlaneTemplate"
AWS_MANAGED_CONTROL_PLANE_TEMPLATE_PLURAL: Final = "awsmanagedcontrolplanetemplates"
AWS_MANAGED_CLUSTER_KIND: Final = "AWSManagedCluster"
AWS_MANAGED_CLUSTER_PLURAL: Final = "awsmanagedclusters"
AWS_MANAGED_CLUSTER_TEMPLATE_KIND: Final = "AWSManagedClusterTemplate"
AWS_MANAGED_CLUSTER_TEMPLATE_PLURAL: Final = "awsmanagedclustertemplates"
AWS_STATIC_IDENTITY_KIND: Final = "AWSClusterStaticIdentity"
AWS_STATIC_IDENTITY_PLURAL: Final = "awsclusterstaticidentities"
AWS_ROLE_IDENTITY_KIND: Final = "AWSClusterRoleIdentity"
AWS_ROLE_IDENTITY_PLURAL: Final = "awsclusterroleidentities"
AWS_CONTROLLER_IDENTITY_KIND: Final = "AWSClusterControllerIdentity"
AWS_CONTROLLER_IDENTITY_PLURAL: Final = "awsclustercontrolleridentities"
AWS_CONTROLLER_IDENTITY_NAME: Final = "default"
"""The name of the only identity of its kind, which an AWSCluster without ``identityRef`` uses."""

NODES_LET_IN_ANNOTATION: Final = "freehold.dev/nodes-let-in"
"""An annotation of an AWSCluster in a given VPC. ``true``: its ``ingressRules`` let its nodes in; AWS does not tell."""

AWS_CLUSTER_FINALIZER: Final = "awscluster.infrastructure.cluster.x-k8s.io"
"""The same name as upstream's (docs/reference/capi-contract.md C27), so that a take-over needs no second finalizer."""

AWS_MACHINE_FINALIZER: Final = "awsmachine.infrastructure.cluster.x-k8s.io"
"""The same name as upstream's."""

AWS_MANAGED_CONTROL_PLANE_FINALIZER: Final = "awsmanagedcontrolplane.controlplane.cluster.x-k8s.io"
"""The same name as upstream's."""

AWS_TAG_PREFIX: Final = "freehold.dev/"
"""Prefix of our ownership tags on AWS (ADR 5), forbidden in user tags."""

CAPA_TAG_PREFIX: Final = "sigs.k8s.io/cluster-api-provider-aws/"
"""Prefix of upstream's tags: they say to which cluster a resource belongs, so users must not set them."""

AWS_TAG_LIMIT: Final = 50
"""Tags of one resource (https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html)."""

AWS_USER_TAG_LIMIT: Final = 40
"""The limit of a user's own tags.

On a subnet five more are ours (ADR 5) and five are upstream's (Name, cluster, role, and two for the cloud controller
manager).
"""

# Condition types: v1beta2's, upstream's api/v1beta2/conditions_consts.go
PRINCIPAL_USAGE_ALLOWED: Final = "PrincipalUsageAllowed"
PRINCIPAL_CREDENTIAL_RETRIEVED: Final = "PrincipalCredentialRetrieved"
AWS_VPC_READY: Final = "VpcReady"
SECONDARY_CIDRS_READY: Final = "SecondaryCidrsReady"
SUBNETS_READY: Final = "SubnetsReady"
INTERNET_GATEWAY_READY: Final = "InternetGatewayReady"
EGRESS_ONLY_INTERNET_GATEWAY_READY: Final = "EgressOnlyInternetGatewayReady"
NAT_GATEWAYS_READY: Final = "NatGatewaysReady"
ROUTE_TABLES_READY: Final = "RouteTablesReady"
VPC_ENDPOINTS_READY: Final = "VpcEndpointsReady"
CLUSTER_SECURITY_GROUPS_READY: Final = "ClusterSecurityGroupsReady"
BASTION_HOST_READY: Final = "BastionHostReady"
S3_BUCKET_CREATED: Final = "S3BucketCreated"

_NETWORK_CONDITIONS = (
    PRINCIPAL_USAGE_ALLOWED,
    PRINCIPAL_CREDENTIAL_RETRIEVED,
    AWS_VPC_READY,
    SECONDARY_CIDRS_READY,
    SUBNETS_READY,
    INTERNET_GATEWAY_READY,
    EGRESS_ONLY_INTERNET_GATEWAY_READY,
    NAT_GATEWAYS_READY,
    ROUTE_TABLES_READY,
    VPC_ENDPOINTS_READY,
    CLUSTER_SECURITY_GROUPS_READY,
    BASTION_HOST_READY,
)

AWS_PART_CONDITIONS: Final[tuple[str, ...]] = (
    *_NETWORK_CONDITIONS,
    LOAD_BALANCER_READY,
    S3_BUCKET_CREATED,
)
"""The conditions that ``Ready`` summarizes, in the order of upstream's steps."""

# Condition types of a control plane: v1beta2's, upstream's controlplane/eks/api/v1beta2/conditions_consts.go
IAM_CONTROL_PLANE_ROLES_READY: Final = "IAMControlPlaneRolesReady"
EKS_CONTROL_PLANE_READY: Final = "EKSControlPlaneReady"
EKS_CONTROL_PLANE_CREATING: Final = "EKSControlPlaneCreating"
EKS_CONTROL_PLANE_UPDATING: Final = "EKSControlPlaneUpdating"
IAM_AUTHENTICATOR_CONFIGURED: Final = "IAMAuthenticatorConfigured"
EKS_ADDONS_CONFIGURED: Final = "EKSAddonsConfigured"
EKS_IDENTITY_PROVIDER_CONFIGURED: Final = "EKSIdentityProviderConfigured"

AWS_CONTROL_PLANE_PART_CONDITIONS: Final[tuple[str, ...]] = (
    *_NETWORK_CONDITIONS,
    IAM_CONTROL_PLANE_ROLES_READY,
    EKS_CONTROL_PLANE_READY,
    EKS_ADDONS_CONFIGURED,
)
"""The conditions of a control plane that ``Ready`` summarizes, in the order of upstream's steps."""

REASON_PRINCIPAL_USAGE_UNAUTHORIZED: Final = "PrincipalUsageUnauthorized"
REASON_PRINCIPAL_CREDENTIAL_RETRIEVAL_FAILED: Final = "PrincipalCredentialRetrievalFailed"
"""Upstream's reasons."""

INSTANCE_READY: Final = "InstanceReady"
SECURITY_GROUPS_READY: Final = "SecurityGroupsReady"
ELB_ATTACHED: Final = "ELBAttached"
"""A condition of control-plane machines only."""
AWS_MACHINE_PART_CONDITIONS: Final[tuple[str, ...]] = (
    PRINCIPAL_USAGE_ALLOWED,
    PRINCIPAL_CREDENTIAL_RETRIEVED,
    INSTANCE_READY,
    SECURITY_GROUPS_READY,
    ELB_ATTACHED,
)
"""The conditions of a machine that ``Ready`` summarizes."""

REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE: Final = "WaitingForClusterInfrastructure"
REASON_INSTANCE_NOT_FOUND: Final = "InstanceNotFound"
REASON_INSTANCE_TERMINATED: Final = "InstanceTerminated"
REASON_INSTANCE_STOPPED: Final = "InstanceStopped"
REASON_INSTANCE_NOT_READY: Final = "InstanceNotReady"
REASON_INSTANCE_PROVISION_STARTED: Final = "InstanceProvisionStarted"
REASON_INSTANCE_PROVISION_FAILED: Final = "InstanceProvisionFailed"
REASON_SECURITY_GROUPS_SYNC_FAILED: Final = "SecurityGroupsSyncFailed"
REASON_ELB_ATTACH_FAILED: Final = "ELBAttachFailed"
REASON_ELB_DETACH_FAILED: Final = "ELBDetachFailed"
"""Upstream's reasons of a machine."""
