"""The identities with which AWS is called: three cluster-scoped kinds, each for the namespaces that it allows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api.base import ApiModel, Int32, Items, extensions
from freehold.providers.aws.types import early as aws_early

_NULLABLE = {"nullable": True}


class AWSIdentityReference(ApiModel):
    """An identity, by kind and name."""

    kind: Literal["AWSClusterControllerIdentity", "AWSClusterRoleIdentity", "AWSClusterStaticIdentity"]
    """The kind of the identity."""
    name: Annotated[str, Field(min_length=1)]
    """Its name."""


class LabelRequirement(ApiModel):
    """A requirement on one label."""

    RULES = (aws_early.LABEL_OPERATOR,)

    key: str
    """Key of the label."""
    operator: Annotated[str, Field(max_length=aws_early.TEXT_LIMIT)]
    """``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``."""
    values: Annotated[Items[str], Field(json_schema_extra=extensions(list_type="atomic"))] = ()
    """Values, for ``In`` and ``NotIn``."""


class LabelSelector(ApiModel):
    """Requirements on labels, all of which must hold. Without any, nothing is selected."""

    match_expressions: Annotated[
        Items[LabelRequirement],
        Field(max_length=aws_early.LIST_LIMIT, json_schema_extra=extensions(list_type="atomic")),
    ] = ()
    """Requirements."""
    match_labels: dict[str, str] = Field(default_factory=dict)
    """Labels with their values."""


class AllowedNamespaces(ApiModel):
    """Which namespaces may use an identity: those in the list, and those that the selector selects.

    An empty object allows all; without the object none is allowed.
    """

    names: Annotated[Items[str] | None, Field(alias="list", json_schema_extra=_NULLABLE)] = None
    """Names of namespaces."""
    selector: Annotated[LabelSelector, Field(json_schema_extra=extensions(map_type="atomic"))] | None = None
    """Labels of namespaces."""


Allowed = Annotated[AllowedNamespaces | None, Field(json_schema_extra=_NULLABLE)]


class AWSClusterStaticIdentitySpec(ApiModel):
    """Keys in a Secret."""

    RULES = aws_early.STATIC_IDENTITY_RULES

    allowed_namespaces: Allowed = None
    """Which namespaces may use it; none when omitted."""
    secret_ref: str
    """Name of the Secret in the operator's namespace, with AccessKeyID, SecretAccessKey and, where needed,
    SessionToken. Must not change."""


class AWSClusterRoleIdentitySpec(ApiModel):
    """A role that another identity assumes."""

    RULES = aws_early.ROLE_IDENTITY_RULES

    allowed_namespaces: Allowed = None
    """Which namespaces may use it; none when omitted."""
    duration_seconds: Annotated[Int32, Field(ge=900, le=43200)] | None = None
    """How long a session lasts before it is renewed."""
    external_id: Annotated[str | None, Field(alias="externalID")] = None
    """The external id that the role's trust policy asks for."""
    inline_policy: str | None = None
    """A session policy, as JSON."""
    policy_arns: Annotated[Items[str], Field(alias="policyARNs")] = ()
    """Managed session policies."""
    role_arn: Annotated[str, Field(alias="roleARN")]
    """The role."""
    session_name: str | None = None
    """Name of the session."""
    source_identity_ref: AWSIdentityReference | None = None
    """The identity that assumes the role."""


class AWSClusterControllerIdentitySpec(ApiModel):
    """The operator's own credentials."""

    RULES = (aws_early.CONTROLLER_IDENTITY_STAYS,)

    allowed_namespaces: Allowed = None
    """Which namespaces may use it; none when omitted."""


class AWSClusterStaticIdentity(ApiModel):
    """An identity with keys of its own."""

    spec: AWSClusterStaticIdentitySpec | None = None
    """The keys, and who may use them."""


class AWSClusterRoleIdentity(ApiModel):
    """An identity that is a role."""

    RULES = (aws_early.NOT_ITS_OWN_SOURCE,)

    spec: AWSClusterRoleIdentitySpec | None = None
    """The role, and who may use it."""


class AWSClusterControllerIdentity(ApiModel):
    """The identity of the operator itself; the only one is called ``default``."""

    RULES = (aws_early.CALLED_DEFAULT,)

    spec: AWSClusterControllerIdentitySpec = Field(default_factory=AWSClusterControllerIdentitySpec)
    """Who may use it."""
