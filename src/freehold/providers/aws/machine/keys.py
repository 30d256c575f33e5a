"""The keys of a machine's resources."""

from __future__ import annotations

from typing import Final

from freehold.engine.resources import NodeKey

INSTANCE: Final = NodeKey("instance", "machine")
BOOTSTRAP_SECRET_KIND: Final = "bootstrap-secret"  # noqa: S105 - the name of a kind
REGISTRATION: Final = "registration"
"""The sort of a part of the instance: what sends traffic to it."""
