"""``freehold tree``: the cloud resources of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from freehold.cli.errors import MISUSED, CliError
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.fast_read import ReadSession, read
from freehold.cli.local.key_ring import key_ring
from freehold.cli.objects.kinds import OURS
from freehold.cli.objects.naming import NameSyntax, parse_names
from freehold.cli.objects.object_lookup import absent, list_machines, of_name
from freehold.cli.output.formats import emit
from freehold.cli.output.hints import hint, hint_for_files
from freehold.cli.output.terminal import choose_painter, tell, warn, width
from freehold.cli.output.tree import document, remarks, tree_lines
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.objects.identity import is_own
from freehold.providers.registry import METADATA_RESOURCES, MIRRORS
from freehold.view.journal_view import name_owner, parents, proofs, read_journal
from freehold.view.object_view import View, view

if TYPE_CHECKING:
    from freehold.cli.objects.manifests import ManifestDocument
    from freehold.engine.keys import KeyRing


def run(words: Sequence[str], filename: Sequence[str], output: str, namespace: str, **where: Unpack[Where]) -> None:
    """Run the command. Raises CliError."""
    if bool(words) == bool(filename):
        raise CliError(f"say what to show: {hint('tree', 'NAME')}, or {hint('tree', '-f', 'FILE')}", code=MISUSED)
    documents = _read(filename, namespace)
    target = access(operator=False, install=False, log=False, **where)
    if target.state is not None:
        target.state.choose(target.options.simulate)

    async def show(session: ReadSession) -> None:
        within = namespace or session.namespace
        if words:
            await _print(target, session, await _read_with_machines(session, words, within), output)
            return
        wanted = _find_served(documents, within)
        found = {each: stored for each in wanted for stored in await of_name(session, [each[0]], each[1])}
        await _print(target, session, list(found.values()), output, as_list=len(wanted) != 1)
        if not wanted:
            warn(_say_no_tree(documents))
        if missing := [each for each in wanted if each not in found]:
            raise _not_stored(missing, filename, namespace, simulate=target.options.simulate)

    read(target, show)


def _read(filename: Sequence[str], namespace: str) -> Sequence[ManifestDocument]:
    if not filename:
        return []
    from freehold.cli.objects import manifests  # YAML, which a name does not need

    return manifests.read(*filename, namespace=namespace)


def _say_no_tree(documents: Sequence[ManifestDocument]) -> str:
    """Say why there is nothing to show."""
    about_tags = {(each.group, each.kind) for each in METADATA_RESOURCES}
    if any((each.api_version.rpartition("/")[0], each.kind) in about_tags for each in documents):
        return f"this manifest is about tags, and makes no resources: {hint('tags report')} says what has them"
    named = {(each.api_version.rpartition("/")[0], each.kind) for each in documents}
    for mirror in MIRRORS:
        if (mirror.served.group, mirror.served.kind) in named:
            source = mirror.source.kind
            return f"an {mirror.served.kind} has no resources of its own: those of its cluster are the {source}'s"
    return "nothing in this manifest is served by Freehold"


def _find_served(documents: Sequence[ManifestDocument], where: str) -> list[tuple[Resource, Key]]:
    """Return the objects that Freehold reconciles, in the order of the manifests, whichever version they name."""
    ours = {(each.group, each.kind): each for each in OURS}
    return [
        (resource, Key(each.namespace or where if resource.namespaced else "", each.name))
        for each in documents
        if (resource := ours.get((each.api_version.rpartition("/")[0], each.kind)))
    ]


async def _read_named(session: ReadSession, words: Sequence[str], where: str) -> list[Json]:
    """Read what the words name, of every kind where they say none: looking does no harm. Raises CliError."""
    found: list[Json] = []
    for each in await parse_names(session, NameSyntax("tree"), words, where):
        key = Key(where, each.name)
        objects = await of_name(session, each.kinds, key)
        if not objects:
            raise CliError(await absent(session, each.kinds, key))
        found += [one for one in objects if one not in found]
    return found


async def _read_with_machines(session: ReadSession, words: Sequence[str], where: str) -> list[Json]:
    """Read what the words name, each cluster followed by its machines."""
    found: list[Json] = []
    for raw in await _read_named(session, words, where):
        found += [each for each in (raw, *await list_machines(session, raw)) if each not in found]
    return found


def _not_stored(
    missing: Sequence[tuple[Resource, Key]], filename: Sequence[str], namespace: str, *, simulate: bool
) -> CliError:
    within = ("-n", namespace) if namespace else ()
    apply = hint_for_files("up", filename, *within, "--simulate" if simulate else "")
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
    grown = [_Tree(view(obj), find_proofs(obj, ring), parents(obj, view(obj).lines)) for obj in objects]
    if output != "table":
        shown = [document(each.seen, each.proofs, each.inside) for each in grown]
        if shown or as_list:
            emit(output, shown if as_list or len(shown) > 1 else shown[0])
        return
    for each in grown:
        for line in tree_lines(each.seen, each.proofs, each.inside, session.clock.now(), width(), choose_painter()):
            print(line, flush=True)
        for remark in remarks(each.seen, simulated=session.simulated):
            tell(remark)


@dataclass(frozen=True)
class _Tree:
    """One object: what is known of it, the proofs by id, and within which line each line is."""

    seen: View
    proofs: Mapping[str, str]
    inside: Sequence[int | None]


def find_proofs(obj: Json, ring: KeyRing | None) -> dict[str, str]:
    """Find what the ownership of resources rests on, by id: another object's journal proves nothing."""
    found, journal = proofs(obj, ring), read_journal(obj)
    if journal is None or is_own(obj, journal):
        return found
    return dict.fromkeys(found, f"none: its record is of {name_owner(journal)}")
