"""Times as IBM Cloud prints them, and the settle time that all of its kinds share."""

from __future__ import annotations

from datetime import datetime

SETTLE = 120.0
"""Seconds: longer than a create may still take effect, plus list lag, plus about 20 s of tag lag (reference §0.6)."""


def epoch(text: str | None) -> float | None:
    """Epoch seconds of an RFC 3339 time, None without one."""
    return datetime.fromisoformat(text).timestamp() if text else None
