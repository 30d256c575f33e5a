"""What a delete of an object would collect: one look behind a port that sends no write, judged as the sweep does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from freehold.api.vendor_ids import vendor_id
from freehold.collection.found import Look, Workloads
from freehold.collection.policy import Collect, Policy, Unreadable, Volumes
from freehold.collection.rules import Delete, Verdict, judge, verdicts
from freehold.collection.survey import Survey
from freehold.collection.sweep import machines_run, namesakes
from freehold.collection.things import DEFAULT_TASKS, Task
from freehold.controllers.app import Settings, connections_of
from freehold.controllers.collecting import rivals
from freehold.controllers.connections import accounts_in
from freehold.controllers.plan.collection import CollectionPlan, Fate, Leftover
from freehold.engine.clock import Clock
from freehold.engine.collection import Site
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.graph import Graph
from freehold.engine.journal import CorruptJournal, Journal
from freehold.engine.keys import KeyRing
from freehold.engine.phases import collect
from freehold.engine.state import ObjectState
from freehold.kube.resources import Json, key_of
from freehold.providers.access.accounts import Binding, CloudAccount, NoCredentials
from freehold.providers.access.audit import NoAudit
from freehold.providers.base import Reader
from freehold.providers.objects import identity
from freehold.providers.objects.adapter import Collecting
from freehold.providers.objects.collection_condition import external_resource_gc
from freehold.providers.registry import SERVED

Stored = Callable[[], Awaitable[Iterable[Json]]]
"""Reads all objects that there are."""


async def plan_collections(
    objects: Sequence[Json], settings: Settings, client: Reader, ring: KeyRing, stored: Stored
) -> list[CollectionPlan]:
    """Say for each object what its delete would collect. Writes nothing. Raises KubeError."""
    with ExitStack() as stack:
        connections = connections_of(settings, client, stack, NoAudit())
        accounts = {served.kind: accounts_in(connections, served) for served in SERVED}
        once, found = _Once(stored), []
        for raw in objects:
            binding = await accounts[str(raw["kind"])].binding(raw)
            found.append(await plan_collection(raw, binding, settings.clock, ring, once.read))
        return found


class _Once:
    """Reads all objects when they are first asked for."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._found: list[Json] | None = None

    async def read(self) -> Iterable[Json]:
        if self._found is None:
            self._found = list(await self._stored())
        return self._found


async def plan_collection(
    raw: Json, binding: Binding | NoCredentials, clock: Clock, ring: KeyRing, stored: Stored
) -> CollectionPlan:
    """The same of one object, with its account passed in."""
    begun = CollectionPlan(str(raw["kind"]), str(key_of(raw)))
    try:
        journal = identity.recorded(raw)
    except CorruptJournal as corrupt:
        return replace(begun, held=(str(corrupt),))
    if journal is None:
        return replace(begun, notes=("it has not been served yet: nothing of it is in the cloud",))
    if isinstance(binding, NoCredentials):
        return replace(begun, unanswered=(binding.message,))
    wanted = binding.adapter.collected(raw, journal)
    if wanted is None:
        return replace(begun, notes=(f"nothing is collected with an {raw['kind']}",))
    asked = _with_policy(begun, wanted)
    try:
        if problem := await _elsewhere(binding.cloud, journal):
            return replace(asked, unanswered=(problem,))
        return await _looked(asked, wanted, binding.cloud, _context(binding.cloud, journal, clock, ring), stored)
    except CloudError as error:
        return replace(asked, unanswered=(error.message,))


def _with_policy(begun: CollectionPlan, wanted: Collecting) -> CollectionPlan:
    said = external_resource_gc(wanted.policy)
    held = (said.message,) if isinstance(wanted.policy, Unreadable) else ()
    return replace(
        begun,
        cluster=wanted.cluster,
        collected=isinstance(wanted.policy, Collect),
        reason=said.reason,
        policy=said.message,
        tasks=wanted.policy.tasks if isinstance(wanted.policy, Collect) else (),
        held=held,
    )


async def _elsewhere(cloud: CloudAccount, journal: Journal) -> str:
    """With another account's credentials nothing of it is seen, which must not read as if nothing were there."""
    account = await cloud.account()
    if journal.account in ("", account):
        return ""
    return f"its resources are in {cloud.name} account {journal.account}, and these credentials are of {account}"


async def _looked(
    begun: CollectionPlan, wanted: Collecting, cloud: CloudAccount, ctx: PassContext, stored: Stored
) -> CollectionPlan:
    site = await collect.find_site(ctx)
    if not isinstance(site, Site):
        return replace(begun, unanswered=(site.message,))
    if not site.network:
        return replace(begun, notes=(_no_network(ctx),))
    survey = cloud.read_only_survey(wanted.cluster)
    assert survey is not None
    workloads = Workloads(wanted.cluster, site.network, ctx.owner.uuid)
    look = await survey.look(workloads, tuple(Task))
    others = (*rivals(await stored(), site, wanted.cluster), *look.namesakes)
    return _judged(replace(begun, network=site.network), wanted.policy, survey, site, workloads, look, others)


def _no_network(ctx: PassContext) -> str:
    for key, entry in ctx.journal.ours.items():
        kind = ctx.deps.registry.get(key.kind)
        if kind is not None and kind.deletion.holds_external and entry.id:
            lost = "does not have the marks of this object, or is gone"
            return f"{key.kind} {vendor_id(entry.id)} {lost}: nothing in it is collected"
    return "it has no network: there is nothing to collect"


def _judged(
    begun: CollectionPlan,
    policy: Policy,
    survey: Survey,
    site: Site,
    workloads: Workloads,
    look: Look,
    others: Sequence[str],
) -> CollectionPlan:
    volumes = policy.volumes if isinstance(policy, Collect) else Volumes.RETAIN
    said = verdicts(look, workloads, survey.rules, _tasks(policy), volumes)
    stays = "" if isinstance(policy, Collect) else "nothing is collected with this cluster"
    notes = look.notes
    if isinstance(policy, Collect) and others:
        stays = "whose it is cannot be told"
        begun = replace(begun, held=(*begun.held, namesakes(workloads.name, site, others)))
    elif isinstance(policy, Collect) and look.running:
        notes = (machines_run(workloads, look.running), *notes)
    rows = [
        _row(each, stays, proven=isinstance(judge(each.thing, workloads, survey.rules[each.thing.task]), Delete))
        for each in said
    ]
    rows.sort(key=lambda row: row.fate is Fate.KEEP)
    return replace(begun, rows=tuple(rows), running=look.running, notes=notes)


def _row(verdict: Verdict, stays: str, *, proven: bool) -> Leftover:
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


def _tasks(policy: Policy) -> Sequence[Task]:
    return policy.tasks if isinstance(policy, Collect) else DEFAULT_TASKS


def _context(cloud: CloudAccount, journal: Journal, clock: Clock, ring: KeyRing) -> PassContext:
    deps = cloud.read_only_deps(ring)
    return PassContext(deps, Graph(()), journal, _Unsaved(), ObjectState(clock.monotonic()))


class _Unsaved:
    async def save(self, journal: Journal) -> None:
        """Nothing is stored by asking."""
