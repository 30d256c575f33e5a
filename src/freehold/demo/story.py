"""``freehold demo``: the main job told as a story: a cluster on each cloud, and the tags of a fleet, on one server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

from freehold.cli.errors import INTERRUPTED, CliError
from freehold.cli.local.event_loop import run as run_to_end
from freehold.cli.local.log_file import log_to
from freehold.cli.local.simulator import simulated_cloud
from freehold.cli.local.state_directory import StateDirectory
from freehold.cli.objects import manifests
from freehold.cli.objects.following import ViewSnapshot
from freehold.cli.output.progress import display
from freehold.cli.output.terminal import say, tell
from freehold.demo import checks, eks_act, gc_act, leaders_act, machine_steps, page_step, steps, tags_act
from freehold.demo.acts import Act
from freehold.demo.aws_act import AWSAct
from freehold.demo.powervs_act import PowerVSAct
from freehold.demo.stage import DEEP_EVERY, Stage
from freehold.demo.tags_act import TagsAct

T = TypeVar("T")

_EXAMPLES = Path(__file__).parents[3] / "examples"
_POWERVS = "powervs-create-infra.yaml"
_AWS = "aws-machines.yaml"
_TAGS = "metadata.yaml"
_LED = "aws-cluster.yaml"


def run(filename: str | None, speed: float, keep: Path | None, simulate_settings: Path | None) -> None:
    """Run the command. Raises CliError if a step is not as it should be, and says where its state was left."""
    first, second = (
        _Manifest(filename or _example(_POWERVS), "IBMPowerVSCluster"),
        _Manifest(_example(_AWS), "AWSCluster"),
    )
    home = StateDirectory.open(keep or Path(mkdtemp(prefix="freehold-demo-")))
    log_to(home.log)
    tell(f"freehold demo: {first.shown} and {second.shown}, on a simulated IBM Cloud and a simulated AWS")
    tell(f"{speed:g} simulated seconds in a real one; state in {home.path}")
    tell(f"deep passes every {DEEP_EVERY} simulated seconds instead of 600, for the story's sake")
    try:
        run_to_end(_story(home, first, second, speed, simulate_settings))
    except KeyboardInterrupt:
        if keep is None:
            _remove(home.path)
        raise CliError("interrupted; the next demo begins anew", code=INTERRUPTED) from None
    except checks.NotSo as failed:
        raise CliError(f"✗ {failed}; logs, audit and world are in {home.path}") from failed
    except CliError as failed:
        raise CliError(f"✗ {failed.sentence} (logs, audit and world are in {home.path})", failed.more) from failed
    if keep is None:
        _remove(home.path)


class _Manifest:
    """A file with one cluster of the kind that an act plays with. Raises CliError for another."""

    def __init__(self, source: str, kind: str) -> None:
        self.documents = manifests.read(source)
        clusters = [each for each in self.documents if each.kind in _PLAYED]
        if [each.kind for each in clusters] != [kind]:
            found = ", ".join(each.kind for each in clusters) or "none"
            raise CliError(
                f"{source}: this act needs a manifest with one {kind} and no other cluster; this has {found}"
            )
        [self.cluster] = clusters
        self.shown = f"examples/{Path(source).name}" if Path(source).parent == _EXAMPLES else source


_PLAYED = ("IBMPowerVSCluster", "AWSCluster")


def _example(name: str) -> str:
    path = _EXAMPLES / name
    if not path.exists():
        raise CliError(f"the example manifest {name} is not part of this installation; run the demo from a checkout")
    return str(path)


def _remove(path: Path) -> None:
    from shutil import rmtree

    rmtree(path)


async def _story(
    home: StateDirectory, first: _Manifest, second: _Manifest, speed: float, settings: Path | None
) -> None:
    cloud = StateDirectory.open(home.path / "cloud")
    state = StateDirectory.open(home.path / "state")
    began = time.monotonic()
    async with (
        _meanwhile(leaders_act.play(home.path / "leaders", _example(_LED), speed, settings)) as leaders,
        simulated_cloud(cloud, speed, settings) as base,
    ):
        powervs = PowerVSAct(base, first.documents, first.cluster)
        aws = AWSAct(base, second.documents, second.cluster)
        tags = TagsAct(base, manifests.read(_example(_TAGS)))
        with display() as show:
            stage = Stage(base, state, show, began)
            picture = await _tell_story(stage, powervs, aws, tags)
            say(f"\n{leaders_act.TITLE}")
            for each in await leaders:
                stage.tell_checked_step(each.claim, *each.found, at=each.at)
        say("\nAt the end of all this")
        await steps.what_stays(stage, (powervs, aws), picture)
    say(f"\n{stage.steps} steps, each checked, in {time.monotonic() - began:.0f} s")


@asynccontextmanager
async def _meanwhile(play: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Let something go on beside the rest. It ends with it."""
    task = asyncio.create_task(play)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _tell_story(stage: Stage, powervs: Act, aws: AWSAct, tags: TagsAct) -> ViewSnapshot:
    """Four operators in turn: three are killed in mid-create, the fourth one ends the story."""
    _begin(stage, powervs)
    await steps.strangers_arrive(stage, powervs)
    async with stage.serving() as serving:
        await steps.killed_in_mid_create(stage, powervs, serving)
    async with stage.serving() as serving:
        await steps.ready(stage, powervs, serving)
        await steps.damage_and_check_healing(stage, powervs, serving)
        _begin(stage, aws)
        await steps.strangers_arrive(stage, aws)
        await steps.killed_in_mid_create(stage, aws, serving)
    since = await powervs.world.last_call()
    async with stage.serving() as serving:
        eks = await eks_act.apply_control_plane(aws, aws.aws, serving)
        await asyncio.gather(machine_steps.killed_in_run_instances(stage, aws, serving), tags.fleet.arrive())
    async with stage.serving() as serving:
        await steps.ready(stage, aws, serving)
        await steps.damage_and_check_healing(stage, aws, serving)
        await machine_steps.behind_the_balancer(stage, aws, serving)
        await machine_steps.worker_deleted(stage, aws, serving)
        services = await gc_act.forget_services(stage, aws, aws.aws, serving)
        await eks_act.enter_and_forget(stage, aws.aws, serving, eks, services)
        await eks_act.delete_control_plane(stage, serving, eks, services)
        say(f"\n{tags.title}")
        await tags_act.fleet_is_there(stage, tags, serving)
        await tags_act.apply_proposal(stage, tags, serving)
        await tags_act.at_rest(stage, tags, serving)
        await tags_act.meddle_with_tags(stage, tags, serving)
        async with _meanwhile(tags_act.see_repair(stage, tags, serving)) as repair:
            say("\nAll of them, on one operator")
            await steps.served_together(stage, (powervs, aws), powervs, since, serving)
            await page_step.check_page(stage, (powervs, aws), serving)
            picture = await steps.delete_objects(stage, (powervs, aws), serving)
            await gc_act.check_collection(stage, services)
            await tags_act.check_repair(stage, tags, repair)
        return picture


def _begin(stage: Stage, act: Act) -> None:
    say(f"\n{act.cluster.kind} {act.cluster.name}, on the simulated {act.title}")
