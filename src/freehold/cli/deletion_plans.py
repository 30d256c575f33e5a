"""What a deletion would do, shown before ``freehold down`` asks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from freehold.api import names
from freehold.cli.access import Access
from freehold.cli.errors import CliError
from freehold.cli.following import Followed
from freehold.cli.local_plans import asked, simulator_of
from freehold.cli.lookup import key_ring
from freehold.cli.plan_text import print_plan
from freehold.cli.planning import as_deleted
from freehold.cli.session import Session
from freehold.cli.terminal import columns, say, warn
from freehold.cli.view import view
from freehold.kube.errors import KubeError, NotFound
from freehold.kube.resources import Json


async def show_deletion(session: Session, target: Access, wanted: Sequence[Followed]) -> list[str]:
    """Prints the plan of each object whose deletion has not been requested yet; their titles."""
    objects = [each for each in await _stored(session, wanted) if "deletionTimestamp" not in each["metadata"]]
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


async def _stored(session: Session, wanted: Sequence[Followed]) -> list[Json]:
    found = []
    for resource, key in wanted:
        try:
            found.append(await session.client.get(resource, key))
        except NotFound:
            continue
    return found


async def _show_plans(session: Session, target: Access, objects: Sequence[Json]) -> None:
    ring = await key_ring(target, session)
    if ring is None:
        raise CliError("there is no key ring that this command can read")
    async with AsyncExitStack() as stack:
        simulator = await simulator_of(session, target, stack)
        for plan in await asked(session, target, list(map(as_deleted, objects)), simulator, ring):
            print_plan(plan)
            for each in (*plan.problems, *plan.unanswered):
                warn(f"  {each}")


def _show_owned(obj: Json) -> None:
    seen = view(obj)
    rows = [(line.kind, line.name, line.id) for line in seen.lines if line.ownership in names.OURS]
    say(f"{seen.title}: {len(rows)} resources")
    for line in columns([("  KIND", "NAME", "ID"), *((f"  {kind}", name, ident) for kind, name, ident in rows)]):
        say(line)
