"""``freehold get``: what is stored, as a table, by name, as JSON or YAML. All else is kubectl's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from freehold.cli.errors import INTERRUPTED, MISUSED, CliError
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.fast_read import ReadSession, read
from freehold.cli.objects.kinds import NOUN, OURS, Catalog
from freehold.cli.objects.object_lookup import absent, all_of, of_name, short
from freehold.cli.output import tables
from freehold.cli.output.formats import print_objects
from freehold.cli.output.highlights import options_note
from freehold.cli.output.hints import kubectl
from freehold.cli.output.tables import Rows, TableStyle
from freehold.cli.output.terminal import say, warn, width
from freehold.kube.errors import ObjectNotFound
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.view.object_view import view

_Name = tuple[str, Key]

_WATCH_SECONDS = 1.0
"""Pause between two reads of ``-w``."""


@dataclass(frozen=True)
class Meant:
    """A query as one server understands it. ``where`` is a namespace, empty for all."""

    resources: tuple[Resource, ...]
    where: str
    names: tuple[str, ...]
    selector: str
    style: TableStyle

    @property
    def are_ours(self) -> bool:
        return all(each in OURS for each in self.resources)

    @property
    def plural(self) -> str:
        return self.resources[0].plural if len(self.resources) == 1 else f"{NOUN}s"

    def choose_style(self, found: Sequence[Json]) -> TableStyle:
        """Return how to print these objects: with their kinds, where there are several."""
        return replace(self.style, kind=len({each["kind"] for each in found}) > 1)

    def key(self, name: str) -> Key:
        return Key(self.where, name)


@dataclass(frozen=True)
class GetQuery:
    """A query as the user says it: a kind, names of it, both, or names of objects of ours."""

    words: tuple[str, ...]
    namespace: str
    everywhere: bool
    selector: str

    async def resolve_words(self, session: ReadSession) -> Meant:
        """Find what the words mean. Raises CliError where the first is no kind, nor a name of an object of ours."""
        resources, names = OURS, self.words
        if self.words:
            catalog = Catalog(session.client)
            named = await catalog.find_by_word(self.words[0])
            if any("/" in each for each in self.words):
                resources, names = await _parse_slashed(catalog, self.words)
            elif named is not None:
                resources, names = (named,), self.words[1:]
            else:
                await self._require_named(session, catalog)
        namespaced = resources[0].namespaced
        if names and self.everywhere and namespaced:
            raise CliError("an object is named within a namespace: give -n NAMESPACE instead of --all-namespaces")
        if names and self.selector:
            raise CliError("give names, or a selector, not both", code=MISUSED)
        where = "" if self.everywhere or not namespaced else self.namespace or session.namespace
        style = TableStyle(width(), self.everywhere and namespaced, usual=session.namespace)
        return Meant(resources, where, tuple(dict.fromkeys(names)), self.selector, style)

    async def _require_named(self, session: ReadSession, catalog: Catalog) -> None:
        word, where = self.words[0], self.namespace or session.namespace
        if not await of_name(session, OURS, Key(where, word)):
            raise CliError(
                f"this server has no kind {short(word)!r}, and {await absent(session, OURS, Key(where, word))}",
                [f"kinds: {', '.join(await catalog.names())}"],
            )


async def _parse_slashed(catalog: Catalog, words: Sequence[str]) -> tuple[tuple[Resource, ...], tuple[str, ...]]:
    """Read the kind and the names of words that are all KIND/NAME. Raises CliError."""
    pairs = [each.partition("/") for each in words]
    kinds = {prefix: await catalog.find_by_word(prefix) for prefix, _, _ in pairs}
    for (prefix, slash, name), word in zip(pairs, words, strict=True):
        if not (slash and name):
            raise CliError(f"{short(word)} is no KIND/NAME, and other words are: give all alike", code=MISUSED)
        if kinds[prefix] is None:
            raise CliError(f"this server has no kind {short(prefix)!r}", [f"kinds: {', '.join(await catalog.names())}"])
    resources = tuple(dict.fromkeys(each for each in kinds.values() if each is not None))
    if len(resources) > 1:
        raise CliError("these are of several kinds: ask for one kind at a time", code=MISUSED)
    return resources, tuple(name for _, _, name in pairs)


def run(
    words: tuple[str, ...],
    all_namespaces: bool,
    watch: bool,
    output: str,
    selector: str,
    namespace: str,
    **where: Unpack[Where],
) -> None:
    """Run the command. Raises CliError; a watch ends by Ctrl-C, without a word."""
    query = GetQuery(words, namespace, all_namespaces, selector)
    target = access(operator=False, install=False, log=watch, **where)
    if not watch:
        read(target, lambda session: _read(session, query, output))
        return
    from freehold.cli.local.event_loop import run as run_to_end

    try:
        run_to_end(_watch(target, query, output))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


async def _read(session: ReadSession, query: GetQuery, output: str) -> None:
    meant = await query.resolve_words(session)
    if output == "table" and not meant.are_ours:
        table, missing = await _server_table(session, meant)
    else:
        found, missing = await _read_objects(session, meant)
        table = tables.cluster_table(found, meant.choose_style(found))
    if output == "table":
        _print_table(meant, table, quiet=bool(missing))
        for note in options_note(list(map(view, found))) if meant.are_ours else ():
            warn(note)  # standard output is the table
    elif found or not meant.names:
        print_objects(output, found, as_list=len(meant.names) != 1)
    if missing:
        raise CliError(missing[0], missing[1:])


def _print_table(meant: Meant, table: Rows, *, quiet: bool) -> None:
    if table.rows:
        for line in tables.format_table(table, meant.style.room):
            say(line)
    elif not quiet:
        chosen = f" with {meant.selector}" if meant.selector else ""
        say(f"no {meant.plural}{chosen}" + (f" in namespace {meant.where}" if meant.where else ""))


async def _server_table(session: ReadSession, meant: Meant) -> tuple[Rows, list[str]]:
    """Return the objects in the server's columns, and a sentence for each name that is not there."""
    client, where, style = session.client, meant.where, meant.style
    (resource,) = meant.resources
    if not meant.names:
        return await tables.server_table(client, resource, where, style, selector=meant.selector), []
    found, missing = [], []
    for name in meant.names:
        try:
            found.append(await tables.server_table(client, resource, where, style, name=name))
        except ObjectNotFound:
            missing.append(await absent(session, meant.resources, meant.key(name)))
    return tables.join_tables(found) if found else Rows(("NAME",)), missing


async def _read_objects(session: ReadSession, meant: Meant) -> tuple[list[Json], list[str]]:
    """Return what there is, and a sentence for each name that is not there."""
    if not meant.names:
        return await all_of(session, meant.resources, meant.where, selector=meant.selector), []
    found, missing = [], []
    for name in meant.names:
        of_this_name = await of_name(session, meant.resources, meant.key(name))
        found += of_this_name
        if not of_this_name:
            missing.append(await absent(session, meant.resources, meant.key(name)))
    return found, missing


async def _watch(target: Access, query: GetQuery, output: str) -> None:
    """Print clusters, and each again when it has changed, for as long as their server runs. Raises CliError."""
    from asyncio import sleep  # with aiohttp it costs more than all the rest of ``get``

    from freehold.cli.local.session import open_session

    async with open_session(replace(target, join=True)) as session:
        meant = await query.resolve_words(session)
        if not meant.are_ours:
            raise CliError(f"-w watches clusters; others: {kubectl('get', meant.plural, '--watch')}", code=MISUSED)
        printer = ChangePrinter(meant.choose_style, output)
        while True:
            printer.show((await _read_objects(session, meant))[0])
            await sleep(_WATCH_SECONDS)


class ChangePrinter:
    """Prints objects whose row in the table, or whose whole content, differs from what was printed before."""

    def __init__(self, styled: Callable[[Sequence[Json]], TableStyle], output: str) -> None:
        self._styled = styled
        self._output = output
        self._documents: dict[_Name, Json] = {}
        self._rows: dict[_Name, tuple[str, ...]] = {}
        self._heads = ""

    def show(self, found: Sequence[Json]) -> None:
        """Print what has changed; ``found`` is all that there is."""
        names = [(str(each["kind"]), key_of(each)) for each in found]
        if self._output == "table":
            self._show_rows(names, tables.cluster_table(found, self._styled(found)))
            return
        before, self._documents = self._documents, dict(zip(names, found, strict=True))
        for name, each in self._documents.items():
            if before.get(name) != each:
                print_objects(self._output, [each], as_list=False, stream=True)

    def _show_rows(self, names: Sequence[_Name], table: Rows) -> None:
        before, self._rows = self._rows, dict(zip(names, table.rows, strict=True))
        rows = [row for name, row in self._rows.items() if before.get(name) != row]
        rows += [(*row[:-1], "gone") for name, row in before.items() if name not in self._rows]
        if not rows:
            return
        heads, *lines = tables.format_table(Rows(table.heads, tuple(rows)), width())
        for line in lines if heads == self._heads else (heads, *lines):
            say(line)
        self._heads = heads
