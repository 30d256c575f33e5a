"""The admin API under `/_sim/`: clock, actual state, faults, call log and foreign actors. No token needed.

GET  /_sim/clock                {now, speed}           POST /_sim/clock {advance: seconds}
GET  /_sim/resources            every resource, without lag
GET  /_sim/calls?since=N        {total, mutating, by_operation, calls: [...]}
GET  /_sim/faults               rules with counters    POST one rule; DELETE clears all
POST /_sim/strangers/{verb}     the cloud's own verbs, listed in its `strangers` module

All clouds share one clock. Every other request addresses the first cloud, or the one in `?cloud=NAME`.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from freehold_sim.clock import SteerableClock
from freehold_sim.faults import Fault
from freehold_sim.http import Request, Response
from freehold_sim.loading import Clouds
from freehold_sim.simulated import SimulatedCloud

PREFIX = "/_sim/"


class Admin:
    """Serves the admin API of simulated clouds that share one clock."""

    def __init__(self, clouds: Clouds, clock: SteerableClock) -> None:
        self._clouds = clouds
        self._clock = clock
        self._handlers: dict[tuple[str, str], Callable[[Request, SimulatedCloud], Any]] = {
            ("GET", "clock"): lambda *_: self._clock_state(),
            ("POST", "clock"): self._advance,
            ("GET", "resources"): lambda _, cloud: {"resources": cloud.resources()},
            ("GET", "calls"): _count_calls,
            ("GET", "faults"): lambda _, cloud: {"faults": cloud.faults.rules()},
            ("POST", "faults"): _add_fault,
            ("DELETE", "faults"): _clear_faults,
        }

    def handle(self, request: Request) -> Response:
        """Answer 200 with JSON, 404 for an unknown endpoint, 400 with the reason for a bad request."""
        name = request.path.removeprefix(PREFIX).strip("/")
        try:
            cloud = self._cloud(request)
            if name.startswith("strangers/") and request.method == "POST":
                return _json(200, cloud.foreign_act(name.partition("/")[2], _body(request)))
            handler = self._handlers.get((request.method, name))
            if handler is None:
                return _json(404, {"error": f"no such endpoint: {request.method} {request.path}"})
            return _json(200, handler(request, cloud))
        except (KeyError, TypeError, ValueError) as bad:
            return _json(400, {"error": f"{type(bad).__name__}: {bad}"})

    def _cloud(self, request: Request) -> SimulatedCloud:
        name = request.query.get("cloud", next(iter(self._clouds)))
        if name not in self._clouds:
            raise ValueError(f"unknown cloud {name}; this process serves {', '.join(self._clouds)}")
        return self._clouds[name]

    def _clock_state(self) -> Any:
        return {"now": self._clock.now(), "speed": self._clock.speed}

    def _advance(self, request: Request, _: SimulatedCloud) -> Any:
        self._clock.advance(float(_body(request)["advance"]))
        for cloud in self._clouds.loaded.values():
            cloud.settle()
            cloud.touched = True
        return self._clock_state()


def _count_calls(request: Request, cloud: SimulatedCloud) -> Any:
    since = int(request.query.get("since", "0"))
    calls = [call for call in cloud.calls if call.actor == "api" and call.sequence > since]
    return {
        "total": len(calls),
        "mutating": sum(call.mutating for call in calls),
        "by_operation": dict(sorted(Counter(call.operation for call in calls).items())),
        "calls": [call._asdict() for call in calls],
    }


def _add_fault(request: Request, cloud: SimulatedCloud) -> Any:
    cloud.faults.add(Fault.from_dict(_body(request)))
    cloud.touched = True
    return {"faults": cloud.faults.rules()}


def _clear_faults(_: Request, cloud: SimulatedCloud) -> Any:
    cloud.faults.clear()
    cloud.touched = True
    return {"faults": []}


def _body(request: Request) -> dict[str, Any]:
    body = json.loads(request.body or b"{}")
    if not isinstance(body, dict):
        raise TypeError("the body must be a JSON object")
    return body


def _json(status: int, body: Any) -> Response:
    return Response(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
