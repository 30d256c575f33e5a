"""Plans made by the process that serves a state directory: it has the SDKs of the clouds loaded.

Their import alone takes a second, which the command that asks for a plan is spared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from freehold.api.feature_gates import FeatureGate, FeatureGates
from freehold.cli.errors import CliError
from freehold.controllers.plan.plan import Plan, dumped, loaded
from freehold.kube.errors import KubeError
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import Json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from freehold.controllers.app import Settings

PLANS = "/freehold/plans"

_NO_SUCH_PATH = (404, 405)
"""What a server of an earlier version answers."""


@dataclass(frozen=True)
class Wished:
    """The objects to be planned, as they would be stored, and what else of a manifest is read for them."""

    objects: Sequence[Json]
    beside: Sequence[Json] = ()


class PlanService:
    """Answers requests of :func:`plans_of_server`. ``settings`` are the operator's, ``keys`` its key ring."""

    def __init__(self, settings: Settings, keys: Path) -> None:
        self._settings = settings
        self._keys = keys

    async def answer(self, body: Json) -> Json:
        """Of :class:`Wished`, and ``gates`` by name; ``plans``, or the ``problem`` that there are none."""
        from freehold.cli.local_plans import plans_with, ring_in
        from freehold.controllers.keyring.file import FileRing
        from freehold.engine.interface import Intervals
        from freehold.kube.client import KubeClient

        gates = frozenset(map(FeatureGate, body["gates"]))
        settings = replace(self._settings, audit=None, intervals=Intervals(), gates=gates)
        try:
            async with KubeClient(settings.kube) as client:
                ring = await ring_in(FileRing(self._keys))
                plans = await plans_with(client, body["objects"], settings, ring, body.get("beside", ()))
        except CliError as problem:
            return {"problem": problem.sentence}
        except KubeError as problem:
            return {"problem": problem.message}
        return {"plans": [dumped(each) for each in plans]}


async def plans_of_server(client: ObjectClient, wished: Wished, gates: FeatureGates) -> list[Plan] | None:
    """What serving each of its objects would do; None where the server makes no plans that this version can read.

    Raises CliError.
    """
    body = {"objects": list(wished.objects), "beside": list(wished.beside), "gates": sorted(gates)}
    try:
        answer = await client.request("POST", PLANS, body=body)
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
