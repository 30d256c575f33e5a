"""The third act: the metadata controller keeps the tags of a fleet on the simulated AWS, beside the clusters."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from freehold.api.conditions import find_condition
from freehold.api.names import TAGS_APPLIED_ANNOTATION
from freehold.cli.commands import tags_audit, tags_server
from freehold.cli.commands.audit import documents, logs_of
from freehold.cli.objects import manifests
from freehold.cli.objects.applying import apply, targets
from freehold.cli.output.terminal import tell
from freehold.demo import checks, tag_checks
from freehold.demo.fleet import BESIDE, GROUPS, SECRETS, Fleet
from freehold.demo.stage import ServedSession, Stage
from freehold.demo.tag_checks import Spoiled
from freehold.demo.world import AWSWorld, SentCall
from freehold.kube.resources import Key
from freehold.tags.context import CLOUD_METADATAS

_INDEX_SECONDS = 30.0
"""Until the index of the cloud shows what is new, in domain seconds (docs/reference/simulator-aws.md)."""
_PATIENCE = 120.0
_LOOK = 0.15
_REGION = "us-east-1"


class TagsAct:
    """The proposal's two manifests, unmodified: what they select, and the tags that they ask for."""

    def __init__(self, base: str, documents: Sequence[manifests.ManifestDocument]) -> None:
        found = {each.kind: each for each in documents}
        cloud, tags = found["CloudMetadata"], found["AWSMetadata"]
        self.documents = documents
        self.key = Key(cloud.namespace, cloud.name)
        self.title = f"CloudMetadata {cloud.name} and AWSMetadata {tags.name}, on the simulated AWS"
        self.wanted: dict[str, str] = tags.obj["spec"]["resourcetags"]
        self.fleet = Fleet(AWSWorld(base, _REGION), cloud.obj["spec"]["classifiers"])
        self.spoiled: list[Spoiled] = []
        self.since, self.at = 0, 0.0
        """The last call before somebody meddled, and when that was."""

    async def whole(self) -> bool:
        """Whether every resource is as it is asked for."""
        there = await self.fleet.aws.resources()
        return not tag_checks.differing(there, self.fleet.foreign, self.wanted)

    async def check(self) -> tuple[str, ...]:
        """Check the act. Raises NotSo."""
        there = await self.fleet.aws.resources()
        beside = checks.check_untouched(self.fleet.beside, there)
        return tag_checks.as_asked(there, self.fleet.foreign, self.wanted), f"without the classifier: {beside}"

    async def check_ready(self, serving: ServedSession, reason: str) -> str:
        """Check what the object says. Raises NotSo."""
        status = (await serving.session.client.get(CLOUD_METADATAS, self.key)).get("status") or {}
        found = {each: find_condition(status.get("conditions") or (), each) or {} for each in ("Ready", "Applied")}
        said = found["Applied"]
        if found["Ready"].get("status") != "True" or said.get("reason") != reason:
            raise checks.NotSo(f"CloudMetadata {self.key} says {said.get('reason')}: {said.get('message')}")
        first, *more = str(said["message"]).split("; ")
        return f"it says {reason}: {first}" + (f"; {more[0]}; … {more[-1]}" if len(more) > 1 else "")


async def fleet_is_there(stage: Stage, act: TagsAct, serving: ServedSession) -> None:
    """Somebody's cluster, which the index of the cloud shows by now."""
    there = {each.address: each.kind for each in await act.fleet.aws.resources()}
    kinds = Counter(there[each] for each in act.fleet.foreign)
    if kinds != {"security-group": GROUPS, "secret": SECRETS} or len(act.fleet.beside) != BESIDE:
        raise checks.NotSo(f"the fleet is not whole: {dict(kinds)}")
    stage.tell_checked_step(
        f"{kinds.total()} resources of somebody's cluster are there, with tags of their own",
        f"{GROUPS} security groups and {SECRETS} secrets; {BESIDE} groups beside them have no classifier",
    )
    await asyncio.sleep(serving.session.clock.wall(_INDEX_SECONDS))


async def apply_proposal(stage: Stage, act: TagsAct, serving: ServedSession) -> None:
    """Apply the manifests as the proposal has them, and let a second pass follow."""
    client, since = serving.session.client, await act.fleet.aws.last_call()
    wanted = await targets(client, act.documents, "default")
    await apply(client, wanted, create_namespaces=True)
    await stage.wait_until(act.whole, _LOOK, _PATIENCE)
    await stage.wait_until(lambda: _says(act, serving, "Applied"), _LOOK, _PATIENCE)
    calls = await _of_tags(act, since)
    stage.tell_checked_step(
        "the proposal's two manifests are applied as they are, and all is tagged",
        *await act.check(),
        tag_checks.check_writes(calls),
        await act.check_ready(serving, "Applied"),
    )


async def at_rest(stage: Stage, act: TagsAct, serving: ServedSession) -> None:
    """Another pass, asked for in the way of ``freehold tags apply``."""
    client, since = serving.session.client, await act.fleet.aws.last_call()
    before = await _number(serving, act)
    await client.patch(CLOUD_METADATAS, act.key, {"metadata": {"annotations": {TAGS_APPLIED_ANNOTATION: "the demo"}}})
    await stage.wait_until(lambda: _passes(serving, act, before + 1), _LOOK, _PATIENCE)
    looked = checks.only_looked_at(await act.fleet.aws.calls(since))
    stage.tell_checked_step("a second pass writes nothing", looked)


async def meddle_with_tags(stage: Stage, act: TagsAct, serving: ServedSession) -> None:
    """Somebody's client changes and strips tags."""
    act.at = serving.session.clock.now()
    act.since = await act.fleet.aws.last_call()
    act.spoiled, damages = await act.fleet.meddle(act.wanted)
    stage.tell_checked_step("somebody's script changes and strips tags behind our back", *damages)


async def see_repair(stage: Stage, act: TagsAct, serving: ServedSession) -> str:
    """Wait until the object says that it was repaired, and return that: after its next sync it says so no more."""
    await stage.wait_until(lambda: _is_repaired(act, serving), _LOOK, _PATIENCE)
    return await act.check_ready(serving, "Repaired")


async def check_repair(stage: Stage, act: TagsAct, seen: asyncio.Task[str]) -> None:
    """Check that the next sync repairs it: nobody asks for it, and the index is the only hint."""
    if not seen.done():
        tell("  the tags wait for their next sync, ten simulated minutes after the last one")
    said = await seen
    calls = await _of_tags(act, act.since)
    rows = (row for log in logs_of(stage.state) for path in log for row in documents(path))
    told = [each for each in tags_audit.changes(rows) if each.time > act.at]
    stage.tell_checked_step(
        "at its next sync the controller has seen it, repaired it and told it",
        *await act.check(),
        tag_checks.check_writes(calls),
        said,
        tag_checks.check_repair_audit(told, act.spoiled),
    )


async def _of_tags(act: TagsAct, since: int) -> list[SentCall]:
    """Return the calls about tags. Clusters beside them only take tags off resources that were given to them."""
    calls = await act.fleet.aws.calls(since)
    return [each for each in calls if "Tag" in each.operation and each.operation != "ec2.DeleteTags"]


async def _is_repaired(act: TagsAct, serving: ServedSession) -> bool:
    """Say whether all of it is: a sync in the middle of the script repairs what it sees, and the next one the rest."""
    try:
        await act.check_ready(serving, "Repaired")
        await act.check()
    except checks.NotSo:
        return False
    return True


async def _says(act: TagsAct, serving: ServedSession, reason: str) -> bool:
    try:
        return bool(await act.check_ready(serving, reason))
    except checks.NotSo:
        return False


async def _number(serving: ServedSession, act: TagsAct) -> int:
    """Of its last pass that is over; 0 before the first one."""
    found = (await tags_server.outcomes(serving.session)).get("objects", {}).get(str(act.key), {})
    return int(found.get("pass", 0))


async def _passes(serving: ServedSession, act: TagsAct, number: int) -> bool:
    return await _number(serving, act) >= number
