"""Two engine processes on one stored object: a lease that was lost unnoticed, or a rolling update of two replicas.

The first process is stopped at a call, before it is sent or after it was answered. The second one starts with nothing
but the stored object, and runs. Then the first one continues in the middle of its pass, as if nothing had happened. A
process may be stopped for any time, but between the check of its fence and the socket no longer than ``SHORT``:
nothing can close that gap for more than settle (README, limits).
"""

from __future__ import annotations

import itertools
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from freehold.engine.interface import PassResult
from freehold.engine.port import Effect
from lab import faults
from lab.catalogue import Families, Fresh, Ground
from lab.cloud import ReadLags
from lab.families import Case
from lab.faults import Script
from lab.life import Course, Life
from lab.reconciled import ReconciledLife
from lab.seam import World
from lab.world import MemoryWorld

SHORT = 10.0
"""Seconds for which a process may be stopped between the check of its fence and the socket."""
LONG = 2000.0
MOST = 60
CALLS = (1, 2, 3, 4, 6, 9, 14, 22)
"""Of the second process, before it is stopped in its turn."""


@dataclass(frozen=True)
class Preemption:
    """The first process is stopped at call ``at``, before it is sent or once it was ``answered``.

    The second one runs for ``seconds`` of domain time, or, with ``calls``, until it has sent that many and is stopped
    in its turn. ``stays``: the first one serves the object after its pass; otherwise the second one does.
    """

    at: int
    answered: bool
    seconds: float
    deleted: bool = False
    stays: bool = False
    calls: int = 0

    def __str__(self) -> str:
        how = f"{'after' if self.answered else 'before'} call {self.at}, for {self.seconds:g} s"
        more = [f"until its call {self.calls}"] * bool(self.calls)
        more += ["deleted meanwhile"] * self.deleted + ["the first one stays"] * self.stays
        return ", ".join([how, *more])


# -- whole passes of the second process, over any world ---------------------------------------------------


def _script(world: World, *, preemption: Preemption) -> Script:
    act = partial(_second, world, preemption)
    if preemption.answered:
        return Script(later_acts={preemption.at: act})
    return Script(acts={preemption.at: act})


def _second(world: World, preemption: Preemption) -> None:
    """Another process serves the object for a while. Its calls use the same port, and continue its numbers."""
    life = world.life
    call = life.port.calls[-1]
    sent_soon = call.effect is Effect.WRITE and not preemption.answered
    seconds = min(preemption.seconds, SHORT) if sent_soon else preemption.seconds
    first = _mind(life)
    life.start(minted=False)
    _delete(life, preemption)
    until = world.clock.monotonic() + seconds
    for _ in range(MOST):
        left = until - world.clock.monotonic()
        done = life.once()
        if left <= 0 or life.ended is not None:
            break
        world.clock.advance(min(max(done.after if done else 0.0, 0.01), max(left, 0.0)))
    if preemption.stays:
        _restore(life, first)


def _delete(life: Course, preemption: Preemption) -> None:
    """A deletion timestamp makes the object newer than what the stopped process has read."""
    if preemption.deleted and not life.deleting:
        life.deleting = True
        life.touch()


def _mind(life: Course) -> tuple[Any, ...]:
    """The memory of one process."""
    if isinstance(life, ReconciledLife):
        return (life.harness.process,)
    assert isinstance(life, Life)
    return life.deps, life.state


def _restore(life: Course, mind: tuple[Any, ...]) -> None:
    if isinstance(life, ReconciledLife):
        (life.harness.process,) = mind
    elif isinstance(life, Life):
        life.deps, life.state = mind


def once_stopped(on: Ground) -> Iterator[Case]:
    """The first process is stopped once: briefly, for less than settle, and for longer."""
    for world, name in ((on.world, "no lag"), (on.read_lags(3, 10, False), "lag")):
        for number, answered in itertools.product(range(on.last), (False, True)):
            for seconds, stays in itertools.product((0.0, SHORT, LONG), (False, True)):
                preemption = Preemption(number, answered, seconds, stays=stays)
                yield Case(f"{preemption}, {name}", world, partial(_script, preemption=preemption))


def deleted_meanwhile(on: Ground) -> Iterator[Case]:
    """While the first process is stopped the object is deleted, and the second one may remove its finalizer."""
    for world, name in ((on.world, "no lag"), (on.read_lags(3, 10, False), "lag")):
        for number, answered in itertools.product(range(on.begun), (False, True)):
            for seconds in (0.0, SHORT, LONG):
                preemption = Preemption(number, answered, seconds, deleted=True)
                yield Case(f"{preemption}, {name}", world, partial(_script, preemption=preemption))


def crashed_too(on: Ground) -> Iterator[Case]:
    """The second process dies at one of its calls; a third one, or the first one, continues."""
    for number, gap, stays in itertools.product(on.moments, (1, 2, 4, 7, 11), (False, True)):
        for fault in (faults.AFTER, faults.late_crash(20)):
            preemption = Preemption(number, answered=True, seconds=LONG, stays=stays)
            script = partial(_crashing, preemption=preemption, crash=number + gap, fault=fault)
            yield Case(f"{preemption}, {fault} {gap} later", on.world, script)


def _crashing(world: World, *, preemption: Preemption, crash: int, fault: faults.Fault) -> Script:
    script = _script(world, preemption=preemption)
    script.faults = {crash: fault}
    return script


# -- both stopped in the middle of a pass, in memory ----------------------------------------------------


class _Pause:
    """Suspends the coroutine that awaits it."""

    def __await__(self) -> Any:
        yield


class PausingPort(faults.FaultPort):
    """A port that suspends its caller before the call with the number ``pause_at``."""

    pause_at: int | None = None

    async def send(self, call: Any) -> Any:
        if self.pause_at is not None and len(self.calls) >= self.pause_at:
            self.pause_at = None
            await _Pause()
        return await super().send(call)


@dataclass
class TwinLife(Life):
    """A life whose second process may be suspended in the middle of a pass, while the first one finishes its own."""

    parked: Coroutine[Any, Any, PassResult] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.port: PausingPort = PausingPort(self.world, self.script, interfere=self.touch)
        self.start(minted=True)

    def one_pass(self) -> PassResult:
        if self.parked is None:
            return super().one_pass()
        parked, self.parked = self.parked, None
        return _to_its_end(parked)

    def run_until(self, calls: int, seconds: float) -> None:
        """Run passes of another process, until it has sent that many calls and is stopped, or time is up."""
        self.start(minted=False)
        self.port.pause_at = len(self.port.calls) + calls
        until = self.world.clock.monotonic() + seconds
        while self.world.clock.monotonic() < until and self.ended is None:
            coroutine = self.a_pass()
            try:
                coroutine.send(None)
            except StopIteration as stop:
                done: PassResult = stop.value
                self.ended = done if done.released else None
                left = until - self.world.clock.monotonic()
                self.world.clock.advance(min(max(done.after, 0.01), max(left, 0.01)))
            except Exception:  # as in Course.once: a pass that raises is tried again
                self.world.clock.advance(1.0)
            else:
                self.parked = coroutine
                break
        self.port.pause_at = None


def _to_its_end(coroutine: Coroutine[Any, Any, PassResult]) -> PassResult:
    try:
        coroutine.send(None)
    except StopIteration as stop:
        done: PassResult = stop.value
        return done
    raise RuntimeError("it was to be stopped only once")


@dataclass
class TwinWorld(MemoryWorld):
    def begin(self, **how: Any) -> TwinLife:
        self.life = TwinLife(self, **how)
        return self.life


def _both(world: World, *, preemption: Preemption) -> Script:
    def second() -> None:
        life = world.life
        assert isinstance(life, TwinLife)
        soon = life.port.calls[-1].effect is Effect.WRITE and not preemption.answered
        _delete(life, preemption)
        life.run_until(preemption.calls, min(preemption.seconds, SHORT) if soon else preemption.seconds)

    if preemption.answered:
        return Script(later_acts={preemption.at: second})
    return Script(acts={preemption.at: second})


def both_stopped(last: int, worlds: dict[str, Fresh]) -> Iterator[Case]:
    """Both are stopped in the middle of a pass, the first one finishes its own, then the second one its own."""
    for (name, world), number in itertools.product(worlds.items(), range(last)):
        for answered, calls, deleted in itertools.product((False, True), CALLS, (False, True)):
            preemption = Preemption(number, answered, LONG, deleted=deleted, calls=calls)
            yield Case(f"{preemption}, {name}", world, partial(_both, preemption=preemption))


TWINS: dict[str, Fresh] = {"no lag": TwinWorld, "lag": partial(TwinWorld, ReadLags(3, 3, 10, False))}


def families(on: Ground) -> Families:
    return {
        "two processes, the first is stopped": lambda: once_stopped(on),
        "two processes, deleted meanwhile": lambda: deleted_meanwhile(on),
        "two processes, the second dies": lambda: crashed_too(on),
    }


def twin_families(on: Ground) -> Families:
    return {"two processes, both are stopped": lambda: both_stopped(on.last, TWINS)}
