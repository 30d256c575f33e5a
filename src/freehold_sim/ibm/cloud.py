"""One simulated IBM Cloud: routes requests to the services, applies faults, and logs the calls."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil
from threading import RLock
from typing import Any

from freehold_sim.clock import Clock, WallClock
from freehold_sim.faults import Effect, Fault, FaultBook
from freehold_sim.http import ConnectionReset, ReplyLost, Request, Response
from freehold_sim.ibm import errors, iam, not_served
from freehold_sim.ibm.call import Call, Reply, Route, etag_of
from freehold_sim.ibm.router import Router
from freehold_sim.ibm.services import ROUTES
from freehold_sim.ibm.settings import Settings
from freehold_sim.ibm.strangers import Strangers
from freehold_sim.ibm.world import World
from freehold_sim.simulated import LoggedCall


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a world. The clock is not part of it; `time` is the clock's value when it was taken."""

    state: bytes
    calls: tuple[LoggedCall, ...]
    time: float


_BEFORE = {Effect.THROTTLE, Effect.ERROR_BEFORE, Effect.DENIED, Effect.EXPIRED, Effect.QUOTA}


class SimulatedIBM:
    """One account. `handle` serves requests, `strangers` acts as other users, `faults` makes calls fail.

    Calls from several threads are serialized.
    """

    def __init__(
        self,
        clock: Clock,
        settings: Settings | None = None,
        *,
        seed: int = 1,
        wall: Clock | None = None,
        routes: Iterable[Route] = ROUTES,
    ) -> None:
        self.clock = clock
        self.settings = settings or Settings()
        self.world = World(seed, history_seconds=2 * self.settings.lags.by_id)
        self.calls: list[LoggedCall] = []
        self._wall = wall or WallClock()
        self._router = Router(routes)
        self._lock = RLock()
        self.strangers = Strangers(self)

    @property
    def faults(self) -> FaultBook:
        return FaultBook(self.world.data["faults"])

    @property
    def touched(self) -> bool:
        return self.world.touched

    @touched.setter
    def touched(self, changed: bool) -> None:
        self.world.touched = changed

    def state(self) -> Mapping[str, Any]:
        return self.world.data

    def resume(self, state: Mapping[str, Any], calls: Sequence[LoggedCall]) -> None:
        self.world.data, self.calls = dict(state), list(calls)

    def resources(self) -> list[dict[str, Any]]:
        return self.strangers.resources()

    def foreign_act(self, verb: str, body: dict[str, Any]) -> Any:
        return self.strangers.act(verb, body)

    def snapshot(self) -> Snapshot:
        with self._lock:
            return Snapshot(self.world.snapshot(), tuple(self.calls), self.clock.now())

    def restore(self, taken: Snapshot) -> None:
        with self._lock:
            self.world.restore(taken.state)
            self.calls = list(taken.calls)

    def settle(self) -> None:
        """Apply everything that is due, including the delayed effects of `late` calls."""
        now = self.clock.now()
        late = self.world.data["late"]
        while late and late[0][0] <= now:
            when, method, path, query, headers, body, actor = late.pop(0)
            self.world.settle(when)
            request = Request(method, path, query, headers, body.encode("latin-1"))
            found = self._router.find(method, path)
            if found is not None:
                self._serve(found[0], found[1], request, None, when, actor)
        self.world.settle(now)

    def handle(self, request: Request, actor: str = "api") -> Response:
        """Answer one request.

        Raises ConnectionReset (no effect) or ReplyLost (effect unknown to the caller) when the transport must fail.
        """
        with self._lock:
            return self._handle(request, actor)

    def _handle(self, request: Request, actor: str) -> Response:
        self.settle()
        found = self._find(request)
        if found is None:
            refused = errors.of_service(errors.service_at(request.path), 404, "not_found", "no such operation")
            self._log(request, f"unknown {request.method}", refused.status, False, actor)
            return Response(refused.status, refused.body, refused.headers)
        route, params = found
        fault = (self._match_fault(route, request) or self._limit(route)) if actor == "api" else None
        try:
            response = self._serve_with_fault(route, params, request, fault, actor)
        except (ConnectionReset, ReplyLost):
            self._log(request, route.operation, 0, route.writes, actor)
            raise
        self._log(request, route.operation, response.status, route.writes, actor)
        return response

    def _find(self, request: Request) -> tuple[Route, dict[str, str]] | None:
        """Return the operation of a request: one that is served, or one that only the vendor serves."""
        return self._router.find(request.method, request.path) or not_served.find(request.method, request.path)

    def _match_fault(self, route: Route, request: Request) -> Fault | None:
        if not self.world.data["faults"]:
            return None
        self.world.touched = True
        query = "&".join(f"{key}={value}" for key, value in request.query.items())
        return self.faults.match(route.operation, f"{request.path}?{query} {request.body.decode(errors='replace')}")

    def _limit(self, route: Route) -> Fault | None:
        """Count the call against the rate limits; a call over a limit is throttled and not counted."""
        now, recent = self.clock.now(), self.world.data["recent"]
        for pattern, (most, seconds) in self.settings.rate_limits.items():
            if not fnmatchcase(route.operation, pattern):
                continue
            recent[pattern] = [when for when in recent.get(pattern, ()) if when > now - seconds]
            if len(recent[pattern]) >= most:
                wait = recent[pattern][0] + seconds - now
                return Fault(Effect.THROTTLE, pattern, retry_after=max(1, ceil(wait)))
            recent[pattern].append(now)
        return None

    def _serve_with_fault(
        self, route: Route, params: dict[str, str], request: Request, fault: Fault | None, actor: str
    ) -> Response:
        effect = fault.effect if fault else None
        if effect is Effect.RESET:
            raise ConnectionReset(f"connection reset: {route.operation}")
        if fault and effect is Effect.LATE:
            self._postpone(request, fault, actor)
            raise ReplyLost(f"no reply yet: {route.operation}")
        if fault and effect in _BEFORE:
            return _encode_refusal(self._refusal(route, fault))
        response = self._serve(route, params, request, fault, self.clock.now(), actor)
        if effect is Effect.REPLY_LOST:
            raise ReplyLost(f"reply lost: {route.operation}")
        if fault and effect is Effect.ERROR_AFTER:
            return _encode_refusal(self._refusal(route, fault))
        return response

    def _postpone(self, request: Request, fault: Fault, actor: str) -> None:
        late = self.world.data["late"]
        when = self.clock.now() + fault.delay
        headers = dict(request.headers)
        late.append(
            [when, request.method, request.path, dict(request.query), headers, request.body.decode("latin-1"), actor]
        )
        late.sort(key=lambda row: row[0])
        self.world.touched = True

    def _refusal(self, route: Route, fault: Fault) -> errors.Refused:
        service = route.operation.partition(".")[0]
        status, code, message = {
            Effect.THROTTLE: (429, "too_many_requests", "Too Many Requests"),
            Effect.DENIED: (403, "not_authorized", "The request is not authorized."),
            Effect.EXPIRED: (401, "not_authenticated", "The authorization token has expired"),
            Effect.QUOTA: (400, "over_quota", "This request will put the user over quota."),
        }.get(fault.effect, (fault.status, "internal_error", errors.OVERLOAD))
        refused = errors.of_service(service, status, code, fault.message or message)
        if fault.retry_after is not None:
            refused.headers["Retry-After"] = str(fault.retry_after)
        return refused

    def _serve(
        self, route: Route, params: dict[str, str], request: Request, fault: Fault | None, now: float, actor: str
    ) -> Response:
        wall = self._wall.now()
        if not route.without_token and actor == "api" and (why := self._unauthenticated(route, request, wall)):
            return _encode_refusal(errors.of_service(route.operation.partition(".")[0], 401, "not_authenticated", why))
        call = Call(
            self.world, self.settings, request, route.operation, params, now, wall, fault, actor, fields=route.fields
        )
        if route.by_id and actor == "api" and (lag := call.lag(self.settings.lags.by_id)):
            call.world = self.world.as_of(now - lag)
        try:
            if route.served and (unserved := request.query.keys() - route.query):
                raise call.not_served(f"the query parameter {min(unserved)}")
            reply = route.handler(call)
        except errors.Refused as refused:
            return _encode_refusal(refused)
        if route.writes:
            self.world.touched = True
            self.world.record_history(now)
        return _encode(reply)

    def _unauthenticated(self, route: Route, request: Request, wall: float) -> str:
        authorization = request.headers.get("authorization", "")
        if route.operation.startswith("cos.") and authorization.startswith("AWS4-HMAC-SHA256"):
            return ""  # the COS service resolves HMAC keys itself
        return iam.rejects(self.settings, authorization, wall)

    def _log(self, request: Request, operation: str, status: int, mutating: bool, actor: str) -> None:
        sequence = self.calls[-1].sequence + 1 if self.calls else 1
        now = self.clock.now()
        self.calls.append(LoggedCall(sequence, now, operation, request.method, request.path, status, mutating, actor))


def _encode_refusal(refused: errors.Refused) -> Response:
    return Response(refused.status, refused.body, refused.headers)


def _encode(reply: Reply) -> Response:
    if reply.body is None:
        return Response(reply.status, b"", reply.headers)
    if isinstance(reply.body, bytes):
        return Response(reply.status, reply.body, reply.headers)
    headers, encoded = {"Content-Type": "application/json", **reply.headers}, json.dumps(reply.body).encode()
    if reply.etag:
        headers["ETag"] = etag_of(encoded)
    return Response(reply.status, encoded, headers)
