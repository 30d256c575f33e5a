"""``freehold get``: what is stored, as a table, by name, as JSON or YAML, or by a template."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from freehold.cli import tables
from freehold.cli.access import access
from freehold.cli.errors import INTERRUPTED, MISUSED, CliError
from freehold.cli.formats import Format, Output
from freehold.cli.kinds import NOUN, OURS, Catalog
from freehold.cli.lookup import absent, all_of, of_name, short
from freehold.cli.quick import ReadSession, read
from freehold.cli.tables import Rows, TableStyle
from freehold.cli.terminal import say, width
from freehold.kube.errors import NotFound
from freehold.kube.resources import Json, Key, Resource


@dataclass(frozen=True)
class Meant:
    """What a query means on one server. ``where`` is a namespace, empty for all."""

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

    def styled(self, found: Sequence[Json]) -> TableStyle:
        """How to print these objects: with their kinds, where there are several."""
        return replace(self.style, kind=len({each["kind"] for each in found}) > 1)

    def key(self, name: str) -> Key:
        return Key(self.where, name)


@dataclass(frozen=True)
class GetQuery:
    """What is asked for, as the user says it: a kind, names of it, both, or names of objects of ours."""

    words: tuple[str, ...]
    namespace: str
    everywhere: bool
    selector: str
    wide: bool

    async def meant(self, session: ReadSession) -> Meant:
        """Raises CliError where the first word is no kind, and no name of an object of ours either."""
        resources, names = OURS, self.words
        if self.words:
            catalog = Catalog(session.client)
            named = await catalog.named(self.words[0])
            if any("/" in each for each in self.words):
                resources, names = await _slashed(catalog, self.words)
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
        style = TableStyle(width(), self.wide, self.everywhere and namespaced, usual=session.namespace)
        return Meant(resources, where, tuple(dict.fromkeys(names)), self.selector, style)

    async def _require_named(self, session: ReadSession, catalog: Catalog) -> None:
        word, where = self.words[0], self.namespace or session.namespace
        if not await of_name(session, OURS, Key(where, word)):
            raise CliError(
                f"this server has no kind {short(word)!r}, and {await absent(session, OURS, Key(where, word))}",
                [f"kinds: {', '.join(await catalog.names())}"],
            )


async def _slashed(catalog: Catalog, words: Sequence[str]) -> tuple[tuple[Resource, ...], tuple[str, ...]]:
    """The kind and the names of words that are all KIND/NAME. Raises CliError."""
    pairs = [each.partition("/") for each in words]
    kinds = {prefix: await catalog.named(prefix) for prefix, _, _ in pairs}
    for (prefix, slash, name), word in zip(pairs, words, strict=True):
        if not (slash and name):
            raise CliError(f"{short(word)} is no KIND/NAME, and other words are: give all alike", code=MISUSED)
        if kinds[prefix] is None:
            raise CliError(f"this server has no kind {short(prefix)!r}", [f"kinds: {', '.join(await catalog.names())}"])
    resources = tuple(dict.fromkeys(each for each in kinds.values() if each is not None))
    if len(resources) > 1:
        raise CliError("these are of several kinds: ask for one kind at a time", code=MISUSED)
    return resources, tuple(name for _, _, name in pairs)


def get(
    words: tuple[str, ...], all_namespaces: bool, watch: bool, output: Output, show_managed_fields: bool, selector: str,
    namespace: str, state: Path | None, kubeconfig: str,
) -> None:  # fmt: skip
    """The command. Raises CliError; a watch ends by Ctrl-C, without a word."""
    output = replace(output, managed_fields=show_managed_fields)
    query = GetQuery(words, namespace, all_namespaces, selector, output.format is Format.WIDE)
    target = access(state, kubeconfig=kubeconfig, operator=False, install=False, log=watch)
    if not watch:
        read(target, lambda session: _read(session, query, output))
        return
    from freehold.cli.get_watch import watched
    from freehold.cli.running import run as run_to_end

    try:
        run_to_end(watched(target, query, output))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


async def _read(session: ReadSession, query: GetQuery, output: Output) -> None:
    meant = await query.meant(session)
    if output.format.tabular and not meant.are_ours:
        table, missing = await server_table(session, meant)
    else:
        found, missing = await objects(session, meant)
        table = tables.of_ours(found, meant.styled(found))
    if output.format.tabular:
        _print_table(meant, table, quiet=bool(missing))
    elif found or not meant.names:
        output.documents(found, as_list=len(meant.names) != 1)
    if missing:
        raise CliError(missing[0], missing[1:])


def _print_table(meant: Meant, table: Rows, *, quiet: bool) -> None:
    if table.rows:
        print_lines(tables.printed(table, meant.style.room))
    elif not quiet:
        chosen = f" with {meant.selector}" if meant.selector else ""
        say(f"no {meant.plural}{chosen}" + (f" in namespace {meant.where}" if meant.where else ""))


async def server_table(session: ReadSession, meant: Meant) -> tuple[Rows, list[str]]:
    """In the server's columns; and a sentence for each name that is not there."""
    client, where, style = session.client, meant.where, meant.style
    (resource,) = meant.resources
    if not meant.names:
        return await tables.of_server(client, resource, where, style, selector=meant.selector), []
    found, missing = [], []
    for name in meant.names:
        try:
            found.append(await tables.of_server(client, resource, where, style, name=name))
        except NotFound:
            missing.append(await absent(session, meant.resources, meant.key(name)))
    return tables.joined(found) if found else Rows(("NAME",)), missing


async def objects(session: ReadSession, meant: Meant) -> tuple[list[Json], list[str]]:
    """What there is; and a sentence for each name that is not there."""
    if not meant.names:
        return await all_of(session, meant.resources, meant.where, selector=meant.selector), []
    found, missing = [], []
    for name in meant.names:
        of_this_name = await of_name(session, meant.resources, meant.key(name))
        found += of_this_name
        if not of_this_name:
            missing.append(await absent(session, meant.resources, meant.key(name)))
    return found, missing


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        say(line)
