"""``freehold plan``: what a manifest would do, from the same engine behind a port that stops at writes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from freehold.cli import manifests
from freehold.cli.applying import Target, missing_namespaces, targets, trial
from freehold.cli.errors import CliError
from freehold.cli.live import api_key_of
from freehold.cli.reading import emit
from freehold.cli.running import access
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Access, Session, opened
from freehold.cli.simulator import API_KEY, clock_of, simulated_cloud
from freehold.cli.state_directory import CloudChoice, StateDirectory
from freehold.cli.terminal import columns, folded, say, width
from freehold.kube.errors import NotFound
from freehold.kube.resources import Json

if TYPE_CHECKING:
    from freehold.lifecycle.keys import KeyRing
    from freehold.operator.planning import Plan, PlanRow

_ORDER = ("create", "reuse", "keep", "wait", "refuse")


def run(filename: Sequence[str], simulate: bool, speed: float, output: str, namespace: str, state: Path | None) -> None:
    """The command. Raises CliError, also when the manifest would be refused."""
    documents = manifests.read(*filename, namespace=namespace)
    target = access(state, operator=False, simulate=simulate, speed=speed)
    plans = run_to_end(_plans(target, documents, namespace))
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


async def _plans(target: Access, documents: Sequence[manifests.ManifestDocument], namespace: str) -> list[Plan]:
    async with opened(target) as session, AsyncExitStack() as stack:
        wanted = await targets(session.client, documents, namespace or session.namespace)
        would_be = await trial(session.client, wanted, await missing_namespaces(session.client, wanted))
        ours = [(each, obj) for each, obj in zip(wanted, would_be, strict=True) if each.ours]
        if not ours:
            say("nothing in this manifest is served by Freehold")
            return []
        return await _asked(session, target, ours, stack)


async def _asked(
    session: Session, target: Access, ours: Sequence[tuple[Target, Json]], stack: AsyncExitStack
) -> list[Plan]:
    from freehold.operator.app import Settings
    from freehold.operator.planning import plan

    url, key = await _cloud(session, target, stack)
    clock = await clock_of(url) if url else session.clock
    settings = Settings(
        kube=session.client.connection, api_key=key, ibm_url=url or None, cluster_api="off", clock=clock
    )
    ring = await _ring(target)
    return [await plan(obj, settings, ring, await _stored(session, each)) for each, obj in ours]


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


async def _cloud(session: Session, target: Access, stack: AsyncExitStack) -> tuple[str, str]:
    """The URL of a simulated cloud (empty for the real one) and the key. A plan binds the state to neither."""
    if session.simulator:
        return session.simulator, API_KEY
    state = target.state
    assert state is not None
    if state.choose(target.options.simulate) is CloudChoice.IBM:
        return "", api_key_of(os.environ)
    if state.cloud is None:  # a world that nobody will come back to
        state = StateDirectory.open(Path(stack.enter_context(TemporaryDirectory(prefix="freehold-plan-"))))
    return await stack.enter_async_context(simulated_cloud(state, target.options.speed)), API_KEY


async def _stored(session: Session, target: Target) -> Json | None:
    try:
        return await session.client.get(target.resource, target.key)
    except NotFound:
        return None


def _refusals(plan: Plan) -> list[str]:
    rows = [f"{row.kind} {row.name}: {row.reason}" for row in plan.rows if row.action == "refuse"]
    return [*plan.problems, *rows]


def _document(plan: Plan) -> Mapping[str, Any]:
    return {
        "object": plan.object,
        "resources": [asdict(row) for row in plan.rows],
        "problems": list(plan.problems),
        "unanswered": list(plan.unanswered),
        "notes": list(plan.notes),
    }


def _table(rows: Sequence[PlanRow], room: int) -> list[str]:
    """Rows with their reasons beside them, or below them where ``room`` (characters) is less."""
    cells: list[tuple[str, ...]] = [
        ("ACTION", "KIND", "NAME", "ID"),
        *((r.action, r.kind, r.name, r.id.rpartition("/")[2]) for r in rows),
    ]
    if not any(each.id for each in rows):
        cells = [cell[:3] for cell in cells]
    beside = columns([(*cell, why) for cell, why in zip(cells, ("WHY", *(r.reason for r in rows)), strict=True)])
    if max(map(len, beside)) <= room:
        return beside
    head, *lines = columns([cell[:3] for cell in cells])
    below = [folded(f"{each.reason} ({each.id})" if each.id else each.reason, "    ", room) for each in rows]
    return [head, *(line for row, why in zip(lines, below, strict=True) for line in (row, *why))]


def _print(plan: Plan) -> None:
    counts = {action: sum(row.action == action for row in plan.rows) for action in _ORDER}
    nothing = "nothing can be done yet" if plan.problems or plan.unanswered else "nothing to do"
    say(f"{plan.object}: " + (", ".join(f"{n} to {action}" for action, n in counts.items() if n) or nothing))
    if plan.rows:
        for line in _table(plan.rows, width() - 2):
            say(f"  {line}")
    for note in plan.notes:
        say(f"  note: {note}")
