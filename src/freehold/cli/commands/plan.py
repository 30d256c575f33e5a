"""``freehold plan``: what applying a manifest, or deleting an object, would do to the cloud. Writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Unpack

from freehold.cli.errors import CHANGES, MISUSED, NOTHING, CliError
from freehold.cli.local import fast_read
from freehold.cli.local.access import Access, Where, access
from freehold.cli.local.fast_read import ReadSession
from freehold.cli.local.served_plans import Wished, plans_of_server
from freehold.cli.objects import manifests
from freehold.cli.objects.applying import missing_namespaces, not_in_manifest, targets, trial
from freehold.cli.objects.kinds import OURS
from freehold.cli.objects.naming import NameSyntax, find_objects
from freehold.cli.output.formats import emit
from freehold.cli.output.hints import hint, hint_for_files, notes
from freehold.cli.output.plan_text import print_plan
from freehold.cli.output.terminal import warn
from freehold.kube.resources import NAMESPACES, SECRETS, Json
from freehold.providers.registry import METADATA_RESOURCES, READ_RESOURCES, SERVED

if TYPE_CHECKING:
    from freehold.cli.local.session import Session
    from freehold.controllers.plan.plan import Plan, PlanRow

_READ_BESIDE = frozenset({*READ_RESOURCES, SECRETS, NAMESPACES})
"""What the operator reads for an object that names it: the identities of AWS, and what those depend on."""

_SERVED = frozenset((each.api_version, each.kind) for each in OURS)
_ABOUT_TAGS = frozenset((each.api_version, each.kind) for each in METADATA_RESOURCES)


@dataclass(frozen=True)
class PlanRequest:
    """Name what is to be planned: the documents of ``files``, or the deletion of ``doomed``."""

    files: Sequence[str]
    documents: Sequence[manifests.ManifestDocument]
    doomed: Sequence[str]
    namespace: str


def run(
    filename: Sequence[str],
    down: str,
    more: Sequence[str],
    output: str,
    namespace: str,
    detailed_exitcode: bool,
    **where: Unpack[Where],
) -> int:
    """Run the command; return its exit code. Raises CliError, also when the manifest would be refused."""
    doomed = [down, *more] if down else []
    if bool(down) == bool(filename) or (more and not down):
        raise CliError(
            f"say what to plan: {hint('plan', '-f', 'FILE')}, or {hint('plan', '--down', 'NAME')}", code=MISUSED
        )
    documents = manifests.read(*filename, namespace=namespace) if filename else []
    target = access(operator=False, log=False, **where)
    about_tags = [each for each in documents if (each.api_version, each.kind) in _ABOUT_TAGS]
    if about_tags and not any((each.api_version, each.kind) in _SERVED for each in documents):
        from freehold.cli.commands.tags_plan import show

        return show(target, documents, (), namespace, output, detailed_exitcode=detailed_exitcode)
    asked = PlanRequest(filename, documents, doomed, namespace)
    plans = _plans_of_server(target, asked)
    if plans is None:
        plans = fast_read.run_with_session(target, lambda session: _plans(session, target, asked))
    if output != "table":
        emit(output, [_document(each) for each in plans])
    else:
        for each in plans:
            print_plan(each)
    if about_tags:
        tags_plan = hint_for_files("tags plan", filename, "--simulate" if target.options.simulate else "")
        warn(f"not planned here: {_count_kinds(about_tags)}; what becomes of tags: {tags_plan}")
    return conclude(plans, output, detailed_exitcode=detailed_exitcode)


def conclude(plans: Sequence[Plan], output: str, *, detailed_exitcode: bool) -> int:
    """Return the exit code. Raises CliError where a manifest would not become Ready, or where that is not known."""
    problems = [f"{each.title}: {problem}" for each in plans for problem in (*each.problems, *each.lacking)]
    refused = [f"{each.title}: {row.kind} {row.name}: {row.reason}" for each in plans for row in _refused_rows(each)]
    named = notes() if problems else []
    if output == "table" and refused:
        raise CliError(
            f"the manifest would not become Ready as it is: {len(refused)} refused, see above", [*problems, *named]
        )
    if refused or problems:
        raise CliError("the manifest would not become Ready as it is", [*problems, *refused, *named])
    unanswered = [f"{each.title}: {question}" for each in plans for question in each.unanswered]
    if unanswered:
        raise CliError("the plan is not known: the cloud could not be asked; run the same command again", unanswered)
    return CHANGES if detailed_exitcode and any(each.changes for each in plans) else NOTHING


def _plans_of_server(target: Access, asked: PlanRequest) -> list[Plan] | None:
    """Ask the process that serves the state, for its account; None where there is none that makes plans."""
    if target.options.settings is not None:
        return None  # the server has settings of its own

    async def ask(session: ReadSession) -> list[Plan] | None:
        found = await find_wished(session, target, asked)
        return await plans_of_server(session.client, found, target.options.gates)

    return fast_read.plan_on_server(target, ask)


async def _plans(session: Session, target: Access, asked: PlanRequest) -> list[Plan]:
    from freehold.cli.local.cloud_reads import plan_objects, ring_of, simulator_of

    found = await find_wished(session, target, asked)
    async with AsyncExitStack() as stack:
        simulator = await simulator_of(session, target, stack)
        ring = await ring_of(session, target)
        return await plan_objects(session, target, found.objects, simulator, ring, found.beside)


async def find_wished(session: ReadSession, target: Access, asked: PlanRequest) -> Wished:
    """Return what is to be planned. Raises CliError where that is nothing."""
    if asked.doomed:
        found = await find_objects(session, NameSyntax("plan", option="--down"), asked.doomed, asked.namespace)
        return Wished([as_deleted(await session.client.get(resource, key)) for resource, key in found])
    applied = await _read_applied(session, target, asked)
    if not applied.objects:
        kinds = ", ".join(each.kind for each in SERVED)
        raise CliError(
            f"nothing is planned: this has {_count_kinds(asked.documents)}; plans are made of {kinds}, and tags"
        )
    return applied


async def _read_applied(session: ReadSession, target: Access, asked: PlanRequest) -> Wished:
    """Return the objects as the server would store them."""
    wanted = await targets(session.client, asked.documents, asked.namespace or session.namespace)
    missing = await missing_namespaces(session.client, wanted)
    if unmade := not_in_manifest(missing, wanted):
        options = "--simulate" if target.options.simulate else "", "--create-namespace"
        up = hint_for_files("up", asked.files, *options)
        warn(f"there is no namespace {', '.join(unmade)}; this is planned as if there were. To make it: {up}")
    would_be = await trial(session.client, wanted, missing)
    placed = list(zip(wanted, would_be, strict=True))
    return Wished(
        [obj for each, obj in placed if each.ours],
        [obj for each, obj in placed if each.resource in _READ_BESIDE],
    )


def _count_kinds(documents: Sequence[manifests.ManifestDocument]) -> str:
    counts = Counter(each.kind for each in documents)
    return ", ".join(f"{kind}{f' ×{number}' if number > 1 else ''}" for kind, number in counts.items()) or "no object"


def as_deleted(obj: Json) -> Json:
    """Return the object as if its deletion had been requested now."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**obj, "metadata": {"deletionTimestamp": stamp, **obj["metadata"]}}


def _refused_rows(plan: Plan) -> list[PlanRow]:
    return [row for row in plan.rows if row.action == "refuse"]


def _document(plan: Plan) -> Mapping[str, Any]:
    return {
        "kind": plan.kind,
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
    if row.values:
        found["values"] = row.values
    return found
