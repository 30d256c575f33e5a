"""Plans made in this process, with the SDKs of the clouds."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from freehold.api.feature_gates import FeatureGates
from freehold.cli.access import Access, refuse_settings
from freehold.cli.credentials import API_KEY, api_key_of
from freehold.cli.errors import CliError
from freehold.cli.session import Session
from freehold.cli.simulator import clock_of, simulated_cloud
from freehold.cli.state_directory import CloudChoice, StateDirectory
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json

if TYPE_CHECKING:
    from freehold.lifecycle.keys import KeyRing
    from freehold.operator.app import Settings
    from freehold.operator.plan import Plan


async def asked(
    session: Session, objects: Sequence[Json], cloud: tuple[str, str], ring: KeyRing, gates: FeatureGates
) -> list[Plan]:
    """What serving each of ``objects`` would do. ``cloud`` is of :func:`cloud_of`."""
    from freehold.operator.app import Settings

    url, key = cloud
    clock = await clock_of(url) if url else session.clock
    settings = Settings(
        kube=session.client.connection,
        api_key=key,
        ibm_url=url or None,
        cluster_api="off",
        clock=clock,
        gates=gates,
    )
    return await plans_with(session.client, objects, settings, ring)


async def plans_with(client: KubeClient, objects: Sequence[Json], settings: Settings, ring: KeyRing) -> list[Plan]:
    """The same, with the settings of an operator."""
    from freehold.api.served import served_of
    from freehold.operator.kinds import SERVED_RESOURCES
    from freehold.operator.other_objects import StoredObjects
    from freehold.operator.owner_cluster import OwnerClusterReader
    from freehold.operator.planning import plan
    from freehold.reconcilers.gate import Mode

    others = StoredObjects(client, SERVED_RESOURCES)
    plans = []
    for obj in objects:
        owners = OwnerClusterReader(client, Mode(settings.cluster_api), served_of(str(obj["kind"])))
        plans.append(await plan(obj, settings, ring, await owners.context(obj), others))
    return plans


async def ring_at(keys: Path) -> KeyRing:
    """The key ring of a state directory; one for this plan alone where there is none yet. Raises CliError."""
    from freehold.operator.keyring import RingDocument, RingError
    from freehold.operator.keyring_file import FileRing

    try:
        found = await FileRing(keys).read()
    except RingError as problem:
        raise CliError(problem.message) from problem
    return (found.document or RingDocument.fresh(time.time())).ring()


async def cloud_of(session: Session, target: Access, stack: AsyncExitStack) -> tuple[str, str]:
    """The URL of a simulated cloud (empty for the real one) and the key, for a command that only reads.

    It binds the state to neither.
    """
    if session.simulator:
        return session.simulator, API_KEY
    if target.kubeconfig:
        return "", api_key_of(os.environ)
    state = target.state
    assert state is not None
    refuse_settings(state, target.options)
    if state.choose(target.options.simulate) is CloudChoice.IBM:
        return "", api_key_of(os.environ)
    if state.cloud is None:  # a world that nobody will come back to
        state = StateDirectory.open(Path(stack.enter_context(TemporaryDirectory(prefix="freehold-plan-"))))
    simulated = simulated_cloud(state, target.options.speed, target.options.settings, keep=False)
    return await stack.enter_async_context(simulated), API_KEY
