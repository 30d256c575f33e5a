"""``AWSMetadata`` (metadata-controller.aws.io/v1alpha1): the tags for resources in AWS."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from freehold.api import patterns
from freehold.api import tag_sentences as sentences
from freehold.api.base import ApiModel, ApiRule, Items
from freehold.api.metadata_operations import COMMON_RULES, ExactTags, Keys, Opcode, listed_rules
from freehold.api.metadata_status import MetadataStatus
from freehold.providers.aws.types.identity import AWSIdentityReference

AwsTags = Annotated[dict[str, Annotated[str, Field(max_length=256)]], Field(max_length=50)]


def _aws_legal(text: str) -> str:
    return f"!{text}.matches(r'{patterns.AWS_ILLEGAL}')"


AWS_RULES: Final = (
    *COMMON_RULES,
    *listed_rules(_aws_legal, _aws_legal, sentences.AWS_CHARACTER),
    ApiRule(
        "!has(self.resourcetags) || self.resourcetags.all(key, "
        f"{_aws_legal('key')} && {_aws_legal('self.resourcetags[key]')})",
        sentences.AWS_CHARACTER,
        field=".resourcetags",
    ),
    ApiRule(
        "!has(self.resourcetags) || self.resourcetags.all(key, !self.resourcetags[key].matches('^[aA][wW][sS]:'))",
        sentences.AWS_RESERVED_VALUE,
        field=".resourcetags",
    ),
    ApiRule(
        "!has(self.resourcetags) || self.resourcetags.all(key, size(key) >= 1 && size(key) <= 128)",
        sentences.AWS_KEY_LENGTH,
        field=".resourcetags",
    ),
    ApiRule(
        "!has(self.resourcetags) || self.resourcetags.all(key, !key.matches('^[aA][wW][sS]:'))",
        sentences.AWS_RESERVED_KEY,
        field=".resourcetags",
    ),
)


class AWSOperation(ApiModel):
    """One opcode with its tags."""

    RULES = AWS_RULES

    opcode: Opcode = "update"
    """``add``, ``update`` or ``delete``."""
    resourcetags: AwsTags | None = None
    """The tags; in a delete, an empty value is any value."""
    tagkeys: Keys = ()
    """Keys to delete, whatever their values are."""
    exact_tags: ExactTags = ()
    """Tags to delete, each only where its value is just this one, the empty one too."""


class AWSRole(ApiModel):
    """The role of an AWSClusterRoleIdentity that allows the namespace of this object."""

    arn: Annotated[str, Field(min_length=20, max_length=2048)]
    """The ARN that the identity has as roleARN."""
    external_id: Annotated[str, Field(min_length=2, max_length=1224)] | None = None
    """The externalID that the identity must have; any where there is none."""


class AWSMetadataSpec(AWSOperation):
    """The tags, and with which account and in which regions. No key is ever in a spec."""

    operations: Annotated[Items[AWSOperation], Field(max_length=16)] = ()
    """More operations; each key is in one of them."""
    regions: Annotated[Items[Annotated[str, Field(max_length=32)]], Field(max_length=64)] = ()
    """The regions."""
    identity_ref: AWSIdentityReference | None = None
    """An identity that allows the namespace of this object; the operator's own where there is none."""
    role: AWSRole | None = None
    """A role, used as the AWSClusterRoleIdentity with its ARN that allows the namespace of this object says; with
    identityRef only where that one is its sourceIdentityRef."""
    deletion_policy: Literal["Retain", "Remove"] = "Retain"
    """Whether the tags go with the object: those that the record of the operator says it wrote."""


class AWSMetadata(ApiModel):
    """Tags for resources in AWS."""

    spec: AWSMetadataSpec
    """What is wanted."""
    status: MetadataStatus | None = None
    """What is."""
