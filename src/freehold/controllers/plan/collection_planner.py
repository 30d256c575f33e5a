"""Planner of collections: one look behind a port that sends no write, judged by the rules of the sweep."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from freehold.api.vendor_ids import vendor_id
from freehold.collection.found import Look, Workloads
from freehold.collection.policy import Collect, Policy, UnreadablePolicy, Volumes
from freehold.collection.rules import Delete, Verdict, judge, judge_all
from freehold.collection.survey import Survey
from freehold.collection.sweep import describe_namesakes, describe_running_machines
from freehold.collection.things import DEFAULT_TASKS, CollectionTask
from freehold.controllers.collecting import find_rivals
from freehold.controllers.connections import find_accounts, open_connections
from freehold.controllers.owner_cluster import OwnerClusterReader
from freehold.controllers.plan.collection import CollectionPlan, Fate, Leftover
from freehold.controllers.read_only_context import build_read_only_context
from freehold.controllers.settings import Settings
from freehold.engine.collection import Site
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.journal import CorruptJournal, Journal
from freehold.engine.keys import KeyRing
from freehold.engine.phases import collect
from freehold.kube.resources import Json, key_of
from freehold.providers.access.accounts import Binding, CloudAccount, NoCredentials, bind_in_place
from freehold.providers.access.audit import NoAudit
from freehold.providers.base import ObjectReader
from freehold.providers.objects import identity, parents
from freehold.providers.objects.adapter import CollectionRequest
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.collection_condition import observe_collection
from freehold.providers.objects.gate import ClusterApiMode
from freehold.providers.registry import SERVED, served_of

Stored = Callable[[], Awaitable[Iterable[Json]]]
"""Reads all objects of the API server."""


async def plan_collections(
    objects: Sequence[Json], settings: Settings, client: ObjectReader, ring: KeyRing, stored: Stored
) -> list[CollectionPlan]:
    """Plan for each object what its delete would collect. Writes nothing. Raises KubeError."""
    with ExitStack() as stack:
        connections = open_connections(settings, client, stack, NoAudit())
        accounts = {served.kind: find_accounts(connections, served) for served in SERVED}
        once, found = _StoredOnce(stored), []
        for raw in objects:
            served = served_of(str(raw["kind"]))
            standing = parents.find_standing(raw, served, None)
            binding = await bind_in_place(accounts[served.kind], raw, served, standing)
            owners = OwnerClusterReader(client, ClusterApiMode(settings.cluster_api), served)
            around = (await owners.read_context(raw)).around if served.infrastructure else NOTHING_AROUND
            found.append(await plan_collection(raw, binding, ring, once.read, around))
        return found


class _StoredOnce:
    """A reader that lists all objects once, at the first use."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._found: list[Json] | None = None

    async def read(self) -> Iterable[Json]:
        if self._found is None:
            self._found = list(await self._stored())
        return self._found


async def plan_collection(
    raw: Json, binding: Binding | NoCredentials, ring: KeyRing, stored: Stored, around: Around = NOTHING_AROUND
) -> CollectionPlan:
    """Plan the collection of one object, with its account passed in."""
    begun = CollectionPlan(str(raw["kind"]), str(key_of(raw)))
    try:
        journal = identity.read_record(raw)
    except CorruptJournal as corrupt:
        return replace(begun, held=(str(corrupt),))
    if journal is None:
        return replace(begun, notes=("it has not been served yet: nothing of it is in the cloud",))
    if isinstance(binding, NoCredentials):
        return replace(begun, unanswered=(binding.message,))
    wanted = binding.adapter.find_collection(raw, journal, around)
    if wanted is None:
        return replace(begun, notes=(f"nothing is collected with an {raw['kind']}",))
    asked = _add_policy(begun, wanted)
    try:
        if problem := await _explain_other_account(binding.cloud, journal):
            return replace(asked, unanswered=(problem,))
        ctx = build_read_only_context(journal, binding.cloud.build_read_only_deps(ring))
        return await _judge_leftovers(asked, wanted, binding.cloud, ctx, stored)
    except CloudError as error:
        return replace(asked, unanswered=(error.message,))


def _add_policy(begun: CollectionPlan, wanted: CollectionRequest) -> CollectionPlan:
    said = observe_collection(wanted.policy)
    held = (said.message,) if isinstance(wanted.policy, UnreadablePolicy) else ()
    return replace(
        begun,
        cluster=wanted.cluster,
        collected=isinstance(wanted.policy, Collect),
        reason=said.reason,
        policy=said.message,
        tasks=wanted.policy.tasks if isinstance(wanted.policy, Collect) else (),
        held=held,
    )


async def _explain_other_account(cloud: CloudAccount, journal: Journal) -> str:
    """Say that the credentials are of another account than the object's; empty if they are not. Raises CloudError."""
    account = await cloud.read_account()
    if journal.account in ("", account):
        return ""
    return f"its resources are in {cloud.name} account {journal.account}, and these credentials are of {account}"


async def _judge_leftovers(
    begun: CollectionPlan, wanted: CollectionRequest, cloud: CloudAccount, ctx: PassContext, stored: Stored
) -> CollectionPlan:
    site = await collect.find_site(ctx)
    if not isinstance(site, Site):
        return replace(begun, unanswered=(site.message,))
    if not site.network:
        return replace(begun, notes=(_explain_no_network(ctx),))
    survey = cloud.build_read_only_survey(wanted.cluster)
    assert survey is not None
    workloads = Workloads(wanted.cluster, site.network, ctx.owner.uuid)
    look = await survey.look(workloads, tuple(CollectionTask))
    others = (*find_rivals(await stored(), site, wanted.cluster), *look.namesakes)
    return _apply_policy(replace(begun, network=site.network), wanted.policy, survey, site, workloads, look, others)


def _explain_no_network(ctx: PassContext) -> str:
    for key, entry in ctx.journal.claimed.items():
        kind = ctx.deps.registry.get(key.kind)
        if kind is not None and kind.deletion.holds_external and entry.id:
            lost = "does not have the marks of this object, or is gone"
            return f"{key.kind} {vendor_id(entry.id)} {lost}: nothing in it is collected"
    return "it has no network: there is nothing to collect"


def _apply_policy(
    begun: CollectionPlan,
    policy: Policy,
    survey: Survey,
    site: Site,
    workloads: Workloads,
    look: Look,
    others: Sequence[str],
) -> CollectionPlan:
    volumes = policy.volumes if isinstance(policy, Collect) else Volumes.RETAIN
    said = judge_all(look, workloads, survey.rules, _choose_tasks(policy), volumes)
    stays = "" if isinstance(policy, Collect) else "nothing is collected with this cluster"
    notes = look.notes
    if isinstance(policy, Collect) and others:
        stays = "whose it is cannot be told"
        begun = replace(begun, held=(*begun.held, describe_namesakes(workloads.name, site, others)))
    elif isinstance(policy, Collect) and look.running:
        notes = (describe_running_machines(workloads, look.running), *notes)
    rows = [
        _build_row(each, stays, proven=isinstance(judge(each.thing, workloads, survey.rules[each.thing.task]), Delete))
        for each in said
    ]
    rows.sort(key=lambda row: row.fate is Fate.KEEP)
    return replace(begun, rows=tuple(rows), running=look.running, notes=notes)


def _build_row(verdict: Verdict, stays: str, *, proven: bool) -> Leftover:
    thing = verdict.thing
    if not isinstance(verdict, Delete):
        fate, reason = Fate.KEEP, verdict.why
    elif stays:
        fate, reason = Fate.KEEP, stays
    elif thing.held_by:
        fate, reason = Fate.HOLD, thing.held_by
    else:
        changed = sorted({group for group, _ in thing.named_by})
        after = [
            f"after {thing.waits_for}" if thing.waits_for else "",
            f"first the rules of {', '.join(changed)} that name it are revoked" if changed else "",
        ]
        fate, reason = Fate.DELETE, "; ".join(filter(None, [verdict.proof, *after]))
    return Leftover(fate, thing.task, thing.noun, thing.name, thing.id, reason, proven)


def _choose_tasks(policy: Policy) -> Sequence[CollectionTask]:
    return policy.tasks if isinstance(policy, Collect) else DEFAULT_TASKS
