"""``freehold plan``: what applying a manifest, or deleting an object, would do to the cloud. Writes nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freehold.cli import hints, manifests, quick
from freehold.cli.access import Access, access
from freehold.cli.applying import missing_namespaces, not_in_manifest, targets, trial
from freehold.cli.credentials import require_some
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.formats import emit
from freehold.cli.kinds import OURS
from freehold.cli.naming import Naming, find_objects
from freehold.cli.plan_service import Wished, plans_of_server
from freehold.cli.plan_text import print_plan
from freehold.cli.quick import ReadSession
from freehold.cli.state_directory import CloudChoice
from freehold.cli.terminal import tell_at_once, warn
from freehold.kube.resources import NAMESPACES, SECRETS, Json
from freehold.providers.registry import METADATA_RESOURCES, READ_RESOURCES, SERVED

if TYPE_CHECKING:
    from freehold.api.feature_gates import FeatureGates
    from freehold.cli.session import Session
    from freehold.controllers.plan.plan import Plan, PlanRow

NOTHING, CHANGES = 0, 2
"""Exit codes with ``--detailed-exitcode``; anything else is FAILED."""

_READ_BESIDE = frozenset({*READ_RESOURCES, SECRETS, NAMESPACES})
"""What the operator reads for an object that names it: the identities of AWS, and what those depend on."""

_SERVED = frozenset((each.api_version, each.kind) for each in OURS)
_ABOUT_TAGS = frozenset((each.api_version, each.kind) for each in METADATA_RESOURCES)

_PLAN_SECONDS = 600.0
"""The longest that a server may take for plans: it asks the cloud about each resource."""


@dataclass(frozen=True)
class Asked:
    """Name what is to be planned: the documents of ``files``, or the deletion of ``doomed``."""

    files: Sequence[str]
    documents: Sequence[manifests.ManifestDocument]
    doomed: Sequence[str]
    namespace: str


def run(
    filename: Sequence[str], down: str, more: Sequence[str], simulate: bool, speed: float, output: str, namespace: str,
    state: Path | None, detailed_exitcode: bool, feature_gates: FeatureGates, simulate_settings: Path | None,
    kubeconfig: str, simulator: str, keys_namespace: str,
) -> int:  # fmt: skip
    """The command; its exit code. Raises CliError, also when the manifest would be refused."""
    doomed = [down, *more] if down else []
    if bool(down) == bool(filename) or (more and not down):
        raise CliError("say what to plan: freehold plan -f FILE, or freehold plan --down NAME", code=MISUSED)
    documents = manifests.read(*filename, namespace=namespace) if filename else []
    target = access(
        state, kubeconfig=kubeconfig, operator=False, simulate=simulate, speed=speed, gates=feature_gates,
        settings=simulate_settings, simulator=simulator, keys_namespace=keys_namespace, log=False,
    )  # fmt: skip
    about_tags = [each for each in documents if (each.api_version, each.kind) in _ABOUT_TAGS]
    if about_tags and not any((each.api_version, each.kind) in _SERVED for each in documents):
        from freehold.cli import tags_plan

        return tags_plan.show(target, documents, (), namespace, output, detailed_exitcode=detailed_exitcode)
    asked = Asked(filename, documents, doomed, namespace)
    plans = _plans_of_server(target, asked)
    if plans is None:
        plans = quick.the_long_way(target, lambda session: _plans(session, target, asked))
    if output != "table":
        emit(output, [_document(each) for each in plans])
    else:
        for each in plans:
            print_plan(each)
    if about_tags:
        more = hints.of_files("tags plan", filename, "--simulate" if simulate else "")
        warn(f"not planned here: {_counted(about_tags)}; what becomes of tags: {more}")
    return concluded(plans, output, detailed_exitcode=detailed_exitcode)


def concluded(plans: Sequence[Plan], output: str, *, detailed_exitcode: bool) -> int:
    """The exit code. Raises CliError where a manifest would not become Ready, or where that is not known."""
    problems = [f"{each.title}: {problem}" for each in plans for problem in (*each.problems, *each.lacking)]
    refused = [f"{each.title}: {row.kind} {row.name}: {row.reason}" for each in plans for row in _refused(each)]
    if output == "table" and refused:
        raise CliError(f"the manifest would not become Ready as it is: {len(refused)} refused, see above", problems)
    if refused or problems:
        raise CliError("the manifest would not become Ready as it is", [*problems, *refused])
    unanswered = [f"{each.title}: {question}" for each in plans for question in each.unanswered]
    if unanswered:
        raise CliError("the plan is not known: the cloud could not be asked; run the same command again", unanswered)
    return CHANGES if detailed_exitcode and any(each.changes for each in plans) else NOTHING


def _plans_of_server(target: Access, asked: Asked) -> list[Plan] | None:
    """The plans of the process that serves the state, for its account; None where there is none that makes plans."""
    if target.options.settings is not None:
        return None  # the server has settings of its own
    with quick.session(target, operator=True, timeout=_PLAN_SECONDS) as session:
        if session is None:
            return None
        _require_cloud(target)
        tell_at_once("looking at the clouds")

        async def ask() -> list[Plan] | None:
            found = await wished(session, target, asked)
            return await plans_of_server(session.client, found, target.options.gates)

        return quick.finished(ask())


def _require_cloud(target: Access) -> None:
    """What planning in this process would refuse, the server's own account is not asked for either."""
    assert target.state is not None
    if target.state.choose(target.options.simulate) is CloudChoice.REAL:
        require_some(os.environ)


async def _plans(session: Session, target: Access, asked: Asked) -> list[Plan]:
    from freehold.cli.local_plans import asked as plans_here
    from freehold.cli.local_plans import ring_of, simulator_of

    found = await wished(session, target, asked)
    async with AsyncExitStack() as stack:
        simulator = await simulator_of(session, target, stack)
        ring = await ring_of(session, target)
        return await plans_here(session, target, found.objects, simulator, ring, found.beside)


async def wished(session: ReadSession, target: Access, asked: Asked) -> Wished:
    """Return what is to be planned. Raises CliError where that is nothing."""
    if asked.doomed:
        found = await find_objects(session, Naming("plan --down"), asked.doomed, asked.namespace)
        return Wished([as_deleted(await session.client.get(resource, key)) for resource, key in found])
    applied = await _applied(session, target, asked)
    if not applied.objects:
        kinds = ", ".join(each.kind for each in SERVED)
        raise CliError(f"nothing is planned: this has {_counted(asked.documents)}; plans are made of {kinds}, and tags")
    return applied


async def _applied(session: ReadSession, target: Access, asked: Asked) -> Wished:
    """Return the objects as the server would store them."""
    wanted = await targets(session.client, asked.documents, asked.namespace or session.namespace)
    missing = await missing_namespaces(session.client, wanted)
    if unmade := not_in_manifest(missing, wanted):
        options = "--simulate" if target.options.simulate else "", "--create-namespace"
        up = hints.of_files("up", asked.files, *options)
        warn(f"there is no namespace {', '.join(unmade)}; this is planned as if there were. To make it: {up}")
    would_be = await trial(session.client, wanted, missing)
    placed = list(zip(wanted, would_be, strict=True))
    return Wished(
        [obj for each, obj in placed if each.ours],
        [obj for each, obj in placed if each.resource in _READ_BESIDE],
    )


def _counted(documents: Sequence[manifests.ManifestDocument]) -> str:
    counts = Counter(each.kind for each in documents)
    return ", ".join(f"{kind}{f' ×{number}' if number > 1 else ''}" for kind, number in counts.items()) or "no object"


def as_deleted(obj: Json) -> Json:
    """The object as if its deletion had been requested now."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**obj, "metadata": {"deletionTimestamp": stamp, **obj["metadata"]}}


def _refused(plan: Plan) -> list[PlanRow]:
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
