"""The live page of a command: on the laptop with the token of the state directory, in a cluster by its reviews."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.cli.errors import CliError
from freehold.cli.local.process_pages import HostPort
from freehold.cli.local.serving_address import keep_token
from freehold.cli.local.state_directory import StateDirectory, write_whole
from freehold.cli.output.hints import where
from freehold.cli.output.terminal import say
from freehold.kube.client import KubeClient

if TYPE_CHECKING:
    from freehold.controllers.process_server import Address
    from freehold.controllers.settings import Settings
    from freehold.kube.config import Connection
    from freehold.page.live import LivePage

HOST = "127.0.0.1"
_REVIEW_CONNECTIONS = 8
_ADVICE = (
    "open the address that freehold serve printed, or give the token that is in the file page-token of the state "
    "directory"
)


def build_page(settings: Settings, audit: Sequence[Path], *, simulated: bool) -> LivePage:
    """Build the page of an operator with these settings, which shows these audit logs."""
    from freehold.page.live import LivePage

    return LivePage(settings, audit, simulated=simulated, where=where(with_kubectl=True))


@asynccontextmanager
async def serve_own_page(page: LivePage, state: StateDirectory, port: int) -> AsyncIterator[str]:
    """Serve the page of a state directory, and yield its URL with the token. Raises CliError.

    The token is none of the API's: whoever finds it where the URL was printed can look, and change nothing. No browser
    sends what is behind a #. Port 0 is the port of the last time, so that an open page finds its server again, else a
    free one.
    """
    from freehold.page.gate import TokenGate

    token = keep_token(state.page_token)
    gate = TokenGate(token, _ADVICE)
    async with AsyncExitStack() as stack:
        for each in (port,) if port else (_read_last_port(state), 0):
            try:
                found = await stack.enter_async_context(page.serve(_address(HOST, each), gate, loopback_only=True))
            except OSError as problem:
                if port or not each:
                    raise _refuse("--page-port", f"{each} on {HOST}", problem, " or --no-page") from problem
            else:
                break
        write_whole(state.page_port, str(found.port))
        yield f"http://{found}/#token={token}"


@asynccontextmanager
async def serve_cluster_page(address: HostPort, page: LivePage, connection: Connection) -> AsyncIterator[None]:
    """Serve the page of a cluster, whose API server says who may see what. Raises CliError."""
    from freehold.page.reviews import ReviewGate
    from freehold.page.server import is_loopback

    place = _address(*address)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(KubeClient(connection, timeout=10.0, connections=_REVIEW_CONNECTIONS))
        serving = page.serve(place, ReviewGate(client), loopback_only=is_loopback(f"http://{place}"))
        try:
            found = await stack.enter_async_context(serving)
        except OSError as problem:
            raise _refuse("--page-address", str(place), problem) from problem
        say(f"serving the live page on http://{found}/")
        yield


def read_page_url(state: StateDirectory) -> str:
    """Read the URL of the page that the server of a state directory serves, with its token; empty if there is none."""
    port = _read_last_port(state)
    try:
        return f"http://{HOST}:{port}/#token={state.page_token.read_text().strip()}" if port else ""
    except OSError:
        return ""


def _address(host: str, port: int) -> Address:
    from freehold.controllers.process_server import Address

    return Address(host, port)


def _refuse(option: str, place: str, problem: OSError, otherwise: str = "") -> CliError:
    why = os.strerror(problem.errno) if problem.errno and problem.errno > 0 else str(problem)
    return CliError(f"{option} {place} cannot be used: {why}; choose another one{otherwise}")


def _read_last_port(state: StateDirectory) -> int:
    try:
        port = int(state.page_port.read_text()[:10])
    except (OSError, ValueError):
        return 0
    return port if 0 < port < 65536 else 0
