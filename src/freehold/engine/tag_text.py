"""A tag of a map as one text: ``key=value``, with each ``=`` and each backslash of the key behind a backslash.

The text is stored in journals, so its form never changes. This is the only place where a map of tags, as a cloud
sends and takes it, becomes the engine's set of texts, and the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_KEY = re.compile(r"(?:\\[\\=]|[^=])*")
_SPECIAL = re.compile(r"[\\=]")
_ESCAPED = re.compile(r"\\([\\=])")


def text(key: str, value: str) -> str:
    if "=" in key or "\\" in key:  # hardly ever
        key = _SPECIAL.sub(_escape, key)
    return f"{key}={value}"


def key_and_value(tag: str) -> tuple[str, str]:
    """Return the inverse of :func:`text`."""
    if "\\" not in tag:  # nearly all: a pass reads thousands of tags
        key, _, value = tag.partition("=")
        return key, value
    found = _KEY.match(tag)
    end = found.end() if found else 0
    return _ESCAPED.sub(r"\1", tag[:end]), tag[end + 1 :]


def texts(tags: Mapping[str, str]) -> frozenset[str]:
    """Return the tags of one resource, as the engine has them."""
    return frozenset(text(key, value) for key, value in tags.items())


def tag_map(tags: Collection[str]) -> dict[str, str]:
    """Return the inverse of :func:`texts`, in the order of the keys. Of one key there must be one value."""
    return dict(sorted(map(key_and_value, tags)))


def _escape(found: re.Match[str]) -> str:
    return f"\\{found.group()}"
