"""Rows of IAM, which has no client tokens and is in no index but that of one region."""

from __future__ import annotations

from freehold.providers.aws.kind_rows.row import KindFacts, PartFacts

KINDS: tuple[KindFacts, ...] = (
    KindFacts(
        name="iam-role",
        service="iam",
        create="CreateRole",
        describe="GetRole",
        delete="DeleteRole",
        deleted_by="RoleName",
        arn_type="role",
        indexed_as="",
        tags_in="Tags",
        natural_key="name in the account: EntityAlreadyExists",
        mutable={
            "AssumeRolePolicyDocument": "UpdateAssumeRolePolicy",
            "PermissionsBoundary": "PutRolePermissionsBoundary",
        },
        immutable=("RoleName", "Path"),
        parts=(
            PartFacts("policy", "ARN of the policy", "AttachRolePolicy", "DetachRolePolicy"),
            PartFacts("cluster-policy", "ARN of the policy for clusters", "AttachRolePolicy", "DetachRolePolicy"),
        ),
        reads=("ListRoles", "ListAttachedRolePolicies", "ListRolePolicies", "ListInstanceProfilesForRole"),
        writes=("DeleteRolePermissionsBoundary",),
    ),
    KindFacts(
        name="oidc-provider",
        service="iam",
        create="CreateOpenIDConnectProvider",
        describe="GetOpenIDConnectProvider",
        delete="DeleteOpenIDConnectProvider",
        deleted_by="OpenIDConnectProviderArn",
        arn_type="oidc-provider",
        indexed_as="",
        tags_in="Tags",
        natural_key="URL in the account: EntityAlreadyExists",
        by_person={"ClientIDList": "AddClientIDToOpenIDConnectProvider"},
        immutable=("Url",),
        reads=("ListOpenIDConnectProviders", "ListRoles"),
    ),
)
