"""Plans made by the process that serves a state directory: it has the SDKs of the clouds loaded.

Their import alone takes a second, which the command that asks for a plan is spared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from freehold.api.feature_gates import FeatureGate, FeatureGates
from freehold.cli.errors import CliError
from freehold.kube.errors import KubeError
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import Json
from freehold.operator.plan import Plan, dumped, loaded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from freehold.operator.app import Settings

PLANS = "/freehold/plans"

_NO_SUCH_PATH = (404, 405)
"""What a server of an earlier version answers."""


class PlanService:
    """Answers requests of :func:`plans_of_server`. ``settings`` are the operator's, ``keys`` its key ring."""

    def __init__(self, settings: Settings, keys: Path) -> None:
        self._settings = settings
        self._keys = keys

    async def answer(self, body: Json) -> Json:
        """``objects`` as they would be stored, ``gates`` by name; ``plans``, or the ``problem`` that there are none."""
        from freehold.cli.local_plans import plans_with, ring_at
        from freehold.kube.client import KubeClient
        from freehold.lifecycle.interface import Intervals

        gates = frozenset(map(FeatureGate, body["gates"]))
        settings = replace(self._settings, audit=None, intervals=Intervals(), gates=gates)
        try:
            async with KubeClient(settings.kube) as client:
                plans = await plans_with(client, body["objects"], settings, await ring_at(self._keys))
        except CliError as problem:
            return {"problem": problem.sentence}
        except KubeError as problem:
            return {"problem": problem.message}
        return {"plans": [dumped(each) for each in plans]}


async def plans_of_server(client: ObjectClient, objects: Sequence[Json], gates: FeatureGates) -> list[Plan] | None:
    """What serving each of ``objects`` would do; None where the server makes no plans. Raises CliError."""
    try:
        answer = await client.request("POST", PLANS, body={"objects": list(objects), "gates": sorted(gates)})
    except KubeError as problem:
        if problem.code in _NO_SUCH_PATH:
            return None
        raise
    if "problem" in answer:
        raise CliError(str(answer["problem"]))
    return [loaded(each) for each in answer["plans"]]
