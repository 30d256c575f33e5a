"""JSON documents, such as policies, in one spelling: AWS returns them with other spaces and in another order."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(document: Any) -> str:
    """Return the one spelling of a document, given as text or as values; text that is no JSON stays as it is."""
    read = _parse(document)
    return read if isinstance(read, str) else json.dumps(read, sort_keys=True, separators=(",", ":"))


def canonical_policy(document: Any) -> str:
    """Return the one spelling of a policy: a list of one equals its item, order is ignored, all values are text.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
    """
    return canonical_json(_normalize(_parse(document)))


def short_digest(document: Any) -> str:
    """Return a few letters that tell documents apart."""
    return hashlib.sha256(canonical_json(document).encode()).hexdigest()[:16]


def _parse(document: Any) -> Any:
    if not isinstance(document, str):
        return document
    try:
        return json.loads(document)
    except ValueError:
        return document


def _normalize(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _normalize(each) for key, each in value.items()}
    if isinstance(value, list):
        items = sorted((_normalize(each) for each in value), key=canonical_json)
        return items[0] if len(items) == 1 else items
    return str(value).lower() if isinstance(value, bool) else str(value)
