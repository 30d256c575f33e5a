"""The port of the harness: it numbers every call, and at call *i* stops, fails, delays, or lets somebody else act."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from freehold.engine import errors
from freehold.engine.journal import StaleObject
from freehold.engine.port import Call, Effect, InlinePort
from lab import marks
from lab.seam import World


class Crash(BaseException):
    """The process died: no code may catch it."""


@dataclass(frozen=True)
class Fault:
    """What happens at one call; ``seconds`` is how late a delayed effect comes."""

    name: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.name}{self.seconds:g}" if self.seconds else self.name


BEFORE = Fault("crash-before")
AFTER = Fault("crash-after")
THROTTLED = Fault("throttled")
UNAVAILABLE = Fault("unavailable")
DENIED = Fault("denied")
QUOTA = Fault("quota")
LOST = Fault("lost-reply")  # the effect happened, the reply was lost
BROKEN = Fault("5xx-after-effect")  # a server error, as this cloud's own adapters report it
NEVER_SENT = Fault("unknown-without-effect")
PARTIAL = Fault("partial-batch")
STALE = Fault("stale-object")


def late(seconds: float) -> Fault:
    """The sender gives up; the effect comes later."""
    return Fault("late", seconds)


def late_crash(seconds: float) -> Fault:
    """The sender dies; the effect comes later."""
    return Fault("late-crash", seconds)


def of_the_cloud(call: Call) -> bool:
    return call.effect is not Effect.STORE


@dataclass(frozen=True)
class Spell:
    """From call ``first`` on and for ``seconds`` of domain time, each call that ``hits`` is answered with ``fault``."""

    first: int
    seconds: float
    fault: Fault
    hits: Callable[[Call], bool] = of_the_cloud


@dataclass
class Script:
    """Faults by the number of the call, counted over all processes of a run; ``acts`` run before a call.

    ``later_acts`` run once a call has been answered, before its sender hears the answer.
    """

    faults: Mapping[int, Fault] = field(default_factory=dict)
    acts: Mapping[int, Callable[[], object]] = field(default_factory=dict)
    later_acts: Mapping[int, Callable[[], object]] = field(default_factory=dict)
    spells: Sequence[Spell] = ()

    @property
    def first(self) -> int | None:
        """The number of the first call at which something may happen; None: nothing does."""
        numbers = {*self.faults, *self.acts, *self.later_acts, *(spell.first for spell in self.spells)}
        return min(numbers, default=None)


def _attaches(call: Call) -> bool:
    """Whether it puts tags on something that exists."""
    return call.effect is Effect.WRITE and ("tag" in call.operation or call.operation == "attach")


Answer = Callable[[Call], Awaitable[Any]]
Interceptor = Callable[[Answer, Call], Awaitable[Any]]
"""Stands between the engine and the cloud: answers a call itself, or through what it is given; the last one first."""


@dataclass
class FaultPort(InlinePort):
    """Counts over the whole run, also across restarts of the process."""

    world: World
    script: Script = field(default_factory=Script)
    calls: list[Call] = field(default_factory=list)
    writes: int = 0  # calls that had an effect
    changes: int = 0  # those of them that changed the cloud
    sent: int = 0  # requests to change the cloud, whatever the answer
    struck: int = 0  # faults and acts of the script that have happened
    interfere: Callable[[], object] = lambda: None  # makes the stored object newer than what was read
    begun: dict[Spell, float] = field(default_factory=dict)  # when each spell began
    interceptors: list[Interceptor] = field(default_factory=list)
    had_marks: set[str] = field(default_factory=set)  # ids whose marks were read back, by any stored record
    remarked: list[str] = field(default_factory=list)
    """Ids of what had its marks read back, lost one, and got it again from a delete."""

    async def send(self, call: Call) -> Any:
        answer = self._scripted
        for interceptor in self.interceptors:
            answer = partial(interceptor, answer)
        return await answer(call)

    async def _scripted(self, call: Call) -> Any:
        number = len(self.calls)
        self.calls.append(call)
        act = self.script.acts.get(number)
        if act is not None:
            act()
            self.writes += 1
            self.struck += 1
        numbered = self.script.faults.get(number)
        self.struck += numbered is not None
        fault = numbered or self._under_a_spell(number, call)
        try:
            return await (self._run(call) if fault is None else self._faulted(call, fault))
        finally:
            if (act := self.script.later_acts.get(number)) is not None:
                act()
                self.writes += 1
                self.struck += 1

    def _under_a_spell(self, number: int, call: Call) -> Fault | None:
        now = self.world.clock.monotonic()
        for spell in self.script.spells:
            if number < spell.first:
                continue
            self.struck += spell not in self.begun
            if now - self.begun.setdefault(spell, now) < spell.seconds and spell.hits(call):
                return spell.fault
        return None

    async def _run(self, call: Call) -> Any:
        self.sent += call.effect is Effect.WRITE
        watched = _attaches(call) and self.world.life.deleting and not self.world.life.restored
        before = marks.lacking(self.world, self.had_marks) if watched else frozenset()
        reply = call.run()
        reply = await reply if inspect.isawaitable(reply) else reply
        self.remarked += sorted(before - marks.lacking(self.world, self.had_marks)) if before else []
        if call.effect is Effect.STORE:
            self.had_marks |= marks.read_back(self.world.life)
        self.writes += call.effect is not Effect.READ
        self.changes += call.effect is Effect.WRITE
        return reply

    async def _faulted(self, call: Call, fault: Fault) -> Any:
        where = f"{call.operation} {call.subject}"
        match fault.name:
            case "crash-before":
                raise Crash(where)
            case "crash-after":
                await self._quietly(call)
                raise Crash(where)
            case "throttled":
                raise errors.Throttled(where, retry_after=7.0)
            case "unavailable":
                raise errors.Unavailable(where)
            case "denied":
                raise errors.Denied(where)
            case "quota":
                raise errors.Quota(where)
            case "5xx-after-effect" if call.effect is not Effect.STORE:
                return await self._run(call._replace(run=lambda: self.world.broken(call)))
            case "lost-reply" | "5xx-after-effect":
                await self._quietly(call)
                raise errors.Unknown(where) if call.effect is Effect.WRITE else errors.Unavailable(where)
            case "unknown-without-effect":
                raise errors.Unknown(where) if call.effect is Effect.WRITE else errors.Unavailable(where)
            case "partial-batch":
                self.world.partially(True)
                try:
                    return await self._run(call)
                finally:
                    self.world.partially(False)
            case "stale-object":
                if call.effect is not Effect.STORE:
                    return await self._run(call)
                self.interfere()
                return await self._run(call)
            case "late" | "late-crash":
                return await self._late(call, fault, where)
        raise ValueError(fault.name)

    async def _quietly(self, call: Call) -> None:
        """The effect without the reply."""
        try:
            await self._run(call)
        except (errors.CloudError, StaleObject):
            return

    async def _late(self, call: Call, fault: Fault, where: str) -> Any:
        if call.effect is Effect.WRITE:
            self.sent += 1
            self.world.later(fault.seconds, call.run)
        elif fault.name == "late":
            return await self._run(call)
        raise Crash(where) if fault.name == "late-crash" else errors.Unknown(where)
