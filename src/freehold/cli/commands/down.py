"""``freehold down``: delete, then watch until everything owned is gone; say what stays, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Unpack

from freehold.api.names import OURS, PAUSED_ANNOTATION, RECOVERED
from freehold.cli.commands.plan import as_deleted
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.cloud_reads import plan_objects, simulator_of
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.key_ring import key_ring
from freehold.cli.local.session import Session, open_session
from freehold.cli.objects import manifests
from freehold.cli.objects.applying import Target, targets
from freehold.cli.objects.following import Followed, UntilGone, ViewSnapshot, follow, last_views
from freehold.cli.objects.naming import NameSyntax, find_objects
from freehold.cli.objects.same_cluster import rest_of_clusters
from freehold.cli.output.hints import hint
from freehold.cli.output.plan_text import print_plan
from freehold.cli.output.progress import display
from freehold.cli.output.prompt import ask
from freehold.cli.output.terminal import columns, say, tell, warn
from freehold.kube.errors import KubeError, ObjectNotFound
from freehold.kube.resources import Json, Resource, key_of
from freehold.providers.objects.served_resources import resource_around, resource_of
from freehold.providers.registry import SERVED
from freehold.view.object_view import Line, view


def run(
    words: Sequence[str], filename: Sequence[str], yes: bool, namespace: str, timeout: float, **where: Unpack[Where]
) -> None:
    """Run the command. Raises CliError."""
    if bool(words) == bool(filename):
        raise CliError(f"say what to delete: {hint('down', 'NAME')}, or {hint('down', '-f', 'FILE')}", code=MISUSED)
    documents = manifests.read(*filename, namespace=namespace) if filename else []
    target = access(**where)
    # Its operator would heal a mark that somebody took off to keep a resource, before the delete is requested (ADR 7).
    waiting = replace(target, options=replace(target.options, waits=True))
    run_to_end(_delete_and_wait(waiting, words, documents, namespace, timeout, yes=yes))


async def _delete_and_wait(
    target: Access,
    words: Sequence[str],
    documents: Sequence[manifests.ManifestDocument],
    namespace: str,
    patience: float,
    *,
    yes: bool,
) -> None:
    async with open_session(target) as session:
        tell(session.describe())
        wanted = await targets(session.client, documents, namespace or session.namespace) if documents else []
        ours: list[Followed] = [(each.resource, each.key) for each in wanted if each.ours]
        ours += await find_objects(session, NameSyntax("down"), words, namespace) if words else []
        others = [each for each in wanted if not each.ours and await _is_there(session, each)]
        if not yes:
            await _approve(session, target, ours, others)
        rest = await rest_of_clusters(session, ours) if words else []
        machines = find_kept_machines(ours, others)
        await _delete_others(session, machines)
        present = await _delete(session, ours)
        if present:
            await session.begin()
            with display() as show:
                picture = await follow(
                    session, present, show, UntilGone(alone=session.running is not None), patience=patience
                )
            _conclude(picture)
        await _delete_others(session, [each for each in others if each not in machines])
        if rest:
            _tell_each(
                f"of the same Cluster these stay ({hint('down', '-f', 'FILE')} deletes what the file holds):", rest
            )


def find_kept_machines(ours: Collection[Followed], others: Sequence[Target]) -> list[Target]:
    """Find those of ``others`` for which an object of ours would wait: machines that Freehold only keeps."""
    served = {resource_of(each): each for each in SERVED}
    kinds = {resource_around(machines) for resource, _ in ours for machines in served[resource].machines}
    return [each for each in others if each.resource in kinds]


async def _is_there(session: Session, target: Target) -> bool:
    try:
        await session.client.get(target.resource, target.key)
    except ObjectNotFound:
        return False
    return True


async def _approve(session: Session, target: Access, ours: Sequence[Followed], others: Sequence[Target]) -> None:
    """Show what would be deleted, and ask; not of what is being deleted already. Raises CliError without a yes."""
    fresh = await _show_deletion(session, target, ours)
    if others:
        _tell_each("deleted too:", map(str, others))
    if fresh or others:
        await ask(f"Delete {', '.join(fresh)}?" if fresh else "Delete them?", otherwise="nothing was deleted")


async def _show_deletion(session: Session, target: Access, wanted: Sequence[Followed]) -> list[str]:
    """Print the plan of each object whose deletion has not been requested yet; return their titles."""
    objects = [each for each in await _read_stored(session, wanted) if "deletionTimestamp" not in each["metadata"]]
    if not objects:
        return []
    try:
        await _show_plans(session, target, objects)
    except (CliError, KubeError) as problem:
        why = problem.sentence if isinstance(problem, CliError) else problem.message
        warn(f"what exactly would be deleted is not known here ({why}); by their status they own:")
        for each in objects:
            _show_owned(each)
    return [view(each).title for each in objects]


async def _read_stored(session: Session, wanted: Sequence[Followed]) -> list[Json]:
    found = []
    for resource, key in wanted:
        try:
            found.append(await session.client.get(resource, key))
        except ObjectNotFound:
            continue
    return found


async def _show_plans(session: Session, target: Access, objects: Sequence[Json]) -> None:
    ring = await key_ring(target, session)
    if ring is None:
        raise CliError("there is no key ring that this command can read")
    async with AsyncExitStack() as stack:
        simulator = await simulator_of(session, target, stack)
        for plan in await plan_objects(session, target, list(map(as_deleted, objects)), simulator, ring):
            print_plan(plan)
            for each in (*plan.problems, *plan.unanswered):
                warn(f"  {each}")


def _show_owned(obj: Json) -> None:
    seen = view(obj)
    rows = [(line.kind, line.name, line.id) for line in seen.lines if line.ownership in OURS]
    say(f"{seen.title}: {len(rows)} resources")
    for line in columns([("  KIND", "NAME", "ID"), *((f"  {kind}", name, ident) for kind, name, ident in rows)]):
        say(line)


async def _delete(session: Session, wanted: Iterable[Followed]) -> list[Followed]:
    """Ask for the deletion of each; those that an operator must release."""
    present = []
    for resource, key in wanted:
        try:
            left = found = await session.client.get(resource, key)
            await _unpause_recovered(session, resource, found)
            if not _is_going(found):
                left = await session.client.delete(resource, key)
        except ObjectNotFound:
            say(f"{resource.kind} {key}: not there")
            continue
        if _is_going(left):
            say(f"{resource.kind} {key}: {'is being deleted already' if _is_going(found) else 'deletion requested'}")
            present.append((resource, key))
        else:
            say(f"{resource.kind} {key}: deleted; no operator had begun to work on it")
    return present


def _is_going(obj: Json) -> bool:
    """Return whether it is an object that finalizers hold. A delete answers a Status where there are none."""
    return "deletionTimestamp" in (obj.get("metadata") or {})


async def _unpause_recovered(session: Session, resource: Resource, found: Json) -> None:
    """``freehold recover`` made it paused until a person decides; this is the decision."""
    annotations = found["metadata"].get("annotations") or {}
    if annotations.get(PAUSED_ANNOTATION) == RECOVERED:
        await session.client.patch(resource, key_of(found), {"metadata": {"annotations": {PAUSED_ANNOTATION: None}}})


async def _delete_others(session: Session, others: Sequence[Target]) -> None:
    """Delete in the reverse of the order of applying, so that namespaces come last."""
    held: dict[bool, list[str]] = {False: [], True: []}
    for each in reversed(others):
        with suppress(ObjectNotFound):
            held[_is_going(await session.client.delete(each.resource, each.key))].append(str(each))
    if held[False]:
        _tell_each("deleted:", held[False])
    if held[True]:
        _tell_each(
            f"deletion requested, held by a finalizer (what put it there must run; of tags: {hint('serve')}):",
            held[True],
        )


def _tell_each(heading: str, objects: Iterable[str]) -> None:
    tell(heading)
    for each in objects:
        tell(f"  {each}")


def _conclude(picture: ViewSnapshot) -> None:
    """Tell what was deleted and what was not; never that something is gone which nobody looked for."""
    for seen in last_views(picture).values():
        rest = (
            "all else that it owned"
            if seen.left_of_ours
            else "everything that it owned"
            if seen.owned
            else "it owned nothing"
        )
        tell(f"{seen.title} is gone, and {rest}")
        for line in seen.not_ours:
            tell(f"  kept: {_title_of(line)}: {line.note}")
        if seen.not_looked_for:
            warn(f"on no record of {seen.title}, and not looked for; {hint('orphans')} shows what has its marks:")
        for line in seen.not_looked_for:
            warn(f"  {_title_of(line)}")


def _title_of(line: Line) -> str:
    """Name the resource, with its id where its note does not have it."""
    return " ".join(filter(None, (line.kind, line.name, "" if line.id in line.note else line.id)))
