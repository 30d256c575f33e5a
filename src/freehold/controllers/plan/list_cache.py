"""Cache of the stored objects of one kind, for plans: they are listed once, at the first use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from freehold.controllers.other_objects import Lister
from freehold.kube.errors import Forbidden, KubeError
from freehold.kube.resources import Json, Resource, key_of


class ListCache:
    """The objects of one kind. Objects in ``beside`` come from a manifest, and replace their stored versions.

    ``namespace`` is the operator's, empty for all.
    """

    def __init__(self, client: Lister, resource: Resource, namespace: str = "", beside: Iterable[Json] = ()) -> None:
        self._client = client
        self._resource = resource
        self._namespace = namespace
        self._beside = tuple(beside)
        self._objects: Sequence[Json] | None = None

    async def read(self) -> None:
        """List the objects at the first call. Raises KubeError with a sentence about what is not known then."""
        if self._objects is not None:
            return
        kind, wished = self._resource.kind, {key_of(each) for each in self._beside}
        try:
            stored = (await self._client.list(self._resource, self._namespace)).items
        except KubeError as problem:
            grant = f"; grant 'list' on {self._resource.plural}" if isinstance(problem, Forbidden) else ""
            message = f"whether another {kind} has the cluster's name cannot be told: {problem.message}{grant}"
            raise type(problem)(message, code=problem.code) from problem
        self._objects = [*self._beside, *(each for each in stored if key_of(each) not in wished)]

    def list_objects(self) -> Sequence[Json]:
        """Return the objects; none before they were read."""
        return self._objects or ()
