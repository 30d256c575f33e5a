"""Marks in a cloud whose tags are a map that knows case: the spelling of ADR 5.

A tag is one text for the engine (:mod:`tag_text`). The mark that names the node and its seals have keys of their own:
the seals of several resources are one value, so that one call can attach it to all of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from shlex import quote

from freehold.engine.ownership import CarriedMark, Marks, NodeMark, Owner
from freehold.engine.resources import NodeKey
from freehold.engine.tag_text import key_and_value, tag_map, text

PREFIX = "freehold.dev/"
OWNER, UUID, NODE, BIRTH, SEAL = (f"{PREFIX}{word}" for word in ("owner", "owner-uuid", "node", "birth", "seal"))
WITHIN = f"{PREFIX}cluster-uuid"
"""The uuid of the owner's cluster, on what a machine owns. It proves nothing; the owner's own is :data:`UUID`.

Beware: on IBM Cloud ``cluster-uuid`` is the owner's own uuid, one of the two marks that prove (ADR 5).
"""
CARRIED = f"{PREFIX}carried."
LONGEST_KEY, LONGEST_VALUE = 127, 255
"""What every service takes: the guides of load balancers say one less than their API (docs/reference/aws.md#tags)."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9 +\-=._:/@]")
"""Letters of other languages are legal too. Marks do without: one text is one sequence of bytes in every service."""


def _fit(said: str, room: int) -> str:
    """Return ``said`` in legal characters and cut to ``room``; with a hash of the whole where that changed it."""
    legal = _ILLEGAL.sub("-", said)
    if legal == said and len(said) <= room:
        return said
    return f"{legal[: room - 9]}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"


class KeyedCodec:
    """``freehold.dev/<what>=<value>``."""

    keyed = True
    seals_together = 28
    """So many seals of 8 letters, with a space between them, fit into one value."""

    def key(self, tag: str) -> str:
        return key_and_value(tag)[0]

    def owner(self, owner: Owner) -> frozenset[str]:
        name = _fit(f"{owner.namespace}/{owner.name}", LONGEST_VALUE)
        return frozenset({text(OWNER, name), text(UUID, owner.uuid)})

    def spell_parent_mark(self, owner: Owner) -> frozenset[str]:
        return frozenset({text(WITHIN, owner.within)} if owner.within else ())

    def namespace_and_name(self, said: str) -> tuple[str, str]:
        namespace, _, name = said.partition("/")
        return namespace, name

    def label(self, key: NodeKey) -> frozenset[str]:
        return frozenset({text(NODE, _fit(str(key), LONGEST_VALUE))})

    def node(self, key: NodeKey, seal: str) -> str:
        return text(SEAL, seal)

    def birth(self, key: NodeKey, nonce: str) -> str:
        return text(BIRTH, nonce)

    def join_seals(self, tags: Collection[str]) -> frozenset[str]:
        seals: dict[tuple[str, str], set[str]] = {}
        for tag in tags:
            before, words = _split_seals(*key_and_value(tag))
            seals.setdefault(before, set()).update(words)
        return frozenset(text(key, " ".join(filter(None, (said, *sorted(s))))) for (key, said), s in seals.items())

    def spell_carrier_mark(self, owner: Owner, kind: str, ident: str, seal: str = "") -> str:
        return text(_carried_key(kind, ident), f"{owner.uuid} {seal}".rstrip())

    def carried_id(self, kind: str, ident: str) -> str:
        return _carried_key(kind, ident).removeprefix(f"{CARRIED}{kind}.")

    def read(self, tags: Collection[str]) -> Marks:
        return _parse_marks(frozenset(tags))

    def is_mark(self, tag: str) -> bool:
        return self.key(tag).startswith(PREFIX)

    def detach_command(self, target: str, tags: Collection[str]) -> str:
        """Return no vendor's command: the codec of one cloud knows it."""
        return f"untag {quote(target)} {' '.join(sorted(quote(self.key(tag)) for tag in tags))}"

    def user(self, key: str, value: str) -> str:
        return text(key, value)

    def fold(self, tags: Collection[str]) -> frozenset[str]:
        return _fold(frozenset(tags))


@lru_cache(maxsize=4096)  # a pass asks many times for the tags of one resource, and the next pass finds the same ones
def _parse_marks(tags: frozenset[str]) -> Marks:
    found = tag_map(tags)
    return Marks(
        owners=frozenset({found[OWNER]} if found.get(OWNER) else ()),
        uuids=frozenset({found[UUID]} if found.get(UUID) else ()),
        nodes=frozenset(_nodes(found)),
        carried=frozenset(_read_carried_marks(found)),
        within=frozenset({found[WITHIN]} if found.get(WITHIN) else ()),
    )


@lru_cache(maxsize=4096)
def _fold(tags: frozenset[str]) -> frozenset[str]:
    found = {tag for tag in tags if not tag.startswith(PREFIX)}  # nearly all: no mark, so no seals in it
    for tag in tags - found:
        (key, said), words = _split_seals(*key_and_value(tag))
        found |= {text(key, f"{said} {word}".strip() if words else said) for word in words or ("",)}
    return frozenset(found)


def _carried_key(kind: str, ident: str) -> str:
    """Return the key with the whole id: its last part may be that of another resource in the same carrier."""
    return _fit(f"{CARRIED}{kind}.{ident}", LONGEST_KEY)


def _split_seals(key: str, value: str) -> tuple[tuple[str, str], Sequence[str]]:
    """Split a tag into itself without seals, and these. A carrier's mark has the owner's uuid before them."""
    if key == SEAL:
        return (key, ""), value.split()
    if key.startswith(CARRIED):
        uuid, *seals = value.split() or [""]
        return (key, uuid), seals
    return (key, value), ()


def _nodes(found: Mapping[str, str]) -> Iterator[NodeMark]:
    """Return a mark for each seal and for the nonce of the birth; one without a seal where there is neither."""
    if not found.get(NODE):
        return
    key = NodeKey.parse(found[NODE])
    for word in {*found.get(SEAL, "").split(), *found.get(BIRTH, "").split()} or {""}:
        yield NodeMark(key, word)


def _read_carried_marks(found: Mapping[str, str]) -> Iterator[CarriedMark]:
    for key, value in found.items():
        if not key.startswith(CARRIED):
            continue
        kind, _, ident = key.removeprefix(CARRIED).partition(".")
        (_, uuid), seals = _split_seals(key, value)
        if kind and ident and uuid:
            yield from (CarriedMark(kind, uuid, ident, seal) for seal in seals or ("",))
