"""Rows of EKS."""

from __future__ import annotations

from freehold.providers.aws.kind_rows.row import KindFacts, PartFacts

KINDS: tuple[KindFacts, ...] = (
    KindFacts(
        name="eks-cluster",
        service="eks",
        create="CreateCluster",
        describe="DescribeCluster",
        delete="DeleteCluster",
        deleted_by="name",
        named_by={"name": "name"},
        arn_type="cluster",
        indexed_as="eks:cluster",
        tags_in="tags",
        token_in="clientRequestToken",  # noqa: S106 - the name of a parameter
        natural_key="name in the region: ResourceInUseException",
        mutable={
            "version": "UpdateClusterVersion",
            "subnetIds": "UpdateClusterConfig",
            "securityGroupIds": "UpdateClusterConfig",
            "endpointPublicAccess": "UpdateClusterConfig",
            "endpointPrivateAccess": "UpdateClusterConfig",
            "publicAccessCidrs": "UpdateClusterConfig",
            "logging": "UpdateClusterConfig",
            "authenticationMode": "UpdateClusterConfig",
            "upgradePolicy": "UpdateClusterConfig",
            "encryptionConfig": "AssociateEncryptionConfig",
        },
        immutable=(
            "name",
            "roleArn",
            "bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
            "serviceIpv4Cidr",
        ),
        reads=("ListClusters", "ListNodegroups", "ListFargateProfiles", "DescribeUpdate", "DescribeClusterVersions"),
        create_time=600.0,
        delete_time=600.0,
    ),
    KindFacts(
        name="eks-addon",
        service="eks",
        create="CreateAddon",
        describe="DescribeAddon",
        delete="DeleteAddon",
        deleted_by="addonName",
        named_by={"clusterName": "cluster", "addonName": "name"},
        arn_type="addon",
        indexed_as="",
        tags_in="tags",
        token_in="clientRequestToken",  # noqa: S106 - the name of a parameter
        natural_key="name in the cluster: ResourceInUseException",
        mutable={
            "addonVersion": "UpdateAddon",
            "serviceAccountRoleArn": "UpdateAddon",
            "configurationValues": "UpdateAddon",
        },
        immutable=("clusterName", "addonName"),
        reads=("ListAddons",),
        create_time=60.0,
        delete_time=60.0,
    ),
    KindFacts(
        name="eks-access-entry",
        service="eks",
        create="CreateAccessEntry",
        describe="DescribeAccessEntry",
        delete="DeleteAccessEntry",
        deleted_by="principalArn",
        named_by={"clusterName": "cluster", "principalArn": "principal_arn"},
        arn_type="access-entry",
        indexed_as="",
        tags_in="tags",
        token_in="clientRequestToken",  # noqa: S106 - the name of a parameter
        natural_key="principal in the cluster: ResourceInUseException",
        mutable={"kubernetesGroups": "UpdateAccessEntry", "username": "UpdateAccessEntry"},
        immutable=("clusterName", "principalArn", "type"),
        parts=(PartFacts("access-policy", "policy and scope", "AssociateAccessPolicy", "DisassociateAccessPolicy"),),
        reads=("ListAccessEntries", "ListAssociatedAccessPolicies"),
    ),
)
