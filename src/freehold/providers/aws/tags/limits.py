"""The rules of AWS for tags, and ours for a user's: told before a request is sent (docs/reference/aws.md#tags).

The API server refuses the same when an object is applied (:mod:`freehold.providers.aws.types.early`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from freehold.engine.keyed_codec import PREFIX
from freehold.providers.aws.api_names import AWS_TAG_LIMIT, AWS_USER_TAG_LIMIT
from freehold.providers.aws.tags.capa_tags import PROVIDER

LONGEST_KEY, LONGEST_VALUE = 128, 256
_TEXT = re.compile(r"[a-zA-Z0-9 _.:/=+@-]*")
"""What upstream's webhook takes, and every service. Some services take letters of other languages too."""


def tag_problems(key: str, value: str) -> Iterator[str]:
    """Why AWS refuses a tag, and what to do about it."""
    if not 1 <= len(key) <= LONGEST_KEY:
        yield f"the key has {len(key)} characters; a key has 1 to {LONGEST_KEY}"
    if len(value) > LONGEST_VALUE:
        yield f"the value has {len(value)} characters; a value has at most {LONGEST_VALUE}"
    if key.lower().startswith("aws:"):
        yield "keys that begin with aws: are reserved by AWS; choose another"
    if not (_TEXT.fullmatch(key) and _TEXT.fullmatch(value)):
        yield "keys and values have letters, digits, spaces and _ . : / = + - @; change it"


def user_tag_problems(key: str, value: str) -> Iterator[str]:
    """The same of a user's tag, whose key may be neither ours nor upstream's."""
    yield from tag_problems(key, value)
    for prefix in (PREFIX, PROVIDER):
        if key.startswith(prefix):
            yield f"keys that begin with {prefix} say whose a resource is; choose another"


def user_count_problem(count: int) -> str:
    """What is wrong with so many tags of a user, where ours and upstream's count too; empty when nothing is."""
    if count <= AWS_USER_TAG_LIMIT:
        return ""
    return (
        f"there are {count}; a resource has at most {AWS_TAG_LIMIT} tags, and {AWS_TAG_LIMIT - AWS_USER_TAG_LIMIT} "
        f"of them are not yours: remove all but {AWS_USER_TAG_LIMIT}"
    )
