"""Times as IBM Cloud prints them, and the settle time that all of its kinds share."""

from __future__ import annotations

from datetime import UTC, datetime

SETTLE = 120.0
"""The time in seconds after which a create has taken effect or never will, plus list lag, plus about 20 s of tag lag.

Source: docs/reference/ibm-cloud.md#global-tagging.
"""


def epoch(text: str | None) -> float | None:
    """Return epoch seconds of an RFC 3339 time, UTC where it names no zone; None without one that can be read."""
    try:
        read = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
