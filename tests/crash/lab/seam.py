"""What the families need of a world: the same ones run over the in-memory cloud and over the simulated IBM Cloud."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from freehold.lifecycle.clock import Clock, ManualClock
from freehold.lifecycle.graph import Graph
from freehold.lifecycle.interface import EngineDeps
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.port import Call, Port

if TYPE_CHECKING:
    from lab.audit import CloudRequest, Recorder
    from lab.life import Course


@dataclass(frozen=True)
class Thing:
    """What the oracles may know of one thing in the cloud, from its creation log."""

    id: str
    kind: str
    role: str  # the logical node it was made for; "" for a stranger's
    ours: bool
    parent: str  # what it stands in, and what therefore cannot go before it
    state: object  # what it is now
    due: object
    """What its owner made of it, and our marks on it for what it carries of ours: a stranger's thing must keep this
    byte for byte."""
    aliases: frozenset[str] = frozenset()  # other ids by which the engine may record it
    tags: frozenset[str] = frozenset()  # that are on it now
    tags_of_others: frozenset[str] = frozenset()  # that a stranger put there on purpose


class World(Protocol):
    """A cloud under test, and the one object that wants something of it. Fresh ones are independent."""

    clock: ManualClock
    audit: Recorder

    @property
    def life(self) -> Course:
        """The life that was begun last: for what happens in the middle of it."""
        ...

    def begin(self, **how: Any) -> Course:
        """The life of that object; ``how`` are the fields of :class:`lab.life.Course`."""
        ...

    def living(self) -> list[Thing]:
        """Everything that exists and is not on its way out."""
        ...

    def tampered(self) -> list[str]:
        """Foreign things that we changed or deleted, from the cloud's own record."""
        ...

    def unaudited(self, sent: int) -> list[str]:
        """Changes of the cloud that did not go through the port, which counted ``sent``."""
        ...

    def requests(self) -> list[CloudRequest]:
        """Our requests to change something, from the cloud's own record: they took effect, or were refused."""
        ...

    def meddle(self, deed: str, kind: str) -> None:
        """Somebody does a deed of that name to, or beside, our resource of that kind."""
        ...

    def set_clock(self, wall: Clock) -> None:
        """The operator's clock; the cloud's is ``clock``."""
        ...

    def strangers_id(self, kind: str) -> str:
        """The id of something of that kind that is a stranger's."""
        ...

    def remove(self, id_: str) -> None:
        """A person takes something away that a message asked them to."""
        ...

    def later(self, seconds: float, effect: Callable[[], object]) -> None:
        """Let a request that was sent take effect later."""
        ...

    def broken(self, call: Call) -> Any:
        """Send ``call`` and let the cloud answer with a server error after its effect."""
        ...

    def partially(self, failing: bool) -> None:
        """Whether batches fail in part from now on."""
        ...


class EngineWorld(World, Protocol):
    """One whose object is the engine's alone, with no reconciler around it."""

    ring: KeyRing

    def deps(self, port: Port) -> EngineDeps: ...

    def graph(self) -> Graph: ...
