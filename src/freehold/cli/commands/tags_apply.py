"""``freehold tags apply``: shows the plan, asks, stores the objects, and tells what became of each resource."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freehold.api import conditions
from freehold.api.names import APPROVE_TAGS_ANNOTATION, TAGS_APPLIED_ANNOTATION
from freehold.cli.commands.tags_plan import as_stored, plans_of
from freehold.cli.commands.tags_server import outcomes
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access, access
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.session import Session, open_session
from freehold.cli.local.user_audit import log_decision, who
from freehold.cli.objects import manifests
from freehold.cli.objects.applying import Applied, Target, apply, targets
from freehold.cli.output.hints import hint
from freehold.cli.output.prompt import ask
from freehold.cli.output.tables import Rows, format_table
from freehold.cli.output.tags_text import print_plan
from freehold.cli.output.terminal import say, shorten_names, tell, warn, width
from freehold.kube.resources import NAMESPACES, Json, Key

if TYPE_CHECKING:
    from freehold.tags.tag_plan import TagPlan

_LOOK_SECONDS = 2.0
_ASK_SECONDS = 0.2
_TAGGED = "tagged"
_LISTED = 12
"""Resources that are named where the same became of them; more are counted."""
_STUCK_LOOKS = 3
"""Looks in a row that show the same failure, until it is believed."""


@dataclass(frozen=True)
class TagsApplyRequest:
    """What was asked for. ``approve``: the digest of a plan that waits for a person, empty where none is given."""

    documents: Sequence[manifests.ManifestDocument]
    namespace: str
    create_namespace: bool
    approve: str
    yes: bool
    patience: float
    force_conflicts: bool = False


def run(
    filename: Sequence[str], yes: bool, approve: str, create_namespace: bool, force_conflicts: bool,
    timeout: float, simulate_settings: Path | None, simulate: bool, speed: float, namespace: str, state: Path | None,
    kubeconfig: str, simulator: str, keys_namespace: str,
) -> None:  # fmt: skip
    """Run the command. Raises CliError."""
    documents = manifests.read(*filename, namespace=namespace)
    target = access(
        state=state, kubeconfig=kubeconfig, simulate=simulate, speed=speed, simulate_settings=simulate_settings,
        simulator=simulator, keys_namespace=keys_namespace,
    )  # fmt: skip
    asked = TagsApplyRequest(documents, namespace, create_namespace, approve, yes, timeout, force_conflicts)
    run_to_end(apply_tags(target, asked))


async def apply_tags(target: Access, asked: TagsApplyRequest) -> None:
    """Apply the tags. Raises CliError, also if a resource is not as it was asked for."""
    wanted, plans, digests = await _agree_on_plan(planning_only(target), asked)
    async with open_session(target) as session:
        tell(session.describe())
        applied = await apply(
            session.client, wanted, create_namespaces=asked.create_namespace, force=asked.force_conflicts
        )
        for done in applied:
            say(f"{done.target}: {done.verb.value}")
        _audit(target, session, applied, digests)
        await see_done(session, target, plans, digests, asked.patience)


def planning_only(target: Access) -> Access:
    """Return the target without an operator of this process, which would act before the person agrees to the plan."""
    return replace(target, options=replace(target.options, operator=False))


async def _agree_on_plan(
    target: Access, asked: TagsApplyRequest
) -> tuple[Sequence[Target], Sequence[TagPlan], Mapping[str, str]]:
    """Return what is applied, the plan that was agreed to, and the digests to store. Raises CliError."""
    async with open_session(target) as session:
        wanted = await targets(session.client, asked.documents, asked.namespace or session.namespace)
        _refuse_others(wanted)
        objects = await as_stored(session, wanted, create_namespace=asked.create_namespace)
        plans = await plans_of(session, target, objects)
        for each in plans:
            print_plan(each)
        _refuse_impossible(plans)
        return wanted, plans, await _obtain_approval(plans, asked)


def _refuse_others(wanted: Sequence[Target]) -> None:
    from freehold.tags.planning import METADATA_KINDS

    others = [str(each) for each in wanted if each.resource not in (*METADATA_KINDS, NAMESPACES)]
    if others:
        raise CliError(f"nothing was applied: not all of it is about tags; apply the rest with {hint('up')}", others)


def _refuse_impossible(plans: Sequence[TagPlan]) -> None:
    """Raise CliError for what stops an object as a whole; print what stops single resources, and go on."""
    whole = [f"{each.object}: {told}" for each in plans if not each.selected for told in each.problems]
    open_ = [f"{each.object}: {told}" for each in plans for told in each.unanswered]
    if whole or open_:
        raise CliError("nothing was applied", [*whole, *open_])
    for told in (f"{each.object}: {told}" for each in plans for told in each.problems):
        warn(f"warning: {told}")


async def _obtain_approval(plans: Sequence[TagPlan], asked: TagsApplyRequest) -> Mapping[str, str]:
    """Return the digests to store, by object. A person who says yes to a plan approves it. Raises CliError."""
    waiting = {each.object: each.digest for each in plans if each.digest}
    named = set(asked.approve.split(","))  # a condition names one, a plan those of all providers
    given = {name: asked.approve for name, digest in waiting.items() if named & set(digest.split(","))}
    if asked.approve and not given:
        raise CliError(f"nothing was applied: no plan has the digest {asked.approve}; the world has changed since")
    if asked.yes:
        return given
    if not any(each.changes for each in plans):
        return given
    await ask_to_apply(approves=bool(set(waiting) - set(given)))
    return waiting


def _audit(target: Access, session: Session, applied: Sequence[Applied], digests: Mapping[str, str]) -> None:
    if target.state is None:
        return  # the audit log of that API server has it; the annotation names the person
    for each in applied:
        spec = each.target.document.obj.get("spec")
        log_decision(target.state, session.clock, str(each.target), f"{each.verb.value} (tags apply)", {"spec": spec})
    audit_approvals(target, session, digests)


async def ask_to_apply(*, approves: bool) -> None:
    """``approves``: a yes is also an approval of what waits for one. Raises CliError where a person says no."""
    await ask("Apply, and approve what waits?" if approves else "Apply?", otherwise="nothing was applied")


def audit_approvals(target: Access, session: Session, digests: Mapping[str, str]) -> None:
    if target.state is not None:
        for name, digest in digests.items():
            log_decision(target.state, session.clock, f"CloudMetadata {name}", f"approved the plan {digest}")


async def _wake(session: Session, plans: Sequence[TagPlan], digests: Mapping[str, str]) -> None:
    """Make the controller look again at once, also if only the cloud has changed."""
    from freehold.tags.context import CLOUD_METADATAS

    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for each in plans:
        annotations = {TAGS_APPLIED_ANNOTATION: f"{who()} {stamp}"}
        if each.object in digests:
            annotations[APPROVE_TAGS_ANNOTATION] = digests[each.object]
        await session.client.patch(CLOUD_METADATAS, _key(each), {"metadata": {"annotations": annotations}})


def _key(plan: TagPlan) -> Key:
    namespace, _, name = plan.object.partition("/")
    return Key(namespace, name)


# -- afterwards ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Now:
    """What is so by now.

    ``failed`` is by resource; ``told`` says what stops an object whole, ``waits`` what waits for a person. ``looked``:
    the operator has looked since it was asked. ``undone`` and ``held`` are resources; the latter wait for an approval.
    ``left``: resources that are not as asked for and that no pass will change, and why. ``trimmed``: those on which
    POLICY_APPLY_PARTIAL leaves out what there is no room for. ``unknown`` says what could not be asked or read: of
    ``unread`` resources nothing is known. ``found``: those that were looked at; one that is not among them is gone, or
    with ``blind`` not known.
    """

    failed: Mapping[str, Json]
    told: str = ""
    waits: str = ""
    looked: bool = False
    undone: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    left: Mapping[str, str] = field(default_factory=dict)
    trimmed: Mapping[str, str] = field(default_factory=dict)
    unknown: str = ""
    unread: frozenset[str] = frozenset()
    blind: bool = False
    found: frozenset[str] = frozenset()

    @property
    def finished(self) -> bool:
        return not (self.undone or self.failed or self.told or self.unknown)


async def see_done(
    session: Session, target: Access, plans: Sequence[TagPlan], digests: Mapping[str, str], patience: float
) -> None:
    """Wake the controller, and plan until nothing is left: what the cloud shows is the success. Raises CliError."""
    keys = [_key(each) for each in plans]
    if not keys:
        return
    since = (await outcomes(session)).get("passes", 0)
    await _wake(session, plans, digests)
    deadline, stuck = time.monotonic() + patience, 0
    now = await _look(session, target, keys, digests, since)
    if not now.finished:
        tell("waiting until the operator has done it; Ctrl-C leaves it to the operator")
    while not now.finished and stuck < _STUCK_LOOKS and time.monotonic() < deadline:
        await _pause(session, keys, since, now)
        before, now = now, await _look(session, target, keys, digests, since)
        stuck = stuck + 1 if (now.looked or now.told or now.failed or now.unknown) and now == before else 0
    _report(plans, now)


async def _pause(session: Session, keys: Sequence[Key], since: int, now: _Now) -> None:
    """Wait before the next look at the cloud: less long where the operator here says that its first pass is over."""
    if now.looked or not session.embedded:
        await asyncio.sleep(_LOOK_SECONDS)
        return
    until = time.monotonic() + _LOOK_SECONDS
    while time.monotonic() < until:
        if (await _read_progress(session, keys, since)).looked:
            return
        await asyncio.sleep(_ASK_SECONDS)


async def _look(session: Session, target: Access, keys: Sequence[Key], digests: Mapping[str, str], since: int) -> _Now:
    plans = await plans_of(session, target, (), keys)
    left = {each.resource for plan in plans for each in plan.resources if each.changes}
    unapproved = [plan for plan in plans if plan.object not in digests]
    held = {each.resource for plan in unapproved for each in plan.resources if each.waits}
    told = await _read_progress(session, keys, since)
    prevented = {**told.left, **{where: why for plan in plans for where, why in plan.left.items()}}
    return replace(
        told,
        undone=frozenset(left - held),
        held=frozenset(held),
        left=prevented,
        trimmed={where: why for plan in plans for where, why in plan.trimmed.items()},
        unknown="; ".join(f"{plan.object}: {said}" for plan in plans for said in (*plan.unanswered, *plan.problems)),
        unread=frozenset(each for plan in plans for each in plan.unread),
        blind=any(plan.blind for plan in plans),
        found=frozenset(each for plan in plans for each in plan.found),
    )


async def _read_progress(session: Session, keys: Sequence[Key], since: int) -> _Now:
    """Read what the operator says. Of an operator in a cluster, only conditions are known.

    ``since``: the number of the last pass that was over when the person asked.
    """
    found = (await outcomes(session)).get("objects") if session.embedded else None
    if found is None:
        failed, told = await _conditions(session, keys)
        return _Now(failed, told)
    ours = [found[str(key)] for key in keys if found.get(str(key), {"pass": 0})["pass"] > since]
    failed = {where: each for one in ours for where, each in one["failed"].items()}
    told = "; ".join(each["refused"] for each in ours if each["refused"])
    waits = "; ".join(each["waits"] for each in ours if each["waits"])
    left = {where: why for one in ours for where, why in one["left"].items()}
    return _Now(failed, told, waits, looked=len(ours) == len(keys), left=left)


async def _conditions(session: Session, keys: Sequence[Key]) -> tuple[Mapping[str, Json], str]:
    from freehold.tags.context import CLOUD_METADATAS
    from freehold.tags.policy.status import APPLYING

    told: dict[str, Any] = {}
    for key in keys:
        raw = await session.client.get(CLOUD_METADATAS, key)
        ready = conditions.find_condition((raw.get("status") or {}).get("conditions") or (), "Ready") or {}
        here = ready.get("observedGeneration") == raw["metadata"].get("generation")
        if here and ready.get("status") == "False" and ready.get("reason") != APPLYING:
            told[f"CloudMetadata {key}"] = {"class": ready["reason"], "code": "", "message": ready["message"]}
    return told, "; ".join(each["message"] for each in told.values())


def _report(plans: Sequence[TagPlan], now: _Now) -> None:
    """Each resource that was to be changed, and what became of it. Raises CliError where one is not as asked for."""
    planned = {each.resource for plan in plans for each in plan.resources if each.changes}
    names = sorted({*planned, *now.undone, *now.held, *now.failed, *now.left, *now.trimmed})
    rows = [(shorten_names(name), *_outcome(name, now)) for name in names]
    if rows:
        for line in format_table(Rows(("RESOURCE", "OUTCOME", "WHY"), tuple(_together(rows))), width()):
            say(line)
    counts = Counter(outcome for _, outcome, _ in rows)
    said = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
    if counts["failed"] or counts["not yet"] or now.told:
        raise CliError(f"not all is as it was asked for ({said or now.told}); the operator tries again")
    if now.held:
        more = [f"{each.object}: add --approve {each.digest} to this command" for each in plans if each.digest]
        raise CliError(f"not all is as it was asked for ({said}): what waits is applied once it is approved", more)
    if now.left:
        raise CliError(f"not all is as it was asked for ({said}): change what is asked for, or what prevents it")
    if now.unknown:
        raise CliError(
            f"not all is known ({said or 'nothing was read'}): {now.unknown}",
            [f"{hint('tags plan')} says it, once it answers"],
        )
    nothing = "all tags are as they were asked for" if now.found else "no resource was found"
    tell(said or f"nothing was to be done: {nothing}")


def _together(rows: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Many resources of which the same is to be said are one row."""
    alike = Counter((outcome, why) for _, outcome, why in rows)
    for resource, outcome, why in rows:
        if alike[outcome, why] <= _LISTED:
            yield resource, outcome, why
    for (outcome, why), number in alike.items():
        if number > _LISTED:
            yield f"{number} resources", outcome, why


def _outcome(name: str, now: _Now) -> tuple[str, str]:
    error = now.failed.get(name)
    if error is not None:
        return "failed", f"{' '.join(filter(None, (error['class'], error['code'])))}: {error['message']}"
    if name in now.held:
        return "waits", "for an approval"
    if name in now.undone:
        return "not yet", now.told or now.waits or "the operator has not come to it"
    if name in now.left:
        return "left", now.left[name]
    if name in now.trimmed:
        return "in part", now.trimmed[name]
    if name in now.found:
        return _TAGGED, ""
    if now.blind or name in now.unread:
        return "not known", "it could not be read afterwards"
    return "gone", "it does not exist any more, or the classifiers do not select it"
