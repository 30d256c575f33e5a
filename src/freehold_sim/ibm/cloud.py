"""One simulated IBM Cloud: routes requests to the services, limits them, and gives refusals their form."""

import json
from fnmatch import fnmatchcase
from math import ceil
from typing import Any

from freehold_sim.clock import Clock, WallClock
from freehold_sim.faults import Effect, Fault
from freehold_sim.flow import CallFlow, Identified
from freehold_sim.http import Request, Response
from freehold_sim.ibm import errors, iam, not_served
from freehold_sim.ibm.call import Call, Reply, Route, etag_of
from freehold_sim.ibm.router import Router
from freehold_sim.ibm.services import ROUTES
from freehold_sim.ibm.settings import Settings
from freehold_sim.ibm.strangers import Strangers
from freehold_sim.ibm.world import World

_ROUTER = Router(ROUTES)
"""Built once: it takes a millisecond, and tests start a world of their own each."""


class SimulatedIBM(CallFlow):
    """One account. `handle` serves requests, `strangers` acts as other users, `faults` makes calls fail."""

    def __init__(
        self,
        clock: Clock,
        settings: Settings | None = None,
        *,
        seed: int = 1,
        wall: Clock | None = None,
    ) -> None:
        super().__init__(clock)
        self.settings = settings or Settings()
        self.world = World(seed, history_seconds=2 * self.settings.lags.by_id)
        self._wall = wall or WallClock()
        self.strangers = Strangers(self)

    @property
    def data(self) -> dict[str, Any]:
        return self.world.data

    @data.setter
    def data(self, value: dict[str, Any]) -> None:
        self.world.data = value

    @property
    def touched(self) -> bool:
        return self.world.touched

    @touched.setter
    def touched(self, changed: bool) -> None:
        self.world.touched = changed

    def settle_world(self, now: float) -> None:
        self.world.settle(now)

    def resources(self) -> list[dict[str, Any]]:
        return self.strangers.resources()

    def prepare(self) -> None:
        """Do nothing: Cluster API needs nothing in an account of IBM Cloud."""

    def foreign_act(self, verb: str, body: dict[str, Any]) -> Any:
        return self.strangers.act(verb, body)

    def identify(self, request: Request) -> Identified | Response:
        """Return the operation of a request: one that is served, or one that only the vendor serves."""
        found = _ROUTER.find(request.method, request.path) or not_served.find(request.method, request.path)
        if found is None:
            return _encode_refusal(
                errors.of_service(errors.service_at(request.path), 404, "not_found", "no such operation")
            )
        route, _ = found
        return Identified(route.operation, route.writes, found)

    def limit(self, found: Identified, request: Request) -> Fault | None:
        """Count the call against the rate limits; a call over a limit is throttled and not counted."""
        now, recent = self.clock.now(), self.world.data["recent"]
        for pattern, (most, seconds) in self.settings.rate_limits.items():
            if not fnmatchcase(found.name, pattern):
                continue
            recent[pattern] = [when for when in recent.get(pattern, ()) if when > now - seconds]
            if len(recent[pattern]) >= most:
                wait = recent[pattern][0] + seconds - now
                return Fault(Effect.THROTTLE, pattern, retry_after=max(1, ceil(wait)))
            recent[pattern].append(now)
        return None

    def refusal(self, found: Identified, fault: Fault) -> Response:
        status, code, message = {
            Effect.THROTTLE: (429, "too_many_requests", "Too Many Requests"),
            Effect.DENIED: (403, "not_authorized", "The request is not authorized."),
            Effect.EXPIRED: (401, "not_authenticated", "The authorization token has expired"),
            Effect.QUOTA: (400, "over_quota", "This request will put the user over quota."),
        }.get(fault.effect, (fault.status, "internal_error", errors.OVERLOAD))
        refused = errors.of_service(found.name.partition(".")[0], status, code, fault.message or message)
        if fault.retry_after is not None:
            refused.headers["Retry-After"] = str(fault.retry_after)
        return _encode_refusal(refused)

    def serve(self, found: Identified, request: Request, fault: Fault | None, now: float, actor: str) -> Response:
        (route, params), wall = found.route, self._wall.now()
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
