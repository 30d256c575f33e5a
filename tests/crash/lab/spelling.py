"""The form of marks in the in-memory cloud: plain text, in lower case."""

from __future__ import annotations

import functools
from collections.abc import Collection

from freehold.engine.ownership import CarriedMark, Marks, NodeMark, Owner
from freehold.engine.resources import NodeKey


class PlainCodec:
    """``owner:ns.name``, ``uuid:…``, ``node:kind/logical:seal``, ``carried:kind:uuid:id``, ``user:k=v``."""

    keyed = False

    def key(self, tag: str) -> str:
        return tag.casefold()

    def owner(self, owner: Owner) -> frozenset[str]:
        return frozenset({f"owner:{owner.namespace}.{owner.name}", f"uuid:{owner.uuid}"})

    def spell_parent_mark(self, owner: Owner) -> frozenset[str]:
        return frozenset({f"within:{owner.within}"} if owner.within else ())

    def namespace_and_name(self, said: str) -> tuple[str, str]:
        namespace, _, name = said.partition(".")
        return namespace, name

    def label(self, key: NodeKey) -> frozenset[str]:
        return frozenset()

    def node(self, key: NodeKey, seal: str) -> str:
        return f"node:{key}:{seal}"

    def birth(self, key: NodeKey, nonce: str) -> str:
        return self.node(key, nonce)

    seals_together = 1

    def join_seals(self, tags: Collection[str]) -> frozenset[str]:
        return frozenset(tags)

    def spell_carrier_mark(self, owner: Owner, kind: str, ident: str, seal: str = "") -> str:
        return f"carried:{kind}:{owner.uuid}:{self.carried_id(kind, ident)}"  # as on IBM Cloud, no room for a seal

    def carried_id(self, kind: str, ident: str) -> str:
        return ident.rpartition("/")[2]

    def read(self, tags: Collection[str]) -> Marks:
        return _read(frozenset(tags))

    def is_mark(self, tag: str) -> bool:
        return tag.casefold().startswith(("owner:", "uuid:", "node:", "carried:", "within:"))

    def detach_command(self, target: str, tags: Collection[str]) -> str:
        return f"detach {target} {' '.join(sorted(tags))}"

    def user(self, key: str, value: str) -> str:
        return f"user:{key}={value}"

    def fold(self, tags: Collection[str]) -> frozenset[str]:
        return _fold(frozenset(tags))


class SharedSealsCodec(PlainCodec):
    """Up to 28 sealed marks in one tag: ``node:kind/logical:seal+kind/logical:seal``."""

    seals_together = 28

    def join_seals(self, tags: Collection[str]) -> frozenset[str]:
        sealed = sorted(tag.removeprefix("node:") for tag in _apart(tags) if tag.startswith("node:"))
        others = frozenset(tag for tag in tags if not tag.startswith("node:"))
        return others | ({"node:" + "+".join(sealed)} if sealed else frozenset())

    def read(self, tags: Collection[str]) -> Marks:
        return super().read(_apart(tags))

    def fold(self, tags: Collection[str]) -> frozenset[str]:
        return super().fold(_apart(tags))


def _apart(tags: Collection[str]) -> frozenset[str]:
    """Each sealed mark as a tag of its own."""
    return frozenset(
        f"node:{mark}" if tag.startswith("node:") else tag
        for tag in tags
        for mark in (tag.removeprefix("node:").split("+") if tag.startswith("node:") else (tag,))
    )


@functools.lru_cache(maxsize=4096)
def _read(tags: frozenset[str]) -> Marks:
    words = [tag.casefold().split(":") for tag in tags]
    return Marks(
        owners=frozenset(w[1] for w in words if w[0] == "owner"),
        uuids=frozenset(w[1] for w in words if w[0] == "uuid"),
        nodes=frozenset(NodeMark(NodeKey.parse(w[1]), w[2]) for w in words if w[0] == "node"),
        within=frozenset(w[1] for w in words if w[0] == "within"),
        carried=frozenset(CarriedMark(w[1], w[2], w[3]) for w in words if w[0] == "carried"),
    )


@functools.lru_cache(maxsize=4096)
def _fold(tags: frozenset[str]) -> frozenset[str]:
    return frozenset(tag.casefold() for tag in tags)
