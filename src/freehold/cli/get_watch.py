"""``freehold get --watch``: what is there, then every change of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from freehold.cli import tables
from freehold.cli.access import Access
from freehold.cli.errors import CliError
from freehold.cli.formats import Output
from freehold.cli.reading import GetQuery, Meant, objects, print_lines, server_table
from freehold.cli.session import Session, opened
from freehold.cli.tables import GrowingTable
from freehold.cli.view import ViewPhase
from freehold.cli.watching import Changes, follow_changes
from freehold.kube.errors import KubeError
from freehold.kube.resources import Json, Resource, key_of


async def watched(target: Access, query: GetQuery, output: Output) -> None:
    """What is there, and every change of it, until Ctrl-C. Raises CliError."""
    async with opened(target) as session:
        meant = await query.meant(session)
        found, missing = await objects(session, meant)
        if missing:
            raise CliError(missing[0], missing[1:])
        shown = _Shown(meant, output)
        await shown.begin(session, found)
        changes = {each: Changes(shown.look, shown.take, frozenset(meant.names)) for each in meant.resources}
        _listed(changes, found)
        await shown.print(session)
    while True:
        async with opened(replace(target, join=True)) as session:
            printing = asyncio.create_task(shown.print_for_ever(session))
            try:
                await _follow(session, meant, changes)
            finally:
                printing.cancel()
                await asyncio.gather(printing, return_exceptions=True)
        async with opened(target) as session:  # what the server that has gone did last
            _listed(changes, (await objects(session, replace(meant, names=())))[0])
            await shown.print(session)


def _listed(changes: Mapping[Resource, Changes], found: Sequence[Json]) -> None:
    for resource, each in changes.items():
        each.listed(obj for obj in found if obj["kind"] == resource.kind)


async def _follow(session: Session, meant: Meant, changes: Mapping[Resource, Changes]) -> None:
    """Until the server of a state directory goes away."""
    tasks = [
        asyncio.create_task(follow_changes(session, resource, meant.where, each, selector=meant.selector))
        for resource, each in changes.items()
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Shown:
    """Prints changes in their order. A row of a kind that is not ours is asked of the server."""

    def __init__(self, meant: Meant, output: Output) -> None:
        self._meant = meant
        self._style = meant.style
        self._output = output
        self._waiting: asyncio.Queue[tuple[Json, bool]] = asyncio.Queue()
        self._table = GrowingTable(("NAME",), meant.style.room)

    def look(self, obj: Json) -> object:
        """What of an object must change to be shown again."""
        if self._output.format.tabular and self._meant.are_ours:
            return tables.of_ours([obj], replace(self._style, wide=False)).rows
        return obj

    def take(self, obj: Json, gone: bool) -> None:
        self._waiting.put_nowait((obj, gone))

    async def begin(self, session: Session, found: Sequence[Json]) -> None:
        """Choose columns wide enough for what is there."""
        if not self._output.format.tabular:
            return
        if self._meant.are_ours:
            self._style = self._meant.styled(found)
            table = tables.of_ours(found, self._style)
        else:
            table, _ = await server_table(session, self._meant)
        self._table = GrowingTable(table.heads, self._meant.style.room)
        longest = max((each.value for each in ViewPhase), key=len)
        self._table.reserve([longest if head == "PHASE" else "" for head in table.heads])
        for row in table.rows:
            self._table.reserve((*row[:-1], ""))

    async def print(self, session: Session) -> None:
        """What waits to be printed now."""
        while not self._waiting.empty():
            await self._print(session, *self._waiting.get_nowait())

    async def print_for_ever(self, session: Session) -> None:
        while True:
            await self._print(session, *await self._waiting.get())

    async def _print(self, session: Session, obj: Json, gone: bool) -> None:
        if self._output.format.tabular:
            print_lines(self._table.lines(await self._row(session, obj, gone)))
        elif not gone:
            self._output.documents([obj], as_list=False, stream=True)

    async def _row(self, session: Session, obj: Json, gone: bool) -> tuple[str, ...]:
        style = self._style
        if self._meant.are_ours:
            (row,) = tables.of_ours([obj], style).rows
            return (*row[:-1], "gone") if gone else row
        (resource,), key = self._meant.resources, key_of(obj)
        if not gone:
            try:
                return (await tables.of_server(session.client, resource, key.namespace, style, name=key.name)).rows[0]
            except KubeError:
                pass  # the object, or the server, has gone since: the watch tells of that next
        row = (key.namespace, key.name) if style.namespace else (key.name,)
        blank = [""] * max(self._table.width - len(row) - 1, 0)
        return (*row, *blank, "gone" if gone else "")[: max(self._table.width, len(row))]
