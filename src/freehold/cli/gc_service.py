"""What is collected with clusters, told by the process that serves their state directory (as plan_service)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from freehold.cli.errors import CliError
from freehold.controllers.plan.collection import CollectionPlan, dumped, loaded
from freehold.kube.errors import KubeError
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import Json

if TYPE_CHECKING:
    from pathlib import Path

    from freehold.controllers.app import Settings

COLLECTIONS = "/freehold/collections"

_NO_SUCH_PATH = (404, 405)
"""What a server of an earlier version answers."""


class CollectionService:
    """Answers requests of :func:`collections_of_server`, by the gates and the selector of the operator here."""

    def __init__(self, settings: Settings, keys: Path) -> None:
        self._settings = settings
        self._keys = keys

    async def answer(self, body: Json) -> Json:
        """Return ``plans`` of ``objects``, or the ``problem`` that there are none."""
        from freehold.cli.local_plans import collections_with, ring_in
        from freehold.controllers.keyring.file import FileRing
        from freehold.kube.client import KubeClient

        try:
            async with KubeClient(self._settings.kube) as client:
                ring = await ring_in(FileRing(self._keys))
                settings = replace(self._settings, audit=None)
                plans = await collections_with(client, body["objects"], settings, ring)
        except CliError as problem:
            return {"problem": problem.sentence}
        except KubeError as problem:
            return {"problem": problem.message}
        return {"plans": [dumped(each) for each in plans]}


async def collections_of_server(client: ObjectClient, objects: Sequence[Json]) -> list[CollectionPlan] | None:
    """Ask what deletes of ``objects`` would collect; None where the server's version cannot tell.

    Raises CliError.
    """
    try:
        answer = await client.request("POST", COLLECTIONS, body={"objects": list(objects)})
    except KubeError as problem:
        if problem.code in _NO_SUCH_PATH:
            return None
        raise
    if "problem" in answer:
        raise CliError(str(answer["problem"]))
    try:
        return [loaded(each) for each in answer["plans"]]
    except (KeyError, TypeError, ValueError):  # of another version
        return None
