"""Who owns what, and what counts as proof.

A name is not a deed, and neither is a copied tag: the mark that names kind and logical name carries a
seal that binds it to one resource, so marks copied from a resource of ours onto a stranger's do not fit
there. :func:`proves` is the only ownership test in the project.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from freehold.lifecycle.kinds import NodeKey


@dataclass(frozen=True)
class Owner:
    """The identity that owns cloud resources: minted once per object, kept across restore and move.

    ``uuid`` is the object's first UID (seed 000's cluster-uuid); a restored object has a new UID and
    keeps this one.
    """

    uuid: str
    kind: str
    namespace: str
    name: str


@functools.lru_cache(maxsize=4096)
def _digest(*parts: str) -> str:
    return base64.b32encode(hashlib.sha256("\0".join(parts).encode()).digest()).decode().lower()


def nonce(owner: Owner, key: NodeKey, attempt: int) -> str:
    """Eight letters that only this attempt of this node bears: derived, so that no crash can lose it."""
    return "f" + _digest("nonce", owner.uuid, str(key), str(attempt))[:7]


def token(owner: Owner, key: NodeKey, attempt: int) -> str:
    """The client token of this attempt (32 characters; every AWS token field takes 32 or more)."""
    return _digest("token", owner.uuid, str(key), str(attempt))[:32]


def seal(owner: Owner, key: NodeKey, target: str) -> str:
    """What binds a mark to the resource that it stands on."""
    return _digest("seal", owner.uuid, str(key).casefold(), target.casefold())[:8]


def deed(secret: bytes, owner: Owner, kind: str, ident: str) -> str:
    """What the journal must hold beside an id to count as a record of it; without the secret nobody can write it.

    ``secret`` empty: journals are trusted as they are (engine tests; an operator always has one).
    """
    if not secret:
        return ""
    said = "\0".join(("deed", owner.uuid, owner.namespace, owner.name, kind, ident))
    return base64.b32encode(hmac.new(secret, said.encode(), hashlib.sha256).digest()).decode().lower()[:16]


@dataclass(frozen=True)
class NodeMark:
    """A decoded mark: which logical resource of its owner this is."""

    key: NodeKey
    seal: str


@dataclass(frozen=True)
class CarriedMark:
    """A decoded mark on a carrier: this owner has a resource of ``kind`` with this id."""

    kind: str
    uuid: str
    id: str
    seal: str = ""


@dataclass(frozen=True)
class Marks:
    """The marks that stand on one target, decoded; tags of other people are not in here."""

    owners: frozenset[str] = frozenset()
    uuids: frozenset[str] = frozenset()
    nodes: frozenset[NodeMark] = frozenset()
    carried: frozenset[CarriedMark] = frozenset()


class Codec(Protocol):
    """How one cloud spells our marks as tags. Comparison is case-folded where the cloud's is."""

    def owner(self, owner: Owner) -> frozenset[str]:
        """Seed 000's two marks: owner and uuid."""
        ...

    def node(self, key: NodeKey, seal: str) -> str:
        """The mark that names kind and logical name, sealed."""
        ...

    def carried(self, owner: Owner, kind: str, id: str) -> str:  # noqa: A002 - the field's word
        """The mark on a carrier."""
        ...

    def read(self, tags: Collection[str]) -> Marks:
        """Decode what is ours by form, whoever the owner is."""
        ...

    def user(self, key: str, value: str) -> str:
        """A user's tag as this cloud spells it."""
        ...

    def fold(self, tags: Collection[str]) -> frozenset[str]:
        """Tags in the form in which two of them are the same tag."""
        ...


class Strength(Enum):
    """How much some marks prove."""

    PROVEN = "proven"  # delete, prune, update
    HEALABLE = "healable"  # the journal says ours and the marks do not contradict: mark again first
    OTHERS = "others"  # another owner's marks
    COPIED = "copied"  # our marks, but sealed to another resource
    NONE = "none"  # no mark at all


@dataclass(frozen=True)
class Evidence:
    """Why we hold a resource for ours, or not; ``source`` is fit for a person."""

    strength: Strength
    source: str


def proves(
    codec: Codec,
    owner: Owner,
    tags: Collection[str],
    *,
    acceptable: Collection[str],
    recorded: bool,
    carried: bool = False,
) -> Evidence:
    """The only ownership test.

    ``tags`` are those now read from the target, ``acceptable`` the sealed marks any one of which binds
    the resource to this node, ``recorded`` whether the journal holds this very id. With ``carried`` the
    sealed mark names the carried id itself and needs no owner marks beside it: the carrier may be
    somebody else's (seed 000, transit gateway).
    """
    have = codec.fold(tags)
    sealed = not codec.fold(acceptable).isdisjoint(have)
    if carried:
        if sealed:
            return Evidence(Strength.PROVEN, "the carrier's mark names it")
        return Evidence(Strength.HEALABLE, "the journal records it") if recorded else Evidence(Strength.NONE, "no mark")
    marks, ours = codec.read(tags), codec.read(codec.owner(owner))
    # What two owners claim is nobody's to delete, whatever else stands on it.
    if foreign := codec.fold(marks.uuids) - codec.fold(ours.uuids):
        return Evidence(Strength.OTHERS, "another owner's uuid: " + ", ".join(sorted(foreign)))
    if foreign := codec.fold(marks.owners) - codec.fold(ours.owners):
        return Evidence(Strength.OTHERS, "another owner: " + ", ".join(sorted(foreign)))
    both = codec.fold(codec.owner(owner)) <= have
    if both and sealed:
        return Evidence(Strength.PROVEN, "owner, uuid and sealed node mark")
    if both and recorded:
        return Evidence(Strength.PROVEN, "owner and uuid marks, and the journal records it")
    if recorded:
        return Evidence(Strength.HEALABLE, "the journal records it; a mark is missing")
    if marks.uuids or marks.owners or marks.nodes:
        return Evidence(Strength.COPIED, "carries marks of ours that were not made for it")
    return Evidence(Strength.NONE, "no mark")
