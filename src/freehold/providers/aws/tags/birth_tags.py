"""The tags of a create: our marks, the birth mark among them, by which the resource is recognised (ADR 5)."""

from __future__ import annotations

from freehold.engine.keyed_codec import BIRTH, PREFIX
from freehold.engine.resources import Birth, NonceSet
from freehold.engine.tag_text import key_and_value
from freehold.providers.aws.calls import Json
from freehold.providers.aws.tags.native_tags import tag_list
from freehold.providers.aws.tags.tag_map import Tags


def tags_of(birth: Birth) -> dict[str, str]:
    return dict(key_and_value(tag) for tag in birth.marks)


def birth_tag_list(birth: Birth) -> list[Json]:
    """Return them as Elastic Load Balancing and S3 take them."""
    return tag_list(tags_of(birth))


def tag_specifications(birth: Birth, resource_type: str, *beside: str) -> list[Json]:
    """Return them as EC2 takes them. Types ``beside`` get the tags without marks: they are not nodes."""
    tags = tags_of(birth)
    plain = {key: value for key, value in tags.items() if not key.startswith(PREFIX)}
    wanted = {resource_type: tags, **dict.fromkeys(beside, plain)}
    return [{"ResourceType": each, "Tags": tag_list(some)} for each, some in wanted.items() if some]


def has_birth_nonce(tags: Tags, nonces: NonceSet) -> bool:
    """Return whether the birth mark among ``tags`` is one of ``nonces``."""
    return BIRTH in tags and tags[BIRTH] in nonces
