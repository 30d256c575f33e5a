"""``freehold prune``: delete what an object owns and its spec no longer wants. A plan first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Unpack

from freehold.api.vendor_ids import vendor_id
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.cloud_reads import plan_objects, simulator_of
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.session import Session, open_session
from freehold.cli.local.user_audit import who
from freehold.cli.objects.decisions import add_decisions, decide, journal_of, read_object, require_ring
from freehold.cli.objects.naming import NameSyntax
from freehold.cli.output.tables import with_ids
from freehold.cli.output.terminal import say, tell, warn, width
from freehold.kube.resources import Json, key_of

if TYPE_CHECKING:
    from freehold.controllers.plan.planner import Plan
    from freehold.controllers.plan.rows import PlanRow
    from freehold.engine.decisions import Decision

_NAMING = NameSyntax("prune")


def run(words: Sequence[str], yes: bool, namespace: str, **where: Unpack[Where]) -> None:
    """Run the command. Raises CliError."""
    target = access(operator=yes, **where)
    run_to_end(_prune(target, words, namespace, yes=yes))


async def _prune(target: Access, words: Sequence[str], namespace: str, *, yes: bool) -> None:
    async with open_session(target) as session, AsyncExitStack() as stack:
        resource, raw = await read_object(session, _NAMING, words, namespace)
        key = key_of(raw)
        ring = await require_ring(target, session)
        simulator = await simulator_of(session, target, stack)
        (today,) = await plan_objects(session, target, [raw], simulator, ring)
        _refuse_unknown(today)
        surplus = [row for row in today.rows if row.action == "surplus"]
        if not surplus:
            tell(f"{key} has no surplus: its spec wants all that it owns")
            return
        wished = add_decisions(raw, _decide_surplus(session, raw, surplus), ring)
        (plan,) = await plan_objects(session, target, [wished], simulator, ring)
        _refuse_unknown(plan)
        allowed = _print(plan, surplus)
        if not allowed:
            raise CliError("nothing of it can be deleted")
        if not yes:
            tell(f"nothing was done. To delete it: {_NAMING.exact((resource, key), session.namespace)} --yes")
            return
        await decide(session, resource, raw, _decide_surplus(session, raw, allowed), ring)


def _refuse_unknown(plan: Plan) -> None:
    told = [*plan.problems, *plan.unanswered]
    if told:
        raise CliError(f"what {plan.title} does not need cannot be told", told)


def _decide_surplus(session: Session, raw: Json, rows: list[PlanRow]) -> list[Decision]:
    from freehold.engine.decisions import Decision, Verdict
    from freehold.engine.resources import NodeKey

    entries, by, now = journal_of(raw).entries, who(), round(session.clock.now(), 3)
    keys = [NodeKey(row.kind, row.logical) for row in rows]
    return [Decision(Verdict.PRUNE, str(key), entries[key].id, entries[key].attempt, by, now) for key in keys]


def _print(plan: Plan, surplus: list[PlanRow]) -> list[PlanRow]:
    """Print the plan of a deletion; return what may go."""
    deleted = {(row.kind, row.logical): row for row in plan.rows if row.action == "delete"}
    by_node = {(row.kind, row.logical): row for row in surplus}
    allowed = [by_node[node] for node in deleted if node in by_node]
    rows = [(row.kind, row.name, vendor_id(row.id), deleted[row.kind, row.logical].reason) for row in allowed]
    tell(f"{plan.title}: {len(allowed)} to delete")
    if rows:
        for line in with_ids(("KIND", "NAME", "ID", "WHY"), rows, width()):
            say(line)
    for row in surplus:
        if row not in allowed:
            warn(f"stays: {row.kind} {row.name}: {plan.refused.get(f'{row.kind}/{row.logical}', 'it is not proven')}")
    return allowed
