"""``--metrics-address``: who looks on while an operator of this process works, and where its metrics are served."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from freehold.cli.errors import CliError

if TYPE_CHECKING:
    from freehold.controllers.observers import Observers
    from freehold.tags.pass_hooks import Observer


@contextmanager
def onlookers_of(address: tuple[str, int] | None, *observers: Observer) -> Iterator[Observers]:
    """``observers``, and metrics where an address is given. Raises CliError where it cannot be used."""
    if address is None:
        from freehold.controllers.observers import Observers

        yield Observers(passes=observers)
        return
    from freehold.controllers.metrics import Metrics  # its library is needed for nothing else
    from freehold.controllers.metrics_server import Address, serve_metrics

    metrics = Metrics()
    with ExitStack() as stack:
        try:
            stack.enter_context(serve_metrics(metrics, Address(*address)))
        except OSError as problem:
            why = os.strerror(problem.errno) if problem.errno else str(problem)
            host, port = address
            raise CliError(f"--metrics-address {host}:{port} cannot be used: {why}; choose another one") from problem
        yield metrics.build_observers(*observers)
