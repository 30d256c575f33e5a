"""Every text in a value, however deep: ids among them, wherever a spec, a request or a part has them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any


def texts_in(value: Any, *, without: Collection[str] = ()) -> Iterator[str]:
    """Yield the texts in mappings (their values), lists and sets. ``without``: names that are left out."""
    match value:
        case str():
            yield value
        case Mapping():
            for name, each in value.items():
                if name not in without:
                    yield from texts_in(each, without=without)
        case list() | tuple() | set() | frozenset():
            for each in value:
                yield from texts_in(each, without=without)


def parse_json(text: str) -> Any:
    """Parse JSON of which every text can be hashed, signed and shown. Raises ValueError, also for a lone surrogate."""
    text.encode()
    document = json.loads(text)
    if "\\ud" in text.lower():
        json.dumps(document, ensure_ascii=False).encode()
    return document
