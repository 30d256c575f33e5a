"""``freehold up``: apply, then watch until Ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.memory import pause_garbage_collector
from freehold.cli.local.session import open_session
from freehold.cli.objects import manifests
from freehold.cli.objects.applying import Applied, ApplyEffect, Target, apply, targets
from freehold.cli.objects.following import Followed, UntilReady, ViewSnapshot, follow
from freehold.cli.output.hints import hint
from freehold.cli.output.progress import CountProgress, display
from freehold.cli.output.terminal import say, tell, warn
from freehold.providers.registry import METADATA_RESOURCES, MIRROR_RESOURCES, READ_RESOURCES

_LAST_STATUS = "this is its last status; its operator cannot be asked here when it looked at the cloud"


def run(
    filename: Sequence[str],
    namespace: str,
    timeout: float,
    create_namespace: bool,
    force_conflicts: bool,
    **where: Unpack[Where],
) -> None:
    """Run the command. Raises CliError."""
    documents = manifests.read(*filename, namespace=namespace)
    target = access(**where)
    run_to_end(
        _apply_and_wait(
            target, documents, namespace, timeout, create_namespaces=create_namespace, force_conflicts=force_conflicts
        )
    )


async def _apply_and_wait(
    target: Access,
    documents: Sequence[manifests.ManifestDocument],
    namespace: str,
    patience: float,
    *,
    create_namespaces: bool,
    force_conflicts: bool,
) -> None:
    async with open_session(target) as session:
        tell(session.describe())
        wanted = await targets(session.client, documents, namespace or session.namespace)
        with CountProgress() as counting, pause_garbage_collector():
            applied = await apply(
                session.client, wanted, counting, create_namespaces=create_namespaces, force=force_conflicts
            )
        _print_applied(applied)
        followed = [(each.resource, each.key) for each in wanted if each.ours]
        if not followed:
            if not any(each.resource in (*METADATA_RESOURCES, *MIRROR_RESOURCES) for each in wanted):
                say("nothing in this manifest is served by Freehold; it is kept as it is")
            return
        with display() as show:
            verdict, changed = UntilReady(log=session.log, alone=session.running is not None), _versions(applied)
            picture = await follow(session, followed, show, verdict, patience=patience, news_only=True, applied=changed)
        _conclude(picture, [each.target for each in applied if each.verb is ApplyEffect.UNCHANGED])


def _versions(applied: Sequence[Applied]) -> Mapping[Followed, str]:
    """Return the versions of what has changed: the operator, told of each change, looks at these or later ones."""
    return {
        (each.target.resource, each.target.key): str(each.obj["metadata"]["resourceVersion"])
        for each in applied
        if each.verb is not ApplyEffect.UNCHANGED
    }


def _print_applied(applied: Sequence[Applied]) -> None:
    for each in applied:
        if each.target.ours:
            say(f"{each.target}: {each.verb.value}")
    read = [each for each in applied if each.target.resource in READ_RESOURCES]
    if read:
        tell(f"kept, read where a cluster names it: {_count_kinds(read)}")
    mirrors = [each for each in applied if each.target.resource in MIRROR_RESOURCES]
    if mirrors:
        tell(f"kept, shows what its control plane has: {_count_kinds(mirrors)}")
    tags = [each for each in applied if each.target.resource in METADATA_RESOURCES]
    if tags:
        tell(f"kept, worked on as long as {hint('serve')} or an operator runs: {_count_kinds(tags)}")
    told = (*read, *mirrors, *tags)
    others = [each for each in applied if not each.target.ours and each not in told]
    if others:
        tell(f"kept, not served by Freehold: {_count_kinds(others)}")


def _count_kinds(applied: Sequence[Applied]) -> str:
    counts: dict[tuple[str, ApplyEffect], int] = {}
    for each in applied:
        word = (each.target.resource.kind, each.verb)
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{kind}{f' ×{n}' if n > 1 else ''} {verb.value}" for (kind, verb), n in counts.items())


def _conclude(picture: ViewSnapshot, unchanged: Sequence[Target]) -> None:
    """``unchanged``: what applying changed nothing of, so that its status may be older than this command."""
    for each in picture.views:
        where = f", endpoint {each.endpoint}" if each.endpoint else ""
        tell(f"{each.title} is Ready: {len(each.lines)} resources{where}")
        for note in each.notes:
            tell(f"  note: {note}")
        for sentence in each.deviations:
            warn(f"warning: {each.title} is Ready and differs from its spec: {sentence}")
    if picture.looks is None:
        for target in (each for each in unchanged if each.ours):
            tell(f"note: {target}: {_LAST_STATUS}")
