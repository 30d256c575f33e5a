"""Plans made by the process that serves a state directory: it has the SDKs of the clouds loaded.

Their import alone takes a second, which the command that asks for a plan is spared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from freehold.api.feature_gates import FeatureGate, FeatureGates
from freehold.cli.errors import CliError
from freehold.controllers.plan import plan
from freehold.kube.errors import KubeError
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import Json

if TYPE_CHECKING:
    from pathlib import Path

    from freehold.controllers.plan.collection import CollectionPlan
    from freehold.controllers.settings import Settings
    from freehold.engine.keys import KeyRing
    from freehold.kube.client import KubeClient

T = TypeVar("T")

PLANS = "/freehold/plans"
COLLECTIONS = "/freehold/collections"

_NO_SUCH_PATH = (404, 405)
"""What a server of an earlier version answers."""


@dataclass(frozen=True)
class Wished:
    """The objects to be planned, as they would be stored, and what else of a manifest is read for them."""

    objects: Sequence[Json]
    beside: Sequence[Json] = ()


async def plans_of_server(client: ObjectClient, wished: Wished, gates: FeatureGates) -> list[plan.Plan] | None:
    """Ask what serving each of its objects would do; None where the server makes no plans that this version reads.

    Raises CliError.
    """
    body = {"objects": list(wished.objects), "beside": list(wished.beside), "gates": sorted(gates)}
    return await _ask(client, PLANS, body, plan.load_plan)


async def collections_of_server(client: ObjectClient, objects: Sequence[Json]) -> list[CollectionPlan] | None:
    """Ask what deletes of ``objects`` would collect; None as above. Raises CliError."""
    from freehold.controllers.plan.collection import load_collection_plan

    return await _ask(client, COLLECTIONS, {"objects": list(objects)}, load_collection_plan)


async def _ask(client: ObjectClient, path: str, body: Json, loaded: Callable[[Mapping[str, Any]], T]) -> list[T] | None:
    try:
        answer = await client.request("POST", path, body=body)
    except KubeError as problem:
        if problem.code in _NO_SUCH_PATH:
            return None
        raise
    if "problem" in answer:
        raise CliError(str(answer["problem"]))
    try:
        return [loaded(each) for each in answer["plans"]]
    except (KeyError, TypeError, ValueError):  # plans of another version: it lacks a field, or has one more
        return None


class PlanService:
    """Answers both questions. ``settings`` are the operator's, ``keys`` its key ring."""

    def __init__(self, settings: Settings, keys: Path) -> None:
        self._settings = settings
        self._keys = keys

    async def plans(self, body: Json) -> Json:
        """Plan :class:`Wished` with the ``gates`` that are named."""
        from freehold.cli.local.planning import plans_with
        from freehold.engine.interface import Intervals

        gates = frozenset(map(FeatureGate, body["gates"]))
        settings = replace(self._settings, audit=None, intervals=Intervals(), gates=gates)

        async def make(client: KubeClient, ring: KeyRing) -> Sequence[Json]:
            found = await plans_with(client, body["objects"], settings, ring, body.get("beside", ()))
            return [plan.dump_plan(each) for each in found]

        return await self._answer(make)

    async def collections(self, body: Json) -> Json:
        """Plan the collection of ``objects``, by the gates and the selector of the operator here."""
        from freehold.cli.local.planning import collections_with
        from freehold.controllers.plan.collection import dump_collection_plan

        settings = replace(self._settings, audit=None)

        async def make(client: KubeClient, ring: KeyRing) -> Sequence[Json]:
            return [
                dump_collection_plan(each) for each in await collections_with(client, body["objects"], settings, ring)
            ]

        return await self._answer(make)

    async def _answer(self, make: Callable[[KubeClient, KeyRing], Awaitable[Sequence[Json]]]) -> Json:
        """Return ``plans``, or the ``problem`` that there are none."""
        from freehold.cli.local.planning import ring_in
        from freehold.controllers.keyring.file import FileRing
        from freehold.kube.client import KubeClient

        try:
            async with KubeClient(self._settings.kube) as client:
                return {"plans": await make(client, await ring_in(FileRing(self._keys)))}
        except CliError as problem:
            return {"problem": problem.sentence}
        except KubeError as problem:
            return {"problem": problem.message}
