"""``freehold tree``: the cloud resources of objects, each below the one that it is in, with ownership and its proof."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from freehold.cli.access import Access, access
from freehold.cli.attention import attention
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.formats import emit
from freehold.cli.kinds import OURS
from freehold.cli.lookup import absent, key_ring, of_name
from freehold.cli.naming import Naming, parse_names
from freehold.cli.nesting import parents
from freehold.cli.proofs import proofs
from freehold.cli.quick import ReadSession, read
from freehold.cli.terminal import Painter, columns, duration, escaped, folded, painter, plain, tell, warn, width
from freehold.cli.view import Line, View, view
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.registry import METADATA_RESOURCES

if TYPE_CHECKING:
    from freehold.cli.manifests import ManifestDocument

_HEADS = ("NAME", "STATE", "FOR", "OWNERSHIP", "ID", "PROOF")
_LAYOUTS = (len(_HEADS), _HEADS.index("PROOF"), _HEADS.index("OWNERSHIP"))
"""How many columns stand in a row; the others stand below it, where the terminal is too narrow for all."""

COLOURS = {
    "Ready": "green",
    "Progressing": "yellow",
    "Waiting": "yellow",
    "Blocked": "red",
    "Paused": "red",
    "Surplus": "yellow",
    "Unknown": "yellow",
    "Deleting": "magenta",
    "Kept": "cyan",
}


def run(
    words: Sequence[str], filename: Sequence[str], simulate: bool, speed: float, output: str, namespace: str,
    state: Path | None, kubeconfig: str,
) -> None:  # fmt: skip
    """The command. Raises CliError."""
    if bool(words) == bool(filename):
        raise CliError("say what to show: freehold tree NAME, or freehold tree -f FILE", code=MISUSED)
    documents = _read(filename, namespace)
    target = access(
        state, kubeconfig=kubeconfig, operator=False, install=False, simulate=simulate, speed=speed, log=False
    )
    if target.state is not None:
        target.state.choose(simulate)

    async def show(session: ReadSession) -> None:
        where = namespace or session.namespace
        if words:
            await _print(target, session, await _named(session, words, where), output)
            return
        wanted = _served(documents, where)
        found = {each: stored for each in wanted for stored in await of_name(session, [each[0]], each[1])}
        await _print(target, session, list(found.values()), output, as_list=len(wanted) != 1)
        if not wanted:
            warn(_without_tree(documents))
        if missing := [each for each in wanted if each not in found]:
            raise _not_stored(missing, filename, namespace, simulate=simulate)

    read(target, show)


def _read(filename: Sequence[str], namespace: str) -> Sequence[ManifestDocument]:
    if not filename:
        return []
    from freehold.cli import manifests  # YAML, which a name does not need

    return manifests.read(*filename, namespace=namespace)


def _without_tree(documents: Sequence[ManifestDocument]) -> str:
    """Say why there is nothing to show."""
    about_tags = {(each.group, each.kind) for each in METADATA_RESOURCES}
    if any((each.api_version.rpartition("/")[0], each.kind) in about_tags for each in documents):
        return "this manifest is about tags, and makes no resources: freehold tags report says what has them"
    return "nothing in this manifest is served by Freehold"


def _served(documents: Sequence[ManifestDocument], where: str) -> list[tuple[Resource, Key]]:
    """The objects that Freehold reconciles, in the order of the manifests, whichever version of the kind they name."""
    ours = {(each.group, each.kind): each for each in OURS}
    return [
        (resource, Key(each.namespace or where if resource.namespaced else "", each.name))
        for each in documents
        if (resource := ours.get((each.api_version.rpartition("/")[0], each.kind)))
    ]


async def _named(session: ReadSession, words: Sequence[str], where: str) -> list[Json]:
    """Read what the words name, of every kind where they say none: looking does no harm. Raises CliError."""
    found: list[Json] = []
    for each in await parse_names(session, Naming("tree"), words, where):
        key = Key(where, each.name)
        objects = await of_name(session, each.kinds, key)
        if not objects:
            raise CliError(await absent(session, each.kinds, key))
        found += [one for one in objects if one not in found]
    return found


def _not_stored(
    missing: Sequence[tuple[Resource, Key]], filename: Sequence[str], namespace: str, *, simulate: bool
) -> CliError:
    files = "".join(f" -f {quote(each)}" for each in filename)
    apply = f"freehold up{files}{f' -n {quote(namespace)}' if namespace else ''}{' --simulate' if simulate else ''}"
    first, *more = (f"{resource.kind} {key}" for resource, key in missing)
    if not more:
        return CliError(f"{first} is not stored here: it was not applied, or it is gone; {apply} applies it")
    return CliError(
        f"some objects are not stored here: they were not applied, or they are gone; {apply} applies them",
        (first, *more),
    )


async def _print(
    target: Access, session: ReadSession, objects: Sequence[Json], output: str, *, as_list: bool = False
) -> None:
    ring = await key_ring(target, session)
    grown = [_Tree(view(obj), proofs(obj, ring), parents(obj, view(obj).lines)) for obj in objects]
    if output != "table":
        shown = [document(each.seen, each.proofs, each.inside) for each in grown]
        if shown or as_list:
            emit(output, shown if as_list or len(shown) > 1 else shown[0])
        return
    for each in grown:
        for line in tree_lines(each.seen, each.proofs, each.inside, session.clock.now(), width(), painter()):
            print(line, flush=True)
        for remark in remarks(each.seen, simulated=session.simulated):
            tell(remark)


@dataclass(frozen=True)
class _Tree:
    """One object: what is known of it, the proofs by id, and within which line each line is."""

    seen: View
    proofs: Mapping[str, str]
    inside: Sequence[int | None]


def remarks(seen: View, *, simulated: bool) -> Iterator[str]:
    """What stands below the tree."""
    if seen.endpoint:
        yield f"endpoint: {seen.endpoint}"
    yield from (each for each in attention(seen, rows_shown=True))
    yield from (f"note: {each}" for each in seen.notes)
    if simulated and seen.lines:
        yield "times are simulated"


@dataclass(frozen=True)
class _Branch:
    """A resource in the tree. ``stem`` is drawn before its name, ``below`` before what stands under it."""

    line: Line
    stem: str
    below: str


def _branches(lines: Sequence[Line], inside: Sequence[int | None], within: int | None, stem: str) -> Iterator[_Branch]:
    children = [index for index, parent in enumerate(inside) if parent == within]
    for index in children:
        last = index == children[-1]
        below = stem + ("  " if last else "│ ")
        has_children = index in inside
        yield _Branch(lines[index], stem + ("└─" if last else "├─"), below + ("│ " if has_children else "  "))
        yield from _branches(lines, inside, index, below)


def tree_lines(
    view: View,
    proofs: Mapping[str, str],
    inside: Sequence[int | None],
    now: float,
    room: int = sys.maxsize,
    paint: Painter = plain,
) -> list[str]:
    """The object, and below it each resource with its ownership, what proves that, id, and what keeps it.

    ``proofs`` is by id; ``inside`` is of :func:`parents`; ``now`` in epoch seconds of domain time. Where ``room``
    (characters) is not enough for a table, a resource takes several lines.
    """
    head = f"{view.kind}/{view.name}"
    if not view.lines:
        return [escaped(f"{head}   {view.phase.value}   no resource has been reported yet")]
    branches = list(_branches(view.lines, inside, None, ""))
    rows = [(head, view.phase.value, "", "", "", ""), *(_row(each, proofs, now) for each in branches)]
    for shown in _LAYOUTS:
        heads, *drawn = columns([row[:shown] for row in (_HEADS, *rows)], "  ")
        if max(map(len, (heads, *drawn))) <= room:
            break
    lines = [heads, _painted(drawn[0], rows[0], paint)]
    for branch, row, text in zip(branches, rows[1:], drawn[1:], strict=True):
        lines.append(_painted(text, row, paint))
        lines += [escaped(f"{branch.below}{each}") for each in _below(row, shown) if each]
        if branch.line.note:
            lines += folded(branch.line.note, escaped(branch.below), room)
    return lines


def _row(branch: _Branch, proofs: Mapping[str, str], now: float) -> tuple[str, ...]:
    line = branch.line
    since = duration(now - line.since) if line.since else ""
    proof = proofs.get(line.id, "") if line.id else ""
    name = f"{branch.stem}{line.kind}/{line.name}"
    return name, line.state, since, line.ownership or "unknown", line.id, proof


def _below(row: Sequence[str], shown: int) -> Sequence[str]:
    """The cells that have no column; that nothing is known of what is not there is not worth a line."""
    if shown > _HEADS.index("OWNERSHIP"):
        return row[shown:]
    ownership, ident, proof = row[shown:]
    return ": ".join(filter(None, (ownership, proof))) if ident or proof else "", ident


def _painted(text: str, row: Sequence[str], paint: Painter) -> str:
    """A drawn row with its state in colour: the first word after the name."""
    name, state = escaped(row[0]), escaped(row[1])
    colour = COLOURS.get(row[1])
    return name + text[len(name) :].replace(state, paint(state, colour), 1) if colour else text


def document(seen: View, proven: Mapping[str, str], inside: Sequence[int | None]) -> dict[str, Any]:
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
                "inside": _title(seen.lines[within]) if within is not None else "",
            }
            for line, within in zip(seen.lines, inside, strict=True)
        ],
    }  # fmt: skip


def _title(line: Line) -> str:
    return f"{line.kind}/{line.name}"
