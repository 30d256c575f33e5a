"""A kind is data; a driver is its verbs. A new kind is one small file and a line in a registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from freehold.engine.drivers import (
    ContainerDriver,
    ContentsDriver,
    Driver,
    Listing,
    NeighboursDriver,
    PartBatches,
    PartChanger,
    PartsDriver,
    RemainsDriver,
    RememberingDriver,
    StrippedDriver,
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


class TokenBinding(Enum):
    """What must be the same in a repeated create for its client token to name the first resource."""

    PARAMETERS = "parameters"  # tags among them; another request is refused (errors.TokenReused)
    CALLER = "caller"  # under another identity the same token makes a second resource


def _never(request: Request, other: Observed) -> str:
    return ""


def _all_it_was_asked_for(request: Request) -> Request:
    return {}


def _one(changes: Request) -> int:
    return 1


def _holds_none(part: Part, kind: str, other: Observed) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cloud resource, as data. Times are seconds of domain time."""

    name: str
    tagging: Tagging
    dedupe: Dedupe
    driver: Driver

    # Its place among others
    requires: tuple[str, ...] = ()
    """The kinds that must outlive it (deletion order)."""
    contains: tuple[str, ...] = ()
    """The kinds that its delete would destroy with it: what is not provably ours in it keeps it."""
    home: str = ""
    """The kind that it is made in, where one that is new has nothing of this kind in it."""
    carrier: str | None = None
    """The kind that has its mark when it can have none itself."""
    carrier_owned: bool = False
    """Only a carrier of our own will do."""

    # Creates
    attempts: int = 2
    """How often what was made may vanish before it could be marked; after that a person decides."""
    token_life: float = float("inf")
    """For how long a repeated token answers with the first resource, at least."""
    token_binds: frozenset[TokenBinding] = frozenset({TokenBinding.PARAMETERS})
    """What must be the same in a request that repeats a token."""
    answers_existing: bool = False
    """Its create answers with what has the name, also a stranger's: the reply counts only with our birth mark."""
    once: bool = False
    """What has gone is not made again by itself (a machine was more than its request): a person decides."""
    nameless: bool = False
    """It has no name of its own in the cloud, so nobody else's can be in the way or be meant: marks and tokens alone
    tell ours."""
    id_returns: bool = False
    """Its id is a name: after it has gone, somebody else's can have the same one."""
    name_in_region: bool = False
    """No two in a region have one name, so another's is in the way wherever it is, and the name alone finds it: of what
    is wanted its driver's ``by_nonce`` reads nothing else."""
    stripped: StrippedDriver | None = None
    """By which a person is shown what a create that was cut off may have made, if it has lost tags since (ADR 7)."""
    in_the_way: Callable[[Request, Observed], str] = _never
    """What a create would need that another one of the kind has, for a person; empty where both can be."""
    holds_part: Callable[[Part, str, Observed], bool] = _holds_none
    """Whether a resource of some kind is in a part of this one, which the cloud then does not let go."""
    neighbours: NeighboursDriver | None = None
    """By which a plan foresees that a create would be refused."""

    # Attributes
    mutable: frozenset[str] = frozenset()
    """Those that an update changes."""
    at_birth: Callable[[Request], Request] = _all_it_was_asked_for
    """By what is asked for: the values in a new one of those in ``mutable`` that its create does not carry."""
    calls_a_change: Callable[[Request], int] = _one
    """An update of these attributes takes up to so many calls."""
    changeable: frozenset[str] = frozenset()
    """Those that are not in ``mutable``, and that a person can change in the cloud all the same."""
    create_only: frozenset[str] = frozenset()
    """Those that a create decides for life and no read shows; the journal keeps what was asked for."""
    outputs: frozenset[str] = frozenset()
    """Those that only the cloud can fill in and other nodes' requests read."""
    output_lists: frozenset[str] = frozenset()
    """Of ``outputs``, those that are lists."""
    addresses: frozenset[str] = frozenset()
    """Those under which others reach it."""
    rename_command: str = ""
    """The command with which a person renames one, with attributes that fill it in in braces."""
    delete_command: str = ""
    """The one with which a person deletes it, in the same form."""

    # Parts
    parts: PartsDriver | None = None
    part_batches: PartBatches | None = None
    independent_parts: bool = False
    """Of a batch that is refused each part is tried alone: one says nothing of the others."""
    part_changer: PartChanger | None = None
    exclusive_parts: frozenset[str] = frozenset()
    """The kinds of parts that are all ours."""
    essential_parts: frozenset[str] = frozenset()
    """Those without which nothing that depends on the resource can be made."""
    holding_parts: frozenset[str] = frozenset()
    """Those that are taken out before a delete, because they would refuse it, or that of what they name."""
    born_with_parts: bool = False
    """The create makes the parts."""
    calls_a_part: int = 1
    """To add a part takes up to so many calls."""

    # Deletes
    network: bool = False
    """It goes after what the cluster's own controllers have made was collected (:mod:`collection`)."""
    holds_external: bool = False
    """It is where they make it."""
    prunable: bool = False
    """What the spec does not name any more is deleted, unless something of ours needs it."""
    gone_at_once: bool = False
    """A delete that the cloud takes is done when it answers; it refuses those that cannot be done."""
    container: ContainerDriver | None = None
    contents: ContentsDriver | None = None
    """By which a person is shown what is in one."""
    usage: UsageDriver | None = None
    remains: RemainsDriver | None = None

    # Time, and cost in calls
    create_time: float = 5.0
    delete_time: float = 5.0
    settle: float = 60.0
    """Exceeds the longest time in which a create that was sent may still take effect, plus read lag, plus tag lag:
    every guarantee rests on it."""
    api: str = ""
    """The API of its calls (:class:`port.Call`)."""
    indexed: bool = True
    """The tag index lists it."""
    listing: Listing | None = None
    """One list that shows many."""
    remembering: RememberingDriver | None = None
    """Forgets what it knows of a resource without asking."""

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
