"""What every simulated cloud brings, so that one process, one back door and one state file serve any of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from freehold_sim.clock import Clock
from freehold_sim.faults import FaultBook
from freehold_sim.http import Request, Response


class LoggedCall(NamedTuple):
    """One line of the log. `status` is 0 when the caller got no answer; `mutating` calls ask for a change."""

    sequence: int
    time: float
    operation: str
    method: str
    path: str
    status: int
    mutating: bool
    actor: str


class SimulatedCloud(Protocol):
    """One account of one cloud. Its state is plain JSON; time comes from the clock that it was made with.

    `touched` is set by everything that changes the state, and cleared by whoever has kept it.
    """

    calls: list[LoggedCall]
    touched: bool

    @property
    def faults(self) -> FaultBook: ...

    def handle(self, request: Request) -> Response:
        """Answer one request. Raises ConnectionReset or ReplyLost where the transport must fail."""
        ...

    def settle(self) -> None:
        """Let everything happen that is due."""
        ...

    def state(self) -> Mapping[str, Any]:
        """Everything that must survive a restart."""
        ...

    def resume(self, state: Mapping[str, Any], calls: Sequence[LoggedCall]) -> None:
        """Go on from what `state` gave, and from the log of then."""
        ...

    def resources(self) -> list[dict[str, Any]]:
        """Every resource there is, without lag."""
        ...

    def foreign_act(self, verb: str, body: dict[str, Any]) -> Any:
        """Somebody else does something in the account. Raises ValueError for an unknown verb."""
        ...


Maker = Callable[[Clock, Mapping[str, Any], int], SimulatedCloud]
"""Makes a new account: its clock, changed settings (nested as the cloud's own), and a seed that fixes its ids."""


def _ibm(clock: Clock, settings: Mapping[str, Any], seed: int) -> SimulatedCloud:
    from freehold_sim.ibm.cloud import SimulatedIBM
    from freehold_sim.ibm.settings import Settings

    return SimulatedIBM(clock, Settings.from_dict(settings), seed=seed)


CLOUDS: Mapping[str, Maker] = {"ibm": _ibm}
"""By name. A cloud is loaded when it is asked for. The first one is served at `/`, the others at `/NAME`."""
