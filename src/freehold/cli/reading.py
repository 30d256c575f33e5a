"""``freehold get`` and ``freehold tree``: what is stored, as a table, JSON or YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from freehold.cli.errors import CliError
from freehold.cli.kinds import OURS, Catalog
from freehold.cli.progress import standing, tree_lines
from freehold.cli.proofs import proofs
from freehold.cli.running import access
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Session, opened
from freehold.cli.terminal import columns, say, width
from freehold.cli.view import View, view
from freehold.kube.errors import NotFound
from freehold.kube.resources import Json, Key, Resource


def get(
    kind: str | None, name: str | None, all_namespaces: bool, output: str, namespace: str, state: Path | None,
    kubeconfig: str,
) -> None:  # fmt: skip
    """The command. Raises CliError."""
    way = access(state, kubeconfig=kubeconfig, operator=False, install=False)

    async def read() -> None:
        async with opened(way) as session:
            resource = await Catalog(session.client).named(kind) if kind else OURS[0]
            where = "" if all_namespaces or not resource.namespaced else namespace or session.namespace
            found = await _objects(session, resource, where, name)
            if output == "table":
                _table(resource, found, where)
            else:
                emit(output, found[0] if name else {"apiVersion": "v1", "kind": "List", "items": found})

    run_to_end(read())


async def _objects(session: Session, resource: Resource, namespace: str, name: str | None) -> list[Json]:
    if name is None:
        listed = (await session.client.list(resource, namespace)).items
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **each} for each in listed]
    if resource.namespaced and not namespace:
        raise CliError("an object is named within a namespace: give -n NAMESPACE instead of --all-namespaces")
    return [await one(session, resource, Key(namespace if resource.namespaced else "", name))]


async def one(session: Session, resource: Resource, key: Key) -> Json:
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
    room = width() if len(heads) == len(header(resource)) else sys.maxsize  # an endpoint is not cut, a note is
    _print([each if len(each) <= room else f"{each[: room - 1]}…" for each in columns([heads, *rows])])


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
    note = next(iter(standing(seen)), "")
    if len(seen.blocked) > 1:
        note += f" (and {len(seen.blocked) - 1} more: freehold tree {seen.name})"
    return seen.namespace, seen.name, seen.phase.value, seen.ready_count, seen.endpoint, note


def tree(name: str, output: str, namespace: str, state: Path | None, kubeconfig: str) -> None:
    """The command. Raises CliError."""
    way = access(state, kubeconfig=kubeconfig, operator=False, install=False)

    async def read() -> None:
        async with opened(way) as session:
            obj = await one(session, OURS[0], Key(namespace or session.namespace, name))
            seen = view(obj)
            if output != "table":
                emit(output, document(seen, proofs(obj)))
                return
            _print(tree_lines(seen, proofs(obj), session.clock.now(), width()))
            if session.simulated and seen.lines:
                say("times are simulated")
            _print(standing(seen))
            for each in seen.notes:
                say(f"note: {each}")

    run_to_end(read())


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


def emit(output: str, content: Any) -> None:
    """Print a document as JSON or YAML. Both escape every character that a terminal could act on."""
    if output == "json":
        say(json.dumps(content, indent=2))
    else:
        say(yaml.safe_dump(content, sort_keys=False, width=110).rstrip())


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        say(line)
