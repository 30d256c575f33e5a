"""Who owns what, and what counts as proof.

A name proves nothing, and neither does a copied tag: the mark that names kind and logical name carries a
seal that binds it to one resource, so marks copied from a resource of ours onto a stranger's do not fit
there. :func:`proves` and :func:`proves_carried` judge marks; the one judge of a resource is ``proofs.evidence``, which
calls them with what it knows of the record (its signature, its birth mark) and adds one exception: a person accepted
that the key of the record is lost (``proofs.is_accepted``).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from freehold.engine.resources import NodeKey


@dataclass(frozen=True)
class Owner:
    """The identity that owns cloud resources: minted once per object, kept across restore and move.

    ``uuid`` is the object's first UID (docs/reference/requirements.md T7); a restored object has a new UID
    and keeps this one. ``within`` is the uuid of the owner that it is part of (a machine's cluster), or empty.
    """

    uuid: str
    kind: str
    namespace: str
    name: str
    within: str = ""


UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""The form of an owner's uuid: other text of a stranger's tag must not become part of a command for a person."""


@dataclass(frozen=True)
class NodeMark:
    """A decoded mark: which logical resource of its owner this is."""

    key: NodeKey
    word: str


@dataclass(frozen=True)
class CarriedMark:
    """A decoded mark on a carrier: this owner has a resource of ``kind`` with this id. ``seal`` where it fitted."""

    kind: str
    uuid: str
    id: str
    seal: str = ""


@dataclass(frozen=True)
class Marks:
    """The marks on one target, decoded; other tags are left out. ``within``: the uuids of what its owner is part of."""

    owners: frozenset[str] = frozenset()
    uuids: frozenset[str] = frozenset()
    nodes: frozenset[NodeMark] = frozenset()
    carried: frozenset[CarriedMark] = frozenset()
    within: frozenset[str] = frozenset()


class Codec(Protocol):
    """How one cloud spells our marks as tags, and when two tags are the same or cannot be beside each other.

    The engine handles a tag as one text. ``keyed``: tags are a map, a resource has one value for a key. So an attach
    can overwrite another's value, and a detach take it (:mod:`phases.keyed_tags`). Otherwise they are a set.
    """

    @property
    def keyed(self) -> bool: ...

    def key(self, tag: str) -> str:
        """Return the identity of a tag: its key where tags are a map, else the whole tag in folded case."""
        ...

    def owner(self, owner: Owner) -> frozenset[str]:
        """Return the two marks of docs/reference/requirements.md T7: owner and uuid."""
        ...

    def spell_parent_mark(self, owner: Owner) -> frozenset[str]:
        """Return the mark that says what the owner is part of; none where it is part of nothing. It proves nothing."""
        ...

    def namespace_and_name(self, said: str) -> tuple[str, str]:
        """Return namespace and name of the object in an owner's mark; other text for a mark that was cut."""
        ...

    def label(self, key: NodeKey) -> frozenset[str]:
        """Return the marks that name kind and logical name, where the sealed one does not."""
        ...

    def node(self, key: NodeKey, seal: str) -> str:
        """Return the sealed mark; it names kind and logical name where :meth:`label` does not."""
        ...

    def birth(self, key: NodeKey, nonce: str) -> str:
        """Return the mark with the nonce that a create sets, of a kind that takes tags on create."""
        ...

    @property
    def seals_together(self) -> int:
        """How many seals one value has room for; 1 where each has a tag of its own."""
        ...

    def join_seals(self, tags: Collection[str]) -> frozenset[str]:
        """Return ``tags`` as they can be on one resource together: several seals in one value, where they fit."""
        ...

    def spell_carrier_mark(self, owner: Owner, kind: str, ident: str, seal: str = "") -> str:
        """Return the mark on a carrier; the seal is left out where there is no room for it."""
        ...

    def carried_id(self, kind: str, ident: str) -> str:
        """Return what a carrier's mark says of the engine id ``ident``: it names that one alone on its carrier."""
        ...

    def read(self, tags: Collection[str]) -> Marks:
        """Decode everything that has the form of our marks, of any owner."""
        ...

    def is_mark(self, tag: str) -> bool:
        """Return whether it has the form of a mark, or of a part of one."""
        ...

    def user(self, key: str, value: str) -> str:
        """Spell a user's tag as this cloud does."""
        ...

    def detach_command(self, target: str, tags: Collection[str]) -> str:
        """Return the vendor's command, quoted for a shell, with which a person takes ``tags`` off ``target``."""
        ...

    def fold(self, tags: Collection[str]) -> frozenset[str]:
        """Bring tags into the form in which equal tags are equal; one with several seals becomes several."""
        ...


class Strength(Enum):
    """How much some marks prove."""

    PROVEN = "proven"  # delete, prune, update
    HEALABLE = "healable"  # a signed record says ours and the marks do not contradict: mark again first
    DISPUTED = "disputed"  # our marks and another owner's: a person decides
    OTHERS = "others"  # another owner's marks only
    COPIED = "copied"  # our marks, but nothing shows that we attached them to this resource
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
) -> Evidence:
    """Judge a resource that carries its own marks: with :func:`proves_carried` the only ownership test.

    ``tags`` are those now read from the target, ``acceptable`` the sealed marks any one of which binds the
    resource to this node, ``recorded`` whether the journal holds this very id with a signature of ours, and what has it
    now cannot be another one.
    """
    have = codec.fold(tags)
    sealed = not codec.fold(acceptable).isdisjoint(have)
    marks, own = codec.read(tags), codec.owner(owner)
    ours, folded = codec.read(own), codec.fold(own)
    both = folded <= have
    # A resource with the marks of two owners is deleted by neither.
    if rivals := _rivals(marks, ours):
        two = not folded.isdisjoint(have)
        return Evidence(Strength.DISPUTED if two else Strength.OTHERS, f"another owner's mark: {rivals}")
    if both and sealed:
        return Evidence(Strength.PROVEN, "owner, uuid and sealed node mark")
    if both and recorded:
        return Evidence(Strength.PROVEN, "owner and uuid marks, and the journal records it")
    if recorded:
        return Evidence(Strength.HEALABLE, "the journal records it; a mark is missing")
    if marks.uuids or marks.owners or marks.nodes:
        return Evidence(Strength.COPIED, "our marks, which were not made for it")
    return Evidence(Strength.NONE, "no mark")


def proves_carried(
    codec: Codec, tags: Collection[str], mark: CarriedMark, *, recorded: bool, vouched: bool
) -> Evidence:
    """Judge a resource whose mark is on a carrier (docs/reference/requirements.md T14).

    The carrier may be somebody else's. The mark holds nothing that only we know: whoever may tag the carrier can
    write it. It proves only with a signed record of the id (``recorded``), or with what is ``vouched`` for by our
    key: the nonce in the name of the carried resource, or the seal in the mark.
    """
    if _shows(codec, tags, mark):
        if recorded or vouched:
            return Evidence(Strength.PROVEN, "the mark on its carrier" + (", and the journal records it" * recorded))
        return Evidence(Strength.COPIED, "a mark of ours on its carrier that we have not written")
    return Evidence(Strength.HEALABLE, "the journal records it") if recorded else Evidence(Strength.NONE, "no mark")


def _shows(codec: Codec, tags: Collection[str], mark: CarriedMark) -> bool:
    """Return whether the carrier's tags hold ``mark``, with whatever seal."""

    def plain(one: CarriedMark) -> tuple[str, ...]:
        return one.kind.casefold(), one.uuid.casefold(), one.id.casefold()

    return plain(mark) in {plain(one) for one in codec.read(tags).carried}


def _rivals(marks: Marks, ours: Marks) -> str:
    """Return other owners' uuids and names among the marks, for a person; empty when there is none."""

    def fold_names(names: Collection[str]) -> frozenset[str]:
        return frozenset(name.strip().casefold() for name in names)

    foreign = (fold_names(marks.uuids) - fold_names(ours.uuids)) | (fold_names(marks.owners) - fold_names(ours.owners))
    return ", ".join(sorted(foreign))
