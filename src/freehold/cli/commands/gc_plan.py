"""``freehold gc plan`` and ``freehold gc status``: what is out there, and what would go with it. Neither writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Unpack

from freehold.api.feature_gates import find_changed_gates
from freehold.cli.commands.gc import COLLECTABLE, collected_object
from freehold.cli.errors import CliError
from freehold.cli.local import fast_read
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.fast_read import ReadSession
from freehold.cli.local.key_ring import key_ring
from freehold.cli.local.served_plans import collections_of_server
from freehold.cli.objects.object_lookup import all_of
from freehold.cli.output.formats import emit
from freehold.cli.output.hints import notes
from freehold.cli.output.tables import Rows, format_table, with_ids
from freehold.cli.output.terminal import say, tell, width
from freehold.collection.things import CollectionTask
from freehold.controllers.plan.collection import CollectionPlan, Fate
from freehold.kube.resources import Json, Key

if TYPE_CHECKING:
    from freehold.cli.local.session import Session

_NO_RING = "there is no key ring that this command can read, so nothing proves which network is a cluster's"

Choose = Callable[[ReadSession], Awaitable[Sequence[Json]]]
"""Reads the objects that are asked about. Raises CliError."""


def plan(name: str, namespace: str, output: str, **where: Unpack[Where]) -> None:
    """Show what a delete would collect. Raises CliError where nothing is before a person acts, or it is not known."""

    async def one(session: ReadSession) -> Sequence[Json]:
        resource, key = await collected_object(session, Key(namespace or session.namespace, name))
        return [await session.client.get(resource, key)]

    [found] = _make_plans(access(operator=False, log=False, **where), one)
    if output == "table":
        _print(found)
    else:
        emit(output, _document(found))
    if found.unanswered:
        raise CliError("what would go is not known: run the same command again", found.unanswered)
    if found.held:
        raise CliError("nothing is collected, and nothing of the network is deleted, as it is", [*found.held, *notes()])


def status(namespace: str, output: str, all_namespaces: bool, **where: Unpack[Where]) -> None:
    """Show which clusters are collected, and what is out there. Raises CliError where one could not be asked."""

    async def several(session: ReadSession) -> Sequence[Json]:
        return await all_of(session, COLLECTABLE, "" if all_namespaces else namespace or session.namespace)

    found = _make_plans(access(operator=False, log=False, **where), several)
    if output != "table":
        emit(output, [_document(each) for each in found])
    elif found:
        for line in format_table(_statuses(found, namespaces=all_namespaces), width()):
            say(line)
    else:
        tell(f"there is no {' or '.join(each.kind for each in COLLECTABLE)}")
    if unanswered := [f"{each.title}: {why}" for each in found for why in each.unanswered]:
        raise CliError("what is out there is not known of each: run the same command again", unanswered)


def _make_plans(target: Access, choose: Choose) -> Sequence[CollectionPlan]:
    found = _ask_server(target, choose)
    return (
        fast_read.run_with_session(target, lambda session: _plan_here(session, target, choose))
        if found is None
        else found
    )


def _ask_server(target: Access, choose: Choose) -> Sequence[CollectionPlan] | None:
    """Ask the process that serves the state, which has gates and a selector of its own; None where that is none."""
    if find_changed_gates(target.options.gates) or target.options.gc_selector is not None:
        return None

    async def ask(session: ReadSession) -> list[CollectionPlan] | None:
        return await collections_of_server(session.client, await choose(session))

    return fast_read.plan_on_server(target, ask)


async def _plan_here(session: Session, target: Access, choose: Choose) -> Sequence[CollectionPlan]:
    from freehold.cli.local.cloud_reads import settings_of, simulator_of
    from freehold.cli.local.planning import collections_with

    objects = await choose(session)
    if not objects:
        return []
    ring = await key_ring(target, session)
    if ring is None:
        raise CliError(_NO_RING)
    async with AsyncExitStack() as stack:
        settings = await settings_of(session, target, await simulator_of(session, target, stack))
        return await collections_with(session.client, objects, settings, ring)


def _print(found: CollectionPlan) -> None:
    counts = Counter(row.fate for row in found.rows)
    said = ", ".join(f"{counts[fate]} to {fate}" for fate in Fate if counts[fate]) or _nothing(found)
    say(f"{found.title}: {said}")
    cells = [(row.fate, row.noun, row.name, _id(row.id, row.name), row.reason) for row in found.rows]
    for line in with_ids(("ACTION", "KIND", "NAME", "ID", "WHY"), cells, width() - 2) if cells else ():
        say(f"  {line}")
    for note in _notes(found):
        tell(f"  note: {note}")


def _nothing(found: CollectionPlan) -> str:
    return "nothing is known" if found.unanswered else "nothing is there"


def _notes(found: CollectionPlan) -> Iterator[str]:
    if found.network:
        yield f"these have marks of cluster {found.cluster}, and are looked for in {found.network}"
    if found.policy and not found.held:
        yield found.policy
    yield from found.notes


def _id(ident: str, name: str) -> str:
    """Leave out an ARN: within a region the name tells as much."""
    return "" if ident == name or ident.startswith("arn:") else ident


_SHORT: Mapping[str, str] = {
    CollectionTask.LOAD_BALANCER: "LB",
    CollectionTask.TARGET_GROUP: "TG",
    CollectionTask.SECURITY_GROUP: "SG",
    CollectionTask.NETWORK_INTERFACE: "ENI",
    CollectionTask.VOLUME: "VOL",
}


def _statuses(found: Sequence[CollectionPlan], *, namespaces: bool) -> Rows:
    heads = (*(("NAMESPACE",) if namespaces else ()), "NAME", "COLLECTED", *_SHORT.values(), "KEPT", "NOTE")
    return Rows(heads, tuple(_status(each, namespaces=namespaces) for each in found))


def _status(found: CollectionPlan, *, namespaces: bool) -> tuple[str, ...]:
    namespace, _, name = found.object.rpartition("/")
    counts = Counter(row.task for row in found.rows if row.proven)
    numbers = ["?" if found.unanswered else str(counts[task]) for task in _SHORT]
    kept = "?" if found.unanswered else str(sum(row.fate is Fate.KEEP for row in found.rows))
    note = "; ".join(dict.fromkeys((*found.held, *([found.policy] if found.policy else []), *found.notes)))
    collected = "held" if found.held else "yes" if found.collected else "no" if found.policy else "?"
    return (*((namespace,) if namespaces else ()), name, collected, *numbers, kept, note)


def _document(found: CollectionPlan) -> Mapping[str, Any]:
    counts = Counter(row.task for row in found.rows if row.proven)
    return {
        "kind": found.kind,
        "object": found.object,
        "cluster": found.cluster,
        "network": found.network,
        "collected": found.collected,
        "reason": found.reason,
        "policy": found.policy,
        "tasks": list(found.tasks),
        "found": {task.value: counts[task] for task in CollectionTask if counts[task]},
        "resources": [asdict(row) | {"fate": row.fate.value, "task": str(row.task)} for row in found.rows],
        "running": list(found.running),
        "held": list(found.held),
        "unanswered": list(found.unanswered),
        "notes": list(found.notes),
    }
