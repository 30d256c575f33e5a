"""Truth values of annotations. Does not import pydantic."""

from __future__ import annotations

# Go's strconv.ParseBool, which upstream's webhooks use (docs/reference/ibm-cloud.md#capibm).
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def parse_bool(value: str) -> bool | None:
    """Return the truth value of a word; None if it has none."""
    return True if value in _TRUE else False if value in _FALSE else None
