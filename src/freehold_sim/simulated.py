"""The interface of a simulated cloud; the server, the admin API and the state file work with any of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from freehold_sim.clock import Clock
from freehold_sim.faults import FaultBook
from freehold_sim.http import Request, Response


class LoggedCall(NamedTuple):
    """One entry of the call log. `status` is 0 when the caller got no response; `mutating` calls request a change."""

    sequence: int
    time: float
    operation: str
    method: str
    path: str
    status: int
    mutating: bool
    actor: str


class SimulatedCloud(Protocol):
    """One account of one cloud. Its state is plain JSON; time comes from the clock passed at construction.

    Every change of the state sets `touched`; saving the state clears it.
    """

    calls: list[LoggedCall]
    touched: bool

    @property
    def faults(self) -> FaultBook: ...

    def handle(self, request: Request) -> Response:
        """Answer one request. Raises ConnectionReset or ReplyLost when the transport must fail."""
        ...

    def settle(self) -> None:
        """Apply every transition that is due."""
        ...

    def state(self) -> Mapping[str, Any]:
        """Return everything that must survive a restart."""
        ...

    def resume(self, state: Mapping[str, Any], calls: Sequence[LoggedCall]) -> None:
        """Continue from a value of `state()` and the call log saved with it."""
        ...

    def resources(self) -> list[dict[str, Any]]:
        """Return every resource, without lag; each with the `digest` of all that is kept of it."""
        ...

    def prepare(self) -> None:
        """Do once in a new account what people do there before they use Cluster API."""
        ...

    def foreign_act(self, verb: str, body: dict[str, Any]) -> Any:
        """Act as another user of the account. Raises ValueError for an unknown verb."""
        ...


Maker = Callable[[Clock, Mapping[str, Any], int], SimulatedCloud]
"""Creates an account from a clock, settings to override (nested as the cloud's own), and a seed for its ids."""


def digest(record: Mapping[str, Any]) -> str:
    """Return a text that differs when anything differs that a cloud keeps of a resource."""
    return sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


def _ibm(clock: Clock, settings: Mapping[str, Any], seed: int) -> SimulatedCloud:
    from freehold_sim.ibm.cloud import SimulatedIBM
    from freehold_sim.ibm.settings import Settings

    return SimulatedIBM(clock, Settings.from_dict(settings), seed=seed)


def _aws(clock: Clock, settings: Mapping[str, Any], seed: int) -> SimulatedCloud:
    from freehold_sim.aws.cloud import SimulatedAWS
    from freehold_sim.aws.settings import Settings

    return SimulatedAWS(clock, Settings.from_dict(settings), seed=seed)


CLOUDS: Mapping[str, Maker] = {"ibm": _ibm, "aws": _aws}
"""Clouds by name. A cloud's module is imported when it is first used."""
