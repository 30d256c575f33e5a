"""The clouds, the settings and the key ring of an operator, for a command that only reads."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from freehold.cli.errors import CliError
from freehold.cli.local.access import Access, refuse_settings
from freehold.cli.local.credentials import access_of, require_some
from freehold.cli.local.key_ring import ring_store
from freehold.cli.local.planning import plans_with, ring_in
from freehold.cli.local.session import Session
from freehold.cli.local.simulator import clock_of, simulated_cloud
from freehold.cli.local.state_directory import CloudChoice, StateDirectory
from freehold.cli.output.terminal import tell_at_once
from freehold.kube.resources import Json
from freehold.providers.registry import SERVED, served_of

if TYPE_CHECKING:
    from freehold.controllers.connections import Connections
    from freehold.controllers.plan.plan import Plan
    from freehold.controllers.settings import Settings
    from freehold.engine.keys import KeyRing
    from freehold.providers.access.accounts import CloudAccount


async def plan_objects(
    session: Session,
    target: Access,
    objects: Sequence[Json],
    simulator: str,
    ring: KeyRing,
    beside: Sequence[Json] = (),
) -> list[Plan]:
    """Plan what serving each of ``objects`` would do. ``beside`` counts as stored."""
    settings = await settings_of(session, target, simulator)
    return await plans_with(session.client, objects, settings, ring, beside)


async def settings_of(session: Session, target: Access, simulator: str) -> Settings:
    """Return those of an operator, for a command that does a part of its work here."""
    from freehold.controllers.settings import RingSecret, Settings

    return Settings(
        kube=session.client.connection,
        access=access_of(simulator),
        cluster_api="off",
        clock=await clock_of(simulator) if simulator else session.clock,
        gates=target.options.gates,
        gc_selector=target.options.gc_selector,
        keys=RingSecret(target.keys_namespace) if target.keys_namespace else RingSecret(),
    )


async def ring_of(session: Session, target: Access) -> KeyRing:
    """Return the operator's key ring, as :func:`ring_in` does; on a cluster say where there is none."""
    store = ring_store(target, session)
    told = f"there is no key ring in {store.where}; this plan is made with a new one. If the operator has one elsewhere"
    return await ring_in(store, "" if target.state else f"{told}, add --keys-namespace")


async def simulator_of(session: Session, target: Access, stack: AsyncExitStack) -> str:
    """Return the URL of the simulated clouds (empty for the real ones), for a command that only reads.

    It binds the state to neither. Raises CliError where there are credentials for none of the real ones.
    """
    if session.running is None:  # the start of a server has been told
        tell_at_once("looking at the clouds")
    if session.simulator:
        return session.simulator
    if target.kubeconfig:
        require_some(os.environ, "--simulator URL, if the operator there does")
        return ""
    state = target.state
    assert state is not None
    refuse_settings(state, target.options)
    if state.choose(target.options.simulate) is CloudChoice.REAL:
        require_some(os.environ)
        return ""
    if state.cloud is None:  # a world that nobody will come back to
        state = StateDirectory.open(Path(stack.enter_context(TemporaryDirectory(prefix="freehold-plan-"))))
    simulated = simulated_cloud(state, target.options.speed, target.options.settings, keep=False)
    return await stack.enter_async_context(simulated)


def connections_with(settings: Settings, session: Session, stack: AsyncExitStack) -> Connections:
    """Connect to the clouds as an operator does, for a command that only reads."""
    from freehold.controllers.connections import open_connections
    from freehold.providers.access.audit import NoAudit

    return open_connections(settings, session.client, stack.enter_context(ExitStack()), NoAudit())


async def account_of(
    session: Session, target: Access, obj: Json, stack: AsyncExitStack, simulator: str
) -> CloudAccount:
    """Return the account that ``obj`` is served in. Raises CliError where there are no credentials for it."""
    accounts = await _accounts(session, target, stack, simulator)
    return await accounts(obj)


async def accounts_of(
    session: Session, target: Access, stack: AsyncExitStack
) -> Callable[[Json], Awaitable[CloudAccount]]:
    """Do the same for several objects, with one simulator for all. The result raises CliError in the same case."""
    return await _accounts(session, target, stack, await simulator_of(session, target, stack))


async def _accounts(
    session: Session, target: Access, stack: AsyncExitStack, simulator: str
) -> Callable[[Json], Awaitable[CloudAccount]]:
    from freehold.controllers.connections import find_accounts
    from freehold.providers.access.accounts import NoCredentials, bind_in_place
    from freehold.providers.objects import parents

    settings = await settings_of(session, target, simulator)
    connections = connections_with(settings, session, stack)
    known = {served.kind: find_accounts(connections, served) for served in SERVED}

    async def account(obj: Json) -> CloudAccount:
        served = served_of(str(obj["kind"]))
        found = await bind_in_place(known[served.kind], obj, served, parents.find_standing(obj, served, None))
        if isinstance(found, NoCredentials):
            raise CliError(found.message)
        return found.cloud

    return account
