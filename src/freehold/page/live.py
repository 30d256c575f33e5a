"""The live page of one operator: its parts put together, and served beside the operator in its event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec

from freehold import __version__
from freehold.controllers.process_server import Address
from freehold.controllers.settings import Settings
from freehold.kube.resources import Json, Resource
from freehold.page.api import CLOUD_METADATAS, PageApi, PageFacts
from freehold.page.assets import load_assets
from freehold.page.audit import AuditReader
from freehold.page.feed import Feed
from freehold.page.gate import Gate
from freehold.page.rows import Row, build_row
from freehold.page.server import PageServer
from freehold.page.source import ObjectSource, ServingOperator
from freehold.page.streams import Streams
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import Kinds
from freehold.tags.context import list_tag_resources
from freehold.tags.pass_summary import PassSummaries

_LOG = logging.getLogger(__name__)
RESTART_SECONDS = 1.0
P = ParamSpec("P")


class LivePage:
    """The page of one process. It looks on from the operator's beginning, and is served whenever that is wanted.

    ``audit``: the logs that it shows. ``simulated``: the clouds are simulated. ``where``: which options the commands on
    the page need, as a sentence.
    """

    def __init__(self, settings: Settings, audit: Sequence[Path], *, simulated: bool, where: str = "") -> None:
        clock = settings.clock
        self._settings = settings
        self._facts = PageFacts(__version__, clock.now(), simulated, where)
        self._feed = Feed(self._build_row, list_shown(settings.kinds), clock.now)
        self._source = ObjectSource(self._feed, settings)
        self._tags = PassSummaries(clock.now)
        self._audit = tuple(audit)

    def look_on(self, settings: Settings) -> Settings:
        """Return the settings of an operator that this page looks at."""
        before, source = settings.observers, self._source
        observers = replace(
            before,
            passes=(*before.passes, guard_operator(self._tags)),
            note_change=guard_operator(source.note_served),
            note_repairs=guard_operator(source.note_repairs),
        )
        return replace(settings, observers=observers)

    def attach(self, operator: ServingOperator) -> None:
        """Show this operator from now on."""
        self._source.operator = operator

    @asynccontextmanager
    async def serve(self, address: Address, gate: Gate, *, loopback_only: bool) -> AsyncIterator[Address]:
        """Serve for the length of the block, and yield the address. Raises OSError where it cannot be used."""
        feed, now = self._feed, self._settings.clock.now
        streams, audit = Streams(feed, gate, now), AuditReader(self._audit)
        api = PageApi(self._facts, self._settings, self._source, feed, streams, audit, self._tags.find)
        server = PageServer(api, gate, await asyncio.to_thread(load_assets), loopback_only=loopback_only)
        server.on_stop(streams.close)
        running = [asyncio.create_task(_keep_running(each)) for each in (feed.run, self._source.run)]
        try:
            async with server.listen(address) as found:
                yield found
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await audit.close()

    def _build_row(self, resource: Resource, raw: Json, now: float) -> Row:
        return build_row(resource, raw, now, self._settings.clock.domain)


def guard_operator(note: Callable[P, None]) -> Callable[P, None]:
    """Log a defect of the page, which is no reason for the operator to stop."""

    def note_guarded(*given: P.args, **named: P.kwargs) -> None:
        try:
            note(*given, **named)
        except Exception:  # logged whole; the page lacks what was to be noted
            _LOG.exception("the page could not note something of the operator")

    return note_guarded


async def _keep_running(run: Callable[[], Awaitable[None]]) -> None:
    """Start ``run`` again whenever a defect ends it."""
    while True:
        try:
            await run()
        except Exception:  # a defect of ours: logged whole, and the page goes on
            _LOG.exception("a task of the page died and is started again in %.0f s", RESTART_SECONDS)
            await asyncio.sleep(RESTART_SECONDS)


def list_shown(kinds: Kinds) -> tuple[Resource, ...]:
    """List what the page shows: objects with resources, mirrors of such, and those of tags."""
    mirrors = (resource_of(each.served) for each in kinds.mirrors)
    return (*kinds.resources, *mirrors, CLOUD_METADATAS, *list_tag_resources(kinds).values())
