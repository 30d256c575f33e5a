"""Two operators, of which one leads: it is killed in the middle of a creation, and the other one finishes it.

A Lease lasts 15 real seconds, whatever the speed of the simulated clouds. So this goes on beside the rest of the story,
with an API server and a simulated AWS of its own, and is told when it is over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from freehold.cli.local.serving_address import keep_token, kubeconfig
from freehold.cli.local.simulator import simulated_cloud
from freehold.cli.local.state_directory import StateDirectory, write_whole
from freehold.cli.objects import manifests
from freehold.cli.objects.applying import Target, apply, targets
from freehold.controllers.keyring.secret import NAMESPACE
from freehold.controllers.leadership.lease import LEASES, NAME, LeaseRecord, read_record
from freehold.demo import checks
from freehold.demo.aws_act import AWSAct
from freehold.demo.replicas import Replica, replica
from freehold.demo.world import AWSWorld, select_ours
from freehold.kube.client import KubeClient
from freehold.kube.config import load
from freehold.kube.errors import ObjectNotFound
from freehold.kube.resources import NAMESPACES, Json, Key
from freehold.view.object_view import ViewPhase, view
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store

TITLE = "Two operators, one leads: meanwhile, on an API server and an AWS of their own"
_LEASE = Key(NAMESPACE, NAME)
_PATIENCE = 180.0
_GLANCE, _LOOK = 0.03, 0.2


@dataclass(frozen=True)
class CheckedStep:
    """A step that was checked, to be told later. ``at``: when that was, by the monotonic clock."""

    claim: str
    found: tuple[str, ...]
    at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class _Scene:
    """The API server, the cloud, and the object. ``home`` has the logs."""

    home: StateDirectory
    base: str
    client: KubeClient
    aws: AWSWorld
    cluster: Target

    async def read_lease(self) -> LeaseRecord:
        """Read the Lease; a free one where there is none yet."""
        try:
            return read_record(await self.client.get(LEASES, _LEASE))
        except ObjectNotFound:
            return LeaseRecord()

    async def is_led(self) -> bool:
        return (await self.read_lease()).holder != ""

    async def is_ready(self) -> bool:
        found = await self.client.get(self.cluster.resource, self.cluster.key)
        return view(found).phase is ViewPhase.READY

    async def is_gone(self) -> bool:
        try:
            await self.client.get(self.cluster.resource, self.cluster.key)
        except ObjectNotFound:
            return True
        return False

    async def wait_until(
        self, so: Callable[[], Awaitable[bool]], what: str, *alive: Replica, every: float = _LOOK
    ) -> None:
        """Wait while these operators live. Raises NotSo."""
        deadline = time.monotonic() + _PATIENCE
        while not await so():
            for each in alive:
                each.require_alive()
            if time.monotonic() > deadline:
                raise checks.NotSo(f"of two operators: it was not so within {_PATIENCE:.0f} s {what}")
            await asyncio.sleep(every)

    def start_operator(self, number: int) -> AbstractAsyncContextManager[Replica]:
        """Start one of the two; its log is kept."""
        return replica(self.home.kubeconfig, self.base, self.home.path / f"operator-{number}.log")


async def play(home: Path, manifest: str, speed: float, settings: Path | None) -> list[CheckedStep]:
    """Play the act; its steps, all of them checked. Raises NotSo, and CliError when something cannot start."""
    async with _set_up(StateDirectory.open(home), manifest, speed, settings) as scene, AsyncExitStack() as stack:
        first = await stack.enter_async_context(scene.start_operator(1))
        await scene.wait_until(scene.is_led, "that one of them leads", first)
        second = await stack.enter_async_context(scene.start_operator(2))
        killed, led = await _kill_in_mid_create(scene, first, second)
        return [killed, await _check_takeover(scene, second, led), await _delete_and_end(scene, second)]


async def _kill_in_mid_create(scene: _Scene, first: Replica, second: Replica) -> tuple[CheckedStep, LeaseRecord]:
    """Kill the leader when the cloud has what it was asked for and the reply is lost; also return its Lease."""
    lost = AWSAct.lost
    await scene.aws.lose_reply(lost.operation)
    await apply(scene.client, [scene.cluster])

    async def is_made() -> bool:
        return any(each.kind == lost.kind for each in select_ours(await scene.aws.resources()))

    await scene.wait_until(is_made, f"that the {lost.kind} is made", first, second, every=_GLANCE)
    code, led = await first.kill(), await scene.read_lease()
    replies = [call.status for call in await scene.aws.calls() if call.operation == lost.operation]
    if code != -9 or replies != [0] or await scene.is_ready():
        raise checks.NotSo(f"the leader was not killed in mid-create (exit {code}, replies {replies})")
    claim = f"the leader (process {first.pid}) is killed (kill -9) in mid-create; process {second.pid} follows"
    return CheckedStep(claim, (f"Lease {NAME} still names {led.holder}", lost.told)), led


async def _check_takeover(scene: _Scene, second: Replica, led: LeaseRecord) -> CheckedStep:
    """Check that the other one takes the Lease, and ends what the killed one had begun."""
    began = time.monotonic()

    async def is_taken() -> bool:
        return (await scene.read_lease()).holder not in ("", led.holder)

    await scene.wait_until(is_taken, "that the other one leads", second)
    took, taken = time.monotonic() - began, await scene.read_lease()
    if taken.transitions != led.transitions + 1:
        raise checks.NotSo(f"leaseTransitions went from {led.transitions} to {taken.transitions} at one takeover")
    await scene.wait_until(scene.is_ready, f"that {scene.cluster} is Ready", second)
    there = await scene.aws.resources()
    return CheckedStep(
        f"the other one leads after {took:.0f} s, and {scene.cluster} is Ready",
        (
            f"the Lease names {taken.holder}; leaseTransitions went from {led.transitions} to {taken.transitions}",
            checks.created_once(checks.AWS, there, await scene.aws.calls()),
            checks.check_marks(checks.AWS, there),
        ),
    )


async def _delete_and_end(scene: _Scene, second: Replica) -> CheckedStep:
    """Delete the object, then end the last operator as Kubernetes would."""
    await scene.client.delete(scene.cluster.resource, scene.cluster.key)
    await scene.wait_until(scene.is_gone, f"that {scene.cluster} is gone", second)
    gone = checks.all_gone(await scene.aws.resources())
    await second.end()
    given_back = await scene.read_lease()
    if given_back.holder:
        raise checks.NotSo(f"SIGTERM ended {given_back.holder}, and Lease {NAME} still names it")
    claim = f"{scene.cluster.key.name} is deleted, and the last operator is told to end (SIGTERM)"
    return CheckedStep(claim, (gone, "it has given the Lease back: who comes next need not wait"))


@asynccontextmanager
async def _set_up(home: StateDirectory, manifest: str, speed: float, settings: Path | None) -> AsyncIterator[_Scene]:
    documents = manifests.read(manifest)
    async with simulated_cloud(home, speed, settings) as base, _serve_objects(home) as client:
        [cluster] = await targets(client, documents, "default")
        region = str(cluster.document.obj["spec"]["region"])
        yield _Scene(home, base, client, AWSWorld(base, region), cluster)


@asynccontextmanager
async def _serve_objects(home: StateDirectory) -> AsyncIterator[KubeClient]:
    """Serve the embedded API from this process, with the namespace of the operators."""
    store, token = Store.open(home.store), keep_token(home.token)
    api = ApiServer(store, await asyncio.to_thread(_build_definitions), token=token)
    try:
        await api.start()
        write_whole(home.kubeconfig, kubeconfig(api.url, token))
        async with KubeClient(load(kubeconfig=str(home.kubeconfig))) as client:
            await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            yield client
    finally:
        await api.stop()
        store.close()


def _build_definitions() -> list[Json]:
    from freehold.providers.crds import PLACEHOLDERS, build_crds  # builds every type of every kind

    return [*build_crds(), *(each.build_crd() for each in PLACEHOLDERS)]
