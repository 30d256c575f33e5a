"""``freehold tags plan``: what the metadata controller would do to tags, by resource, and its calls. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freehold.cli.commands import tags_server
from freehold.cli.errors import CHANGES, MISUSED, NOTHING, CliError
from freehold.cli.local.access import Access, access
from freehold.cli.local.cloud_reads import ring_of, settings_of, simulator_of
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.session import Session, open_session
from freehold.cli.objects import manifests
from freehold.cli.objects.applying import Target, missing_namespaces, not_in_manifest, targets, trial
from freehold.cli.objects.naming import NameSyntax, parse_names
from freehold.cli.objects.object_lookup import absent
from freehold.cli.output.formats import emit
from freehold.cli.output.hints import hint
from freehold.cli.output.tags_text import print_plan
from freehold.cli.output.terminal import warn
from freehold.kube.resources import Json, Key, key_of

if TYPE_CHECKING:
    from freehold.tags.tag_plan import TagPlan


def run(
    words: Sequence[str], filename: Sequence[str], detailed_exitcode: bool, output: str, simulate_settings: Path | None,
    simulate: bool, speed: float, namespace: str, state: Path | None, kubeconfig: str, simulator: str,
    keys_namespace: str,
) -> int:  # fmt: skip
    """Run the command; its exit code. Raises CliError."""
    if words and filename:
        raise CliError("give a NAME or -f FILE, not both", code=MISUSED)
    documents = manifests.read(*filename, namespace=namespace) if filename else None
    target = access(
        state=state, kubeconfig=kubeconfig, operator=False, simulate=simulate, speed=speed,
        simulate_settings=simulate_settings, simulator=simulator, keys_namespace=keys_namespace, log=False,
    )  # fmt: skip
    return show(target, documents, words, namespace, output, detailed_exitcode=detailed_exitcode)


def show(
    target: Access, documents: Sequence[manifests.ManifestDocument] | None, words: Sequence[str], namespace: str,
    output: str, *, detailed_exitcode: bool,
) -> int:  # fmt: skip
    """Print the plans; the exit code. Raises CliError."""
    plans = run_to_end(_plans(target, documents, words, namespace))
    if output == "table":
        for each in plans:
            print_plan(each)
    else:
        emit(output, [document(each) for each in plans])
    refuse_unclear(plans)
    return CHANGES if detailed_exitcode and any(each.changes for each in plans) else NOTHING


def refuse_unclear(plans: Sequence[TagPlan]) -> None:
    """Raise CliError where something prevents what is asked for, or could not be asked."""
    if problems := [f"{each.object}: {problem}" for each in plans for problem in each.problems]:
        raise CliError("not all tags can be made as they are asked for", problems)
    if unanswered := [f"{each.object}: {question}" for each in plans for question in each.unanswered]:
        raise CliError("the plan is not known: the cloud could not be asked; run the same command again", unanswered)


async def _plans(
    target: Access, documents: Sequence[manifests.ManifestDocument] | None, words: Sequence[str], namespace: str
) -> list[TagPlan]:
    async with open_session(target) as session:
        where = namespace or session.namespace
        if documents is not None:
            wanted = await targets(session.client, documents, where)
            return await plans_of(session, target, await as_stored(session, wanted))
        name = await _find_name(session, words, where)
        return await plans_of(
            session, target, (), await find_cloud_metadata(session, name, where, anywhere=not namespace)
        )


async def _find_name(session: Session, words: Sequence[str], where: str) -> str:
    """Find the name that the words say; empty for all objects. Raises CliError."""
    from freehold.tags.context import CLOUD_METADATAS

    if not words:
        return ""
    named = await parse_names(session, NameSyntax("tags plan", (CLOUD_METADATAS,)), words, where)
    if len(named) > 1:
        raise CliError("plan one object at a time, or all of them", code=MISUSED)
    return named[0].name


async def as_stored(session: Session, wanted: Sequence[Target], *, create_namespace: bool = False) -> list[Json]:
    """Return the objects of the metadata controller as the server would store them. Raises CliError."""
    from freehold.tags.planning import METADATA_KINDS

    missing = await missing_namespaces(session.client, wanted)
    if not create_namespace and (unmade := not_in_manifest(missing, wanted)):
        apply = hint("tags apply", "-f", "FILE", "--create-namespace")
        warn(f"there is no namespace {', '.join(unmade)}; this is planned as if there were. To make it: {apply}")
    tried = await trial(session.client, wanted, missing)
    found = [obj for each, obj in zip(wanted, tried, strict=True) if each.resource in METADATA_KINDS]
    if not found:
        raise CliError("nothing in this manifest is about tags: it has no CloudMetadata, AWSMetadata or IBMMetadata")
    return found


async def find_cloud_metadata(session: Session, name: str, namespace: str, *, anywhere: bool) -> list[Key]:
    """Find the stored CloudMetadata of that name; without one all of them, of every namespace with ``anywhere``."""
    from freehold.tags.context import CLOUD_METADATAS

    rows = (await session.client.list(CLOUD_METADATAS, "" if anywhere else namespace)).items
    keys = sorted(key_of(row) for row in rows)
    if not name:
        if not keys:
            warn("there is no CloudMetadata")
        return keys
    found = [key for key in keys if key.name == name]
    here = [key for key in found if key.namespace == namespace]
    if not found:
        raise CliError(await absent(session, [CLOUD_METADATAS], Key("" if anywhere else namespace, name)))
    if len(found) > 1 and not here:
        raise CliError(f"{name} is in several namespaces ({', '.join(each.namespace for each in found)}): add -n")
    return here or found


async def plans_of(session: Session, target: Access, wanted: Sequence[Json], keys: Sequence[Key] = ()) -> list[TagPlan]:
    """Plan ``keys``, and what would be stored or refers to it. Raises CliError.

    A grant may stop objects of every namespace: which, and why, is told.
    """
    from freehold.tags.context import CLOUD_METADATAS
    from freehold.tags.controller import GRANTS
    from freehold.tags.planning import plan_tags
    from freehold.tags.policy.references import Reference, refers_to

    stored = (await session.client.list(CLOUD_METADATAS)).items if wanted else []
    asked = set(keys)
    concerned = {key_of(each) for each in stored} if any(each["kind"] == GRANTS.kind for each in wanted) else set()
    clouds = [each for each in wanted if each["kind"] == CLOUD_METADATAS.kind]
    asked |= {key_of(each) for each in clouds}
    named = [Reference(str(each["kind"]), *key_of(each)) for each in wanted]
    asked |= {key_of(each) for each in (*stored, *clouds) if any(refers_to(each, reference) for reference in named)}
    if not asked and not concerned:
        if wanted:
            warn("no CloudMetadata refers to what is in this manifest: nothing would be tagged")
        return []
    async with AsyncExitStack() as stack:
        simulator = await simulator_of(session, target, stack)
        ring = await ring_of(session, target)
        settings = replace(
            await settings_of(session, target, simulator), metadata=await tags_server.configuration(session)
        )
        others = sorted(concerned - asked)
        plans = await plan_tags(session.client, [*sorted(asked), *others], wanted, settings, ring)
    for told in dict.fromkeys(f"{plan.object}: {why}" for plan in plans[len(asked) :] for why in plan.problems):
        warn(f"warning: with this grant, {told}")
    return plans[: len(asked)]


def document(plan: TagPlan) -> Mapping[str, Any]:
    """For JSON and YAML."""
    return {
        "kind": "CloudMetadata",
        "object": plan.object,
        "selected": plan.selected,
        "resources": [
            {
                **{name: value for name, value in asdict(each).items() if name not in ("rows", "notes")},
                "tags": [
                    {
                        "action": row.action.value, "key": row.key, "from": list(row.before), "to": row.after,
                        "cause": row.cause, "why": row.why,
                    }
                    for row in each.rows
                ],
                "notes": list(each.notes),
            }
            for each in plan.resources
        ],
        "calls": [
            {**asdict(each), "targets": list(each.targets), "tags": [list(pair) for pair in each.tags]}
            for each in plan.calls
        ],
        "problems": list(plan.problems),
        "unanswered": list(plan.unanswered),
        "notes": list(plan.notes),
        "left": dict(plan.left),
        "approval": {"digest": plan.digest, "message": plan.approval} if plan.digest else None,
    }  # fmt: skip
