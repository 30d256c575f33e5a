"""``freehold down``: delete, then watch until everything owned is gone; say what stays, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from freehold.api.names import PAUSED_ANNOTATION, RECOVERED
from freehold.cli import manifests
from freehold.cli.access import Access, access
from freehold.cli.applying import Target, targets
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.following import Followed, UntilGone, ViewSnapshot, follow, last_views
from freehold.cli.kinds import OURS
from freehold.cli.progress import display
from freehold.cli.quick import ReadSession
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Session, opened
from freehold.cli.terminal import say, warn
from freehold.kube.errors import NotFound
from freehold.kube.resources import Key, Resource


def run(
    name: str | None, filename: Sequence[str], simulate: bool, speed: float, namespace: str, state: Path | None,
    kubeconfig: str, timeout: float,
) -> None:  # fmt: skip
    """The command. Raises CliError."""
    if (name is None) == (not filename):
        raise CliError("say what to delete: freehold down NAME, or freehold down -f FILE", code=MISUSED)
    documents = manifests.read(*filename, namespace=namespace) if filename else []
    target = access(state, kubeconfig=kubeconfig, simulate=simulate, speed=speed)
    run_to_end(_down(target, name or "", documents, namespace, timeout))


async def _down(
    target: Access, name: str, documents: Sequence[manifests.ManifestDocument], namespace: str, patience: float
) -> None:
    async with opened(target) as session:
        say(session.describe())
        where = namespace or session.namespace
        wanted = await targets(session.client, documents, where) if documents else []
        ours: list[Followed] = [(each.resource, each.key) for each in wanted if each.ours]
        if name:
            ours = await named(session, Key(where, name))
        present = await _delete(session, ours)
        if name and not present:
            raise CliError(f"there is no {OURS[0].kind} {where}/{name}; freehold get shows what there is")
        if present:
            with display() as show:
                picture = await follow(session, present, show, UntilGone(), patience=patience)
            _conclude(picture)
        await _delete_others(session, [each for each in wanted if not each.ours])


async def named(session: ReadSession, key: Key) -> list[Followed]:
    """The objects of that name, of every kind that is served."""
    found: list[Followed] = []
    for resource in OURS:
        try:
            await session.client.get(resource, key)
        except NotFound:
            continue
        found.append((resource, key))
    return found


async def _delete(session: Session, wanted: Iterable[Followed]) -> list[Followed]:
    """Ask for the deletion of each; those that were there."""
    present = []
    for resource, key in wanted:
        try:
            await _unpause_recovered(session, resource, key)
            await session.client.delete(resource, key)
        except NotFound:
            say(f"{resource.kind} {key}: not there")
            continue
        say(f"{resource.kind} {key}: deletion requested")
        present.append((resource, key))
    return present


async def _unpause_recovered(session: Session, resource: Resource, key: Key) -> None:
    """``freehold recover`` made it paused until a person decides; this is the decision."""
    annotations = (await session.client.get(resource, key))["metadata"].get("annotations") or {}
    if annotations.get(PAUSED_ANNOTATION) == RECOVERED:
        await session.client.patch(resource, key, {"metadata": {"annotations": {PAUSED_ANNOTATION: None}}})


async def _delete_others(session: Session, others: Sequence[Target]) -> None:
    """In the reverse of the order of applying, so that namespaces come last."""
    gone = [str(each) for each in reversed(others) if await _gone(session, each)]
    if gone:
        say(f"deleted, never served by Freehold: {', '.join(gone)}")


async def _gone(session: Session, target: Target) -> bool:
    try:
        await session.client.delete(target.resource, target.key)
    except NotFound:
        return False
    return True


def _conclude(picture: ViewSnapshot) -> None:
    """What was deleted and what was not. Never that something is gone which nobody looked for."""
    for view in last_views(picture).values():
        say(f"{view.title} is gone, {'and everything that it owned' if view.owned else 'and it owned nothing'}")
        for line in view.not_ours:
            say(f"  kept: {line.kind} {line.name} {line.id}: {line.note}")
        if view.not_looked_for:
            warn(f"on no record of {view.title}, and not looked for; freehold orphans shows what has its marks:")
        for line in view.not_looked_for:
            warn(f"  {line.kind} {line.name} {line.id}")
