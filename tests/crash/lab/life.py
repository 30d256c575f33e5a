"""One object's whole life under faults: processes come and go, the stored journal and the cloud stay."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from freehold.engine import decisions, engine
from freehold.engine import journal as journals
from freehold.engine.decisions import Conclusion, Decision
from freehold.engine.errors import CloudError
from freehold.engine.graph import Graph
from freehold.engine.interface import PassResult
from freehold.engine.journal import Journal, StaleObject
from freehold.engine.keys import ObjectKeys
from freehold.engine.outcomes import Blocked, Kept, Outcome, Ready, Reason, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.state import ObjectState
from harness.stepping import run_blocking
from lab import marks
from lab.faults import Crash, FaultPort, Script
from lab.seam import EngineWorld, World

Ensure = Callable[..., Coroutine[Any, Any, PassResult]]
Release = Callable[..., Coroutine[Any, Any, PassResult]]

OWNER = Owner("0f1e2d3c-aaaa-4bbb-8ccc-1234567890ab", "TestCluster", "prod", "c1")
_loaded = lru_cache(maxsize=4)(journals.loads)
"""A record is read after each call, and most calls do not change it."""
MOST_PASSES = 500
QUIET = 700.0
"""Seconds of domain time without a write that count as rest: more than the interval of deep passes."""
WATCHED = 3
"""The fewest passes for which a life at rest is watched, and for :data:`QUIET` seconds."""


REFUSED = frozenset({Reason.QUOTA, Reason.INVALID, Reason.DENIED})
"""The reasons for which a create may be sent again every few minutes."""
RETRIED = REFUSED | {Reason.NAME_TAKEN, Reason.IN_USE}
"""The reasons for other requests: a rename to a name that is taken, a delete of a resource in use."""


class Wedged(AssertionError):
    """The life never came to rest."""


@dataclass
class Stored:
    """The annotation, version by version; a writer that read an older one is refused."""

    versions: list[str] = field(default_factory=list)
    resource_version: int = 0

    @property
    def text(self) -> str:
        return self.versions[-1]

    def touch(self) -> None:
        """Somebody else changed another field of the object."""
        self.resource_version += 1


class Handle:
    """The store as one reader sees it: its writes are compared with what it last read or wrote."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._read = stored.resource_version

    async def save(self, journal: Journal) -> None:
        if self._stored.resource_version != self._read:
            raise StaleObject("the object changed since it was read")
        self._stored.versions.append(journals.dumps(journal))
        self._stored.resource_version += 1
        self._read = self._stored.resource_version


@dataclass
class Course(ABC):
    """Drives one object to rest and through its delete, and restarts the process when it dies."""

    world: World
    script: Script = field(default_factory=Script)
    restart_after: float = 0.0
    on_crash: Callable[[Any], None] = lambda life: None
    ensure: Ensure = engine.ensure
    release: Release = engine.release
    deleting: bool = False
    crashes: int = 0
    passes: int = 0
    last: PassResult | None = None
    ended: PassResult | None = None  # the pass that removed the finalizer: nothing serves the object after it
    opened_at: int | None = None  # the number of calls when deletion began
    marked_by_strangers: frozenset[str] = frozenset()  # up to then
    restored: bool = False
    """The record is, or was, an older one: it may not know of a user's tag that we put on what is given."""
    refused: frozenset[str] = frozenset()
    """Nodes whose create the cloud refuses, as of the last rest: only these are sent again from time to time."""

    def __post_init__(self) -> None:
        self.world.life = self
        self.port = FaultPort(self.world, self.script, interfere=self.touch)
        self.start(minted=True)

    @abstractmethod
    def start(self, *, minted: bool) -> None:
        """A new process; ``minted``: it will write the identity of the object."""

    @abstractmethod
    def one_pass(self) -> PassResult | None:
        """One pass of the process; None if it did not reach the engine. May raise what a call raises."""

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The wanted graph, as of the last pass."""

    @property
    @abstractmethod
    def record(self) -> str:
        """The journal as it is stored; empty before there is one."""

    @property
    @abstractmethod
    def versions(self) -> int:
        """How many times the stored object was written."""

    @abstractmethod
    def rewrite(self, journal: Journal) -> None:
        """Another user of the object writes another journal."""

    @abstractmethod
    def decide(self, decision: Decision) -> None:
        """A person who can read the key ring decides; the next pass acts on it."""

    @abstractmethod
    def roll_back(self, writes: int = 1) -> None:
        """The object is restored from a backup taken that many journal writes ago."""

    @abstractmethod
    def back_up(self) -> Callable[[], None]:
        """Copy the whole object, spec and record; the result puts it back."""

    @abstractmethod
    def touch(self) -> None:
        """Somebody else changes another field of the object."""

    @property
    @abstractmethod
    def keys(self) -> ObjectKeys:
        """The keys with which the operator signs records."""

    @abstractmethod
    def hear(self, done: PassResult) -> str:
        """The messages for a person about resources that are kept, blocked or waited for, after ``done``."""

    @abstractmethod
    def invalidate(self) -> None:
        """Make the next pass a deep one, if possible."""

    @property
    def released(self) -> bool:
        """The finalizer is gone: there is no object any more to serve."""
        return self.ended is not None or (self.last is not None and self.last.released)

    @property
    def journal(self) -> Journal:
        return _loaded(self.record) if self.record else Journal(OWNER)

    def restart(self) -> None:
        """The process restarts: only what is stored in the object is left."""
        self.crashes += 1
        self.world.clock.advance(self.restart_after)
        self.on_crash(self)
        self.start(minted=False)

    def once(self) -> PassResult | None:
        """One pass; None if it did not end."""
        self.passes += 1
        try:
            done = self.one_pass()
        except Crash:
            self.restart()
            return None
        except StaleObject:
            return None
        except CloudError:
            self.world.clock.advance(5.0)
            return None
        self.last = done or self.last
        if done is not None and done.released:
            self.ended = done
        return done

    def settle(self) -> dict[str, Outcome]:
        """Run until nothing has been written for :data:`QUIET` seconds, or everything is released.

        A create that the cloud refuses is sent again every five minutes, after a write of its intent: that is rest,
        too, if for ten times as long nothing changed in the cloud and the messages are the same.
        """
        assert not self.released, "the object is gone"
        quiet_since, confirmed = self.world.clock.monotonic(), 0
        calm_since, changes = quiet_since, self.port.changes
        self.refused = frozenset()
        for _ in range(MOST_PASSES):
            written, deleting = self.port.writes, self.deleting
            done = self.once()
            if done is None or self.port.writes != written or deleting != self.deleting:
                quiet_since, confirmed = self.world.clock.monotonic(), 0
            else:
                confirmed += 1
            if changes != self.port.changes:
                calm_since, changes = self.world.clock.monotonic(), self.port.changes
            if done is not None:
                if self.deleting and done.released:
                    return _outcomes(done)
                if self.world.clock.monotonic() - calm_since > 10 * QUIET and _refused(done):
                    self.refused = frozenset(str(key) for key, o in done.outcomes.items() if _is_refusal(o))
                    return _outcomes(done)
                if confirmed >= 4 and self.world.clock.monotonic() - quiet_since >= QUIET:
                    if not any(isinstance(o, Waiting) and o.reason is not Reason.IN_USE for o in _active(done)):
                        return _outcomes(done)
                    if self.world.clock.monotonic() - quiet_since > 10 * QUIET:
                        raise Wedged(f"waits for ever: {_told(done)}")
                self.world.clock.advance(max(done.after, 0.001))
        raise Wedged(f"no rest after {MOST_PASSES} passes: {_told(self.last) if self.last else 'no pass ended'}")

    def watch(self) -> list[str]:
        """Writes after rest, to the cloud or to the object; there may be none.

        One exception: a refused request is sent again, and refused again, as long as a node is blocked or held
        up for a reason in :data:`RETRIED`. Only a create writes the object before each try: its open intent.
        Ends early, without a result, if the script interferes.
        """
        strikes, sent, versions = self.port.struck, len(self.world.requests()), self.versions
        others, since, passes = self._others(), self.world.clock.monotonic(), 0
        while not self.released and (passes < WATCHED or self.world.clock.monotonic() - since < QUIET):
            done = self.once()
            if self.port.struck != strikes:
                return []
            passes += 1
            self.world.clock.advance(max(done.after, 0.001) if done is not None else 0.001)
        restless = [
            f"{request} after rest"
            for request in self.world.requests()[sent:]
            if not (request.refused and self._retries())
        ]
        if self.versions != versions and not (self.refused and self._others() == others):
            restless.append(f"{self.versions - versions} writes of the object after rest")
        return restless

    def _retries(self) -> bool:
        outcomes = self.last.outcomes.values() if self.last else ()
        return any(isinstance(o, Blocked | Waiting) and o.reason in RETRIED for o in outcomes)

    def _others(self) -> dict[str, object]:
        """The records of all nodes but those whose create is refused."""
        return {str(key): entry for key, entry in self.journal.entries.items() if str(key) not in self.refused}

    def create(self) -> dict[str, Outcome]:
        return self.settle()

    def delete(self) -> dict[str, Outcome]:
        self.deleting = True
        if self.opened_at is None:
            self.opened_at = len(self.port.calls)
            self.marked_by_strangers = marks.of_strangers(self)
        return self.settle()


@dataclass
class Life(Course):
    """An object without a reconciler: its passes are :func:`ensure` and :func:`release` themselves."""

    world: EngineWorld
    user_tags: frozenset[str] = frozenset({"user:team=red"})
    owner: Owner = OWNER
    decisions: tuple[Decision, ...] = ()
    answers: list[Conclusion] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stored = Stored([journals.dumps(Journal(self.owner, key=self.world.ring.writing))])
        super().__post_init__()

    def start(self, *, minted: bool) -> None:
        self.deps = self.world.deps(self.port)
        self.state = ObjectState(first_seen=self.world.clock.monotonic(), identity_is_new=minted)

    def one_pass(self) -> PassResult:
        done = self.ended or run_blocking(self.a_pass())
        self.answers += done.decided
        answered = {each.decision for each in done.decided}
        self.decisions = tuple(each for each in self.decisions if each not in answered)
        return done

    def a_pass(self) -> Coroutine[Any, Any, PassResult]:
        journal, handle = self.journal, Handle(self.stored)
        asked = {"decisions": self.decisions} if self.decisions else {}
        if self.deleting:
            return self.release(self.deps, self.graph, journal, handle, self.state, **asked)
        return self.ensure(self.deps, self.graph, journal, handle, self.state, self.user_tags, **asked)

    def decide(self, decision: Decision) -> None:
        self.decisions = (*self.decisions, decisions.sign_decision(decision, self.keys))
        self.stored.touch()

    @property
    def graph(self) -> Graph:
        return self.world.graph()

    @property
    def record(self) -> str:
        return self.stored.text

    @property
    def versions(self) -> int:
        return self.stored.resource_version

    def rewrite(self, journal: Journal) -> None:
        self.restored = True
        self.stored.versions.append(journals.dumps(journal))
        self.stored.touch()

    def roll_back(self, writes: int = 1) -> None:
        self.restored = True
        keep = max(1, len(self.stored.versions) - writes)
        self.stored.versions = self.stored.versions[:keep]
        self.stored.touch()

    def back_up(self) -> Callable[[], None]:
        versions, nodes = list(self.stored.versions), list(self.world.nodes)

        def restore() -> None:
            self.restored = True
            self.stored.versions, self.world.nodes = versions, nodes
            self.stored.touch()

        return restore

    def touch(self) -> None:
        self.stored.touch()

    @property
    def keys(self) -> ObjectKeys:
        return self.world.ring.derive_keys(self.owner)

    def hear(self, done: PassResult) -> str:
        return " ".join(o.message for o in done.outcomes.values() if isinstance(o, Blocked | Waiting | Kept))

    def invalidate(self) -> None:
        self.state.invalidate()


def _active(done: PassResult) -> list[Outcome]:
    """Without nodes that wait for a blocked node."""
    blocked = any(
        isinstance(o, Blocked) or (isinstance(o, Waiting) and o.reason is Reason.IN_USE) for o in done.outcomes.values()
    )
    return [
        o
        for o in done.outcomes.values()
        if not (blocked and isinstance(o, Waiting) and o.reason in (Reason.REQUIREMENT, Reason.DEPENDENTS))
    ]


def _outcomes(done: PassResult) -> dict[str, Outcome]:
    return {str(key): outcome for key, outcome in done.outcomes.items()}


def _refused(done: PassResult) -> bool:
    """A message tells why, and nothing else is under way."""
    blocked = any(_is_refusal(o) for o in done.outcomes.values())
    return blocked and not any(isinstance(o, Waiting) for o in _active(done))


def _is_refusal(outcome: Outcome) -> bool:
    return isinstance(outcome, Blocked) and outcome.reason in REFUSED


def _told(done: PassResult) -> str:
    """The nodes that are not as wanted, in one line."""
    return "; ".join(
        f"{key}: {type(o).__name__} {getattr(o, 'reason', None) or ''} {getattr(o, 'message', '')}"
        for key, o in done.outcomes.items()
        if not isinstance(o, Ready)
    )
