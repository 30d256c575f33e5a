"""Probes of the operator: is it alive, is it ready? Pure verdicts, and the heartbeat of the event loop.

``/healthz`` fails where only a new process helps: the loop is stuck, tasks die again and again, or a reconcile goes on
for longer than any call can take. ``/readyz`` fails while nothing can be served: caches are not synced, or there is no
key ring. A kind that may not be read is named, and the others are served.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from freehold.controllers.health import Health
from freehold.controllers.process_server import Answer, Pages
from freehold.kube.watch import WatchState

BEAT_SECONDS = 1.0
STUCK_SECONDS = 30.0
"""The age of the last heartbeat from which the loop counts as stuck."""
BUSY_SECONDS = 3600.0
"""The age of a reconcile that cannot end any more. With the slowest rate to which a cloud can push us, a call every ten
seconds, one pass over the largest cluster takes half of it."""
MOST_DEATHS = 10
"""Tasks of one controller that may die in ten minutes. One that dies at once, each time, has done so after four."""


@dataclass(frozen=True)
class ProcessHealth:
    """The health of the process. ``controllers`` are by the resource that each serves.

    ``ring_problem`` says why there is no key ring. ``follows``: another replica leads, and this one waits.
    """

    controllers: Mapping[str, Health] = field(default_factory=dict)
    ring_problem: str = ""
    follows: bool = False


@dataclass(frozen=True)
class Verdict:
    """The answer to a probe. ``lines`` say what is wrong, or worth to know."""

    good: bool
    lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(("ok" if self.good else "failing", *self.lines)) + "\n"


class Heartbeat:
    """The time at which the event loop last turned."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._last = now()

    @property
    def age(self) -> float:
        """Seconds since the last beat."""
        return self._now() - self._last

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            self._last = self._now()
            await asyncio.sleep(BEAT_SECONDS)


def judge_alive(beat_age: float, health: ProcessHealth) -> Verdict:
    """Say whether the process works; if not, it is to be started anew."""
    wrong = []
    if beat_age > STUCK_SECONDS:
        wrong.append(f"the event loop has not turned for {beat_age:.0f} s")
    for name, each in health.controllers.items():
        if each.deaths >= MOST_DEATHS:
            wrong.append(f"{name}: {each.deaths} tasks died in ten minutes, see the log")
        if each.busy > BUSY_SECONDS:
            wrong.append(f"{name}: a reconcile has been running for {each.busy:.0f} s")
    return Verdict(not wrong, tuple(wrong))


def judge_ready(beat_age: float, health: ProcessHealth) -> Verdict:
    """Say whether the process serves objects, or waits for its turn to."""
    if beat_age > STUCK_SECONDS:
        return Verdict(False, (f"the event loop has not turned for {beat_age:.0f} s",))
    if health.follows:
        return Verdict(True, ("another replica leads; this one follows",))
    if not health.controllers:
        return Verdict(False, ("the controllers have not started yet",))
    wrong = [health.ring_problem] if health.ring_problem else []
    kinds = {name: each for name, each in health.controllers.items() if each.state is not WatchState.REFUSED}
    if not kinds:
        wrong.append("no kind may be read")
    wrong += [
        f"{name}: its objects are not listed yet (watch: {each.state.value})"
        for name, each in kinds.items()
        if not each.ready
    ]
    refused = {name: why for each in health.controllers.values() for name, why in each.refused.items()}
    return Verdict(not wrong, (*wrong, *(f"{name} may not be read: {why}" for name, why in refused.items())))


class Probes:
    """The probes of one process. ``read_health`` is set when there is an operator to be asked."""

    def __init__(self) -> None:
        self.heartbeat = Heartbeat()
        self.read_health: Callable[[], ProcessHealth] = ProcessHealth

    def build_pages(self) -> Pages:
        """Build the pages of the probes."""
        return {"/healthz": lambda: self._answer(judge_alive), "/readyz": lambda: self._answer(judge_ready)}

    def _answer(self, judge: Callable[[float, ProcessHealth], Verdict]) -> Answer:
        verdict = judge(self.heartbeat.age, self.read_health())
        return Answer(HTTPStatus.OK if verdict.good else HTTPStatus.SERVICE_UNAVAILABLE, verdict.text)
