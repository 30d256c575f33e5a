"""Plans made in this process, with the SDKs of the clouds, which are imported first here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from freehold.cli.errors import CliError
from freehold.cli.output.hints import notes
from freehold.cli.output.terminal import warn
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json

if TYPE_CHECKING:
    from freehold.controllers.keyring.stored_form import RingStore
    from freehold.controllers.plan.collection import CollectionPlan
    from freehold.controllers.plan.list_cache import ListCache
    from freehold.controllers.plan.plan import Plan
    from freehold.controllers.settings import Settings
    from freehold.engine.keys import KeyRing


async def plans_with(
    client: KubeClient, objects: Sequence[Json], settings: Settings, ring: KeyRing, beside: Sequence[Json] = ()
) -> list[Plan]:
    """Plan what serving each of ``objects`` would do, with ``beside`` stored, with the settings of an operator."""
    from freehold.controllers.other_objects import OtherStoredObjects
    from freehold.controllers.owner_cluster import OwnerClusterReader
    from freehold.controllers.plan.planner import ManifestReader, StoredFirst, plan_object
    from freehold.providers.objects.gate import ClusterApiMode
    from freehold.providers.registry import SERVED_RESOURCES, served_of

    others = OtherStoredObjects(client, SERVED_RESOURCES, settings.namespace or "")
    reader, stored = ManifestReader(client, beside), _list_once(client, objects, settings)
    plans = []
    for obj in objects:
        served = served_of(str(obj["kind"]))
        around = StoredFirst(client, (*objects, *beside))
        owners = OwnerClusterReader(around, ClusterApiMode(settings.cluster_api), served)
        of_kind = stored.get(served.kind)
        plans.append(await plan_object(obj, settings, reader, ring, await owners.read_context(obj), others, of_kind))
    return plans


async def collections_with(
    client: KubeClient, objects: Sequence[Json], settings: Settings, ring: KeyRing
) -> list[CollectionPlan]:
    """Say what deletes of ``objects`` would collect."""
    from freehold.controllers.other_objects import OtherStoredObjects
    from freehold.controllers.plan.collection_planner import plan_collections
    from freehold.providers.registry import SERVED_RESOURCES

    others = OtherStoredObjects(client, SERVED_RESOURCES, settings.namespace or "")
    return await plan_collections(objects, settings, client, ring, others.list_stored)


def _list_once(client: KubeClient, objects: Sequence[Json], settings: Settings) -> Mapping[str, ListCache]:
    """List the objects of each kind of which an account can have one of a name, with ``objects`` among them."""
    from freehold.controllers.plan.list_cache import ListCache
    from freehold.providers.objects.served_resources import resource_of
    from freehold.providers.registry import SERVED

    found = {}
    for served in (each for each in SERVED if each.once_in_account):
        beside = [each for each in objects if each["kind"] == served.kind]
        found[served.kind] = ListCache(client, resource_of(served), settings.namespace or "", beside)
    return found


async def ring_in(store: RingStore, if_none: str = "") -> KeyRing:
    """Read the key ring that is kept there; make one for this plan, and say ``if_none``, where there is none yet.

    Raises CliError.
    """
    from freehold.controllers.keyring.stored_form import RingDocument, RingError

    try:
        found = await store.read()
    except RingError as problem:
        raise CliError(problem.message, notes()) from problem
    if found.document is None and if_none:
        warn(if_none)
    return (found.document or RingDocument.create(time.time())).build_ring()
