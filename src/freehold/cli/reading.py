"""``freehold get`` and ``freehold tree``: what is stored, as a table, JSON or YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freehold.cli.access import Access, access
from freehold.cli.errors import INTERRUPTED, CliError
from freehold.cli.kinds import OURS, Catalog
from freehold.cli.progress import attention, tree_lines
from freehold.cli.quick import ReadSession, read
from freehold.cli.terminal import columns, say, width
from freehold.cli.view import View, view
from freehold.kube.errors import NotFound
from freehold.kube.resources import Json, Key, Resource

if TYPE_CHECKING:
    from freehold.lifecycle.keys import KeyRing


@dataclass(frozen=True)
class GetQuery:
    """What is asked for, as the user says it."""

    kind: str | None
    name: str | None
    namespace: str
    everywhere: bool

    async def meant(self, session: ReadSession) -> tuple[Resource, str]:
        """The resource, and the namespace, empty for all. Raises CliError for an unknown kind."""
        resource = await Catalog(session.client).named(self.kind) if self.kind else OURS[0]
        anywhere = self.everywhere or not resource.namespaced
        return resource, "" if anywhere else self.namespace or session.namespace


def get(
    kind: str | None, name: str | None, all_namespaces: bool, watch: bool, output: str, namespace: str,
    state: Path | None, kubeconfig: str,
) -> None:  # fmt: skip
    """The command. Raises CliError; a watch ends by Ctrl-C, without a word."""
    question = GetQuery(kind, name, namespace, all_namespaces)
    target = access(state, kubeconfig=kubeconfig, operator=False, install=False, log=watch)
    if not watch:
        read(target, lambda session: _read(session, question, output))
        return
    from freehold.cli.running import run as run_to_end

    try:
        run_to_end(_watch(target, question, output))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


async def _read(session: ReadSession, question: GetQuery, output: str) -> None:
    resource, where = await question.meant(session)
    found = await _objects(session, resource, where, question.name)
    if output == "table":
        _table(resource, found, where)
    else:
        emit(output, found[0] if question.name else {"apiVersion": "v1", "kind": "List", "items": found})


async def _watch(target: Access, question: GetQuery, output: str) -> None:
    from freehold.cli.session import opened
    from freehold.cli.watching import Changes, Rows, follow_changes

    async with opened(target) as session:
        resource, where = await question.meant(session)
        found = await _objects(session, resource, where, question.name)
    rows = Rows()

    def show(obj: Json, gone: bool) -> None:
        if output == "table":
            cells = row(resource, obj)
            say(_cut(rows.line((*cells[:-1], "gone") if gone else cells)))
        elif not gone:
            emit(output, obj, stream=True)

    if output == "table":
        for each in (header(resource), *(row(resource, obj) for obj in found)):
            rows.widen(each)
        say(rows.line(header(resource)))
    changes = Changes(lambda obj: row(resource, obj) if output == "table" else obj, show, question.name)
    changes.listed(found)
    while True:
        async with opened(replace(target, join=True)) as session:
            await follow_changes(session, resource, where, changes)
        async with opened(target) as session:  # what the server that has gone did last
            changes.listed(await _objects(session, resource, where, None))


async def _objects(session: ReadSession, resource: Resource, namespace: str, name: str | None) -> list[Json]:
    if name is None:
        listed = (await session.client.list(resource, namespace)).items
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **each} for each in listed]
    if resource.namespaced and not namespace:
        raise CliError("an object is named within a namespace: give -n NAMESPACE instead of --all-namespaces")
    return [await one(session, resource, Key(namespace if resource.namespaced else "", name))]


async def one(session: ReadSession, resource: Resource, key: Key) -> Json:
    """One object. Raises CliError that says what there is instead."""
    try:
        return await session.client.get(resource, key)
    except NotFound:
        present = [each["metadata"]["name"] for each in (await session.client.list(resource, key.namespace)).items]
        there = f"there are: {', '.join(sorted(present)[:10])}" if present else "there is none at all"
        where = f" in namespace {key.namespace}" if key.namespace else ""
        raise CliError(f"there is no {resource.kind} {_short(key.name)}{where}; {there}") from None


def _short(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:79]}…"


def _table(resource: Resource, found: Sequence[Json], namespace: str) -> None:
    if not found:
        say(f"no {resource.plural}" + (f" in namespace {namespace}" if namespace else ""))
        return
    rows = [row(resource, each) for each in found]
    if not any(each[-1] for each in rows):
        rows = [each[:-1] for each in rows]
    heads = header(resource)[: len(rows[0])]
    lines = columns([heads, *rows])
    _print(map(_cut, lines) if len(heads) == len(header(resource)) else lines)


def _cut(line: str) -> str:
    """To the width of the terminal: the note comes last, and ``freehold tree`` has all of it."""
    room = width()
    return line if len(line) <= room else f"{line[: room - 1]}…"


def header(resource: Resource) -> tuple[str, ...]:
    """The heads of the columns of :func:`row`."""
    if resource in OURS:
        return "NAMESPACE", "NAME", "PHASE", "READY", "ENDPOINT", "NOTE"
    return ("NAMESPACE", "NAME", "") if resource.namespaced else ("NAME", "")


def row(resource: Resource, obj: Json) -> tuple[str, ...]:
    """An object in a table; the last cell is empty where there is nothing to note."""
    if resource not in OURS:
        meta = obj["metadata"]
        return (meta["namespace"], meta["name"], "") if resource.namespaced else (meta["name"], "")
    seen = view(obj)
    note = next(iter(attention(seen)), "")
    if len(seen.blocked) > 1:
        note += f" (and {len(seen.blocked) - 1} more: freehold tree {seen.name})"
    return seen.namespace, seen.name, seen.phase.value, seen.ready_count, seen.endpoint, note


def tree(name: str, output: str, namespace: str, state: Path | None, kubeconfig: str) -> None:
    """The command. Raises CliError."""
    from freehold.cli.proofs import proofs

    target = access(state, kubeconfig=kubeconfig, operator=False, install=False, log=False)

    async def show(session: ReadSession) -> None:
        obj = await one(session, OURS[0], Key(namespace or session.namespace, name))
        seen, proven = view(obj), proofs(obj, await key_ring(target, session))
        if output != "table":
            emit(output, document(seen, proven))
            return
        _print(tree_lines(seen, proven, session.clock.now(), width()))
        if session.simulated and seen.lines:
            say("times are simulated")
        _print(attention(seen))
        for each in seen.notes:
            say(f"note: {each}")

    read(target, show)


async def key_ring(target: Access, session: ReadSession) -> KeyRing | None:
    """The operator's key ring; None where there is none that this user may read."""
    from freehold.operator.keyring import RingError, RingStore
    from freehold.operator.keyring_file import FileRing

    if target.state:
        store: RingStore = FileRing(target.state.keys)
    else:
        from freehold.operator.keyring_secret import SecretRing

        store = SecretRing(session.client)
    try:
        found = (await store.read()).document
    except RingError:
        return None
    return found.ring() if found else None


def document(seen: View, proven: Mapping[str, str]) -> dict[str, Any]:
    """A view for programs."""
    return {
        "kind": seen.kind,
        "namespace": seen.namespace,
        "name": seen.name,
        "phase": seen.phase.value,
        "endpoint": seen.endpoint,
        "blocked": list(seen.blocked),
        "notes": list(seen.notes),
        "resources": [
            {
                "kind": line.kind, "name": line.name, "id": line.id, "state": line.state,
                "ownership": line.ownership, "proof": proven.get(line.id, "") if line.id else "",
                "reason": line.reason, "message": line.message,
            }
            for line in seen.lines
        ],
    }  # fmt: skip


def emit(output: str, content: Any, *, stream: bool = False) -> None:
    """Print a document as JSON or YAML, one of many in a stream. Both escape what a terminal could act on."""
    if output == "json":
        say(json.dumps(content, indent=2))
    else:
        import yaml

        if stream:
            say("---")
        say(yaml.safe_dump(content, sort_keys=False, width=110).rstrip())


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        say(line)
