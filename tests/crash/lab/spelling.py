"""The form of marks in the in-memory cloud: plain text, in lower case."""

from __future__ import annotations

import functools
from collections.abc import Collection

from freehold.lifecycle.kinds import NodeKey
from freehold.lifecycle.ownership import CarriedMark, Marks, NodeMark, Owner


class PlainCodec:
    """``owner:ns.name``, ``uuid:…``, ``node:kind/logical:seal``, ``carried:kind:uuid:id``, ``user:k=v``."""

    def owner(self, owner: Owner) -> frozenset[str]:
        return frozenset({f"owner:{owner.namespace}.{owner.name}", f"uuid:{owner.uuid}"})

    def node(self, key: NodeKey, seal: str) -> str:
        return f"node:{key}:{seal}"

    def carried(self, owner: Owner, kind: str, ident: str, seal: str = "") -> str:
        return f"carried:{kind}:{owner.uuid}:{ident.rpartition('/')[2]}"  # as on IBM Cloud, no room for a seal

    def read(self, tags: Collection[str]) -> Marks:
        return _read(frozenset(tags))

    def user(self, key: str, value: str) -> str:
        return f"user:{key}={value}"

    def fold(self, tags: Collection[str]) -> frozenset[str]:
        return _fold(frozenset(tags))


@functools.lru_cache(maxsize=4096)
def _read(tags: frozenset[str]) -> Marks:
    words = [tag.casefold().split(":") for tag in tags]
    return Marks(
        owners=frozenset(w[1] for w in words if w[0] == "owner"),
        uuids=frozenset(w[1] for w in words if w[0] == "uuid"),
        nodes=frozenset(NodeMark(NodeKey.parse(w[1]), w[2]) for w in words if w[0] == "node"),
        carried=frozenset(CarriedMark(w[1], w[2], w[3]) for w in words if w[0] == "carried"),
    )


@functools.lru_cache(maxsize=4096)
def _fold(tags: frozenset[str]) -> frozenset[str]:
    return frozenset(tag.casefold() for tag in tags)
