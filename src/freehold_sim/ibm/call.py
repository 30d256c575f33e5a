"""The types of a handler: one call of one operation, its route, and its reply."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from zlib import crc32

from freehold_sim.faults import Effect, Fault
from freehold_sim.http import Request
from freehold_sim.ibm import errors
from freehold_sim.ibm.fields import Fields, first_unserved
from freehold_sim.ibm.settings import Settings
from freehold_sim.ibm.shapes import misshapen
from freehold_sim.ibm.world import Record, World


@dataclass(frozen=True, slots=True)
class Reply:
    """A handler's reply; `body` is encoded as JSON unless it is bytes; None sends no body.

    With `etag` the reply has an ETag, which `Call.check_match` compares.
    """

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: bool = False


def etag_of(encoded: bytes) -> str:
    return f'W/"{crc32(encoded):08x}-{len(encoded)}"'


@dataclass(slots=True)
class Call:
    """One call of one operation. `params` are the decoded path variables, `actor` is "api" or "stranger"."""

    world: World
    settings: Settings
    request: Request
    operation: str
    params: Mapping[str, str]
    now: float
    wall: float
    fault: Fault | None = None
    actor: str = "api"
    replica: int = 0
    fields: Fields = field(default_factory=dict)

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @property
    def service(self) -> str:
        return self.operation.partition(".")[0]

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object, {} if empty.

        Refuses other bodies, wrong field types and fields that the vendor does not have with 400, and fields of the
        vendor that are not served with 501.
        """
        if not self.request.body:
            return {}
        try:
            body = json.loads(self.request.body)
        except ValueError:
            raise self.refuse(400, "bad_request", "The request body is not valid JSON") from None
        if not isinstance(body, dict):
            raise self.refuse(400, "bad_request", "The request body must be a JSON object")
        if wrong := misshapen(body):
            raise self.refuse(400, "invalid_type", f"The field {wrong} has the wrong JSON type")
        if unserved := first_unserved(body, self.fields):
            if not unserved.known:
                raise self.refuse(400, "bad_field", f"The field {unserved.path} is not one of {self.operation}")
            raise self.not_served(f"the field {unserved.path}")
        return body

    def require(self, body: Mapping[str, Any], names: str) -> None:
        """Refuse a body without one of these fields; null counts as absent."""
        for name in names.split():
            if body.get(name) is None:
                raise self.refuse(400, "missing_field", f"The field {name} is required", name)

    def check_match(self, shown: Callable[[], Mapping[str, Any]]) -> None:
        """Refuse with 412 if the request has an If-Match header with another ETag than that of `shown()`."""
        wanted = self.request.headers.get("if-match")
        if wanted and wanted not in {"*", etag_of(json.dumps(shown()).encode())}:
            message = "The provided If-Match value does not match the current ETag value of the resource."
            raise self.refuse(412, "precondition_failed", message)

    def not_served(self, what: str) -> errors.Refused:
        """Return the refusal of something that the vendor serves and this simulator does not."""
        message = f"The simulator does not serve {what} of {self.operation} (docs/reference/simulator.md)"
        return self.refuse(501, "not_implemented", message)

    def refuse(self, status: int, code: str, message: str, field: str = "") -> errors.Refused:
        return errors.of_service(self.service, status, code, message, field)

    # -- provisioning ---------------------------------------------------------------------------------------

    def takes(self, seconds: float) -> float:
        """Return the time when something that takes `seconds` is done, with a `slow` fault applied."""
        slow = self.fault is not None and self.fault.effect is Effect.SLOW
        return self.now + seconds * (self.fault.factor if slow and self.fault else 1.0)

    def provision(self, record: Record, seconds: float, good: Mapping[str, Any], failed: Mapping[str, Any]) -> None:
        """Apply `good` to `record` after `seconds`, or `failed` if a `failed` fault is active."""
        broken = self.fault is not None and self.fault.effect is Effect.FAILED
        self.world.schedule(self.takes(seconds), record, dict(failed if broken else good))

    # -- reading --------------------------------------------------------------------------------------------

    def listed(self, records: Iterable[Record]) -> list[Record]:
        """Drop the records that a lagging list does not show yet."""
        lag = self.lag(self.settings.lags.lists)
        return [r for r in records if r["created_at"] <= self.now - lag] if lag else list(records)

    def lag(self, seconds: float) -> float:
        """Return the lag of the replica that serves this call, for a nominal lag of `seconds`."""
        if not seconds or not self.settings.lags.non_monotonic:
            return seconds
        if not self.replica:
            self.world.data["reads"] += 1
            self.replica = 2 - self.world.data["reads"] % 2
        return seconds * self.replica

    def page(self, records: list[Record], default: int = 50, ceiling: int = 100) -> tuple[list[Record], int, str]:
        """Return the page that `limit` and `start` select, its limit, and the next page's start ("" at the end)."""
        text = self.query.get("limit") or str(default)
        if not text.isdigit() or not 1 <= int(text) <= ceiling:
            raise self.refuse(400, "invalid_value", f"limit must be between 1 and {ceiling}, not {text}")
        limit = min(int(text), self.settings.page_size or ceiling)
        start = self.query.get("start", "")
        if start and not start.isdigit():
            raise self.refuse(400, "invalid_value", f"start is not a page token: {start}")
        rest = [r for r in records if r["serial"] > int(start or 0)]
        more = len(rest) > limit
        return rest[:limit], limit, str(rest[limit - 1]["serial"]) if more else ""


Handler = Callable[[Call], Reply]


_QUERY_OF_ALL = {"vpc": frozenset({"version", "generation", "maturity"}), "transit": frozenset({"version"})}
"""Query parameters that every operation of a service has."""


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: `pattern` has literal segments and `{variables}`; `fields` and `query` are those it serves.

    One that is not `served` belongs to the vendor; its handler refuses.
    """

    method: str
    pattern: str
    operation: str
    handler: Handler
    writes: bool
    without_token: bool = False
    fields: Fields = field(default_factory=dict)
    query: frozenset[str] = frozenset()
    served: bool = True

    @property
    def service(self) -> str:
        return self.operation.partition(".")[0]

    @property
    def by_id(self) -> bool:
        """Whether the route reads one resource of a service whose reads by id may lag (`Lags.by_id`)."""
        lagging = self.operation.startswith(("vpc.", "rc.", "power.", "transit."))
        return lagging and self.method == "GET" and self.pattern.endswith("}")


def reads(
    method: str,
    pattern: str,
    operation: str,
    handler: Handler,
    *,
    fields: Fields | None = None,
    query: str = "",
    without_token: bool = False,
) -> Route:
    return Route(method, pattern, operation, handler, False, without_token, fields or {}, _query(operation, query))


def writes(
    method: str, pattern: str, operation: str, handler: Handler, *, fields: Fields | None = None, query: str = ""
) -> Route:
    return Route(method, pattern, operation, handler, True, False, fields or {}, _query(operation, query))


def _query(operation: str, own: str) -> frozenset[str]:
    return _QUERY_OF_ALL.get(operation.partition(".")[0], frozenset()) | {*own.split()}


@lru_cache(10_000)  # a list shows the same times at each read
def iso(moment: float) -> str:
    """Return an epoch time as IBM prints it: RFC 3339, UTC."""
    return datetime.fromtimestamp(round(moment, 3), UTC).isoformat().replace("+00:00", "Z")
