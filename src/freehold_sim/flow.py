"""The flow of a call through a simulated cloud, the same for every cloud: fault, service, lost reply, log.

A cloud says which operation a request is (`identify`), serves it, and gives refusals their form.
"""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

from freehold_sim.clock import Clock
from freehold_sim.faults import Effect, Fault, FaultBook
from freehold_sim.http import ConnectionReset, ReplyLost, Request, Response
from freehold_sim.simulated import LoggedCall


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a world. The clock is not part of it; `time` is the clock's value when it was taken."""

    state: bytes
    calls: tuple[LoggedCall, ...]
    time: float


@dataclass(frozen=True, slots=True)
class Identified:
    """A request whose operation is known. `route` is the cloud's own; `name` is `service.Operation`."""

    name: str
    writes: bool
    route: Any


_BEFORE = frozenset({Effect.THROTTLE, Effect.ERROR_BEFORE, Effect.DENIED, Effect.EXPIRED, Effect.QUOTA})


class CallFlow(ABC):
    """Serves requests one at a time, also when they come from several threads."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.calls: list[LoggedCall] = []
        self._lock = RLock()

    # -- what a cloud brings ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def data(self) -> dict[str, Any]:
        """The state: plain JSON, with `faults` and `late`."""

    @data.setter
    @abstractmethod
    def data(self, value: dict[str, Any]) -> None: ...

    @property
    @abstractmethod
    def touched(self) -> bool: ...

    @touched.setter
    @abstractmethod
    def touched(self, changed: bool) -> None: ...

    @abstractmethod
    def identify(self, request: Request) -> Identified | Response:
        """Return the operation of a request, or the refusal of a request that is none."""

    @abstractmethod
    def limit(self, found: Identified, request: Request) -> Fault | None:
        """Count a call against the request limits of the cloud; return the throttling if it is over."""

    @abstractmethod
    def serve(self, found: Identified, request: Request, fault: Fault | None, now: float, actor: str) -> Response: ...

    @abstractmethod
    def refusal(self, found: Identified, fault: Fault) -> Response:
        """Return the answer to a call that a fault makes fail."""

    @abstractmethod
    def settle_world(self, now: float) -> None:
        """Apply every transition that was due by `now`."""

    # -- what the server and the tests use --------------------------------------------------------------------

    @property
    def faults(self) -> FaultBook:
        return FaultBook(self.data["faults"])

    def state(self) -> Mapping[str, Any]:
        return self.data

    def resume(self, state: Mapping[str, Any], calls: Sequence[LoggedCall]) -> None:
        self.data, self.calls = dict(state), list(calls)

    def snapshot(self) -> Snapshot:
        with self._lock:
            state = pickle.dumps(self.data, protocol=pickle.HIGHEST_PROTOCOL)
            return Snapshot(state, tuple(self.calls), self.clock.now())

    def restore(self, taken: Snapshot) -> None:
        with self._lock:
            self.data = pickle.loads(taken.state)  # noqa: S301 (bytes that snapshot() of this process made)
            self.calls = list(taken.calls)

    def settle(self) -> None:
        """Apply everything that is due, including the delayed effects of `late` calls."""
        now, late = self.clock.now(), self.data["late"]
        while late and late[0][0] <= now:
            when, method, path, query, headers, body, actor = late.pop(0)
            self.settle_world(when)
            request = Request(method, path, query, headers, body.encode("latin-1"))
            found = self.identify(request)
            if isinstance(found, Identified):
                self.serve(found, request, None, when, actor)
        self.settle_world(now)

    def handle(self, request: Request, actor: str = "api") -> Response:
        """Answer one request.

        Raises ConnectionReset (no effect) or ReplyLost (effect unknown to the caller) when the transport must fail.
        """
        with self._lock:
            return self._handle(request, actor)

    # -- the flow ---------------------------------------------------------------------------------------------

    def _handle(self, request: Request, actor: str) -> Response:
        self.settle()
        found = self.identify(request)
        if isinstance(found, Response):
            self._log(request, f"unknown {request.method}", found.status, False, actor)
            return found
        fault = (self._match_fault(found, request) or self.limit(found, request)) if actor == "api" else None
        try:
            response = self._serve_with_fault(found, request, fault, actor)
        except (ConnectionReset, ReplyLost):
            self._log(request, found.name, 0, found.writes, actor)
            raise
        self._log(request, found.name, response.status, found.writes, actor)
        return response

    def _match_fault(self, found: Identified, request: Request) -> Fault | None:
        if not self.data["faults"]:
            return None
        query = "&".join(f"{key}={value}" for key, value in request.query.items())
        text = f"{request.path}?{query} {request.body.decode(errors='replace')}"
        if not self.faults.find_concerned(found.name, text):
            return (
                None  # rules stay when they are used up: to save the world at each call would cost more than the call
            )
        self.touched = True
        return self.faults.match(found.name, text)

    def _serve_with_fault(self, found: Identified, request: Request, fault: Fault | None, actor: str) -> Response:
        effect = fault.effect if fault else None
        if effect is Effect.RESET:
            raise ConnectionReset(f"connection reset: {found.name}")
        if fault and effect is Effect.LATE:
            self._postpone(request, fault, actor)
            raise ReplyLost(f"no reply yet: {found.name}")
        if fault and effect in _BEFORE:
            return self.refusal(found, fault)
        response = self.serve(found, request, fault, self.clock.now(), actor)
        if effect is Effect.REPLY_LOST:
            raise ReplyLost(f"reply lost: {found.name}")
        if fault and effect is Effect.ERROR_AFTER:
            return self.refusal(found, fault)
        return response

    def _postpone(self, request: Request, fault: Fault, actor: str) -> None:
        late = self.data["late"]
        when, body = self.clock.now() + fault.delay, request.body.decode("latin-1")
        late.append([when, request.method, request.path, dict(request.query), dict(request.headers), body, actor])
        late.sort(key=lambda row: row[0])
        self.touched = True

    def _log(self, request: Request, operation: str, status: int, mutating: bool, actor: str) -> None:
        sequence = self.calls[-1].sequence + 1 if self.calls else 1
        now = self.clock.now()
        self.calls.append(LoggedCall(sequence, now, operation, request.method, request.path, status, mutating, actor))
