"""``freehold plan``: what applying a manifest, or deleting an object, would do to the cloud. Writes nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freehold.api.vendor_ids import vendor_id
from freehold.cli import manifests, quick
from freehold.cli.access import Access, access
from freehold.cli.applying import missing_namespaces, not_in_manifest, targets, trial
from freehold.cli.credentials import require_some
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.formats import emit
from freehold.cli.naming import Naming, find_objects
from freehold.cli.plan_service import Wished, plans_of_server
from freehold.cli.quick import ReadSession
from freehold.cli.state_directory import CloudChoice
from freehold.cli.tables import with_ids
from freehold.cli.terminal import say, tell, tell_at_once, warn, width
from freehold.kube.resources import NAMESPACES, SECRETS, Json, Key
from freehold.operator.kinds import READ_RESOURCES

if TYPE_CHECKING:
    from freehold.api.feature_gates import FeatureGates
    from freehold.cli.session import Session
    from freehold.operator.plan import Plan, PlanRow

NOTHING, CHANGES = 0, 2
"""Exit codes with ``--detailed-exitcode``; anything else is FAILED."""

_READ_BESIDE = frozenset({*READ_RESOURCES, SECRETS, NAMESPACES})
"""What the operator reads for an object that names it: the identities of AWS, and what those depend on."""

_PLAN_SECONDS = 600.0
"""The longest that a server may take for plans: it asks the cloud about each resource."""


def run(
    filename: Sequence[str], down: str, more: Sequence[str], simulate: bool, speed: float, output: str, namespace: str,
    state: Path | None, detailed_exitcode: bool, feature_gates: FeatureGates, simulate_settings: Path | None,
) -> int:  # fmt: skip
    """The command; its exit code. Raises CliError, also when the manifest would be refused."""
    doomed = [down, *more] if down else []
    if bool(down) == bool(filename) or (more and not down):
        raise CliError("say what to plan: freehold plan -f FILE, or freehold plan --down NAME", code=MISUSED)
    documents = manifests.read(*filename, namespace=namespace) if filename else []
    target = access(
        state,
        operator=False,
        simulate=simulate,
        speed=speed,
        gates=feature_gates,
        settings=simulate_settings,
        log=False,
    )
    plans = _plans_of_server(target, documents, doomed, namespace)
    if plans is None:
        plans = quick.the_long_way(target, lambda session: _plans(session, target, documents, doomed, namespace))
    if output != "table":
        emit(output, [_document(each) for each in plans])
    else:
        for each in plans:
            print_plan(each)
    return concluded(plans, output, detailed_exitcode=detailed_exitcode)


def concluded(plans: Sequence[Plan], output: str, *, detailed_exitcode: bool) -> int:
    """The exit code. Raises CliError where a manifest would not become Ready, or where that is not known."""
    problems = [f"{each.object}: {problem}" for each in plans for problem in (*each.problems, *each.lacking)]
    refused = [f"{each.object}: {row.kind} {row.name}: {row.reason}" for each in plans for row in _refused(each)]
    if output == "table" and refused:
        raise CliError(f"the manifest would not become Ready as it is: {len(refused)} refused, see above", problems)
    if refused or problems:
        raise CliError("the manifest would not become Ready as it is", [*problems, *refused])
    unanswered = [f"{each.object}: {question}" for each in plans for question in each.unanswered]
    if unanswered:
        raise CliError("the plan is not known: the cloud could not be asked; run the same command again", unanswered)
    return CHANGES if detailed_exitcode and any(each.changes for each in plans) else NOTHING


def _plans_of_server(
    target: Access, documents: Sequence[manifests.ManifestDocument], doomed: Sequence[str], namespace: str
) -> list[Plan] | None:
    """The plans of the process that serves the state, for its account; None where there is none that makes plans."""
    if target.options.settings is not None:
        return None  # the server has settings of its own
    with quick.session(target, operator=True, timeout=_PLAN_SECONDS) as session:
        if session is None:
            return None
        _require_cloud(target)
        tell_at_once("looking at the clouds")

        async def ask() -> list[Plan] | None:
            wished = await _wished(session, documents, doomed, namespace)
            return await plans_of_server(session.client, wished, target.options.gates) if wished.objects else []

        return quick.finished(ask())


def _require_cloud(target: Access) -> None:
    """What planning in this process would refuse, the server's own account is not asked for either."""
    assert target.state is not None
    if target.state.choose(target.options.simulate) is CloudChoice.REAL:
        require_some(os.environ)


async def _plans(
    session: Session,
    target: Access,
    documents: Sequence[manifests.ManifestDocument],
    doomed: Sequence[str],
    namespace: str,
) -> list[Plan]:
    from freehold.cli.local_plans import asked, ring_at, simulator_of

    wished = await _wished(session, documents, doomed, namespace)
    if not wished.objects:
        return []
    assert target.state is not None
    async with AsyncExitStack() as stack:
        simulator = await simulator_of(session, target, stack)
        ring = await ring_at(target.state.keys)
        return await asked(session, target, wished.objects, simulator, ring, wished.beside)


async def _wished(
    session: ReadSession, documents: Sequence[manifests.ManifestDocument], doomed: Sequence[str], namespace: str
) -> Wished:
    """What is to be planned."""
    if doomed:
        found = await find_objects(session, Naming("plan --down"), doomed, namespace)
        return Wished([as_deleted(await session.client.get(resource, key)) for resource, key in found])
    wished = await _applied(session, documents, namespace or session.namespace)
    if not wished.objects:
        warn("nothing in this manifest is served by Freehold")
    return wished


async def _applied(session: ReadSession, documents: Sequence[manifests.ManifestDocument], where: str) -> Wished:
    """The objects as the server would store them."""
    wanted = await targets(session.client, documents, where)
    missing = await missing_namespaces(session.client, wanted)
    if unmade := not_in_manifest(missing, wanted):
        warn(f"there is no namespace {', '.join(unmade)}: freehold up makes it with --create-namespace only")
    would_be = await trial(session.client, wanted, missing)
    placed = [(each, _placed(each.key, obj)) for each, obj in zip(wanted, would_be, strict=True)]
    return Wished(
        [obj for each, obj in placed if each.ours],
        [obj for each, obj in placed if each.resource in _READ_BESIDE],
    )


def _placed(key: Key, obj: Json) -> Json:
    """In the namespace where it goes: on trial, one of a namespace that is missing is in another one."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": key.namespace}} if key.namespace else obj


def as_deleted(obj: Json) -> Json:
    """The object as if its deletion had been requested now."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**obj, "metadata": {"deletionTimestamp": stamp, **obj["metadata"]}}


def _refused(plan: Plan) -> list[PlanRow]:
    return [row for row in plan.rows if row.action == "refuse"]


def _document(plan: Plan) -> Mapping[str, Any]:
    return {
        "object": plan.object,
        "resources": [_row(row) for row in plan.rows],
        "problems": [*plan.problems, *plan.lacking],
        "unanswered": list(plan.unanswered),
        "notes": list(plan.notes),
        "writes": dict(plan.writes),
    }


def _row(row: PlanRow) -> Mapping[str, Any]:
    fields = asdict(row)
    found = {"action": str(row.action), **{name: fields[name] for name in ("kind", "logical", "name", "id", "reason")}}
    if row.attribute:
        found |= {"attribute": row.attribute, "from": row.before, "to": row.after}
    return found


def _table(rows: Sequence[PlanRow], room: int) -> list[str]:
    """Rows with their reasons beside them, or below them where ``room`` (characters) is less."""
    cells = [(row.action, row.kind, row.name, vendor_id(row.id), _why(row)) for row in rows]
    return with_ids(("ACTION", "KIND", "NAME", "ID", "WHY"), cells, room)


def _why(row: PlanRow) -> str:
    if not row.attribute:
        return row.reason
    return f"{row.attribute}: {row.reason}"


def print_plan(plan: Plan) -> None:
    """For people."""
    counts = Counter(row.action for row in plan.rows)
    nothing = "nothing can be done yet" if plan.problems or plan.unanswered else "nothing to do"
    say(f"{plan.object}: " + (", ".join(f"{counts[action]} to {action}" for action in counts) or nothing))
    if plan.rows:
        for line in _table(plan.rows, width() - 2):
            say(f"  {line}")
    if plan.writes:
        calls = ", ".join(f"{number} to {api}" for api, number in sorted(plan.writes.items()))
        tell(f"  at most so many writes to the cloud, by API: {calls}")
    for note in plan.notes:
        tell(f"  note: {note}")
