"""Times that all kinds of AWS share, in seconds (docs/reference/aws.md#times)."""

from __future__ import annotations

SETTLE = 120.0
"""Longer than a create may still take effect, plus the lag of EC2's reads, plus that of the tagging API."""

TOKEN_LIFE = 3600.0
"""For so long a client token surely answers with the first resource. AWS promises no time; then the tags decide."""
