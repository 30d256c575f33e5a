"""Tags of AWS."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from freehold.api import tag_sentences as sentences
from freehold.engine import keyed_codec
from freehold.providers.aws.tags.tagged_resources import kind_of
from freehold.tags.policy.batches import CallPart, TagVerb
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.key_decision import Removal
from freehold.tags.policy.plan import Delta
from freehold.tags.policy.protected import is_reserved
from freehold.tags.policy.resources import Tags
from freehold.tags.policy.validation import quote_shortened

LONGEST_KEY: Final = 128
LONGEST_VALUE: Final = 256
KEYS_TO_REMOVE: Final = 50
"""Keys in one UntagResources (its service model); the others have no smaller limit."""
_SIGNS: Final = frozenset("_.:/=+-@")


@lru_cache(maxsize=4096)
def _counts(key: str) -> bool:
    return not is_reserved(key)


def _slots_used(tags: Tags) -> int:
    """AWS does not count its own ``aws:`` tags, and has one value for a key."""
    return sum(map(_counts, tags))


def _complaints(key: str, value: str) -> Iterator[str]:
    if not 1 <= len(key) <= LONGEST_KEY:
        yield f"{sentences.AWS_KEY_LENGTH} ({quote_shortened(key)} has {len(key)})"
    if len(value) > LONGEST_VALUE:
        yield f"a value has at most {LONGEST_VALUE} characters on AWS ({quote_shortened(value)} has {len(value)})"
    for word, text in (("key", key), ("value", value)):
        if bad := next((each for each in text if not _is_legal(each)), ""):
            yield f"{sentences.AWS_CHARACTER} (the {word} {quote_shortened(text)} has {bad!r})"
    if is_reserved(key):
        yield f"{sentences.AWS_RESERVED_KEY} ({quote_shortened(key)})"
    if value.lower().startswith("aws:"):
        yield f"{sentences.AWS_RESERVED_VALUE} ({quote_shortened(value)})"


def _is_legal(character: str) -> bool:
    return character in _SIGNS or unicodedata.category(character)[0] in "LZN"


def _parts(kind: str, delta: Delta) -> Iterator[CallPart]:
    native = kind.startswith("ec2:")
    for at in range(0, len(delta.removals), KEYS_TO_REMOVE):
        chunk = delta.removals[at : at + KEYS_TO_REMOVE]
        yield (
            _native_removal(chunk)
            if native
            else CallPart(TagVerb.UNTAG_RESOURCES, tuple((each.key, None) for each in chunk))
        )
    if delta.upserts:
        written = tuple((each.key, each.value) for each in delta.upserts)
        yield CallPart(TagVerb.CREATE_TAGS if native else TagVerb.TAG_RESOURCES, written)


def _native_removal(removals: Collection[Removal]) -> CallPart:
    """EC2 removes a tag only if it still has the value that was read."""
    return CallPart(TagVerb.DELETE_TAGS, tuple((each.key, value) for each in removals for value in sorted(each.seen)))


AWS: Final = TagDialect(
    name="aws",
    canonical=lambda text: text,
    limit=50,  # https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html
    limits={"s3:object": 10},  # https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-tagging.html
    slots_used=_slots_used,
    complaints=_complaints,
    parts=_parts,
    kind_of=kind_of,
    exempt_key="freehold.dev/metadata",
    owner_marks=(keyed_codec.UUID, keyed_codec.WITHIN),
    tags_of_cluster=lambda spec: spec.get("additionalTags") or {},
)
