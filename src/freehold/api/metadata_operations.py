"""One operation on tags, as every provider's metadata object has it, and its rules.

What the schema cannot say (Unicode twins, 51 tags over several operations, a classifier among the tags, which is
another object's) is said by :mod:`freehold.tags.policy.validation`. Rules without a predicate are said by it
too, of objects that are stored already, with the key. Source: docs/reference/metadata-compat.md A3, A15, A29.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Final, Protocol

from pydantic import Field

from freehold.api import patterns
from freehold.api import tag_sentences as sentences
from freehold.api.base import ApiModel, ApiRule, Items

Opcode = Annotated[str, Field(max_length=32)]
Keys = Annotated[Items[Annotated[str, Field(min_length=1, max_length=128)]], Field(max_length=50)]


class ExactTag(ApiModel):
    """A tag with just this value."""

    key: Annotated[str, Field(min_length=1, max_length=128)]
    """Its key."""
    value: Annotated[str, Field(max_length=256)] = ""
    """Its value; the empty one is the empty one."""


ExactTags = Annotated[Items[ExactTag], Field(max_length=50)]


class Operation(Protocol):
    """The opcode and the lists of one operation."""

    @property
    def opcode(self) -> str: ...

    @property
    def resourcetags(self) -> Mapping[str, str] | None: ...

    @property
    def tagkeys(self) -> tuple[str, ...]: ...

    @property
    def exact_tags(self) -> tuple[ExactTag, ...]: ...


_PROTECTED: Final = tuple(
    ApiRule(
        f"!has(self.{field}) || self.{field}.all(each, !{key}.matches(r'{patterns.PROTECTED_KEY}'))",
        sentences.PROTECTED_KEY,
        field=f".{field}",
    )
    for field, key in (("resourcetags", "each"), ("tagkeys", "each"), ("exactTags", "each.key"))
)


def listed_rules(key: Callable[[str], str], value: Callable[[str], str], sentence: str) -> tuple[ApiRule, ...]:
    """Say of ``tagkeys`` and ``exactTags`` what holds for ``resourcetags``: expressions about a key and a value."""
    exact = f"{key('each.key')} && (!has(each.value) || each.value == '' || {value('each.value')})"
    return (
        ApiRule(f"!has(self.tagkeys) || self.tagkeys.all(each, {key('each')})", sentence, field=".tagkeys"),
        ApiRule(f"!has(self.exactTags) || self.exactTags.all(each, {exact})", sentence, field=".exactTags"),
    )


def _any_value_once(operation: Operation) -> bool:
    named = operation.resourcetags or {}
    return not any(named.get(key) for key in operation.tagkeys)


def _exact_once(operation: Operation) -> bool:
    """In ``exactTags`` the empty value is the empty one, in ``resourcetags`` it is any value."""
    exact, named = operation.exact_tags, operation.resourcetags or {}
    values = {tag.key: tag.value for tag in exact}
    alike = all(values[tag.key] == tag.value for tag in exact)
    return alike and all(
        key not in operation.tagkeys and (key not in named or named[key] == value != "")
        for key, value in values.items()
    )


_NAMED_ONCE: Final = (
    ApiRule(
        "!has(self.tagkeys) || !has(self.resourcetags) || "
        "self.tagkeys.all(each, !(each in self.resourcetags) || self.resourcetags[each] == '')",
        sentences.NAMED_TWICE,
        _any_value_once,
        field=".tagkeys",
    ),
    ApiRule(
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
_KNOWN_OPCODE: Final = ApiRule(
    "self.opcode.lowerAscii() in ['add', 'update', 'delete']",
    sentences.UNKNOWN_OPCODE,
    field=".opcode",
)
COMMON_RULES: Final = (_KNOWN_OPCODE, *_NAMED_ONCE, *_PROTECTED)
"""The rules of every provider."""
