"""JSON documents, such as policies, in one spelling: AWS returns them with other spaces and in another order."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(document: Any) -> str:
    """The one text of a document, given as text or as what it says; text that is no JSON as it is."""
    read = _read(document)
    return read if isinstance(read, str) else json.dumps(read, sort_keys=True, separators=(",", ":"))


def policy(document: Any) -> str:
    """The same of a policy, in which a list of one says what its item says, order says nothing, and all is text.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
    """
    return canonical(_plain(_read(document)))


def digest(document: Any) -> str:
    """Tells documents apart in few letters."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()[:16]


def _read(document: Any) -> Any:
    if not isinstance(document, str):
        return document
    try:
        return json.loads(document)
    except ValueError:
        return document


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        items = sorted((_plain(each) for each in value), key=canonical)
        return items[0] if len(items) == 1 else items
    return str(value).lower() if isinstance(value, bool) else str(value)
