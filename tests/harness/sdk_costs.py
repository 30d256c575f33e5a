"""Do once in a process what botocore does anew for each session.

`harness.fork_server` imports this by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from botocore import session


def spare(put: Callable[[object, str, object], None]) -> None:
    """Have the models of services read once: each session would read them anew, that of EC2 in 0.2 CPU-seconds."""
    put(session, "create_loader", cache(session.create_loader))
