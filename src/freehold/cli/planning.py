"""``freehold plan``: what applying a manifest, or deleting an object, would do to the cloud. Writes nothing."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from freehold.api.feature_gates import FeatureGates
from freehold.cli import manifests
from freehold.cli.access import Access, access
from freehold.cli.applying import missing_namespaces, targets, trial
from freehold.cli.down import named
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.kinds import OURS
from freehold.cli.live import api_key_of
from freehold.cli.reading import emit
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Session, opened
from freehold.cli.simulator import API_KEY, clock_of, simulated_cloud
from freehold.cli.state_directory import CloudChoice, StateDirectory
from freehold.cli.terminal import columns, folded, say, width
from freehold.kube.resources import Json, Key

if TYPE_CHECKING:
    from freehold.api.feature_gates import FeatureGates
    from freehold.lifecycle.keys import KeyRing
    from freehold.operator.plan_rows import PlanRow
    from freehold.operator.planning import Plan

NOTHING, CHANGES = 0, 2
"""Exit codes with ``--detailed-exitcode``; anything else is FAILED."""


def run(
    filename: Sequence[str], down: str, simulate: bool, speed: float, output: str, namespace: str, state: Path | None,
    detailed_exitcode: bool, feature_gates: FeatureGates,
) -> int:  # fmt: skip
    """The command; its exit code. Raises CliError, also when the manifest would be refused."""
    if bool(down) == bool(filename):
        raise CliError("say what to plan: freehold plan -f FILE, or freehold plan --down NAME", code=MISUSED)
    documents = manifests.read(*filename, namespace=namespace) if filename else []
    target = access(state, operator=False, simulate=simulate, speed=speed, gates=feature_gates)
    plans = run_to_end(_plans(target, documents, down, namespace))
    if output != "table":
        emit(output, [_document(each) for each in plans])
    else:
        for each in plans:
            _print(each)
    refused = [f"{each.object}: {problem}" for each in plans for problem in _refusals(each)]
    if refused:
        raise CliError("the manifest would not become Ready as it is", refused)
    unanswered = [f"{each.object}: {question}" for each in plans for question in each.unanswered]
    if unanswered:
        raise CliError("the plan is not known: the cloud could not be asked; run the same command again", unanswered)
    return CHANGES if detailed_exitcode and any(each.changes for each in plans) else NOTHING


async def _plans(
    target: Access, documents: Sequence[manifests.ManifestDocument], down: str, namespace: str
) -> list[Plan]:
    async with opened(target) as session, AsyncExitStack() as stack:
        where = namespace or session.namespace
        objects = await _deleted(session, Key(where, down)) if down else await _applied(session, documents, where)
        if not objects:
            say("nothing in this manifest is served by Freehold")
            return []
        cloud = await cloud_of(session, target, stack)
        return await asked(session, objects, cloud, await _ring(target), target.options.gates)


async def _applied(session: Session, documents: Sequence[manifests.ManifestDocument], where: str) -> list[Json]:
    """The objects as the server would store them."""
    wanted = await targets(session.client, documents, where)
    would_be = await trial(session.client, wanted, await missing_namespaces(session.client, wanted))
    return [obj for each, obj in zip(wanted, would_be, strict=True) if each.ours]


async def _deleted(session: Session, key: Key) -> list[Json]:
    """The stored objects of that name, as if their deletion had been requested."""
    found = [await session.client.get(resource, key) for resource, _ in await named(session, key)]
    if not found:
        raise CliError(f"there is no {OURS[0].kind} {key}; freehold get shows what there is")
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return [{**obj, "metadata": {"deletionTimestamp": stamp, **obj["metadata"]}} for obj in found]


async def asked(
    session: Session, objects: Sequence[Json], cloud: tuple[str, str], ring: KeyRing, gates: FeatureGates
) -> list[Plan]:
    """What serving each of ``objects`` would do. ``cloud`` is of :func:`cloud_of`."""
    from freehold.api.served import served_of
    from freehold.operator.app import Settings
    from freehold.operator.kinds import SERVED_RESOURCES
    from freehold.operator.other_objects import StoredObjects
    from freehold.operator.owner_cluster import OwnerClusterReader
    from freehold.operator.planning import plan
    from freehold.reconcilers.gate import Mode

    url, key = cloud
    clock = await clock_of(url) if url else session.clock
    settings = Settings(
        kube=session.client.connection,
        api_key=key,
        ibm_url=url or None,
        cluster_api="off",
        clock=clock,
        gates=gates,
    )
    others = StoredObjects(session.client, SERVED_RESOURCES)
    plans = []
    for obj in objects:
        owners = OwnerClusterReader(session.client, Mode(settings.cluster_api), served_of(str(obj["kind"])))
        plans.append(await plan(obj, settings, ring, await owners.context(obj), others))
    return plans


async def _ring(target: Access) -> KeyRing:
    """The state's key ring; one for this plan alone where there is none yet. Raises CliError."""
    from freehold.operator.keyring import RingDocument, RingError
    from freehold.operator.keyring_file import FileRing

    assert target.state is not None
    try:
        found = await FileRing(target.state.keys).read()
    except RingError as problem:
        raise CliError(problem.message) from problem
    return (found.document or RingDocument.fresh(time.time())).ring()


async def cloud_of(session: Session, target: Access, stack: AsyncExitStack) -> tuple[str, str]:
    """The URL of a simulated cloud (empty for the real one) and the key, for a command that only reads.

    It binds the state to neither.
    """
    if session.simulator:
        return session.simulator, API_KEY
    if target.kubeconfig:
        return "", api_key_of(os.environ)
    state = target.state
    assert state is not None
    if state.choose(target.options.simulate) is CloudChoice.IBM:
        return "", api_key_of(os.environ)
    if state.cloud is None:  # a world that nobody will come back to
        state = StateDirectory.open(Path(stack.enter_context(TemporaryDirectory(prefix="freehold-plan-"))))
    return await stack.enter_async_context(simulated_cloud(state, target.options.speed)), API_KEY


def _refusals(plan: Plan) -> list[str]:
    rows = [f"{row.kind} {row.name}: {row.reason}" for row in plan.rows if row.action == "refuse"]
    return [*plan.problems, *rows]


def _document(plan: Plan) -> Mapping[str, Any]:
    return {
        "object": plan.object,
        "resources": [_row(row) for row in plan.rows],
        "problems": list(plan.problems),
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
    cells: list[tuple[str, ...]] = [
        ("ACTION", "KIND", "NAME", "ID"),
        *((r.action, r.kind, r.name, r.id.rpartition("/")[2]) for r in rows),
    ]
    if not any(each.id for each in rows):
        cells = [cell[:3] for cell in cells]
    beside = columns([(*cell, why) for cell, why in zip(cells, ("WHY", *map(_why, rows)), strict=True)])
    if max(map(len, beside)) <= room:
        return beside
    head, *lines = columns([cell[:3] for cell in cells])
    below = [folded(f"{_why(each)} ({each.id})" if each.id else _why(each), "    ", room) for each in rows]
    return [head, *(line for row, why in zip(lines, below, strict=True) for line in (row, *why))]


def _why(row: PlanRow) -> str:
    if not row.attribute:
        return row.reason
    return f"{row.attribute}: {row.reason}"


def _print(plan: Plan) -> None:
    counts = Counter(row.action for row in plan.rows)
    nothing = "nothing can be done yet" if plan.problems or plan.unanswered else "nothing to do"
    say(f"{plan.object}: " + (", ".join(f"{counts[action]} to {action}" for action in counts) or nothing))
    if plan.rows:
        for line in _table(plan.rows, width() - 2):
            say(f"  {line}")
    if plan.writes:
        calls = ", ".join(f"{number} to {api}" for api, number in sorted(plan.writes.items()))
        say(f"  at most so many writes to the cloud, by API: {calls}")
    for note in plan.notes:
        say(f"  note: {note}")
