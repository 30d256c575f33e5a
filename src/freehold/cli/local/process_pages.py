"""``--health-address``, ``--metrics-address``: what an operator of this process tells over HTTP, and who looks on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from freehold.cli.errors import CliError

if TYPE_CHECKING:
    from freehold.controllers.app import Operator
    from freehold.controllers.metrics import Metrics
    from freehold.controllers.observers import Observers
    from freehold.controllers.probes import Heartbeat, Probes
    from freehold.controllers.process_server import Pages
    from freehold.tags.pass_hooks import Observer

HostPort = tuple[str, int]


@dataclass(frozen=True)
class Onlookers:
    """The observers of an operator, and the pages that show it."""

    observers: Observers
    probes: Probes
    metrics: Metrics | None = None

    @property
    def heartbeat(self) -> Heartbeat:
        """The heartbeat, which the operator's event loop runs as a task."""
        return self.probes.heartbeat

    def watch(self, operator: Operator) -> None:
        """Show this operator from now on."""
        self.probes.read_health = operator.read_process_health
        if self.metrics is not None:
            self.metrics.objects.read_controllers = lambda: operator.controllers
            self.metrics.objects.read_ring_problem = lambda: operator.read_process_health().ring_problem


@contextmanager
def serve_onlookers(metrics: HostPort | None, health: HostPort | None, *observers: Observer) -> Iterator[Onlookers]:
    """Serve the pages that have an address; both may have the same. Raises CliError where one cannot be used."""
    onlookers = _build_onlookers(metrics is not None, observers)
    with ExitStack() as stack:
        served: dict[HostPort, Pages] = {}
        options: dict[HostPort, str] = {}
        if health is not None:
            served[health], options[health] = onlookers.probes.build_pages(), "--health-address"
        if metrics is not None and onlookers.metrics is not None:
            served[metrics] = {**served.get(metrics, {}), **onlookers.metrics.build_pages()}
            options.setdefault(metrics, "--metrics-address")
        for address, pages in served.items():
            _serve(stack, options[address], address, pages)
        yield onlookers


def _build_onlookers(measured: bool, observers: tuple[Observer, ...]) -> Onlookers:
    from freehold.controllers.probes import Probes

    if measured:
        from freehold.controllers.metrics import Metrics  # its library is needed for nothing else

        metrics = Metrics()
        return Onlookers(metrics.build_observers(*observers), Probes(), metrics)
    from freehold.controllers.logged_port import LoggedPort
    from freehold.controllers.observers import Observers

    return Onlookers(Observers(passes=observers, wrap_port=LoggedPort), Probes())


def _serve(stack: ExitStack, option: str, address: HostPort, pages: Pages) -> None:
    from freehold.controllers.process_server import Address, serve_pages

    place = Address(*address)
    try:
        stack.enter_context(serve_pages(place, pages))
    except (OSError, OverflowError) as problem:
        why = (isinstance(problem, OSError) and problem.strerror) or str(problem)
        raise CliError(f"{option} {place} cannot be used: {why}; choose another one") from problem
