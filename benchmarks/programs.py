"""``python -m benchmarks.programs NAME …``: what runs in the processes of the operator's benchmarks.

api STORE                    the embedded API server on a SQLite file; says its URL
cloud WORLD SPEED            the simulated IBM Cloud on a prepared world (JSON); says its URL
new_cloud PROFILE SPEED      the simulated IBM Cloud, empty, with settings (JSON); says its URL
operator API CLOUD SPEED KEYS
                             the operator, its key ring in KEYS; answers each line of input with its use and its queue
page API                     the live page on objects that are held and never reconciled; says its URL and token, and
                             answers each line of input with its use
controller API COUNT         a Controller that gives COUNT widgets a finalizer and a status; says its use when done
bare API COUNT               the same two patches each by aiohttp alone: the floor
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks.processes import Usage, say
from benchmarks.widgets import CRD, FINALIZER, WIDGETS

WORKERS = 16
"""As in the measurements that the targets come from (docs/reference/kubernetes.md#runtime)."""


async def api(store: str) -> None:
    from freehold.providers.crds import build_crds
    from freehold_apiserver.server import ApiServer
    from freehold_apiserver.store import Store

    server = ApiServer(Store.open(store), [CRD, *build_crds()])
    say(await server.start())
    await _end_of_input()


async def cloud(world: str, speed: str) -> None:
    from freehold_sim.server import Options, Server

    prepared = await asyncio.to_thread(Path(world).read_bytes)
    server = Server(Options(speed=float(speed)))
    simulated = server.clouds["ibm"]
    simulated.resume({**simulated.state(), **json.loads(prepared)}, ())
    stop = asyncio.Event()
    serving = asyncio.create_task(server.serve(lambda port: say(f"http://127.0.0.1:{port}"), stop))
    await _end_of_input()
    stop.set()
    await serving


async def new_cloud(profile: str, speed: str) -> None:
    from freehold_sim.server import Options, Server

    stop = asyncio.Event()
    server = Server(Options(settings={"ibm": json.loads(profile)}, speed=float(speed)))
    serving = asyncio.create_task(server.serve(lambda port: say(f"http://127.0.0.1:{port}"), stop))
    await _end_of_input()
    stop.set()
    await serving


async def operator(api_url: str, cloud_url: str, speed: str, keys: str) -> None:
    from freehold.cli.local.memory import collected_seldom, use_few_arenas
    from freehold.controllers.app import Operator
    from freehold.controllers.settings import Settings
    from freehold.engine.clock import SystemClock
    from freehold.kube.config import Connection
    from freehold.providers.access.limits import Limits
    from freehold.providers.ibm.access import IbmAccess
    from freehold_sim.ibm.settings import Settings as CloudSettings

    begun = time.time()
    clock = SystemClock(float(speed), (begun, begun))
    key = CloudSettings().api_key
    # The limit on calls a second is lifted: it would stretch the first look at a thousand clusters to minutes.
    settings = Settings(
        Connection(api_url), {"ibm": IbmAccess(key=key, url=cloud_url)}, "off", clock=clock, keys=Path(keys),
        new_limits=lambda: Limits(1e6, 1_000_000),
    )  # fmt: skip
    use_few_arenas()
    serving = Operator(settings)
    loop = asyncio.get_running_loop()
    with collected_seldom():  # it and the arenas are what `freehold operator` sets
        running = asyncio.create_task(serving.run())
        while await loop.run_in_executor(None, sys.stdin.readline) and not running.done():
            health = serving.read_health()
            queued, scheduled = (health.queued, health.scheduled) if health else (0, 0)
            say({**asdict(Usage.so_far()), "queued": queued, "scheduled": scheduled})
        serving.stop()
        await running


async def page(api_url: str) -> None:
    from functools import partial

    from freehold.controllers.controller import Controller, Done, Result
    from freehold.controllers.process_server import Address
    from freehold.controllers.settings import Settings
    from freehold.controllers.timing import RunningTime
    from freehold.kube.client import KubeClient
    from freehold.kube.config import Connection
    from freehold.kube.resources import Key
    from freehold.page.gate import TokenGate
    from freehold.page.live import LivePage
    from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
    from freehold.providers.objects.served_resources import resource_of

    async def nothing(key: Key) -> Result:
        return Done()

    class Holder:
        """An operator that holds the objects, and does nothing."""

        key_ring = None

        def __init__(self, held: Controller) -> None:
            self.controllers = [held]

        def leads(self) -> bool:
            return True

    settings, token = Settings(Connection(api_url), {}, "off"), "of the benchmark"
    live = LivePage(settings, (), simulated=True)
    settings = live.look_on(settings)
    resource, loop = resource_of(POWERVS_CLUSTER), asyncio.get_running_loop()
    async with KubeClient(Connection(api_url)) as client:
        held = Controller(client, resource, nothing, time=RunningTime(settings.clock))
        held.on_change = partial(settings.observers.note_change, resource)
        live.attach(Holder(held))
        running = asyncio.create_task(held.run())
        address = Address("127.0.0.1", 0)
        async with live.serve(address, TokenGate(token, "there is one"), loopback_only=True) as found:
            say({"url": f"http://{found}", "token": token})
            while await loop.run_in_executor(None, sys.stdin.readline) and not running.done():
                health = held.read_health()
                say(
                    {
                        **asdict(Usage.so_far()),
                        "held": len(held.find_reflector(resource).objects),
                        "queued": health.queued,
                    }
                )
        held.stop()
        await running


async def controller(api_url: str, count: str) -> None:
    from freehold.controllers.controller import Controller, Done, Result
    from freehold.controllers.timing import RunningTime
    from freehold.engine.clock import SystemClock
    from freehold.kube.client import KubeClient
    from freehold.kube.config import Connection
    from freehold.kube.resources import Key

    finished: set[Key] = set()
    all_finished = asyncio.Event()

    async def reconcile(key: Key) -> Result:
        widget = served.get(key)
        assert widget is not None
        metadata = widget["metadata"]
        version = {"resourceVersion": metadata["resourceVersion"]}
        if FINALIZER not in metadata.get("finalizers", ()):
            await client.patch(WIDGETS, key, {"metadata": {"finalizers": [FINALIZER], **version}})
        elif widget.get("status", {}).get("observedGeneration") != metadata["generation"]:
            status = {"observedGeneration": metadata["generation"], "ready": True}
            await client.patch_status(WIDGETS, key, {"metadata": version, "status": status})
            finished.add(key)
            if len(finished) == int(count):
                all_finished.set()
        return Done()

    async with KubeClient(Connection(api_url)) as client:
        served = Controller(client, WIDGETS, reconcile, time=RunningTime(SystemClock()), workers=WORKERS)
        running = asyncio.create_task(served.run())
        await all_finished.wait()
        say(asdict(Usage.so_far()))
        served.stop()
        await running


async def bare(api_url: str, count: str) -> None:
    import aiohttp

    names = iter(range(int(count)))
    headers = {"Content-Type": "application/merge-patch+json"}

    async def work() -> None:
        for index in names:
            url = f"{api_url}{WIDGETS.build_collection_path('default')}/w{index}"
            for path, patch in (
                (url, {"metadata": {"finalizers": [FINALIZER]}}),
                (f"{url}/status", {"status": {"observedGeneration": 1, "ready": True}}),
            ):
                async with session.patch(path, data=json.dumps(patch), headers=headers) as response:
                    if response.status != 200:
                        raise RuntimeError(f"{path}: {response.status}")
                    json.loads(await response.read())

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(work() for _ in range(WORKERS)))
    say(asdict(Usage.so_far()))


async def _end_of_input() -> None:
    """Wait until the benchmark is gone, however it ended."""
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


PROGRAMS: dict[str, Callable[..., object]] = {
    program.__name__: program for program in (api, cloud, new_cloud, operator, page, controller, bare)
}

if __name__ == "__main__":
    asyncio.run(PROGRAMS[sys.argv[1]](*sys.argv[2:]))  # type: ignore[arg-type]  # each is a coroutine function
