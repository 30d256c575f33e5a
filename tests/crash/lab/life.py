"""One object's whole life under faults: processes come and go, the stored journal and the cloud stay."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from freehold.lifecycle import journal as journals
from freehold.lifecycle import workflow
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.journal import Journal, StaleObject
from freehold.lifecycle.memory import Memory
from freehold.lifecycle.outcomes import Blocked, Outcome, Reason, Waiting
from freehold.lifecycle.ownership import Owner
from freehold.lifecycle.port import step
from freehold.lifecycle.work import Pass
from lab.faults import Crash, FaultPort, Script
from lab.world import World

Ensure = Callable[..., Coroutine[Any, Any, Pass]]
Release = Callable[..., Coroutine[Any, Any, Pass]]

OWNER = Owner("0f1e2d3c-aaaa-4bbb-8ccc-1234567890ab", "TestCluster", "prod", "c1")
MOST_PASSES = 500
QUIET = 700.0
"""Seconds of domain time without a write after which nothing more will happen: more than a deep pass."""


class Wedged(AssertionError):
    """It never came to rest."""


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
class Life:
    """Drives :func:`ensure` and then :func:`release` to rest, restarting the process when it dies."""

    world: World
    script: Script = field(default_factory=Script)
    restart_after: float = 0.0
    user_tags: frozenset[str] = frozenset({"user:team=red"})
    on_crash: Callable[[Life], None] = lambda life: None
    ensure: Ensure = workflow.ensure
    release: Release = workflow.release
    deleting: bool = False
    crashes: int = 0
    passes: int = 0
    last: Pass | None = None
    opened_at: int | None = None  # the number of calls when deletion began

    def __post_init__(self) -> None:
        self.stored = Stored([journals.dumps(Journal(OWNER))])
        self.port = FaultPort(self.world, self.script, interfere=self.stored.touch)
        self._start(minted=True)

    def _start(self, *, minted: bool) -> None:
        self.tools = self.world.tools(self.port)
        self.memory = Memory(first_seen=self.world.clock.monotonic(), minted=minted)

    @property
    def journal(self) -> Journal:
        return journals.loads(self.stored.text)

    def restart(self) -> None:
        """All memory is lost; the annotation is what there is."""
        self.crashes += 1
        self.world.clock.advance(self.restart_after)
        self.on_crash(self)
        self._start(minted=False)

    def roll_back(self, passes: int = 1) -> None:
        """The object is restored from a backup taken that many journal writes ago."""
        keep = max(1, len(self.stored.versions) - passes)
        self.stored.versions = self.stored.versions[:keep]
        self.stored.touch()

    def once(self) -> Pass | None:
        """One pass; None when it did not come to its end."""
        self.passes += 1
        journal, handle = self.journal, Handle(self.stored)
        tools, graph = self.tools, self.world.graph()
        try:
            if self.deleting:
                self.last = step(self.release(tools, graph, journal, handle, self.memory))
            else:
                self.last = step(self.ensure(tools, graph, journal, handle, self.memory, self.user_tags))
        except Crash:
            self.restart()
            return None
        except StaleObject:
            return None
        except CloudError:
            self.world.clock.advance(5.0)
            return None
        return self.last

    def settle(self) -> dict[str, Outcome]:
        """Run until nothing has been written for :data:`QUIET` seconds, or everything is released."""
        quiet_since, confirmed = self.world.clock.monotonic(), 0
        for _ in range(MOST_PASSES):
            written, deleting = self.port.writes, self.deleting
            done = self.once()
            if done is None or self.port.writes != written or deleting != self.deleting:
                quiet_since, confirmed = self.world.clock.monotonic(), 0
            else:
                confirmed += 1
            if done is not None:
                if self.deleting and done.released:
                    return _outcomes(done)
                if confirmed >= 4 and self.world.clock.monotonic() - quiet_since >= QUIET:
                    if not any(isinstance(o, Waiting) and o.reason is not Reason.IN_USE for o in _active(done)):
                        return _outcomes(done)
                    if self.world.clock.monotonic() - quiet_since > 10 * QUIET:
                        raise Wedged(f"waits for ever: {_outcomes(done)}")
                self.world.clock.advance(max(done.after, 0.001))
        raise Wedged(f"no rest after {MOST_PASSES} passes: {_outcomes(self.last) if self.last else 'no pass ended'}")

    def create(self) -> dict[str, Outcome]:
        return self.settle()

    def delete(self) -> dict[str, Outcome]:
        self.deleting = True
        if self.opened_at is None:
            self.opened_at = len(self.port.calls)
        return self.settle()


def _active(done: Pass) -> list[Outcome]:
    """Waiting for something that is itself blocked is not a thing of its own."""
    blocked = any(
        isinstance(o, Blocked) or (isinstance(o, Waiting) and o.reason is Reason.IN_USE) for o in done.outcomes.values()
    )
    return [
        o
        for o in done.outcomes.values()
        if not (blocked and isinstance(o, Waiting) and o.reason in (Reason.REQUIREMENT, Reason.DEPENDENTS))
    ]


def _outcomes(done: Pass) -> dict[str, Outcome]:
    return {str(key): outcome for key, outcome in done.outcomes.items()}
