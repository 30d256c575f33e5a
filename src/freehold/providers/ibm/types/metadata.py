"""``IBMMetadata`` (metadata-controller.ibm.io/v1alpha1): the tags for resources in IBM Cloud."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from freehold.api import patterns
from freehold.api import tag_sentences as sentences
from freehold.api.base import ApiModel, ApiRule, Items
from freehold.api.metadata_operations import COMMON_RULES, ExactTags, Keys, Opcode, listed_rules
from freehold.api.metadata_status import MetadataStatus

IbmTags = Annotated[dict[str, Annotated[str, Field(max_length=127, pattern=patterns.TAG_VALUE)]], Field(max_length=50)]


def _ibm_legal(text: str) -> str:
    return f"{text}.matches('^[A-Za-z0-9 _.-]+$')"


def _no_outer_space(text: str) -> str:
    return f"!{text}.matches('^ | $')"


IBM_RULES: Final = (
    *COMMON_RULES,
    *listed_rules(_ibm_legal, lambda text: "true", sentences.IBM_TAG),
    *listed_rules(lambda text: "true", lambda text: f"{text}.matches('{patterns.TAG_VALUE}')", sentences.IBM_VALUE)[1:],
    *listed_rules(_no_outer_space, _no_outer_space, sentences.IBM_OUTER_SPACE),
    ApiRule(
        "!has(self.resourcetags) || self.resourcetags.all(one, self.resourcetags.all(two, "
        "one == two || one.lowerAscii() != two.lowerAscii()))",
        sentences.IBM_CASE_TWINS,
        field=".resourcetags",
    ),
    ApiRule(
        f"!has(self.resourcetags) || self.resourcetags.all(key, {_ibm_legal('key')}"
        " && size(key) + size(self.resourcetags[key]) <= (self.resourcetags[key] == '' ? 128 : 127))",
        sentences.IBM_TAG,
        field=".resourcetags",
    ),
    ApiRule(
        f"!has(self.resourcetags) || self.resourcetags.all(key, {_no_outer_space('key')}"
        f" && {_no_outer_space('self.resourcetags[key]')})",
        sentences.IBM_OUTER_SPACE,
        field=".resourcetags",
    ),
)


class IBMOperation(ApiModel):
    """One opcode with its tags."""

    RULES = IBM_RULES

    opcode: Opcode = "update"
    """``add``, ``update`` or ``delete``."""
    resourcetags: IbmTags | None = None
    """The tags; in a delete, an empty value is any value."""
    tagkeys: Keys = ()
    """Keys to delete, whatever their values are."""
    exact_tags: ExactTags = ()
    """Tags to delete, each only where its value is just this one, the empty one too."""


class IBMMetadataSpec(IBMOperation):
    """The tags. No key is ever in a spec."""

    operations: Annotated[Items[IBMOperation], Field(max_length=16)] = ()
    """More operations; each key is in one of them."""
    deletion_policy: Literal["Retain", "Remove"] = "Retain"
    """Whether the tags go with the object."""


class IBMMetadata(ApiModel):
    """Tags for resources in IBM Cloud."""

    spec: IBMMetadataSpec
    """What is wanted."""
    status: MetadataStatus | None = None
    """What is."""
