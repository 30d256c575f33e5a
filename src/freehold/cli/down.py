"""``freehold down``: delete, then watch until everything owned is gone; say what stays, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from freehold.api.names import PAUSED_ANNOTATION, RECOVERED
from freehold.cli import hints, manifests
from freehold.cli.access import Access, access
from freehold.cli.applying import Target, targets
from freehold.cli.asking import agreed, somebody_is_there
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.following import Followed, UntilGone, ViewSnapshot, follow, last_views
from freehold.cli.kinds import NOUN, OURS
from freehold.cli.lookup import of_name
from freehold.cli.progress import display
from freehold.cli.quick import ReadSession
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Session, opened
from freehold.cli.terminal import say, tell, warn
from freehold.kube.errors import NotFound
from freehold.kube.resources import Key, Resource


def run(
    names: Sequence[str], filename: Sequence[str], yes: bool, simulate: bool, speed: float, namespace: str,
    state: Path | None, kubeconfig: str, timeout: float, simulator: str, keys_namespace: str,
) -> None:  # fmt: skip
    """The command. Raises CliError."""
    if bool(names) == bool(filename):
        raise CliError("say what to delete: freehold down NAME, or freehold down -f FILE", code=MISUSED)
    documents = manifests.read(*filename, namespace=namespace) if filename else []
    target = access(
        state, kubeconfig=kubeconfig, simulate=simulate, speed=speed, simulator=simulator,
        keys_namespace=keys_namespace,
    )  # fmt: skip
    ask = not yes and somebody_is_there()
    run_to_end(_down(target, tuple(dict.fromkeys(names)), documents, namespace, timeout, ask=ask))


async def _down(
    target: Access,
    names: Sequence[str],
    documents: Sequence[manifests.ManifestDocument],
    namespace: str,
    patience: float,
    *,
    ask: bool,
) -> None:
    async with opened(target) as session:
        tell(session.describe())
        where = namespace or session.namespace
        wanted = await targets(session.client, documents, where) if documents else []
        ours: list[Followed] = [(each.resource, each.key) for each in wanted if each.ours]
        found = {name: await named(session, Key(where, name)) for name in names}
        missing = [name for name in names if not found[name]]
        if names and len(missing) == len(names):
            raise absent(Key(where, missing[0]), session)
        ours += [each for name in names for each in found[name]]
        others = [each for each in wanted if not each.ours]
        if ask and not await _approved(session, target, ours, others):
            raise CliError("nothing was deleted")
        present = await _delete(session, ours)
        if present:
            with display() as show:
                picture = await follow(session, present, show, UntilGone(), patience=patience)
            _conclude(picture)
        await _delete_others(session, others)
        if missing:
            raise absent(Key(where, missing[0]), session, *missing[1:])


async def _approved(session: Session, target: Access, ours: Sequence[Followed], others: Sequence[Target]) -> bool:
    """Shows what would be deleted, and asks. What is being deleted already needs no answer."""
    from freehold.cli.deletion_plans import show_deletion

    fresh = await show_deletion(session, target, ours)
    if others:
        tell(f"deleted too, never served by Freehold: {', '.join(map(str, others))}")
    if not fresh and not others:
        return True
    return await agreed(f"Delete {', '.join(fresh)}?" if fresh else "Delete them?")


async def named(session: ReadSession, key: Key) -> list[Followed]:
    """The objects of that name, of every kind that is served."""
    return [(resource, key) for resource in OURS if await of_name(session, [resource], key)]


def absent(key: Key, session: ReadSession, *more: str) -> CliError:
    """Nothing that is served has this name, nor one of ``more`` in the same namespace."""
    shown = hints.command("get", namespace=key.namespace, usual=session.namespace)
    keys = ", ".join(str(Key(key.namespace, name)) for name in (key.name, *more))
    return CliError(f"there is no {NOUN} {keys}; {shown} shows what there is")


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
            tell(f"  kept: {line.kind} {line.name} {line.id}: {line.note}")
        if view.not_looked_for:
            warn(f"on no record of {view.title}, and not looked for; freehold orphans shows what has its marks:")
        for line in view.not_looked_for:
            warn(f"  {line.kind} {line.name} {line.id}")
