"""The steps of the story, the same for every act. What one claims is read from the cloud, not from our status."""

from __future__ import annotations

from collections.abc import Sequence

from freehold.cli.objects.applying import Target, apply, targets
from freehold.cli.objects.following import UntilGone, UntilReady, ViewSnapshot, follow, last_views
from freehold.cli.output import tables
from freehold.cli.output.terminal import say, width
from freehold.demo import checks
from freehold.demo.acts import Act, LostReply
from freehold.demo.ending import closing_table, reported_as
from freehold.demo.stage import Glimpse, ServedSession, Stage
from freehold.demo.world import others, select_ours
from freehold.view.object_view import ViewPhase, view

_PATIENCE = 120.0
_GLANCE = 0.03
_LOOK = 0.15


async def strangers_arrive(stage: Stage, act: Act) -> None:
    """Before anything else."""
    await act.strangers_arrive()
    act.before = await act.world.resources()
    named = [each for each in act.before if each.kind not in act.cloud.parts and not each.default]
    if len(others(act.before)) != len(act.before) or len(named) < 3:
        raise checks.NotSo("the strangers are not alone in the cloud")
    shown = ", ".join(f"{each.kind} {each.name}" for each in named if "default" not in each.name)
    stage.tell_checked_step("strangers with tempting names are there before us", shown)


async def killed_in_mid_create(stage: Stage, act: Act, serving: ServedSession) -> None:
    """Apply; the reply to one create is lost, and at that moment the operator is killed."""
    await act.world.lose_reply(act.lost.operation)
    client = serving.session.client
    wanted = await targets(client, act.documents, "default")
    await apply(client, wanted)
    for each in wanted:
        await client.get(each.resource, each.key)
    stage.tell_checked_step(f"the manifest is accepted as it is: {_describe_targets(wanted)}")
    act.followed = [(each.resource, each.key) for each in wanted if each.ours]
    await kill_once_made(stage, act, serving, act.lost)
    stage.tell_checked_step("the operator is killed (kill -9) in mid-create", act.lost.told)


async def kill_once_made(stage: Stage, act: Act, serving: ServedSession, lost: LostReply) -> None:
    """Kill the operator when the cloud has what it was asked for and the reply is lost."""

    async def is_made() -> bool:
        return any(each.kind == lost.kind for each in select_ours(await act.world.resources()))

    async with Glimpse(is_made, _GLANCE) as created:
        await follow(serving.session, act.followed, stage.show, created.has_found, patience=_PATIENCE)
    code = await serving.process.kill()
    replies = [call.status for call in await act.world.calls() if call.operation == lost.operation]
    if code != -9 or 0 not in replies:
        raise checks.NotSo(f"the operator was not killed in mid-create (exit {code}, replies {replies})")


def _describe_targets(wanted: Sequence[Target]) -> str:
    kinds = len({each.resource.kind for each in wanted})
    if len(wanted) == 1:
        return f"1 {wanted[0].resource.kind}"
    return f"{len(wanted)} objects of {kinds} kinds"


async def ready(stage: Stage, act: Act, serving: ServedSession) -> None:
    """Check that the next process goes on where the killed one stopped."""
    await follow(serving.session, act.followed, stage.show, UntilReady(), patience=_PATIENCE)
    there = await act.world.resources()
    once = checks.created_once(act.cloud, there, await act.world.calls())
    stage.tell_checked_step(
        "a new operator goes on, and the cluster is Ready", once, checks.check_marks(act.cloud, there)
    )
    host = (await serving.session.client.get(*act.followed[0]))["spec"]["controlPlaneEndpoint"]["host"]
    claim = await act.endpoint(host)
    stage.tell_checked_step(f"{claim}: {host}", await act.check_untouched())


async def damage_and_check_healing(stage: Stage, act: Act, serving: ServedSession) -> None:
    """Something is taken away behind our back, and our tags are copied onto what a stranger has."""
    since = await act.world.last_call()
    damages = await act.meddle(await act.world.resources())
    known = {each.id for each in act.before}
    act.before = [each for each in await act.world.resources() if each.id in known]
    hurts = [each.mended for each in damages if each.mended is not None]
    if any([await mended() for mended in hurts]) and not await _writes(act, since):
        raise checks.NotSo("the damage was not done")
    stage.tell_checked_step("somebody meddles behind our back", *(each.told for each in damages))

    async def whole() -> bool:
        return all([await mended() for mended in hurts])

    async with Glimpse(whole, _LOOK) as mended:
        await follow(serving.session, act.followed, stage.show, mended.has_found, patience=_PATIENCE)
    await follow(serving.session, act.followed, stage.show, UntilReady(), patience=_PATIENCE)
    stage.tell_checked_step(
        f"it is seen and healed: {act.healed}",
        f"effective writes since then: {', '.join(await _writes(act, since))}",
        await act.check_untouched(),
    )


async def _writes(act: Act, since: int) -> list[str]:
    """List what the operator wrote since this call: it may have healed before anybody looks."""
    return sorted({call.operation for call in await act.world.calls(since) if call.effective})


async def served_together(stage: Stage, acts: Sequence[Act], resting: Act, since: int, serving: ServedSession) -> None:
    """One process serves all of them; the one that was done before is looked at and left as it is."""
    for act in acts:
        for each in act.followed:
            if view(await serving.session.client.get(*each)).phase is not ViewPhase.READY:
                raise checks.NotSo(f"{each[0].kind} {each[1]} is not Ready beside the other")
    looked = checks.only_looked_at(await resting.world.calls(since))
    kinds = " and ".join(act.cluster.kind for act in acts)
    stage.tell_checked_step(
        f"one operator (process {serving.process.pid}) serves {kinds}: both are Ready",
        f"what it asked of {resting.title} meanwhile: {looked}",
        await resting.check_untouched(),
    )


async def delete_objects(stage: Stage, acts: Sequence[Act], serving: ServedSession) -> ViewSnapshot:
    """Delete the objects, at once; everything owned goes."""
    since = [await act.world.last_call() for act in acts]
    followed = [each for act in acts for each in act.followed]
    for resource, key in followed:
        await serving.session.client.delete(resource, key)
    picture = await follow(serving.session, followed, stage.show, UntilGone(), patience=_PATIENCE)
    found = []
    for act, before in zip(acts, since, strict=True):
        gone = checks.all_gone(await act.world.resources())
        found.append(f"{act.title}: {gone}; {checks.in_order(act.cloud, await act.world.calls(before))}")
    stage.tell_checked_step("all objects are deleted, and everything that they owned is gone", *found)
    return picture


async def what_stays(stage: Stage, acts: Sequence[Act], picture: ViewSnapshot) -> None:
    """Check that only strangers' resources stay, and that the operator knows why it left them alone."""
    reported = [line for each in last_views(picture).values() for line in each.lines]
    found, found_there = [], []
    for act in acts:
        found.append(f"{act.title}: {await act.check_untouched()}")
        left = await act.world.resources()
        copied = [each for each in left if checks.owner_tags(act.cloud, each)]
        unnamed = [each.name for each in copied if not reported_as(each, reported)]
        if unnamed or not copied:
            raise checks.NotSo(f"the operator never said that {', '.join(unnamed) or 'anything'} has copied tags")
        found.append(f"{act.title}: the operator names the one that has copied tags")
        known = {each.id for each in act.before}
        found_there.append((act.title, closing_table(act.cloud, [each for each in left if each.id in known], reported)))
    stage.tell_checked_step("what is not owned stays", *found)
    for title, rows in found_there:
        say(f"\nOn {title}, and why it stays:")
        for line in tables.format_table(
            tables.Rows(("KIND", "NAME", "MADE BY", "STATE", "WHY"), tuple(rows)), width() - 2
        ):
            say(f"  {line}")
