"""The fields of ``AWSManagedControlPlane``: what is acted on. Data only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from freehold.api.served_fields import ServedField, find_covering, ignore_field, refuse_field, serve_field
from freehold.providers.aws.cluster.types.fields import AWS_CLUSTER_FIELDS, AWS_CLUSTER_STATUS_LEFT_OUT

_CLIENT = "it needs a client of the workload cluster, which Freehold has not"
_NO_GROUP = "of security groups that an EKS cluster has not"
_MACHINES = "for machines that name no image"
_OTHERWISE = (
    refuse_field("spec.network.vpc.ipv6", "EKS clusters with IPv6 are not served; remove it"),
    ignore_field("spec.network.cni", _NO_GROUP),
    serve_field(
        "spec.network.additionalControlPlaneIngressRules", "of the group node-eks-additional, as upstream has it"
    ),
    serve_field("spec.network.additionalNodeIngressRules", "of the group node-eks-additional too"),
    ignore_field("spec.network.nodePortIngressRuleCidrBlocks", _NO_GROUP),
    serve_field(
        "spec.network.securityGroupOverrides",
        "of the roles bastion and node-eks-additional, with an existing VPC; groups of that VPC, into which nothing is "
        "put",
    ),
)
"""Fields of the network that mean something else than an AWSCluster's, also for the fields below them."""


def _network() -> Iterator[ServedField]:
    """Yield the fields of the network, which is planned as an AWSCluster's."""
    for field in AWS_CLUSTER_FIELDS:
        if field.path.startswith("spec.network."):
            other = find_covering(_OTHERWISE, field.path)
            if other is None:
                yield field
            elif other.path == field.path:
                yield other


AWS_MANAGED_CONTROL_PLANE_FIELDS: Final[tuple[ServedField, ...]] = (
    serve_field("spec.region"),
    serve_field("spec.partition", "derived from the region when omitted, as upstream does"),
    serve_field("spec.identityRef"),
    serve_field(
        "spec.controlPlaneEndpoint",
        "filled in from EKS: its URL, and port 443, as upstream writes it; another one is corrected",
    ),
    serve_field("spec.additionalTags", "at most 40; tags of the cloud controller win, as upstream"),
    serve_field("spec.eksClusterName", "made of namespace and name when omitted, as upstream does; for life"),
    serve_field(
        "spec.version",
        "the minor version; it goes up, one minor at a time, and one that EKS raised at the end of its support is said",
    ),
    serve_field("spec.upgradePolicy"),
    *_network(),
    serve_field(
        "spec.secondaryCidrBlock",
        "one more range of the VPC that is created. Upstream makes subnets for pods in it; here network.subnets lists "
        "them, with their tag",
    ),
    serve_field("spec.restrictPrivateSubnets", "at birth, and on a living cluster"),
    serve_field("spec.sshKeyName", "for the bastion, and for machines"),
    serve_field("spec.bastion"),
    serve_field(
        "spec.roleName",
        "a role that is there is used and never deleted; with feature gate EKSEnableIAM one that is not there is made. "
        "Without it, when omitted: eks-controlplane.cluster-api-provider-aws.sigs.k8s.io, as upstream",
    ),
    serve_field("spec.rolePath", "of a role that is made (feature gate EKSEnableIAM)"),
    serve_field("spec.rolePermissionsBoundary", "of a role that is made (feature gate EKSEnableIAM)"),
    serve_field(
        "spec.roleAdditionalPolicies", "of a role that is made (feature gates EKSEnableIAM and EKSAllowAddRoles)"
    ),
    serve_field("spec.endpointAccess"),
    serve_field("spec.logging"),
    serve_field("spec.encryptionConfig", "a key of KMS, by ARN or alias; for life"),
    serve_field("spec.bootstrapSelfManagedAddons", "at birth; upstream's webhook makes it true"),
    serve_field(
        "spec.accessConfig.authenticationMode",
        "api_and_config_map when omitted, where upstream takes config_map: nodes join by an access entry, which needs "
        "no client of the workload cluster",
    ),
    serve_field("spec.accessConfig.bootstrapClusterCreatorAdminPermissions", "at birth"),
    serve_field("spec.accessEntries", "those that Freehold made; others stay as they are"),
    ignore_field(
        "spec.iamAuthenticatorConfig", f"{_CLIENT}: write aws-auth yourself, or list accessEntries in its place"
    ),
    ignore_field(
        "spec.oidcIdentityProviderConfig",
        "identity providers are not served; associate it with aws eks associate-identity-provider-config",
    ),
    serve_field("spec.associateOIDCProvider"),
    serve_field("spec.addons", "those that Freehold made; others stay as they are"),
    serve_field("spec.tokenMethod"),
    ignore_field(
        "spec.vpcCni.disable",
        f"{_CLIENT}: set bootstrapSelfManagedAddons to false before the cluster is created, or delete the DaemonSet "
        "aws-node",
    ),
    ignore_field("spec.vpcCni.env", f"{_CLIENT}: use the addon vpc-cni, with env in its configuration"),
    ignore_field(
        "spec.kubeProxy.disable",
        f"{_CLIENT}: set bootstrapSelfManagedAddons to false before the cluster is created, or delete the DaemonSet "
        "kube-proxy",
    ),
    serve_field("spec.imageLookupBaseOS", _MACHINES),
    serve_field("spec.imageLookupFormat", _MACHINES),
    serve_field("spec.imageLookupOrg", _MACHINES),
)
"""In the order of the docs: what everything needs, the network, the role, the cluster, who may enter it, the rest."""

_NOT_WRITTEN = ("apiServerElb", "secondaryAPIServerELB")
AWS_MANAGED_CONTROL_PLANE_STATUS_LEFT_OUT: Final[tuple[ServedField, ...]] = (
    *(
        field
        for field in AWS_CLUSTER_STATUS_LEFT_OUT
        if not any(f"networkStatus.{each}" in field.path for each in _NOT_WRITTEN)
    ),
    *(ignore_field(f"status.networkStatus.{each}", "EKS has its own load balancer") for each in _NOT_WRITTEN),
    ignore_field("status.failureMessage", "the conditions say it, and Cluster API no longer reads it"),
    ignore_field("status.identityProviderStatus", "identity providers are not served"),
    ignore_field("status.addons[*].createdAt", "when it was made is in the events"),
    ignore_field("status.addons[*].modifiedAt", "when it was changed is in the events"),
)
"""Fields of upstream's status that are never written, with the reason."""
