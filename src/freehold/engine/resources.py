"""Resources of the cloud as the engine knows them: what names one, what a read shows, what is wanted of one."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

Request = Mapping[str, Any]
"""What a create needs, as plain JSON: kept in the journal, replayed exactly."""


class NodeKey(NamedTuple):
    """Names one resource of one object for life: the kind, and a stable name within the kind."""

    kind: str
    logical: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.logical}"

    @classmethod
    def parse(cls, text: str) -> NodeKey:
        kind, _, logical = text.partition("/")
        return cls(kind, logical)

    def with_id(self, ident: str) -> NodeKey:
        """Return the key of a resource that is on record while another one has its own name there."""
        return NodeKey(self.kind, f"{self.logical}~{ident.rpartition('/')[2]}")


class State(Enum):
    """Where a resource is in its life; each driver maps its vendor's words to these."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class Observed:
    """One resource as a cloud showed it.

    ``id`` is enough, with the target, to ask for the resource again without the spec (a driver may
    join several vendor ids with ``/``). ``target`` is what the tagger tags (a CRN or ARN): the resource
    itself, or its carrier when ``carried``; empty while unknown. ``nonce_fields`` are the texts in which a
    birth mark may be (own name, pool names). ``created_at`` is epoch seconds of the cloud's clock.
    ``created_by`` is the cloud identity that made it, empty where the cloud does not show that.
    ``tags`` are those that came with the same read, None where the read does not show tags. ``region``: durations are
    learned apart by it; empty where the kind has none. ``parts`` are all that is inside, None where the read does not
    show that. ``incarnation`` tells it from a later resource with the same id; empty where the read shows none.
    ``busy``: what the cloud does with it now, for a person; until that is over it takes no change of an attribute.
    """

    id: str
    name: str
    state: State
    target: str = ""
    carried: bool = False
    nonce_fields: frozenset[str] = frozenset()
    created_at: float | None = None
    created_by: str = ""
    tags: frozenset[str] | None = None
    vendor_state: str = ""  # the vendor's own word for the state
    region: str = ""
    parts: frozenset[Part] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    incarnation: str = ""
    busy: str = ""


class Ref(NamedTuple):
    """Enough to ask a driver about a resource: its id and what its mark is attached to.

    ``delete_requested``: the cloud took our request to delete it, and the resource is older than any read lag, so a
    list without it need not be confirmed by a read of its id. ``told``: what its create set for its delete
    (:attr:`kinds.DeleteRules.told`).
    """

    id: str
    target: str = ""
    delete_requested: bool = False
    told: frozenset[str] = frozenset()


class ParentResource(NamedTuple):
    """A resource, ours or not, in which something of ours may have been created."""

    kind: str
    ref: Ref


NonceSet = Container[str]
"""The words that are birth marks of ours. No set: some of them are recognised, and cannot be listed."""


@dataclass(frozen=True)
class Want:
    """What to look for: the wanted name in the scope that ``request`` describes, and our birth marks."""

    key: NodeKey
    name: str
    request: Request
    nonces: NonceSet = frozenset()


@dataclass(frozen=True)
class Birth:
    """What a create carries to be recognised: the client token, or the nonce; and the marks on create."""

    token: str
    nonce: str
    marks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Part:
    """What is inside a resource and has no mark of its own: a rule, a listener, a member.

    ``retain``: what depends on it cannot be told, so it stays when nothing wants it any more. ``behavior`` is what it
    does beyond its natural key, in the same words wished and seen; empty where that is not compared. ``waits``: why it
    does not serve yet, in the cloud's words; empty where it does, or where no read shows that.
    """

    kind: str
    natural_key: str
    request: Request = field(default_factory=dict, compare=False, hash=False)
    id: str = field(default="", compare=False)
    retain: bool = field(default=False, compare=False)
    behavior: str = field(default="", compare=False)
    waits: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.natural_key}"

    @classmethod
    def parse(cls, text: str) -> Part:
        """Return the part that a record names, without what only the spec or a read knows of it."""
        kind, _, natural_key = text.partition(" ")
        return cls(kind, natural_key)
