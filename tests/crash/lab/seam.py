"""The interface of a world: the families run on the in-memory cloud and on the simulated IBM Cloud."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from freehold.engine.clock import Clock, ManualClock
from freehold.engine.graph import Graph, Node
from freehold.engine.interface import EngineDeps
from freehold.engine.keys import KeyRing
from freehold.engine.port import Call, Port

if TYPE_CHECKING:
    from lab.audit import CloudRequest, Recorder
    from lab.life import Course


@dataclass(frozen=True)
class Thing:
    """What the oracles may know of one resource in the cloud, from its creation log."""

    id: str
    kind: str
    role: str  # the logical node it was made for; "" for a stranger's
    ours: bool
    parent: str  # its container, which cannot be deleted before it
    state: object  # its present state
    due: object
    """Its state as its owner left it, with our marks for what it carries: a stranger's resource must keep this
    byte for byte."""
    aliases: frozenset[str] = frozenset()  # other ids by which the engine may record it
    tags: frozenset[str] = frozenset()  # attached now
    tags_of_others: frozenset[str] = frozenset()  # attached by a stranger on purpose
    listed: bool = True  # a tag index shows it, so that what is copied onto it can be noticed


class World(Protocol):
    """A cloud under test, and one object that wants resources in it. Fresh worlds are independent."""

    clock: ManualClock
    audit: Recorder

    life: Course
    """The life that was started last, for events in the middle of it."""

    def begin(self, **how: Any) -> Course:
        """The life of that object; ``how`` are the fields of :class:`lab.life.Course`."""
        ...

    def living(self) -> list[Thing]:
        """Everything that exists and is not being deleted."""
        ...

    def lacking(self, ident: str) -> frozenset[str]:
        """The tags of the spec that a resource lacks, for which nobody else is to blame."""
        ...

    def tampered(self) -> list[str]:
        """Foreign resources that we changed or deleted, from the cloud's own record."""
        ...

    def unaudited(self, sent: int) -> list[str]:
        """Changes of the cloud that did not go through the port, which counted ``sent``."""
        ...

    def requests(self) -> list[CloudRequest]:
        """Our requests to change something, from the cloud's own record, with effect or refused."""
        ...

    def meddle(self, deed: str, kind: str) -> None:
        """Somebody does the act of that name to, or beside, our resource of that kind."""
        ...

    def set_clock(self, wall: Clock) -> None:
        """The operator's clock; the cloud's is ``clock``."""
        ...

    def strangers_id(self, kind: str) -> str:
        """The id of a stranger's resource of that kind."""
        ...

    def remove(self, id_: str) -> None:
        """A person removes something, as a message asked."""
        ...

    def later(self, seconds: float, effect: Callable[[], object]) -> None:
        """Let a request that was sent take effect later."""
        ...

    def broken(self, call: Call) -> Any:
        """Send ``call``, and let the cloud answer with a server error after the effect."""
        ...

    def partially(self, failing: bool) -> None:
        """Whether batches fail in part from now on."""
        ...


class EngineWorld(World, Protocol):
    """A world whose object has no reconciler, only the engine."""

    ring: KeyRing
    nodes: list[Node]
    """What the spec wants."""

    def deps(self, port: Port) -> EngineDeps: ...

    def graph(self) -> Graph: ...
