"""The types of a handler: one call of one operation, what it takes, and its refusal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from freehold_sim.aws.credentials import Principal
from freehold_sim.aws.settings import Settings
from freehold_sim.aws.world import Record, World, scope_of
from freehold_sim.faults import Effect, Fault


class Refused(Exception):
    """An error of a service; the protocol gives it its form."""

    def __init__(self, code: str, message: str, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.headers = dict(headers or {})


NOT_SERVED = "NotServedBySimulator"


def not_served(what: str) -> Refused:
    """Return the refusal of what AWS has and this simulator lacks. AWS has no such code, and no SDK retries a 501."""
    return Refused(NOT_SERVED, f"The simulated AWS does not serve {what}.", 501)


_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}
"""By what a region's name begins with
(https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html)."""


@dataclass(slots=True)
class Call:
    """One call of one operation. `params` are valid; `actor` is "api" or "stranger"."""

    world: World
    settings: Settings
    service: str
    operation: str
    params: dict[str, Any]
    principal: Principal
    region: str
    now: float
    wall: float
    fault: Fault | None = None
    actor: str = "api"
    made: list[Record] = field(default_factory=list)
    """What this call created."""

    @property
    def account(self) -> str:
        return self.principal.account

    @property
    def partition(self) -> str:
        """The partition of the region: the second word of its ARNs."""
        return next((name for prefix, name in _PARTITIONS.items() if self.region.startswith(prefix)), "aws")

    @property
    def dns_suffix(self) -> str:
        """What the names of load balancers end with."""
        return "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"

    @property
    def scope(self) -> str:
        return scope_of(self.account, self.region)

    # -- records ----------------------------------------------------------------------------------------------

    def add(self, kind: str, ident: str, view: dict[str, Any], arn: str = "", **fields: Any) -> Record:
        """Create a resource in the account and region of the call; `fields` may hold tags and what AWS hides."""
        record: Record = {"account": self.account, "region": self.region, "view": view, "arn": arn, "by": self.actor}
        record.update(fields)
        self.made.append(self.world.add(kind, ident, self.now, record))
        return record

    def get(self, kind: str, ident: str | None) -> Record | None:
        """Return the record of the account and region with this id, as far as this call can see it yet."""
        record = self.world.table(self.scope, kind).get(ident or "")
        return record if record is not None and self.sees(record) else None

    def all(self, kind: str) -> list[Record]:
        return list(self.world.table(self.scope, kind).values())

    def where(self, kind: str, **match: Any) -> list[Record]:
        """Return the records of a kind whose view has all values in `match`."""
        rows = self.world.table(self.scope, kind).values()
        return [r for r in rows if all(r["view"].get(key) == value for key, value in match.items())]

    def sees(self, record: Record) -> bool:
        """Whether a service that is eventually consistent shows a record already (`Lags.new`)."""
        lag = self.settings.lags.new
        return not lag or self.actor != "api" or record["created_at"] <= self.now - lag

    # -- provisioning -----------------------------------------------------------------------------------------

    def takes(self, seconds: float) -> float:
        """Return the time when something that takes `seconds` is done, with a `slow` fault applied."""
        slow = self.fault is not None and self.fault.effect is Effect.SLOW
        return self.now + seconds * (self.fault.factor if slow and self.fault else 1.0)

    @property
    def fails(self) -> bool:
        """Whether what this call starts is to fail (`failed`)."""
        return self.fault is not None and self.fault.effect is Effect.FAILED

    def fails_at(self, position: int) -> bool:
        """Whether an item of a batch is to fail (`partial`)."""
        if self.fault is None or self.fault.effect is not Effect.PARTIAL:
            return False
        return position in self.fault.items if self.fault.items else position % 2 == 1


Handler = Callable[[Call], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Token:
    """How an operation is made idempotent by a token of the client.

    `again` returns the reply from the records of `kind` that the first call created. What differs between two calls
    only in `unbound` parameters is no mismatch.
    """

    parameter: str
    kind: str
    again: Callable[[Call, list[Record]], dict[str, Any]]
    mismatch: str = "IdempotentParameterMismatch"
    unbound: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation that is served, with the parameters that are: dotted paths; a path covers what is below it."""

    name: str
    handler: Handler
    takes: Mapping[str, Any]
    writes: bool
    token: Token | None = None


def reads(name: str, handler: Handler, takes: str = "") -> Operation:
    return Operation(name, handler, _tree(takes.split()), False)


def writes(name: str, handler: Handler, takes: str = "", token: Token | None = None) -> Operation:
    return Operation(name, handler, _tree(takes.split()), True, token)


def _tree(paths: Iterable[str]) -> dict[str, Any]:
    """Return served parameters as nested dicts; an empty dict covers everything below."""
    tree: dict[str, Any] = {}
    for path in paths:
        node = tree
        for part in path.split("."):
            node = node.setdefault(part, {})
    return tree


def unserved(params: Any, tree: Mapping[str, Any], path: str = "") -> str:
    """Return the path of the first parameter that is given and not served, "" if there is none."""
    if isinstance(params, list):
        return next((found for each in params if (found := unserved(each, tree, path))), "")
    if not isinstance(params, dict):
        return ""
    for name, value in params.items():
        here = f"{path}.{name}" if path else name
        if name not in tree:
            return here
        if tree[name] and (found := unserved(value, tree[name], here)):
            return found
    return ""
