"""The back door under `/_sim/`: the clock, the truth, faults, the log, and foreign actors. No token needed.

GET  /_sim/clock                {now, speed}           POST /_sim/clock {advance: seconds}
GET  /_sim/resources            every resource, without lag
GET  /_sim/calls?since=N        {total, mutating, by_operation, calls: [...]}
GET  /_sim/faults               rules with counters    POST one rule; DELETE clears all
POST /_sim/strangers/{verb}     make, create, occupy, attach, detach, strip, rename, change, delete, send
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from freehold_sim.clock import SteerableClock
from freehold_sim.faults import Fault
from freehold_sim.http import Request, Response
from freehold_sim.ibm.cloud import SimulatedIBM

PREFIX = "/_sim/"


class Admin:
    """Serves the back door of one simulated account."""

    def __init__(self, cloud: SimulatedIBM, clock: SteerableClock) -> None:
        self._cloud = cloud
        self._clock = clock
        self._handlers: dict[tuple[str, str], Callable[[Request], Any]] = {
            ("GET", "clock"): self._tell_time,
            ("POST", "clock"): self._advance,
            ("GET", "resources"): lambda _: {"resources": cloud.strangers.resources()},
            ("GET", "calls"): self._count_calls,
            ("GET", "faults"): lambda _: {"faults": cloud.faults.rules()},
            ("POST", "faults"): self._add_fault,
            ("DELETE", "faults"): self._clear_faults,
        }

    def handle(self, request: Request) -> Response:
        """Answer 200 with JSON; 404 for an unknown door, 400 with the reason for a bad request."""
        name = request.path.removeprefix(PREFIX).strip("/")
        try:
            if name.startswith("strangers/") and request.method == "POST":
                return _json(200, self._strange(name.partition("/")[2], _body(request)))
            handler = self._handlers.get((request.method, name))
            if handler is None:
                return _json(404, {"error": f"no such door: {request.method} {request.path}"})
            return _json(200, handler(request))
        except (KeyError, TypeError, ValueError) as bad:
            return _json(400, {"error": f"{type(bad).__name__}: {bad}"})

    def _tell_time(self, _: Request) -> Any:
        return {"now": self._clock.now(), "speed": self._clock.speed}

    def _advance(self, request: Request) -> Any:
        self._clock.advance(float(_body(request)["advance"]))
        self._cloud.settle()
        self._cloud.world.touched = True
        return self._tell_time(request)

    def _count_calls(self, request: Request) -> Any:
        since = int(request.query.get("since", "0"))
        calls = [call for call in self._cloud.calls if call.actor == "api" and call.sequence > since]
        return {
            "total": len(calls),
            "mutating": sum(call.mutating for call in calls),
            "by_operation": dict(sorted(Counter(call.operation for call in calls).items())),
            "calls": [call._asdict() for call in calls],
        }

    def _add_fault(self, request: Request) -> Any:
        self._cloud.faults.add(Fault.from_dict(_body(request)))
        self._cloud.world.touched = True
        return {"faults": self._cloud.faults.rules()}

    def _clear_faults(self, _: Request) -> Any:
        self._cloud.faults.clear()
        self._cloud.world.touched = True
        return {"faults": []}

    def _strange(self, verb: str, body: dict[str, Any]) -> Any:
        strangers = self._cloud.strangers
        if verb == "make":
            return strangers.make(body.pop("kind"), tags=body.pop("tags", ()), **body)
        if verb == "create":
            return strangers.create(**body)
        if verb == "occupy":
            return strangers.occupy(**body)
        if verb == "send":
            return strangers.send(body["method"], body["path"], body.get("body"))
        if verb in {"attach", "detach"}:
            getattr(strangers, verb)(body["crn"], *body["tags"])
        elif verb == "strip":
            strangers.strip(body["crn"])
        elif verb == "rename":
            strangers.rename(body["id"], body["name"])
        elif verb == "change":
            strangers.change(body["id"], **body["fields"])
        elif verb == "delete":
            strangers.delete(body["id"])
        else:
            raise ValueError(f"strangers do not know how to {verb}")
        return {"done": verb}


def _body(request: Request) -> dict[str, Any]:
    body = json.loads(request.body or b"{}")
    if not isinstance(body, dict):
        raise TypeError("the body must be a JSON object")
    return body


def _json(status: int, body: Any) -> Response:
    return Response(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
