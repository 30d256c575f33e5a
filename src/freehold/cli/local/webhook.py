"""``--webhook-address``: the webhook that the operator of this process serves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.cli.errors import CliError
from freehold.cli.output.terminal import say

if TYPE_CHECKING:
    from freehold.controllers.settings import Settings


@contextmanager
def webhook_of(
    address: tuple[str, int] | None,
    directory: Path | None,
    settings: Settings,
    leads: Callable[[], bool],
) -> Iterator[None]:
    """Serve the webhook where an address is given. Raises CliError where that or the certificate cannot be used."""
    if address is None:
        if directory is not None:
            raise CliError("--webhook-certificates needs --webhook-address HOST:PORT, for example 0.0.0.0:9443")
        yield
        return
    from freehold.admission.certificates import BrokenCertificates
    from freehold.admission.running import serve_operator_webhook

    host, port = address
    with ExitStack() as stack:
        try:
            served = stack.enter_context(serve_operator_webhook(settings, address, directory, leads))
        except OSError as problem:
            why = os.strerror(problem.errno) if problem.errno else str(problem)
            raise CliError(f"--webhook-address {host}:{port} cannot be used: {why}; choose another one") from problem
        except BrokenCertificates as problem:
            raise CliError(f"--webhook-certificates: {problem}") from problem
        say(f"serving the admission webhook on https://{host}:{served}/validate")
        yield
