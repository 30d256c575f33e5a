"""Who may enter an EKS cluster: access mode, access entries, and upstream's ways beside them.

Names, defaults and enums are upstream's, but for one: the access mode has no default here, so that a spec which says
nothing differs from one that says ``config_map`` (docs/adr).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api.base import ApiModel, Items

AuthenticationMode = Literal["config_map", "api", "api_and_config_map"]
AccessEntryType = Literal[
    "standard", "ec2_linux", "ec2_windows", "fargate_linux", "ec2", "hybrid_linux", "hyperpod_linux"
]


class AccessConfig(ApiModel):
    """How the cluster knows who may enter it."""

    authentication_mode: AuthenticationMode | None = None
    """``api``: by access entries; ``config_map``: by the ConfigMap aws-auth; ``api_and_config_map``: by both, also when
    omitted. EKS takes no way back from ``api``, and none to ``config_map``."""
    bootstrap_cluster_creator_admin_permissions: bool = True
    """Whether the identity that creates the cluster is its administrator. Acted on when it is created."""


class AccessScope(ApiModel):
    """Where an access policy holds."""

    namespaces: Annotated[Items[str], Field(min_length=1)] | None = None
    """The namespaces, with ``type: namespace``."""
    type: Literal["cluster", "namespace"] = "cluster"
    """In the whole cluster, or in namespaces."""


class AccessPolicyReference(ApiModel):
    """An access policy of EKS, and where it holds."""

    access_scope: AccessScope
    """Where it holds."""
    policy_arn: Annotated[str, Field(alias="policyARN")]
    """Its ARN, ``arn:aws:eks::aws:cluster-access-policy/…``."""


class AccessEntry(ApiModel):
    """A role or user of IAM that may enter the cluster."""

    access_policies: Annotated[Items[AccessPolicyReference], Field(max_length=20)] = ()
    """What it may do, by policies of EKS."""
    kubernetes_groups: Items[str] = ()
    """The groups that it is in, for RBAC."""
    principal_arn: Annotated[str, Field(alias="principalARN")]
    """The role or user."""
    type: AccessEntryType = "standard"
    """``standard`` for people and programs, ``ec2_linux`` for nodes."""
    username: str | None = None
    """Its name in the cluster; its ARN when omitted."""


class RoleMapping(ApiModel):
    """A role, and who it is in the cluster."""

    groups: Items[str]
    """Groups of RBAC."""
    rolearn: Annotated[str, Field(min_length=31)]
    """The role."""
    username: str
    """Name in the cluster."""


class UserMapping(ApiModel):
    """A user, and who that is in the cluster."""

    groups: Items[str]
    """Groups of RBAC."""
    userarn: Annotated[str, Field(min_length=31)]
    """The user."""
    username: str
    """Name in the cluster."""


class IAMAuthenticatorConfig(ApiModel):
    """Entries of the ConfigMap aws-auth."""

    map_roles: Items[RoleMapping] = ()
    """Roles."""
    map_users: Items[UserMapping] = ()
    """Users."""


class OIDCIdentityProviderConfig(ApiModel):
    """An identity provider, with whose tokens people enter the cluster."""

    client_id: Annotated[str, Field(alias="clientId")]
    """The audience of the tokens."""
    groups_claim: str | None = None
    """The claim that has the groups."""
    groups_prefix: str | None = None
    """What is put before groups."""
    identity_provider_config_name: str
    """Its name."""
    issuer_url: str
    """Its URL."""
    required_claims: dict[str, str] = Field(default_factory=dict)
    """Claims that a token must have."""
    tags: dict[str, str] = Field(default_factory=dict)
    """Tags."""
    username_claim: str | None = None
    """The claim that has the name."""
    username_prefix: str | None = None
    """What is put before names."""
