"""A kind is data; a driver is its verbs. A new kind is one small file and a line in a registry."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Protocol

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


class Tagging(Enum):
    """When our mark can be attached to a kind."""

    ON_CREATE = "on-create"  # in the create call, readable in the same read as the resource itself
    AFTER = "after"  # by a second call
    NEVER = "never"  # not at all: carried by another resource, or the journal is the only proof


class Dedupe(Enum):
    """What keeps a repeated create from making a second one."""

    TOKEN = "client-token"  # noqa: S105 - the name of a mechanism
    NONCE = "nonce"  # no token: something we choose in the create body tells our create from others'
    KEY = "natural-key"  # nothing of ours fits into the body: a namesake can only be presumed ours


class Witness(Enum):
    """What can show whether an open intent took effect; asked in turn (ADR 2)."""

    MARK = "mark"
    TOKEN = "token"  # noqa: S105 - the name of a mechanism
    NONCE = "nonce"
    KEY = "key"


class TokenBinding(Enum):
    """What must be the same in a repeated create for its client token to name the first resource."""

    PARAMETERS = "parameters"  # tags among them; another request is refused (errors.TokenReused)
    CALLER = "caller"  # under another identity the same token makes a second resource


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
    show that.
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


class Ref(NamedTuple):
    """Enough to ask a driver about a resource: its id and what its mark is attached to.

    ``delete_requested``: the cloud took our request to delete it, and the resource is older than any read lag, so a
    list without it need not be confirmed by a read of its id.
    """

    id: str
    target: str = ""
    delete_requested: bool = False


class Place(NamedTuple):
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
    does beyond its natural key, in the same words wished and seen; empty where that is not compared.
    """

    kind: str
    natural_key: str
    request: Request = field(default_factory=dict, compare=False, hash=False)
    id: str = field(default="", compare=False)
    retain: bool = field(default=False, compare=False)
    behavior: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.natural_key}"


class Driver(Protocol):
    """The verbs of one kind. Idempotent, never waiting, raising only lifecycle errors.

    ``observe`` and ``find`` never write. Every request passes the port the driver was built with.
    """

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create exactly what ``request`` says. Unknown when the effect may have happened."""
        ...

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        """The state of each, by id; one that is missing from the reply is not there (a native read)."""
        ...

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        """Everything in the scope of each want with its name or one of its nonces, in any state.

        Of a nameless kind (:attr:`Kind.nameless`) only what has one of its nonces.
        """
        ...

    async def by_nonce(self, places: Sequence[Place], wants: Sequence[Want], nonces: NonceSet) -> Sequence[Observed]:
        """Everything of this kind, in any state, with one of ``nonces`` in its ``nonce_fields``, wanted or not.

        A kind that is created inside another resource is looked for in each of ``places`` that is such a
        resource, and nowhere else; one that is not, in the whole account. ``places`` are all that exist: one of
        them that is not found raises NotFound, it does not count as empty. ``wants`` are those of this kind
        that today's spec allows to compute: what :meth:`find` finds for them is in the reply too, without
        a second list; and they may name a region that no place names (where neither does, every region is
        asked). Raises CloudError unless every list was read to its end.
        """
        ...

    def identify(self, target: str, carried: str = "") -> str:
        """The engine id of a marked resource: from its CRN or ARN, and the id in a carrier's mark.

        Empty when it cannot be told. Needed only when the journal was lost; no I/O.
        """
        ...

    async def update(self, ref: Ref, changes: Request) -> None:
        """Bring mutable attributes (the kind names them) to these values."""
        ...

    async def delete(self, ref: Ref) -> None:
        """Request the deletion; NotFound when it is gone already, InUse when something must go first."""
        ...


class PartsDriver(Protocol):
    """Of kinds that hold parts.

    Each write may be sent again after a lost reply or a stale read: a part that is there already, and one that is gone
    already, are no errors.
    """

    async def parts(self, ref: Ref) -> frozenset[Part]:
        """Not asked of a resource whose own read shows its parts (:attr:`Observed.parts`)."""
        ...

    async def add_part(self, ref: Ref, part: Part) -> None: ...

    async def remove_part(self, ref: Ref, part: Part) -> None: ...


class PartBatches(Protocol):
    """Of kinds that take all parts of one sort in one call."""

    async def add_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        """As :meth:`PartsDriver.add_part` for each: those that are there already do not keep the others out."""
        ...

    async def remove_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        """As :meth:`PartsDriver.remove_part` for each: those that are gone already do not keep the others in."""
        ...


class PartChanger(Protocol):
    """Of kinds whose parts are changed in place."""

    async def change_part(self, ref: Ref, part: Part) -> None:
        """Let the part of this natural key do what ``part.behavior`` and ``part.request`` say."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """A resource as a list shows it. ``parts`` are None where the list does not show them."""

    observed: Observed
    parts: frozenset[Part] | None = None


class Listing(Protocol):
    """Of kinds of which one list shows the resources of many objects. ``page`` is how many it shows in one call."""

    @property
    def page(self) -> int: ...

    def list_of(self, ref: Ref) -> str:
        """Names the list that shows a resource: a region, or nothing where the account has one list. No I/O."""
        ...

    async def listed(self, name: str) -> Sequence[Listed]:
        """All pages of a list. Raises CloudError."""
        ...


class ContainerDriver(Protocol):
    """Of kinds whose delete would destroy what others may have put inside."""

    async def children(self, ref: Ref) -> Sequence[Observed]:
        """What is inside; ids are written as the child's own driver writes them."""
        ...


class User(NamedTuple):
    """What uses a resource: ``text`` for a person, ``id`` as its own driver writes it, empty where it has no driver."""

    text: str
    id: str = ""


class UsageDriver(Protocol):
    """Of kinds that the cloud deletes although somebody uses them, and of those whose users need what goes before it:
    a machine in a subnet needs the subnet's routes.
    """

    async def users(self, ref: Ref) -> Sequence[User]:
        """What uses it now; empty where nothing does. Raises CloudError."""
        ...


class RemainsDriver(Protocol):
    """Of kinds of which the cloud still takes something away when the resource itself has gone."""

    async def remains(self, ref: Ref) -> Sequence[str]:
        """What is left of it and holds what it was in, for a person; empty in the end. Raises CloudError."""
        ...


def _never(request: Request, other: Observed) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cloud resource, as data.

    Times are seconds of domain time. ``settle`` must exceed the longest time in which a create that was
    sent may still take effect, plus read lag, plus tag lag: every guarantee rests on it.
    ``requires`` names the kinds that must outlive it (deletion order). ``carrier`` is the kind that
    has its mark when it can have none itself; ``carrier_owned``: only a carrier of our own will do.
    ``token_life``: for how long a repeated token answers with the first resource, at least, and ``token_binds``: what
    must be the same in it. ``create_only``: what a create decides for life and no read shows; the journal keeps what
    was asked for. ``answers_existing``: its create answers with what has the name already, whoever made it, so the
    reply counts only with our birth mark on it. ``once``: what has gone is not made again by itself (a machine was
    more than its request): it is reported, and a person decides.
    ``outputs``: the attributes that only the cloud can fill in and other nodes' requests read; ``addresses``: those
    under which others reach it. ``exclusive_parts``: the kinds of parts that are all ours; ``essential_parts``: those
    without which nothing that depends on the resource can be made; ``holding_parts``: those that are taken out before a
    delete, because they would refuse it, or that of what they name. ``api`` is that of its calls (:class:`port.Call`);
    to add a part takes up to ``calls_a_part`` of them. ``indexed``: the tag index lists it. ``nameless``: it has no
    name of its own in the cloud, so nobody else's can be in the way or be meant: marks and tokens alone tell ours.
    ``home``: the kind that it is made in, where one that is new has nothing of this kind in it.
    ``name_in_region``: no two in a region have one name, so another's is in the way wherever it is.
    ``gone_at_once``: a delete that the cloud takes is done when it answers; it refuses those that cannot be done.
    ``changeable``: what is not in ``mutable``, and a person can change in the cloud all the same.
    ``rename_command``: with which a person renames one, in braces what fills it in of its attributes.
    ``in_the_way``: what a create would need that another one of the kind has, for a person; empty where both can be.
    """

    name: str
    tagging: Tagging
    dedupe: Dedupe
    driver: Driver
    requires: tuple[str, ...] = ()
    carrier: str | None = None
    carrier_owned: bool = False
    mutable: frozenset[str] = frozenset()
    contains: tuple[str, ...] = ()
    exclusive_parts: frozenset[str] = frozenset()
    essential_parts: frozenset[str] = frozenset()
    holding_parts: frozenset[str] = frozenset()
    born_with_parts: bool = False
    prunable: bool = False
    create_time: float = 5.0
    delete_time: float = 5.0
    settle: float = 60.0
    attempts: int = 2
    token_life: float = float("inf")
    token_binds: frozenset[TokenBinding] = frozenset({TokenBinding.PARAMETERS})
    create_only: frozenset[str] = frozenset()
    answers_existing: bool = False
    once: bool = False
    outputs: frozenset[str] = frozenset()
    api: str = ""
    calls_a_part: int = 1
    parts: PartsDriver | None = None
    part_batches: PartBatches | None = None
    part_changer: PartChanger | None = None
    container: ContainerDriver | None = None
    usage: UsageDriver | None = None
    remains: RemainsDriver | None = None
    addresses: frozenset[str] = frozenset()
    listing: Listing | None = None
    indexed: bool = True
    nameless: bool = False
    home: str = ""
    name_in_region: bool = False
    gone_at_once: bool = False
    changeable: frozenset[str] = frozenset()
    rename_command: str = ""
    in_the_way: Callable[[Request, Observed], str] = _never

    @property
    def markable(self) -> bool:
        """Whether some mark in the cloud can prove ownership (its own or a carrier's)."""
        return self.tagging is not Tagging.NEVER or self.carrier is not None

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        """The five workflows of docs/reference/requirements.md W17 to W22 are five such tuples."""
        marked = (Witness.MARK,) if self.markable else ()
        if self.tagging is Tagging.ON_CREATE and self.dedupe is not Dedupe.TOKEN:
            return (Witness.MARK,)
        last = {Dedupe.TOKEN: Witness.TOKEN, Dedupe.NONCE: Witness.NONCE, Dedupe.KEY: Witness.KEY}
        return (*marked, last[self.dedupe])

    @property
    def tells_apart(self) -> bool:
        """Whether something in the cloud tells our create from a stranger's of the same name at once.

        Otherwise (by natural key, or once a token has expired) a namesake can only be presumed ours.
        """
        return self.tagging is Tagging.ON_CREATE or self.dedupe is Dedupe.NONCE

    @property
    def spends_tokens(self) -> bool:
        """Whether the create after a refused one takes a new client token.

        The cloud may have bound the token to the refused request, or repeat the refusal. Without a birth mark the token
        is kept: with a restored journal an earlier one would make a second resource, which nothing tells from ours.
        """
        return self.dedupe is Dedupe.TOKEN and self.tells_apart


class Registry(Mapping[str, Kind]):
    """The kinds that one object may use, by name: an explicit tuple, checked when it is built."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        if len(self._kinds) != len(kinds):
            raise ValueError("two kinds of one name")
        for kind in kinds:
            for other in (*kind.requires, *((kind.carrier,) if kind.carrier else ())):
                if other not in self._kinds:
                    raise ValueError(f"kind {kind.name} names {other}, which is not registered")
            if kind.answers_existing and not kind.tells_apart:
                raise ValueError(f"kind {kind.name} answers with what was there, and its creates have no birth mark")

    @property
    def carried(self) -> tuple[str, ...]:
        """The kinds whose mark is on another resource."""
        return tuple(name for name, kind in self._kinds.items() if kind.carrier)

    def __getitem__(self, name: str) -> Kind:
        return self._kinds[name]

    def __iter__(self) -> Any:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)
