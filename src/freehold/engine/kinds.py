"""A kind is data; a driver is its verbs. A new kind is one small file and a line in a registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from freehold.engine.drivers import (
    ChangeJudge,
    ContainerDriver,
    ContentsDriver,
    Driver,
    LeftoversDriver,
    Listing,
    NeighboursDriver,
    PartBatches,
    PartChanger,
    PartFinder,
    PartsDriver,
    RememberingDriver,
    UntaggedFinder,
    UsageDriver,
)
from freehold.engine.resources import Observed, Part, Request


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


def _no_conflict(request: Request, other: Observed) -> str:
    return ""


def _as_requested(request: Request) -> Request:
    return {}


def _is_never_occupied(part: Part, kind: str, other: Observed) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class NameRules:
    """What the name and the id of a resource say."""

    has_no_name: bool = False
    """It has no name in the cloud, so that nobody else's can be in the way: marks and tokens alone tell ours."""
    name_in_region: bool = False
    """No two in a region have one name: the driver's ``by_nonce`` finds what is wanted by its name alone."""
    id_returns: bool = False
    """Its id is a name: after it has gone, somebody else's resource can have the same id."""
    name_attribute: str = ""
    """The attribute of its request that is its name in the cloud, where a node cannot know that beforehand."""
    rename_command: str = ""
    """The vendor's command that renames one, with attributes in braces."""


@dataclass(frozen=True, slots=True)
class CreateRules:
    """What can prevent, repeat or follow a create."""

    usual_time: float = 5.0
    """Seconds until it is ready, as the vendor documents them."""
    token_life: float = float("inf")
    """Seconds for which a repeated token answers with the first resource, at least."""
    answers_existing: bool = False
    """The create answers with what has the name, also a stranger's: a reply counts only with our birth mark."""
    never_recreate: bool = False
    """A person decides whether one that has gone is made again: a machine was more than its request."""
    consumer: str = ""
    """The kind that needs it only to begin and may then take it away, as a machine does the secrets that it boots with:
    what is not there is done then (:mod:`consumed`)."""
    conflict_reason: Callable[[Request, Observed], str] = _no_conflict
    """Say why an existing resource of this kind prevents a create; empty if it does not."""
    neighbours: NeighboursDriver | None = None
    """Foresees in a plan that the cloud would refuse a create."""
    find_untagged: UntaggedFinder | None = None
    """Finds what an interrupted create may have made and has lost its tags, for a person to decide (ADR 7)."""


@dataclass(frozen=True, slots=True)
class AttributeRules:
    """Which attributes are set, changed and read, and when."""

    mutable: frozenset[str] = frozenset()
    """Those that an update changes."""
    at_birth: Callable[[Request], Request] = _as_requested
    """Return the values of mutable attributes in a new resource that its create does not carry, by its request."""
    calls_a_change: Callable[[Request], int] = len
    """Return how many calls an update of these attributes takes at most: one each, where a kind does not say."""
    judge: ChangeJudge | None = None
    """Knows the changes that the cloud never makes."""
    chosen: frozenset[str] = frozenset()
    """The attributes that the cloud chooses where a request leaves them empty: then they are not compared."""
    beside: frozenset[str] = frozenset()
    """The attributes that an update is told along with what it changes."""
    changeable: frozenset[str] = frozenset()
    """Those that no update changes, and that a person can change in the cloud."""
    create_only: frozenset[str] = frozenset()
    """Those that a create decides for life and no read shows; the journal keeps what was asked for."""
    outputs: frozenset[str] = frozenset()
    """Those that only the cloud can fill in and other nodes' requests read."""
    output_lists: frozenset[str] = frozenset()
    """Those of ``outputs`` that are lists."""
    addresses: frozenset[str] = frozenset()
    """Those under which others reach it."""


@dataclass(frozen=True, slots=True)
class PartRules:
    """What is inside a resource and has no mark of its own: sorts of parts, and how they are read and written."""

    driver: PartsDriver | None = None
    finder: PartFinder | None = None
    """Looks for what is wanted or on record, one by one, where no read lists what is there."""
    batches: PartBatches | None = None
    changer: PartChanger | None = None
    exclusive: frozenset[str] = frozenset()
    """The sorts of parts that are all ours."""
    essential: frozenset[str] = frozenset()
    """Those without which nothing that depends on the resource can be made."""
    holding: frozenset[str] = frozenset()
    """Those that are taken out before a delete, because they would refuse it, or that of what they name."""
    drain_time: float = 0.0
    """Seconds for which a delete waits at most while ``holding`` parts that were taken out still serve."""
    independent: bool = False
    """After a refused batch each part is tried alone: one says nothing of the others."""
    born_with: bool = False
    """The create makes the parts."""
    calls_a_part: int = 1
    """To add a part takes up to so many calls."""
    is_occupied: Callable[[Part, str, Observed], bool] = _is_never_occupied
    """Return whether a resource of some kind is in a part, so that the cloud does not let the part go."""


@dataclass(frozen=True, slots=True)
class DeleteRules:
    """What goes before a delete, with it and after it."""

    usual_time: float = 5.0
    """Seconds until it has gone, as the vendor documents them."""
    contains: tuple[str, ...] = ()
    """The kinds that its delete would destroy with it: what is not provably ours in it keeps it."""
    container: ContainerDriver | None = None
    """Lists what is inside."""
    contents: ContentsDriver | None = None
    """Lists for a person what is inside one whose delete the cloud refuses then."""
    usage: UsageDriver | None = None
    """Lists what uses it."""
    prunable: bool = False
    """It is deleted when the spec no longer names it and nothing of ours needs it."""
    after_collection: bool = False
    """It is network: it goes after what the cluster's own controllers made was collected (:mod:`collection`)."""
    before_collection: bool = False
    """The cluster's own controllers go on until it has gone: nothing is collected before that."""
    holds_external: bool = False
    """The cluster's own controllers make their resources in it."""
    told: frozenset[str] = frozenset()
    """Attributes of the create that a delete is told where they are set (:attr:`Ref.told`)."""
    gone_at_once: bool = False
    """A delete is done when the cloud answers; the cloud refuses those that cannot be done."""
    leftovers: LeftoversDriver | None = None
    """Lists what the cloud still takes away when the resource itself has gone."""
    delete_command: str = ""
    """The vendor's command that deletes one, with attributes in braces."""


@dataclass(frozen=True, slots=True)
class ReadRules:
    """How many resources are read at once, and what a read leaves out."""

    indexed: bool = True
    """The tag index lists it."""
    listing: Listing | None = None
    """One list that shows many."""
    made_together: bool = False
    """Objects make many of them at once: looks at those that are under way share the list."""
    attribute_cache: RememberingDriver | None = None
    """Forgets what it knows of a resource without asking."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cloud resource, as data. Times are seconds of domain time."""

    name: str
    tagging: Tagging
    dedupe: Dedupe
    driver: Driver
    api: str = ""
    """The API of its calls (:class:`port.Call`)."""
    settle: float = 60.0
    """Exceeds the longest time in which a create that was sent may still take effect, plus read lag, plus tag lag:
    every guarantee rests on it."""
    requires: tuple[str, ...] = ()
    """The kinds that must outlive it (deletion order)."""
    parent_kind: str = ""
    """The kind that it is made in: a new one of that has nothing of this kind in it."""
    carrier: str | None = None
    """The kind that has its mark when it can have none itself."""
    carrier_owned: bool = False
    """Only a carrier of our own will do."""
    never_of: frozenset[str] = frozenset()
    """The kinds of objects that never have one."""
    naming: NameRules = NameRules()
    creation: CreateRules = CreateRules()
    attributes: AttributeRules = AttributeRules()
    parts: PartRules = PartRules()
    deletion: DeleteRules = DeleteRules()
    reads: ReadRules = ReadRules()

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
            if kind.creation.answers_existing and not kind.tells_apart:
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
