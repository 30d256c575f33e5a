"""What an API server says of a field that its schema refuses, for people who do not read regular expressions. Pure."""

from __future__ import annotations

import json
import re

from freehold.api.patterns import TAG_KEY, TAG_VALUE, WORDS

_PATTERN = re.compile(
    r"Invalid value: (?P<value>\".*\"): (?P<path>\S+) in body should match '(?P<pattern>.*)'", re.DOTALL
)
"""How Kubernetes words it (k8s.io/kube-openapi, pkg/validation/errors, patternFail)."""
_TYPE_NAME = re.compile(r'^Invalid value: "(?:array|object)": ')
"""What a rule of a list or object puts in the place of its value."""


def reworded(message: str) -> str:
    """The same in words where the rule is one of ours: the character that is wrong, and what is allowed."""
    found = _PATTERN.fullmatch(message)
    if found is None or found["pattern"] not in WORDS:
        return _TYPE_NAME.sub("", message)
    value, pattern = _value(found["value"]), found["pattern"]
    wrong = _first_wrong(value, pattern) if pattern in (TAG_KEY, TAG_VALUE) else ""
    return f"{value!r}{f' has {wrong!r} in it' if wrong else ' is not allowed'}: {WORDS[pattern]}"


def _value(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted[1:-1]


def _first_wrong(value: str, pattern: str) -> str:
    """The character after the longest allowed beginning; the patterns of tags allow every beginning of a legal text."""
    return next((value[at] for at in range(len(value)) if not re.match(pattern, value[: at + 1])), "")
