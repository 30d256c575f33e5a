"""The live server of a state directory: the embedded API, the operator, and the cloud they talk to.

Whoever runs it holds the directory's lock. Nothing is kept outside the directory, so the next one,
after a kill -9 as after a clean end, goes on from there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from freehold.cli.errors import CliError
from freehold.cli.local.access import ServeOptions, refuse_settings
from freehold.cli.local.credentials import access_of, require_some
from freehold.cli.local.live_page import build_page, serve_own_page
from freehold.cli.local.look_service import LOOKS, LookService
from freehold.cli.local.process_pages import serve_onlookers
from freehold.cli.local.served_plans import COLLECTIONS, PLANS, PlanService
from freehold.cli.local.serving_address import connection_to, keep_token, kubeconfig
from freehold.cli.local.simulator import clock_of, limits_of, simulated_cloud
from freehold.cli.local.state_directory import CloudChoice, LiveServer, Lock, StateDirectory, write_whole
from freehold.cli.output.hints import hint, notes
from freehold.cli.output.terminal import warn
from freehold.engine.clock import SystemClock
from freehold.kube.client import KubeClient
from freehold_apiserver.crds import COLLECTION as DEFINITIONS
from freehold_apiserver.errors import ApiError
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import NotAStore, Store, in_words

if TYPE_CHECKING:
    from freehold.controllers.app import Operator
    from freehold.controllers.settings import Settings
    from freehold.page.live import LivePage

_STOP_SECONDS = 20.0


@dataclass(frozen=True)
class Running:
    """A server that this process runs.

    ``failed`` ends, with an error, when the operator ends by itself. ``begin`` starts one that waits; once. ``page`` is
    the URL of the live page with its token, empty where none is served.
    """

    server: LiveServer
    clock: SystemClock
    failed: asyncio.Future[None]
    begin: Callable[[], Awaitable[None]]
    page: str = ""


@asynccontextmanager
async def live_server(state: StateDirectory, lock: Lock, options: ServeOptions) -> AsyncIterator[Running]:
    """Serve ``state``, whose lock is held. Raises CliError when a part of it cannot start."""
    async with AsyncExitStack() as stack:
        stack.callback(lock.release)
        used = state.used  # as it was found: the next lines leave traces
        simulator = await _cloud(state, options, stack)
        clock = await clock_of(simulator) if simulator else SystemClock()
        store = _open(state, used)
        stack.callback(store.close)
        token = keep_token(state.token)
        api = await _serve(store, options, token, stack)
        write_whole(state.kubeconfig, kubeconfig(api.url, token))
        selector = options.gc_selector.text if options.gc_selector else ""
        server = LiveServer(api.url, os.getpid(), False, simulator, sorted(options.gates), token, selector)
        failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        page: LivePage | None = None
        page_url = ""

        async def begin() -> None:
            operator = await stack.enter_async_context(_run_operator(settings, failed))
            onlookers.watch(operator)
            if page is not None:
                page.attach(operator)
            api.extend(LOOKS, LookService(operator).answer)
            lock.publish(replace(server, operator=True))

        if options.operator:
            from freehold.tags.pass_hooks import OUTCOMES, TagOutcomes

            settings = _settings(state, options, server, clock)
            outcomes = TagOutcomes(settings.metadata)
            onlookers = stack.enter_context(serve_onlookers(options.metrics, None, outcomes))
            settings = replace(settings, observers=onlookers.observers)
            await _require_ring(settings)
            service = PlanService(settings, state.keys)
            api.extend(PLANS, service.plans)
            api.extend(COLLECTIONS, service.collections)
            api.extend(OUTCOMES, outcomes.answer)
            if options.page is not None:
                page = build_page(settings, (state.audit, state.audit_of_people), simulated=bool(simulator))
                page_url = await stack.enter_async_context(serve_own_page(page, state, options.page))
                settings = page.look_on(settings)
        if options.operator and not options.waits:
            await begin()
        else:
            lock.publish(server)
        yield Running(server, clock, failed, begin, page_url)


async def _cloud(state: StateDirectory, options: ServeOptions, stack: AsyncExitStack) -> str:
    """Start the simulated clouds and return their URL; empty for the real ones."""
    if not options.operator:
        return ""
    refuse_settings(state, options)
    if options.simulator:
        state.bind(simulate=True)
        return options.simulator
    if not options.simulate and state.cloud is None:
        require_some(os.environ)  # before the state is bound to clouds that cannot be reached
    if state.bind(options.simulate) is CloudChoice.SIMULATED:
        return await stack.enter_async_context(simulated_cloud(state, options.speed, options.settings))
    require_some(os.environ)
    return ""


def _open(state: StateDirectory, used: bool) -> Store:
    """Open the store: a lost one must not be taken for a new one. Raises CliError for what is no store of ours."""
    there, lost = state.store.exists(), f"{hint('orphans')} shows what is in the cloud and has no object here"
    if not there and state.has_changed_clouds:
        warn(f"the store {state.store} is gone, and the cloud was changed from here; a new one begins. {lost}")
    try:
        return Store.open(state.store, begin=not (there and used))
    except NotAStore as problem:
        raise CliError(
            f"the store {state.store} is none: {problem}. Nothing was written to it: restore it from a backup; or move "
            f"it away, to begin anew: {lost}"
        ) from problem
    except sqlite3.OperationalError as problem:
        raise CliError(f"the store {state.store} cannot be opened: {in_words(problem)}") from problem
    except (sqlite3.Error, ValueError, KeyError) as problem:
        raise CliError(f"the store {state.store} cannot be opened: {problem}; restore it from a backup") from problem


async def _serve(store: Store, options: ServeOptions, token: str, stack: AsyncExitStack) -> ApiServer:
    known = not options.install and store.scan(DEFINITIONS)
    api = ApiServer(store, [] if known else _definitions(), restored=_say_restored, token=token)
    stack.push_async_callback(api.stop)
    try:
        await api.start(port=options.port)
    except ApiError as problem:
        raise CliError(problem.message) from problem
    except OSError as problem:
        raise CliError(
            f"port {options.port} on 127.0.0.1 cannot be used: {os.strerror(problem.errno or 0)}; choose another --port"
        ) from problem
    return api


def _say_restored(name: str) -> None:
    warn(
        f"CRD {name} was deleted, and its objects with it; it is put back, because Freehold serves it. "
        "Apply the objects again if they are still wanted"
    )


def _definitions() -> list[dict[str, Any]]:
    from freehold.providers.crds import (
        PLACEHOLDERS,
        build_crds,  # builds every type of every kind
    )

    return [*build_crds(), *(each.build_crd() for each in PLACEHOLDERS)]


def _settings(state: StateDirectory, options: ServeOptions, server: LiveServer, clock: SystemClock) -> Settings:
    from freehold.controllers.settings import Settings  # with the vendor's SDKs: only where they are needed
    from freehold.engine.interface import Intervals
    from freehold.tags.policy.configuration import Configuration

    intervals, deep = Intervals(), options.deep_every
    if deep is not None:  # shared readings in the same proportion
        intervals = Intervals(deep=deep, shallow=deep, shared=deep * intervals.shared / intervals.deep)
    return Settings(
        kube=connection_to(server),
        access=access_of(server.simulator),
        cluster_api="off",
        clock=clock,
        audit=state.audit,
        intervals=intervals,
        keys=state.keys,
        gates=options.gates,
        gc_selector=options.gc_selector,
        metadata=options.metadata or Configuration(),
        new_limits=lambda: limits_of(clock, server.simulator),
    )


async def _require_ring(settings: Settings) -> None:
    """Raise CliError without a key ring: the operator would wait for it, and a person at a terminal is told at once."""
    from freehold.controllers.keyring.opening import build_keeper

    async with KubeClient(settings.kube) as client:
        keeper = build_keeper(client, settings)
        await keeper.refresh()
    if keeper.problem:
        raise CliError(keeper.problem, notes())


@asynccontextmanager
async def _run_operator(settings: Settings, failed: asyncio.Future[None]) -> AsyncIterator[Operator]:
    from freehold.controllers.app import Operator

    operator = Operator(settings)
    task = asyncio.create_task(operator.run(), name="operator")
    task.add_done_callback(lambda done: _report(done, failed))
    try:
        yield operator
    finally:
        await _stop(operator, task)


def _report(done: asyncio.Task[None], failed: asyncio.Future[None]) -> None:
    if failed.done() or done.cancelled():
        return
    problem = done.exception()
    if problem is not None:
        failed.set_exception(problem)
        failed.exception()  # a waiter is told; there need be none
    else:
        failed.set_result(None)


async def _stop(operator: Operator, task: asyncio.Task[None]) -> None:
    """Let the pass in hand end; it is cut off after a while, which loses nothing either."""
    operator.stop()
    done, _ = await asyncio.wait((task,), timeout=_STOP_SECONDS)
    if not done:
        logging.getLogger(__name__).warning("the operator did not stop in %.0f s and is cut off", _STOP_SECONDS)
        task.cancel()
        await asyncio.wait((task,))
