"""What an API server says of a field that its schema refuses, for people who do not read regular expressions. Pure."""

from __future__ import annotations

import json
import re

from freehold.api.patterns import WORDS

_PATTERN = re.compile(
    r"Invalid value: (?P<value>\".*\"): (?P<path>\S+) in body should match '(?P<pattern>.*)'", re.DOTALL
)
"""How Kubernetes words it (k8s.io/kube-openapi, pkg/validation/errors, patternFail)."""
_TYPE_NAME = re.compile(r'^Invalid value: "(?:array|object|string)": ')
"""What a rule puts in the place of its value."""


def reworded(message: str) -> str:
    """The same in words where the rule is one of ours: what is allowed."""
    found = _PATTERN.fullmatch(message)
    if found is None or found["pattern"] not in WORDS:
        return _TYPE_NAME.sub("", message)
    return f"{_value(found['value'])!r} is not allowed: {WORDS[found['pattern']]}"


def _value(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted[1:-1]
