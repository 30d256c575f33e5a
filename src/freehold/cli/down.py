"""``freehold down``: delete, then watch until everything owned is gone; say what stays, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from freehold.cli.session import Session, opened
from freehold.cli.terminal import say, tell, warn
from freehold.collection.selector import Selector
from freehold.kube.errors import NotFound
from freehold.kube.resources import Key, Resource


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
    run_to_end(_down(target, words, documents, namespace, timeout, yes=yes))


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
        others = [each for each in wanted if not each.ours]
        if not yes:
            await _approve(session, target, ours, others)
        present = await _delete(session, ours)
        if present:
            with display() as show:
                picture = await follow(
                    session, present, show, UntilGone(alone=session.running is not None), patience=patience
                )
            _conclude(picture)
        await _delete_others(session, others)


async def _approve(session: Session, target: Access, ours: Sequence[Followed], others: Sequence[Target]) -> None:
    """Show what would be deleted, and ask; not of what is being deleted already. Raises CliError without a yes."""
    from freehold.cli.deletion_plans import show_deletion

    fresh = await show_deletion(session, target, ours)
    if others:
        tell(f"deleted too, never served by Freehold: {', '.join(map(str, others))}")
    if fresh or others:
        await ask(f"Delete {', '.join(fresh)}?" if fresh else "Delete them?", otherwise="nothing was deleted")


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
        tell(f"deleted, never served by Freehold: {', '.join(gone)}")


async def _gone(session: Session, target: Target) -> bool:
    try:
        await session.client.delete(target.resource, target.key)
    except NotFound:
        return False
    return True


def _conclude(picture: ViewSnapshot) -> None:
    """What was deleted and what was not. Never that something is gone which nobody looked for."""
    for view in last_views(picture).values():
        tell(f"{view.title} is gone, {'and everything that it owned' if view.owned else 'and it owned nothing'}")
        for line in view.not_ours:
            tell(f"  kept: {' '.join(filter(None, (line.kind, line.name, line.id)))}: {line.note}")
        if view.not_looked_for:
            warn(f"on no record of {view.title}, and not looked for; freehold orphans shows what has its marks:")
        for line in view.not_looked_for:
            warn(f"  {line.kind} {line.name} {line.id}")
