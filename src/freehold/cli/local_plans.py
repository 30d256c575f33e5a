"""Plans made in this process, with the SDKs of the clouds."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from freehold.cli.access import Access, refuse_settings
from freehold.cli.credentials import access_of, require_some
from freehold.cli.errors import CliError
from freehold.cli.lookup import ring_store
from freehold.cli.session import Session
from freehold.cli.simulator import clock_of, simulated_cloud
from freehold.cli.state_directory import CloudChoice, StateDirectory
from freehold.cli.terminal import tell_at_once, warn
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json
from freehold.providers.registry import SERVED, SERVED_RESOURCES, served_of

if TYPE_CHECKING:
    from freehold.controllers.app import Settings
    from freehold.controllers.connections import Connections
    from freehold.controllers.keyring.stored_form import RingStore
    from freehold.controllers.plan.collection import CollectionPlan
    from freehold.controllers.plan.list_cache import ListedOnce
    from freehold.controllers.plan.plan import Plan
    from freehold.engine.keys import KeyRing
    from freehold.providers.access.accounts import CloudAccount


async def asked(
    session: Session,
    target: Access,
    objects: Sequence[Json],
    simulator: str,
    ring: KeyRing,
    beside: Sequence[Json] = (),
) -> list[Plan]:
    """What serving each of ``objects`` would do, with ``beside`` stored. ``simulator`` is of :func:`simulator_of`."""
    settings = await settings_of(session, target, simulator)
    return await plans_with(session.client, objects, settings, ring, beside)


async def settings_of(session: Session, target: Access, simulator: str) -> Settings:
    """Those of an operator, for a command that does a part of its work here."""
    from freehold.controllers.app import RingSecret, Settings

    return Settings(
        kube=session.client.connection,
        access=access_of(simulator),
        cluster_api="off",
        clock=await clock_of(simulator) if simulator else session.clock,
        gates=target.options.gates,
        gc_selector=target.options.gc_selector,
        keys=RingSecret(target.keys_namespace) if target.keys_namespace else RingSecret(),
    )


async def plans_with(
    client: KubeClient, objects: Sequence[Json], settings: Settings, ring: KeyRing, beside: Sequence[Json] = ()
) -> list[Plan]:
    """The same, with the settings of an operator."""
    from freehold.controllers.other_objects import StoredObjects
    from freehold.controllers.owner_cluster import OwnerClusterReader
    from freehold.controllers.plan.planner import AsIfStored, plan
    from freehold.providers.objects.gate import Mode

    others = StoredObjects(client, SERVED_RESOURCES, settings.namespace or "")
    reader, stored = AsIfStored(client, beside), _once_in_account(client, objects, settings)
    plans = []
    for obj in objects:
        served = served_of(str(obj["kind"]))
        owners = OwnerClusterReader(client, Mode(settings.cluster_api), served)
        of_kind = stored.get(served.kind)
        plans.append(await plan(obj, settings, reader, ring, await owners.context(obj), others, of_kind))
    return plans


async def collections_with(
    client: KubeClient, objects: Sequence[Json], settings: Settings, ring: KeyRing
) -> list[CollectionPlan]:
    """Say what deletes of ``objects`` would collect."""
    from freehold.controllers.other_objects import StoredObjects
    from freehold.controllers.plan.collection_planner import plan_collections

    others = StoredObjects(client, SERVED_RESOURCES, settings.namespace or "")
    return await plan_collections(objects, settings, client, ring, others.stored)


def _once_in_account(client: KubeClient, objects: Sequence[Json], settings: Settings) -> Mapping[str, ListedOnce]:
    """By kind: all objects of those kinds of which an account can have one of a name, with ``objects`` among them."""
    from freehold.controllers.plan.list_cache import ListedOnce
    from freehold.providers.objects.served_resources import resource_of

    found = {}
    for served in (each for each in SERVED if each.once_in_account):
        beside = [each for each in objects if each["kind"] == served.kind]
        found[served.kind] = ListedOnce(client, resource_of(served), settings.namespace or "", beside)
    return found


async def ring_of(session: Session, target: Access) -> KeyRing:
    """Return the operator's key ring, as :func:`ring_in` does; on a cluster say where there is none."""
    store = ring_store(target, session)
    told = f"there is no key ring in {store.where}; this plan is made with a new one. If the operator has one elsewhere"
    return await ring_in(store, "" if target.state else f"{told}, add --keys-namespace")


async def ring_in(store: RingStore, if_none: str = "") -> KeyRing:
    """The key ring that is kept there; one for this plan alone, and ``if_none`` said, where there is none yet.

    Raises CliError.
    """
    from freehold.controllers.keyring.stored_form import RingDocument, RingError

    try:
        found = await store.read()
    except RingError as problem:
        raise CliError(problem.message) from problem
    if found.document is None and if_none:
        warn(if_none)
    return (found.document or RingDocument.fresh(time.time())).ring()


async def simulator_of(session: Session, target: Access, stack: AsyncExitStack) -> str:
    """The URL of the simulated clouds (empty for the real ones), for a command that only reads.

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
    from freehold.controllers.app import connections_of
    from freehold.providers.access.audit import NoAudit

    return connections_of(settings, session.client, stack.enter_context(ExitStack()), NoAudit())


async def account_of(
    session: Session, target: Access, obj: Json, stack: AsyncExitStack, simulator: str
) -> CloudAccount:
    """The account that ``obj`` is served in. Raises CliError where there are no credentials for it."""
    accounts = await _accounts(session, target, stack, simulator)
    return await accounts(obj)


async def accounts_of(
    session: Session, target: Access, stack: AsyncExitStack
) -> Callable[[Json], Awaitable[CloudAccount]]:
    """The same of several objects, with one simulator for all. What is returned raises CliError in the same case."""
    return await _accounts(session, target, stack, await simulator_of(session, target, stack))


async def _accounts(
    session: Session, target: Access, stack: AsyncExitStack, simulator: str
) -> Callable[[Json], Awaitable[CloudAccount]]:
    from freehold.controllers.connections import accounts_in
    from freehold.providers.access.accounts import NoCredentials

    settings = await settings_of(session, target, simulator)
    connections = connections_with(settings, session, stack)
    known = {served.kind: accounts_in(connections, served) for served in SERVED}

    async def account(obj: Json) -> CloudAccount:
        found = await known[str(obj["kind"])].binding(obj)
        if isinstance(found, NoCredentials):
            raise CliError(found.message)
        return found.cloud

    return account
