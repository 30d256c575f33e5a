"""``freehold get``: what is stored, as a table, by name, as JSON or YAML, or by a template."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from freehold.cli import tables
from freehold.cli.errors import INTERRUPTED, MISUSED, CliError
from freehold.cli.formats import Format, Output
from freehold.cli.kinds import OURS, Catalog
from freehold.cli.running import access
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Access, Session, opened
from freehold.cli.tables import GrowingTable, Rows, TableStyle
from freehold.cli.terminal import say, width
from freehold.cli.view import ViewPhase
from freehold.cli.watching import Changes, follow_changes
from freehold.kube.errors import KubeError, NotFound
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.lifecycle.keys import KeyRing


@dataclass(frozen=True)
class Meant:
    """What a query means on one server. ``where`` is a namespace, empty for all."""

    resource: Resource
    where: str
    names: tuple[str, ...]
    selector: str
    style: TableStyle

    def key(self, name: str) -> Key:
        return Key(self.where, name)


@dataclass(frozen=True)
class GetQuery:
    """What is asked for, as the user says it: a kind, names of it, both, or names of our own kind."""

    words: tuple[str, ...]
    namespace: str
    everywhere: bool
    selector: str
    wide: bool

    async def meant(self, session: Session) -> Meant:
        """Raises CliError where the first word is no kind, and no name of an object of ours either."""
        resource, names = OURS[0], self.words
        if self.words:
            catalog = Catalog(session.client)
            named = await catalog.named(self.words[0])
            if named is not None:
                resource, names = named, self.words[1:]
            else:
                await self._require_named(session, catalog)
        if names and self.everywhere and resource.namespaced:
            raise CliError("an object is named within a namespace: give -n NAMESPACE instead of --all-namespaces")
        if names and self.selector:
            raise CliError("give names, or a selector, not both", code=MISUSED)
        where = "" if self.everywhere or not resource.namespaced else self.namespace or session.namespace
        style = TableStyle(width(), self.wide, self.everywhere and resource.namespaced, session.namespace)
        return Meant(resource, where, tuple(dict.fromkeys(names)), self.selector, style)

    async def _require_named(self, session: Session, catalog: Catalog) -> None:
        word, where = self.words[0], self.namespace or session.namespace
        try:
            await session.client.get(OURS[0], Key(where, word))
        except NotFound:
            raise CliError(
                f"this server has no kind {_short(word)!r}, and {await _absent(session, OURS[0], Key(where, word))}",
                [f"kinds: {', '.join(await catalog.names())}"],
            ) from None


def get(
    words: tuple[str, ...], all_namespaces: bool, watch: bool, output: Output, show_managed_fields: bool, selector: str,
    namespace: str, state: Path | None, kubeconfig: str,
) -> None:  # fmt: skip
    """The command. Raises CliError; a watch ends by Ctrl-C, without a word."""
    output = replace(output, managed_fields=show_managed_fields)
    query = GetQuery(words, namespace, all_namespaces, selector, output.format is Format.WIDE)
    target = access(state, kubeconfig=kubeconfig, operator=False, install=False)
    if not watch:
        run_to_end(_read(target, query, output))
        return
    try:
        run_to_end(_watch(target, query, output))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


async def _read(target: Access, query: GetQuery, output: Output) -> None:
    async with opened(target) as session:
        meant = await query.meant(session)
        if output.format.tabular and meant.resource not in OURS:
            table, missing = await _server_table(session, meant)
        else:
            found, missing = await _objects(session, meant)
            table = tables.of_ours(found, meant.style)
    if output.format.tabular:
        _print_table(meant, table, quiet=bool(missing))
    elif found or not meant.names:
        output.documents(meant.resource, found, as_list=len(meant.names) != 1)
    if missing:
        raise CliError(missing[0], missing[1:])


def _print_table(meant: Meant, table: Rows, *, quiet: bool) -> None:
    if table.rows:
        _print(tables.printed(table, meant.style.room))
    elif not quiet:
        chosen = f" with {meant.selector}" if meant.selector else ""
        say(f"no {meant.resource.plural}{chosen}" + (f" in namespace {meant.where}" if meant.where else ""))


async def _server_table(session: Session, meant: Meant) -> tuple[Rows, list[str]]:
    """In the server's columns; and a sentence for each name that is not there."""
    client, resource, where, style = session.client, meant.resource, meant.where, meant.style
    if not meant.names:
        return await tables.of_server(client, resource, where, style, selector=meant.selector), []
    found, missing = [], []
    for name in meant.names:
        try:
            found.append(await tables.of_server(client, resource, where, style, name=name))
        except NotFound:
            missing.append(await _absent(session, resource, meant.key(name)))
    return tables.joined(found) if found else Rows(("NAME",)), missing


async def _objects(session: Session, meant: Meant) -> tuple[list[Json], list[str]]:
    """What there is; and a sentence for each name that is not there."""
    resource = meant.resource
    if not meant.names:
        listed = (await session.client.list(resource, meant.where, label_selector=meant.selector)).items
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **each} for each in listed], []
    found, missing = [], []
    for name in meant.names:
        try:
            found.append(await session.client.get(resource, meant.key(name)))
        except NotFound:
            missing.append(await _absent(session, resource, meant.key(name)))
    return found, missing


async def one(session: Session, resource: Resource, key: Key) -> Json:
    """One object. Raises CliError that says what there is instead."""
    try:
        return await session.client.get(resource, key)
    except NotFound:
        raise CliError(await _absent(session, resource, key)) from None


async def _absent(session: Session, resource: Resource, key: Key) -> str:
    present = [each["metadata"]["name"] for each in (await session.client.list(resource, key.namespace)).items]
    there = f"there are: {', '.join(sorted(present)[:10])}" if present else "there is none at all"
    where = f" in namespace {key.namespace}" if key.namespace else ""
    return f"there is no {resource.kind} {_short(key.name)}{where}; {there}"


def _short(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:79]}…"


async def _watch(target: Access, query: GetQuery, output: Output) -> None:
    async with opened(target) as session:
        meant = await query.meant(session)
        found, missing = await _objects(session, meant)
        if missing:
            raise CliError(missing[0], missing[1:])
        shown = _Shown(meant, output)
        await shown.begin(session, found)
        changes = Changes(shown.look, shown.take, frozenset(meant.names))
        changes.listed(found)
        await shown.print(session)
    while True:
        async with opened(replace(target, join=True)) as session:
            printing = asyncio.create_task(shown.print_for_ever(session))
            try:
                await follow_changes(session, meant.resource, meant.where, changes, selector=meant.selector)
            finally:
                printing.cancel()
                await asyncio.gather(printing, return_exceptions=True)
        async with opened(target) as session:  # what the server that has gone did last
            changes.listed((await _objects(session, replace(meant, names=())))[0])
            await shown.print(session)


class _Shown:
    """Prints changes in their order. A row of a kind that is not ours is asked of the server."""

    def __init__(self, meant: Meant, output: Output) -> None:
        self._meant = meant
        self._output = output
        self._waiting: asyncio.Queue[tuple[Json, bool]] = asyncio.Queue()
        self._table = GrowingTable(("NAME",), meant.style.room)

    def look(self, obj: Json) -> object:
        """What of an object must change to be shown again."""
        if self._output.format.tabular and self._meant.resource in OURS:
            return tables.of_ours([obj], replace(self._meant.style, wide=False)).rows
        return obj

    def take(self, obj: Json, gone: bool) -> None:
        self._waiting.put_nowait((obj, gone))

    async def begin(self, session: Session, found: Sequence[Json]) -> None:
        """Choose columns wide enough for what is there."""
        if not self._output.format.tabular:
            return
        if self._meant.resource in OURS:
            table = tables.of_ours(found, self._meant.style)
        else:
            table, _ = await _server_table(session, self._meant)
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
            _print(self._table.lines(await self._row(session, obj, gone)))
        elif not gone:
            self._output.documents(self._meant.resource, [obj], as_list=False, stream=True)

    async def _row(self, session: Session, obj: Json, gone: bool) -> tuple[str, ...]:
        style, resource = self._meant.style, self._meant.resource
        if resource in OURS:
            (row,) = tables.of_ours([obj], style).rows
            return (*row[:-1], "gone") if gone else row
        key = key_of(obj)
        if not gone:
            try:
                return (await tables.of_server(session.client, resource, key.namespace, style, name=key.name)).rows[0]
            except KubeError:
                pass  # the object, or the server, has gone since: the watch tells of that next
        row = (key.namespace, key.name) if style.namespace else (key.name,)
        blank = [""] * max(self._table.width - len(row) - 1, 0)
        return (*row, *blank, "gone" if gone else "")[: max(self._table.width, len(row))]


async def key_ring(target: Access, session: Session) -> KeyRing | None:
    """The operator's key ring; None where there is none that this user may read."""
    from freehold.operator.keyring import RingError
    from freehold.operator.keyring_file import FileRing
    from freehold.operator.keyring_secret import SecretRing

    store = FileRing(target.state.keys) if target.state else SecretRing(session.client)
    try:
        found = (await store.read()).document
    except RingError:
        return None
    return found.ring() if found else None


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        say(line)
