"""Where the story plays: one state directory, one server at a time, and the count of what was checked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from freehold.cli.errors import CliError
from freehold.cli.local.access import Access, ServeOptions
from freehold.cli.local.live_page import read_page_url
from freehold.cli.local.session import Session, open_session
from freehold.cli.local.state_directory import StateDirectory
from freehold.cli.objects.following import ViewSnapshot
from freehold.cli.output.progress import Display
from freehold.cli.output.terminal import duration, tell
from freehold.demo.servers import Server, server

DEEP_EVERY = 120
"""Domain seconds between deep passes, instead of 600: the story shall not take half a minute to notice."""


@dataclass(frozen=True)
class ServedSession:
    """A server of its own process, and a session with it."""

    process: Server
    session: Session


@dataclass
class Stage:
    """``base`` is the simulator, with all its clouds on one clock."""

    base: str
    state: StateDirectory
    show: Display
    began: float = field(default_factory=time.monotonic)
    steps: int = 0
    page: str = ""
    """The URL of the live page, as it was told last: each server has the page and the token of the one before."""

    def tell_checked_step(self, claim: str, *found: str, at: float | None = None) -> None:
        """Tell a step that was checked, now or ``at`` a time of the monotonic clock."""
        self.steps += 1
        when = time.monotonic() if at is None else at
        tell(f"{claim}   ({duration(when - self.began)})", bullet="✓ ")
        for each in found:
            tell(each, bullet="    checked: ")

    async def wait_until(self, so: Callable[[], Awaitable[bool]], every: float, patience: float) -> None:
        """Ask every so many seconds. Raises CliError where it is not so in time."""
        deadline = time.monotonic() + patience
        while not await so():
            if time.monotonic() > deadline:
                raise CliError(f"what the next step waits for was not so within {patience:.0f} s")
            await asyncio.sleep(every)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[ServedSession]:
        options = ("--deep-every", str(DEEP_EVERY))
        async with (
            server(self.state.path, self.base, options) as process,
            open_session(Access(self.state, ServeOptions())) as session,
        ):
            self._tell_page()
            yield ServedSession(process, session)

    def _tell_page(self) -> None:
        """Tell where the story can be watched, if it was not told."""
        url = read_page_url(self.state)
        if url != self.page:
            self.page = url
            tell(f"watch it in a browser, while this runs: {url}")


class Glimpse:
    """Looks into the cloud every ``seconds`` until ``found`` says so: a cloud tells nobody, it has to be asked."""

    def __init__(self, found: Callable[[], Awaitable[bool]], seconds: float) -> None:
        self._found = found
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Glimpse:
        self._task = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _look(self) -> None:
        while not await self._found():  # noqa: ASYNC110 - a cloud has no events
            await asyncio.sleep(self._seconds)

    def has_found(self, picture: ViewSnapshot, now: float) -> bool:
        """Return the verdict for ``follow``."""
        if self._task is None or not self._task.done():
            return False
        self._task.result()
        return True
