"""``AWSMetadata`` and ``IBMMetadata``: the tags for one provider.

What the schema cannot say (Unicode twins, 51 tags over several operations, a classifier among the tags, which is
another object's) is said by :mod:`freehold.tagging.validation`. Rules without a predicate are said by it
too, of objects that are stored already, with the key. Source: docs/reference/metadata-compat.md A3, A15, A29.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Literal

from pydantic import Field

from freehold.api import patterns
from freehold.api import tag_sentences as sentences
from freehold.api.base import ApiModel, Items, Rule
from freehold.api.metadata_status import MetadataStatus
from freehold.providers.aws.types.identity import AWSIdentityReference

AWS_GROUP: Final = "metadata-controller.aws.io"
IBM_GROUP: Final = "metadata-controller.ibm.io"
VERSION: Final = "v1alpha1"

AwsTags = Annotated[dict[str, Annotated[str, Field(max_length=256)]], Field(max_length=50)]
IbmTags = Annotated[dict[str, Annotated[str, Field(max_length=127, pattern=patterns.TAG_VALUE)]], Field(max_length=50)]
Opcode = Annotated[str, Field(max_length=32)]
Keys = Annotated[Items[Annotated[str, Field(min_length=1, max_length=128)]], Field(max_length=50)]

PROTECTED: Final = tuple(
    Rule(
        f"!has(self.{field}) || self.{field}.all(each, !{key}.matches(r'{patterns.PROTECTED_KEY}'))",
        sentences.PROTECTED_KEY,
        field=f".{field}",
    )
    for field, key in (("resourcetags", "each"), ("tagkeys", "each"), ("exactTags", "each.key"))
)


def _aws_legal(text: str) -> str:
    return f"!{text}.matches(r'{patterns.AWS_ILLEGAL}')"


def _ibm_legal(text: str) -> str:
    return f"{text}.matches('^[A-Za-z0-9 _.-]+$')"


def _no_outer_space(text: str) -> str:
    return f"!{text}.matches('^ | $')"


def _listed(key: Callable[[str], str], value: Callable[[str], str], sentence: str) -> tuple[Rule, ...]:
    """What holds for ``resourcetags``, of the two other lists: expressions about the text of a key and of a value."""
    exact = f"{key('each.key')} && (!has(each.value) || each.value == '' || {value('each.value')})"
    return (
        Rule(f"!has(self.tagkeys) || self.tagkeys.all(each, {key('each')})", sentence, field=".tagkeys"),
        Rule(f"!has(self.exactTags) || self.exactTags.all(each, {exact})", sentence, field=".exactTags"),
    )


def _any_value_once(operation: AWSOperation | IBMOperation) -> bool:
    named = operation.resourcetags or {}
    return not any(named.get(key) for key in operation.tagkeys)


def _exact_once(operation: AWSOperation | IBMOperation) -> bool:
    """In ``exactTags`` the empty value is the empty one, in ``resourcetags`` it is any value."""
    exact, named = operation.exact_tags, operation.resourcetags or {}
    values = {tag.key: tag.value for tag in exact}
    alike = all(values[tag.key] == tag.value for tag in exact)
    return alike and all(
        key not in operation.tagkeys and (key not in named or named[key] == value != "")
        for key, value in values.items()
    )


_NAMED_ONCE: Final = (
    Rule(
        "!has(self.tagkeys) || !has(self.resourcetags) || "
        "self.tagkeys.all(each, !(each in self.resourcetags) || self.resourcetags[each] == '')",
        sentences.NAMED_TWICE,
        _any_value_once,
        field=".tagkeys",
    ),
    Rule(
        "!has(self.exactTags) || self.exactTags.all(one, "
        "self.exactTags.all(two, one.key != two.key || one.value == two.value)"
        " && (!has(self.tagkeys) || !(one.key in self.tagkeys))"
        " && (!has(self.resourcetags) || !(one.key in self.resourcetags)"
        " || (one.value != '' && self.resourcetags[one.key] == one.value)))",
        sentences.NAMED_TWICE,
        _exact_once,
        field=".exactTags",
    ),
)
"""Of two entries for one key one would be taken, and the other one left out without a word."""
_KNOWN_OPCODE: Final = Rule(
    "self.opcode.lowerAscii() in ['add', 'update', 'delete']",
    sentences.UNKNOWN_OPCODE,
    field=".opcode",
)
AWS_RULES: Final = (
    _KNOWN_OPCODE,
    *_NAMED_ONCE,
    *PROTECTED,
    *_listed(_aws_legal, _aws_legal, sentences.AWS_CHARACTER),
    Rule(
        "!has(self.resourcetags) || self.resourcetags.all(key, "
        f"{_aws_legal('key')} && {_aws_legal('self.resourcetags[key]')})",
        sentences.AWS_CHARACTER,
        field=".resourcetags",
    ),
    Rule(
        "!has(self.resourcetags) || self.resourcetags.all(key, !self.resourcetags[key].matches('^[aA][wW][sS]:'))",
        sentences.AWS_RESERVED_VALUE,
        field=".resourcetags",
    ),
    Rule(
        "!has(self.resourcetags) || self.resourcetags.all(key, size(key) >= 1 && size(key) <= 128)",
        sentences.AWS_KEY_LENGTH,
        field=".resourcetags",
    ),
    Rule(
        "!has(self.resourcetags) || self.resourcetags.all(key, !key.matches('^[aA][wW][sS]:'))",
        sentences.AWS_RESERVED_KEY,
        field=".resourcetags",
    ),
)
IBM_RULES: Final = (
    _KNOWN_OPCODE,
    *_NAMED_ONCE,
    *PROTECTED,
    *_listed(_ibm_legal, lambda text: "true", sentences.IBM_TAG),
    *_listed(lambda text: "true", lambda text: f"{text}.matches('{patterns.TAG_VALUE}')", sentences.IBM_VALUE)[1:],
    *_listed(_no_outer_space, _no_outer_space, sentences.IBM_OUTER_SPACE),
    Rule(
        "!has(self.resourcetags) || self.resourcetags.all(one, self.resourcetags.all(two, "
        "one == two || one.lowerAscii() != two.lowerAscii()))",
        sentences.IBM_CASE_TWINS,
        field=".resourcetags",
    ),
    Rule(
        f"!has(self.resourcetags) || self.resourcetags.all(key, {_ibm_legal('key')}"
        " && size(key) + size(self.resourcetags[key]) <= (self.resourcetags[key] == '' ? 128 : 127))",
        sentences.IBM_TAG,
        field=".resourcetags",
    ),
    Rule(
        f"!has(self.resourcetags) || self.resourcetags.all(key, {_no_outer_space('key')}"
        f" && {_no_outer_space('self.resourcetags[key]')})",
        sentences.IBM_OUTER_SPACE,
        field=".resourcetags",
    ),
)


class ExactTag(ApiModel):
    """A tag with just this value."""

    key: Annotated[str, Field(min_length=1, max_length=128)]
    """Its key."""
    value: Annotated[str, Field(max_length=256)] = ""
    """Its value; the empty one is the empty one."""


ExactTags = Annotated[Items[ExactTag], Field(max_length=50)]


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


class IBMMetadataSpec(IBMOperation):
    """The tags. No key is ever in a spec."""

    operations: Annotated[Items[IBMOperation], Field(max_length=16)] = ()
    """More operations; each key is in one of them."""
    deletion_policy: Literal["Retain", "Remove"] = "Retain"
    """Whether the tags go with the object."""


class AWSMetadata(ApiModel):
    """Tags for resources in AWS."""

    spec: AWSMetadataSpec
    """What is wanted."""
    status: MetadataStatus | None = None
    """What is."""


class IBMMetadata(ApiModel):
    """Tags for resources in IBM Cloud."""

    spec: IBMMetadataSpec
    """What is wanted."""
    status: MetadataStatus | None = None
    """What is."""
