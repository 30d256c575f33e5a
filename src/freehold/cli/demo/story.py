"""``freehold demo``: the main job told as a story. What a step claims is read from the cloud, not from our status."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from freehold.cli import manifests
from freehold.cli.access import Access, ServeOptions
from freehold.cli.applying import Target, apply, targets
from freehold.cli.demo import checks
from freehold.cli.demo.ending import closing_table, reported_as
from freehold.cli.demo.servers import server
from freehold.cli.demo.world import Resource, World, others, ours
from freehold.cli.errors import INTERRUPTED, CliError
from freehold.cli.following import Followed, UntilGone, UntilReady, ViewSnapshot, follow, last_views
from freehold.cli.logs import log_to
from freehold.cli.progress import Display, display
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Session, opened
from freehold.cli.simulator import simulated_cloud
from freehold.cli.state_directory import StateDirectory
from freehold.cli.terminal import columns, say

EXAMPLE = Path(__file__).parents[4] / "examples" / "powervs-create-infra.yaml"

_DEEP_EVERY = 120
"""Domain seconds between deep passes, instead of 600: the story shall not take half a minute to notice."""

_PATIENCE = 120.0
_GLANCE = 0.03


@dataclass
class Stage:
    """Where the story plays. ``before`` is what strangers have, as it must stay."""

    world: World
    state: StateDirectory
    documents: Sequence[manifests.ManifestDocument]
    cluster: manifests.ManifestDocument
    began: float = field(default_factory=time.monotonic)
    before: list[Resource] = field(default_factory=list)
    steps: int = 0

    @property
    def region(self) -> str:
        return str(self.cluster.obj["spec"]["vpc"]["region"])

    def checked(self, claim: str, *found: str) -> None:
        """Tell a step that was checked."""
        self.steps += 1
        say(f"✓ {claim}   ({time.monotonic() - self.began:.0f} s)")
        for each in found:
            say(f"    checked: {each}")

    async def check_untouched(self) -> str:
        return checks.untouched(self.before, await self.world.resources())

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[tuple[Session, Callable[[], Awaitable[int]]]]:
        """A server of its own process, a session with it, and what kills it."""
        options = ("--deep-every", str(_DEEP_EVERY))
        async with (
            server(self.state.path, self.world.base, options) as process,
            opened(Access(self.state, ServeOptions())) as session,
        ):
            yield session, process.kill


def run(filename: str | None, speed: float, keep: Path | None, simulate_settings: Path | None) -> None:
    """The command. Raises CliError when a step is not as it should be, and says where its state was left."""
    if filename is None and not EXAMPLE.exists():
        raise CliError("the example manifest is not part of this installation; give one with -f FILE")
    source = filename or str(EXAMPLE)
    documents = manifests.read(source)
    clusters = [each for each in documents if each.kind == "IBMPowerVSCluster"]
    if len(clusters) != 1:
        raise CliError(f"{source}: the story needs a manifest with one IBMPowerVSCluster; this has {len(clusters)}")
    home = StateDirectory.open(keep or Path(mkdtemp(prefix="freehold-demo-")))
    log_to(home.log)
    say(f"freehold demo: {_shown(source)} on a simulated IBM Cloud, {speed:g} simulated seconds in a real one")
    say(f"state in {home.path}; deep passes every {_DEEP_EVERY} simulated seconds instead of 600, for the story's sake")
    try:
        run_to_end(_story(home, documents, clusters[0], speed, simulate_settings))
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


def _shown(source: str) -> str:
    return f"examples/{EXAMPLE.name}" if source == str(EXAMPLE) else source


def _remove(path: Path) -> None:
    from shutil import rmtree

    rmtree(path)


async def _story(
    home: StateDirectory,
    documents: Sequence[manifests.ManifestDocument],
    cluster: manifests.ManifestDocument,
    speed: float,
    settings: Path | None,
) -> None:
    cloud = StateDirectory.open(home.path / "cloud")
    state = StateDirectory.open(home.path / "state")
    async with AsyncExitStack() as stack:
        world = World(await stack.enter_async_context(simulated_cloud(cloud, speed, settings)))
        stage = Stage(world, state, documents, cluster)
        await _strangers_arrive(stage)
        with display() as show:
            followed = await _killed_in_mid_create(stage, show)
            async with stage.serving() as (session, _):
                await _ready(stage, session, followed, show)
                await _healed(stage, session, followed, show)
                picture = await _deleted(stage, session, followed, show)
        await _final_table(stage, picture)
    took = time.monotonic() - stage.began
    say(f"\n{stage.steps} steps, each checked, in {took:.0f} s")


async def _strangers_arrive(stage: Stage) -> None:
    """Before anything else: tempting names beside ours."""
    name, region = stage.cluster.name, stage.region
    beside = await stage.world.make("vpc", region=region, name=f"{name}-vpc2")
    subnets = stage.cluster.obj["spec"].get("vpcSubnets") or [{"name": f"{name}-vpcsubnet"}]
    await stage.world.make(
        "subnet", region=region, vpc=beside, zone=f"{region}-1", name=subnets[0].get("name") or f"{name}-vpcsubnet"
    )
    await stage.world.make("vpc", region=region, name=f"{name}2-vpc")
    stage.before = await stage.world.resources()
    shown = ", ".join(f"{each.kind} {each.name}" for each in stage.before if each.kind in ("vpc", "subnet"))
    if len(others(stage.before)) != len(stage.before) or len(stage.before) < 3:
        raise checks.NotSo("the strangers are not alone in the cloud")
    stage.checked("strangers with tempting names are there before us", shown)


async def _killed_in_mid_create(stage: Stage, show: Display) -> list[Followed]:
    """Apply; the reply to one create is lost, and at that moment the operator is killed."""
    await stage.world.lose_reply("vpc.create_load_balancer")
    async with stage.serving() as (session, kill):
        wanted = await targets(session.client, stage.documents, "default")
        await apply(session.client, wanted)
        await _all_kept(session, wanted)
        stage.checked(f"the manifest is accepted as it is: {len(wanted)} objects of {_kinds(wanted)} kinds")
        followed = [(each.resource, each.key) for each in wanted if each.ours]
        created = _Glimpse(stage.world, "load-balancer")
        async with created:
            await follow(session, followed, show, created.seen, patience=_PATIENCE)
        code = await kill()
    lost = [call for call in await stage.world.calls() if call.operation == "vpc.create_load_balancer"]
    if code != -9 or [call.status for call in lost] != [0]:
        raise checks.NotSo(f"the operator was not killed in mid-create (exit {code}, replies {lost})")
    stage.checked(
        "the operator is killed (kill -9) in mid-create",
        "the load balancer has been made, its reply never came, and nobody is left who knows",
    )
    return followed


async def _all_kept(session: Session, wanted: Sequence[Target]) -> None:
    for each in wanted:
        await session.client.get(each.resource, each.key)


def _kinds(wanted: Sequence[Target]) -> int:
    return len({each.resource.kind for each in wanted})


class _Glimpse:
    """Looks into the cloud, often, until a resource of ours of that kind is there."""

    def __init__(self, world: World, kind: str) -> None:
        self._world = world
        self._kind = kind
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._look())

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _look(self) -> None:
        # A cloud tells nobody: it has to be asked, and ASYNC110 cannot know.
        while not any(each.kind == self._kind for each in ours(await self._world.resources())):  # noqa: ASYNC110 - a cloud has no events
            await asyncio.sleep(_GLANCE)

    def seen(self, picture: ViewSnapshot, now: float) -> bool:
        if self._task is None or not self._task.done():
            return False
        self._task.result()
        return True


async def _ready(stage: Stage, session: Session, followed: Sequence[Followed], show: Display) -> None:
    """The next process goes on where the killed one stopped."""
    await follow(session, followed, show, UntilReady(), patience=_PATIENCE)
    there = await stage.world.resources()
    once = checks.created_once(checks.IBM, there, await stage.world.calls())
    stage.checked("a new operator goes on, and the cluster is Ready", once, checks.marked(checks.IBM, there))
    endpoint = (await session.client.get(*followed[0]))["spec"]["controlPlaneEndpoint"]["host"]
    balancer = next(each for each in ours(there) if each.kind == "load-balancer")
    seen = await stage.world.look(f"/vpc/{stage.region}/v1/load_balancers/{balancer.id}")
    if seen["hostname"] != endpoint or not seen["is_public"]:
        raise checks.NotSo(f"controlPlaneEndpoint is {endpoint}, the public load balancer is {seen['hostname']}")
    stage.checked(f"the endpoint is the public load balancer's hostname: {endpoint}", await stage.check_untouched())


async def _healed(stage: Stage, session: Session, followed: Sequence[Followed], show: Display) -> None:
    """Behind our back: a connection is removed, a tag stripped, and our tags are copied onto a stranger's VPC."""
    there = await stage.world.resources()
    gateway = next(each for each in ours(there) if each.kind == "gateway")
    subnet = next(each for each in ours(there) if each.kind == "subnet")
    vpc = next(each for each in ours(there) if each.kind == "vpc")
    theirs = next(each for each in others(there) if each.name == f"{stage.cluster.name}-vpc2")
    removed = next(each for each in await _connections(stage, gateway.id) if each["network_type"] == "vpc")
    stripped = checks.owner_tags(subnet)
    since = (await stage.world.calls())[-1].sequence
    await stage.world.attach(theirs.crn, vpc.tags)
    await stage.world.delete(removed["id"])
    await stage.world.detach(subnet.crn, stripped)
    stage.before = await stage.world.resources()
    now = next(each for each in stage.before if each.id == subnet.id)
    if checks.owner_tags(now) or removed["id"] in {each["id"] for each in await _connections(stage, gateway.id)}:
        raise checks.NotSo("the damage was not done")
    stage.checked(
        "somebody meddles behind our back",
        f"the connection of the VPC is gone ({removed['name']})",
        f"the owner tag of subnet {subnet.name} is gone",
        f"all tags of our VPC are on the stranger's VPC {theirs.name} too",
    )
    mended = _Mended(stage, gateway.id, subnet.id, removed["id"], stripped)
    async with mended:
        await follow(session, followed, show, mended.seen, patience=_PATIENCE)
    await follow(session, followed, show, UntilReady(), patience=_PATIENCE)
    done = [call.operation for call in await stage.world.calls(since) if call.effective]
    stage.checked(
        "it is seen and healed: the connection is made anew and attached, the tag is back",
        f"effective writes since then: {', '.join(sorted(set(done)))}",
        await stage.check_untouched(),
    )


async def _connections(stage: Stage, gateway: str) -> list[dict[str, Any]]:
    path = f"/transit/v1/transit_gateways/{gateway}/connections"
    return list((await stage.world.look(path))["connections"])


class _Mended(_Glimpse):
    """Looks until the connection and the tag are back."""

    def __init__(self, stage: Stage, gateway: str, subnet: str, removed: str, tags: frozenset[str]) -> None:
        super().__init__(stage.world, "connection")
        self._stage, self._gateway, self._subnet, self._removed, self._tags = stage, gateway, subnet, removed, tags

    async def _look(self) -> None:
        while not await self._whole():  # noqa: ASYNC110 - the same
            await asyncio.sleep(_GLANCE * 5)

    async def _whole(self) -> bool:
        attached = [
            each for each in await _connections(self._stage, self._gateway)
            if each["network_type"] == "vpc" and each["status"] == "attached" and each["id"] != self._removed
        ]  # fmt: skip
        subnet = next(each for each in await self._world.resources() if each.id == self._subnet)
        return bool(attached) and self._tags <= subnet.tags


async def _deleted(stage: Stage, session: Session, followed: Sequence[Followed], show: Display) -> ViewSnapshot:
    """Delete the object; everything owned goes."""
    since = (await stage.world.calls())[-1].sequence
    for resource, key in followed:
        await session.client.delete(resource, key)
    picture = await follow(session, followed, show, UntilGone(), patience=_PATIENCE)
    there = await stage.world.resources()
    stage.checked(
        "the object is deleted, and everything that it owned is gone",
        checks.all_gone(there),
        checks.in_order(checks.IBM, await stage.world.calls(since)),
    )
    return picture


async def _final_table(stage: Stage, picture: ViewSnapshot) -> None:
    untouched = await stage.check_untouched()
    left = await stage.world.resources()
    reported = [line for each in last_views(picture).values() for line in each.lines]
    unnamed = [each.name for each in left if checks.owner_tags(each) and not reported_as(each, reported)]
    if unnamed:
        raise checks.NotSo(f"the operator never said that {', '.join(unnamed)} has copied tags")
    stage.checked("what is not owned stays", untouched, "the operator names the one that has copied tags")
    rows = closing_table(left, reported)
    say()
    for line in columns([("KIND", "NAME", "MADE BY", "STATE", "WHY IT STAYS"), *rows]):
        say(f"  {line}")
