"""The identities with which AWS is called: three cluster-scoped kinds, each for the namespaces that it allows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api.base import ApiModel, ApiRule, Int32, Items, build_extensions
from freehold.api.rules import LIST_LIMIT, TEXT_LIMIT
from freehold.api.status import Identity

_NULLABLE = {"nullable": True}


class AWSIdentityReference(ApiModel):
    """An identity, by kind and name."""

    kind: Literal["AWSClusterControllerIdentity", "AWSClusterRoleIdentity", "AWSClusterStaticIdentity"]
    """The kind of the identity."""
    name: Annotated[str, Field(min_length=1)]
    """Its name."""


class AWSPlace(ApiModel):
    """The fields of an AWSCluster that say in which account its machines are."""

    identity_ref: AWSIdentityReference | None = None
    """The identity; absent for the controller's own."""
    region: str | None = None
    """The region."""


class AWSMachineIdentity(Identity):
    """A copy of the identity of a machine, used if the journal annotation or its cluster is lost."""

    place: AWSPlace | None = None
    """What its cluster says of the account."""
    within: str | None = None
    """The owner uuid of its cluster."""


class LabelRequirement(ApiModel):
    """A requirement on one label."""

    RULES = (
        ApiRule(
            "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : "
            "self.operator in ['Exists', 'DoesNotExist'] && (!has(self.values) || size(self.values) == 0)",
            "the operator is In or NotIn with values, or Exists or DoesNotExist without",
        ),
    )

    key: str
    """Key of the label."""
    operator: Annotated[str, Field(max_length=TEXT_LIMIT)]
    """``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``."""
    values: Annotated[Items[str], Field(json_schema_extra=build_extensions(list_type="atomic"))] = ()
    """Values, for ``In`` and ``NotIn``."""


class NamespaceSelector(ApiModel):
    """Requirements on labels, all of which must hold. Without any, nothing is selected."""

    match_expressions: Annotated[
        Items[LabelRequirement],
        Field(max_length=LIST_LIMIT, json_schema_extra=build_extensions(list_type="atomic")),
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
    selector: Annotated[NamespaceSelector, Field(json_schema_extra=build_extensions(map_type="atomic"))] | None = None
    """Labels of namespaces."""


Allowed = Annotated[AllowedNamespaces | None, Field(json_schema_extra=_NULLABLE)]


class AWSClusterStaticIdentitySpec(ApiModel):
    """Keys in a Secret."""

    RULES = (
        ApiRule("self.secretRef == oldSelf.secretRef", "it cannot change; make another identity", field=".secretRef"),
    )

    allowed_namespaces: Allowed = None
    """Which namespaces may use it; none when omitted."""
    secret_ref: str
    """Name of the Secret in the operator's namespace, with AccessKeyID, SecretAccessKey and, where needed,
    SessionToken. Must not change."""


class AWSClusterRoleIdentitySpec(ApiModel):
    """A role that another identity assumes."""

    RULES = (
        ApiRule(
            "has(self.sourceIdentityRef)",
            "a role is assumed by somebody: name an identity in sourceIdentityRef, most often "
            "AWSClusterControllerIdentity default",
        ),
    )

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

    RULES = (ApiRule("self == oldSelf", "it cannot change; delete it and create it anew"),)

    allowed_namespaces: Allowed = None
    """Which namespaces may use it; none when omitted."""


class AWSClusterStaticIdentity(ApiModel):
    """An identity with keys of its own."""

    spec: AWSClusterStaticIdentitySpec | None = None
    """The keys, and who may use them."""


class AWSClusterRoleIdentity(ApiModel):
    """An identity that is a role."""

    RULES = (
        ApiRule(
            "!has(self.spec) || !has(self.spec.sourceIdentityRef) || "
            "self.spec.sourceIdentityRef.kind != 'AWSClusterRoleIdentity' || "
            "self.spec.sourceIdentityRef.name != self.metadata.name",
            "a role cannot assume itself; name another identity",
            field=".spec.sourceIdentityRef",
        ),
    )

    spec: AWSClusterRoleIdentitySpec | None = None
    """The role, and who may use it."""


class AWSClusterControllerIdentity(ApiModel):
    """The identity of the operator itself; the only one is called ``default``."""

    RULES = (
        ApiRule(
            "self.metadata.name == 'default'", "there is one AWSClusterControllerIdentity, and it is called default"
        ),
    )

    spec: AWSClusterControllerIdentitySpec = Field(default_factory=AWSClusterControllerIdentitySpec)
    """Who may use it."""
