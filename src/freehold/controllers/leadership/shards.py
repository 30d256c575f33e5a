"""Shards: which object is in which, and how many each replica serves. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

SINGLE = ""
"""The name of work that only one replica does, for all objects: it is in shard 0."""


def find_shard(name: str, shards: int) -> int:
    """Return the shard of a name, the same in every process."""
    if name == SINGLE:
        return 0
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % shards


def find_share(held: Mapping[str, int], identity: str, shards: int) -> int:
    """Return how many shards ``identity`` should hold; ``held`` are those of each living replica, with 0 for none.

    Where they cannot be divided evenly, those who hold most keep one more, so that no shard moves without need. A
    replica that holds some never gives up its last one.
    """
    least, more = divmod(shards, len(held))
    order = sorted(held, key=lambda each: (-held[each], each))
    return least + (order.index(identity) < more)
