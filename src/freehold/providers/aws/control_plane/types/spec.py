"""``AWSManagedControlPlane`` v1beta2: the spec.

Every object that upstream accepts is accepted here and keeps its fields (its schema is test data in
``tests/data/upstream/capa``). What of it is acted on: :mod:`freehold.providers.aws.control_plane.types.fields`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api.base import ApiModel, Items
from freehold.api.endpoint import APIEndpoint
from freehold.api.rules import LIST_LIMIT, TEXT_LIMIT
from freehold.providers.aws.cluster.types.spec import Bastion, UserTags
from freehold.providers.aws.control_plane.types import rules
from freehold.providers.aws.control_plane.types.access import (
    AccessConfig,
    AccessEntry,
    IAMAuthenticatorConfig,
    OIDCIdentityProviderConfig,
)
from freehold.providers.aws.control_plane.types.cni import KubeProxy, VpcCni
from freehold.providers.aws.control_plane.types.status import AWSManagedControlPlaneStatus
from freehold.providers.aws.types.identity import AWSIdentityReference
from freehold.providers.aws.types.network import Cidr, Cidrs, NetworkSpec

Text = Annotated[str, Field(max_length=TEXT_LIMIT)]


class Addon(ApiModel):
    """An addon of EKS."""

    configuration: str | None = None
    """Its settings, as JSON or YAML that the addon understands."""
    conflict_resolution: Literal["overwrite", "none", "preserve"] = "overwrite"
    """What happens to values that somebody changed in the cluster: ``overwrite`` them, ``none`` of them (the addon then
    fails), or ``preserve`` them."""
    name: Annotated[str, Field(min_length=2)]
    """Its name, for example ``vpc-cni``."""
    preserve_on_delete: bool | None = None
    """Leave what it has in the cluster when it is removed."""
    service_account_role_arn: Annotated[str | None, Field(alias="serviceAccountRoleARN")] = None
    """The role that it calls AWS with; the nodes' when omitted."""
    version: str
    """Its version, for example ``v1.20.4-eksbuild.2``."""


class EncryptionConfig(ApiModel):
    """Encryption of Secrets with a key of KMS. It is for life."""

    RULES = rules.ENCRYPTION_RULES

    provider: Text | None = None
    """ARN, or alias, of the key. Must not change."""
    resources: Annotated[Items[Text], Field(max_length=LIST_LIMIT)] = ()
    """What is encrypted: ``secrets``, the only value of EKS."""


class EndpointAccess(ApiModel):
    """From where the API server is reached."""

    RULES = rules.ENDPOINT_RULES

    private: bool | None = None
    """From the VPC; false when omitted."""
    public: bool | None = None
    """From the internet; true when omitted."""
    public_cidrs: Annotated[Cidrs, Field(alias="publicCIDRs")] = ()
    """The ranges of the internet that may reach it; all when omitted."""


class ControlPlaneLogging(ApiModel):
    """The logs that are sent to CloudWatch."""

    api_server: bool = False
    """Of the API server."""
    audit: bool = False
    """Its audit log."""
    authenticator: bool = False
    """Of the authenticator."""
    controller_manager: bool = False
    """Of the controller manager."""
    scheduler: bool = False
    """Of the scheduler."""


class AWSManagedControlPlaneSpec(ApiModel):
    """The desired EKS cluster, with its network."""

    RULES = rules.CONTROL_PLANE_RULES

    access_config: AccessConfig | None = None
    """How the cluster knows who may enter it."""
    access_entries: Annotated[Items[AccessEntry], Field(max_length=LIST_LIMIT)] = ()
    """Who may enter it."""
    additional_tags: UserTags = Field(default_factory=dict)
    """Tags for every resource of the cluster, at most 40: 50 is the limit of AWS, and ours are among them."""
    addons: Annotated[Items[Addon], Field(max_length=LIST_LIMIT)] = ()
    """Addons of EKS."""
    associate_oidc_provider: Annotated[bool, Field(alias="associateOIDCProvider")] = False
    """Whether IAM trusts the tokens of the cluster's service accounts (IRSA)."""
    bastion: Bastion | None = None
    """A machine with a public address; none when omitted."""
    bootstrap_self_managed_addons: bool = True
    """Whether EKS installs container network, kube-proxy and DNS. Acted on when the cluster is created."""
    control_plane_endpoint: APIEndpoint | None = None
    """The endpoint of the API server. Filled in from EKS."""
    eks_cluster_name: Annotated[Annotated[str, Field(max_length=TEXT_LIMIT)] | None, Field(alias="eksClusterName")] = (
        None
    )
    """Name of the cluster in EKS; made of namespace and name when omitted. Must not change."""
    encryption_config: EncryptionConfig | None = None
    """Encryption of Secrets; with EKS's own key when omitted."""
    endpoint_access: EndpointAccess | None = None
    """From where the API server is reached; from everywhere when omitted."""
    iam_authenticator_config: IAMAuthenticatorConfig | None = None
    """Entries of the ConfigMap aws-auth."""
    identity_ref: AWSIdentityReference | None = None
    """With which identity AWS is called; AWSClusterControllerIdentity ``default`` when omitted."""
    image_lookup_base_os: Annotated[str | None, Field(alias="imageLookupBaseOS")] = None
    """For machines: operating system of the image."""
    image_lookup_format: str | None = None
    """For machines: how the image is named."""
    image_lookup_org: str | None = None
    """For machines: whose image it is."""
    kube_proxy: KubeProxy | None = None
    """The kube-proxy that EKS installs."""
    logging: ControlPlaneLogging | None = None
    """The logs that are sent to CloudWatch; none when omitted."""
    network: NetworkSpec | None = None
    """The network; created when omitted."""
    oidc_identity_provider_config: Annotated[
        OIDCIdentityProviderConfig | None, Field(alias="oidcIdentityProviderConfig")
    ] = None
    """An identity provider, with whose tokens people enter the cluster."""
    partition: str | None = None
    """The AWS partition; derived from the region when omitted."""
    region: Text | None = None
    """The AWS region, for example ``eu-central-1``. Must not change once there are resources."""
    restrict_private_subnets: bool = False
    """Whether EKS has its interfaces in private subnets alone."""
    role_additional_policies: Items[str] = ()
    """Policies for the role beside EKS's own. Acted on with feature gate EKSAllowAddRoles."""
    role_name: Annotated[str, Field(min_length=2)] | None = None
    """The role that EKS acts with. One that is there is used and never deleted."""
    role_path: str | None = None
    """The path of the role that is created."""
    role_permissions_boundary: str | None = None
    """The permissions boundary of the role that is created."""
    secondary_cidr_block: Cidr | None = None
    """One more range of the VPC, for pods."""
    ssh_key_name: str | None = None
    """Name of an SSH key in AWS, for the bastion; ``default`` when omitted, none when empty."""
    token_method: Literal["iam-authenticator", "aws-cli"] = "iam-authenticator"  # noqa: S105 - the name of a program
    """Which program gets the tokens of the kubeconfig for people."""
    upgrade_policy: Literal["extended", "standard"] | None = None
    """What EKS does at the end of a version's standard support: ``extended`` keeps it for a price, ``standard``
    upgrades the cluster; as EKS has it when omitted."""
    version: Annotated[str, Field(min_length=2, pattern=rules.VERSION_PATTERN)] | None = None
    """The Kubernetes version, for example ``v1.33``; EKS's default when omitted. It goes up, one minor at a time."""
    vpc_cni: VpcCni | None = None
    """The container network that EKS installs."""


class AWSManagedControlPlane(ApiModel):
    """A cluster of Amazon EKS, with its network."""

    RULES = rules.OBJECT_RULES

    spec: AWSManagedControlPlaneSpec = Field(default_factory=AWSManagedControlPlaneSpec)
    """The desired cluster."""
    status: AWSManagedControlPlaneStatus | None = None
    """The observed state; written by the operator."""
