"""What somebody who knows an object's uuid and the published rules can compute: marks, seals and nonces without a key.

Written independently of the product: it must not change with the product's rules.
"""

from __future__ import annotations

import base64
import hashlib

from freehold.engine.ownership import Codec, Owner
from freehold.engine.resources import NodeKey


def _digest(*parts: str) -> str:
    return base64.b32encode(hashlib.sha256("\0".join(parts).encode()).digest()).decode().lower()


def nonce(owner: Owner, key: NodeKey, attempt: int) -> str:
    return "f" + _digest("nonce", owner.uuid, str(key), str(attempt))[:7]


def seal(owner: Owner, key: NodeKey, target: str) -> str:
    return _digest("seal", owner.uuid, str(key).casefold(), target.casefold())[:8]


def node_marks(codec: Codec, owner: Owner, key: NodeKey, target: str) -> frozenset[str]:
    """All marks of a resource of ours with this target."""
    return codec.owner(owner) | codec.label(key) | {codec.node(key, seal(owner, key, target))}


def birth_marks(codec: Codec, owner: Owner, key: NodeKey, attempt: int) -> frozenset[str]:
    """The marks in a create of ours, for a kind that takes tags in the same call."""
    return codec.owner(owner) | codec.label(key) | {codec.birth(key, nonce(owner, key, attempt))}
