"""``freehold down``: delete, then watch until everything owned is gone; say what stays, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from freehold.api.feature_gates import FeatureGates
from freehold.api.names import PAUSED_ANNOTATION, RECOVERED
from freehold.cli import manifests
from freehold.cli.access import Access, access
from freehold.cli.applying import Target, targets
from freehold.cli.asking import ask
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.following import Followed, UntilGone, ViewSnapshot, follow, last_views
from freehold.cli.naming import Naming, find_objects
from freehold.cli.progress import display
from freehold.cli.running import run as run_to_end
from freehold.cli.same_cluster import rest_of_clusters
from freehold.cli.session import Session, opened
from freehold.cli.terminal import say, tell, warn
from freehold.cli.view import Line
from freehold.collection.selector import Selector
from freehold.kube.errors import NotFound
from freehold.kube.resources import Json, Resource, key_of

_STAY = "of the same Cluster these stay (freehold down -f FILE deletes what the file holds):"


def run(
    words: Sequence[str], filename: Sequence[str], yes: bool, simulate: bool, speed: float, namespace: str,
    state: Path | None, kubeconfig: str, timeout: float, simulator: str, keys_namespace: str,
    feature_gates: FeatureGates, gc_selector: Selector | None,
) -> None:  # fmt: skip
    """The command. Raises CliError."""
    if bool(words) == bool(filename):
        raise CliError("say what to delete: freehold down NAME, or freehold down -f FILE", code=MISUSED)
    documents = manifests.read(*filename, namespace=namespace) if filename else []
    target = access(
        state, kubeconfig=kubeconfig, simulate=simulate, speed=speed, simulator=simulator,
        keys_namespace=keys_namespace, gates=feature_gates, gc_selector=gc_selector,
    )  # fmt: skip
    # Its operator would heal a mark that somebody took off to keep a resource, before the delete is requested (ADR 7).
    waiting = replace(target, options=replace(target.options, waits=True))
    run_to_end(_down(waiting, words, documents, namespace, timeout, yes=yes))


async def _down(
    target: Access,
    words: Sequence[str],
    documents: Sequence[manifests.ManifestDocument],
    namespace: str,
    patience: float,
    *,
    yes: bool,
) -> None:
    async with opened(target) as session:
        tell(session.describe())
        wanted = await targets(session.client, documents, namespace or session.namespace) if documents else []
        ours: list[Followed] = [(each.resource, each.key) for each in wanted if each.ours]
        ours += await find_objects(session, Naming("down"), words, namespace) if words else []
        others = [each for each in wanted if not each.ours and await _is_there(session, each)]
        if not yes:
            await _approve(session, target, ours, others)
        rest = await rest_of_clusters(session, ours) if words else []
        present = await _delete(session, ours)
        if present:
            await session.begin()
            with display() as show:
                picture = await follow(
                    session, present, show, UntilGone(alone=session.running is not None), patience=patience
                )
            _conclude(picture)
        await _delete_others(session, others)
        if rest:
            _tell_each(_STAY, rest)


async def _is_there(session: Session, target: Target) -> bool:
    try:
        await session.client.get(target.resource, target.key)
    except NotFound:
        return False
    return True


async def _approve(session: Session, target: Access, ours: Sequence[Followed], others: Sequence[Target]) -> None:
    """Show what would be deleted, and ask; not of what is being deleted already. Raises CliError without a yes."""
    from freehold.cli.deletion_plans import show_deletion

    fresh = await show_deletion(session, target, ours)
    if others:
        _tell_each("deleted too:", map(str, others))
    if fresh or others:
        await ask(f"Delete {', '.join(fresh)}?" if fresh else "Delete them?", otherwise="nothing was deleted")


async def _delete(session: Session, wanted: Iterable[Followed]) -> list[Followed]:
    """Ask for the deletion of each; those that an operator must release."""
    present = []
    for resource, key in wanted:
        try:
            left = found = await session.client.get(resource, key)
            await _unpause_recovered(session, resource, found)
            if not _is_going(found):
                left = await session.client.delete(resource, key)
        except NotFound:
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
    """In the reverse of the order of applying, so that namespaces come last."""
    held: dict[bool, list[str]] = {False: [], True: []}
    for each in reversed(others):
        with suppress(NotFound):
            held[_is_going(await session.client.delete(each.resource, each.key))].append(str(each))
    if held[False]:
        _tell_each("deleted:", held[False])
    if held[True]:
        _tell_each(
            "deletion requested, held by a finalizer (what put it there must run; of tags: freehold serve):", held[True]
        )


def _tell_each(heading: str, objects: Iterable[str]) -> None:
    tell(heading)
    for each in objects:
        tell(f"  {each}")


def _conclude(picture: ViewSnapshot) -> None:
    """What was deleted and what was not. Never that something is gone which nobody looked for."""
    for view in last_views(picture).values():
        rest = (
            "all else that it owned"
            if view.left_of_ours
            else "everything that it owned"
            if view.owned
            else "it owned nothing"
        )
        tell(f"{view.title} is gone, and {rest}")
        for line in view.not_ours:
            tell(f"  kept: {_title_of(line)}: {line.note}")
        if view.not_looked_for:
            warn(f"on no record of {view.title}, and not looked for; freehold orphans shows what has its marks:")
        for line in view.not_looked_for:
            warn(f"  {_title_of(line)}")


def _title_of(line: Line) -> str:
    """The resource, with its id where its note does not have it."""
    return " ".join(filter(None, (line.kind, line.name, "" if line.id in line.note else line.id)))
