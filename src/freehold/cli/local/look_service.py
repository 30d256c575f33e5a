"""The looks of a state directory's operator at its objects, told by the process that serves it.

The status alone cannot say it: the pass of an unchanged object writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from freehold.controllers.observation_log import LookOutcome, LookRecord
from freehold.kube.errors import KubeError
from freehold.kube.resources import Json, Key, Resource

if TYPE_CHECKING:
    from freehold.controllers.app import Operator

LOOKS = "/freehold/looks"

_NOBODY = (403, 404, 405)
"""What a server answers that is not ours, or of an earlier version."""


class Requester(Protocol):
    """A client that sends one request to the server."""

    async def request(self, method: str, path: str, *, body: object = None) -> Json: ...


class LookService:
    """Answers requests of :func:`looks_of_server`."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    async def answer(self, body: Json) -> Json:
        """Tell the look at each of ``objects`` (``kind``, ``namespace``, ``name``), in their order; null for none.

        With ``again`` everything of them is looked at now, and what was seen before counts no more. Beside them
        ``problem``, why nothing is served (empty where it is), and ``queued``, how many objects wait for their turn.
        """
        asked = [(str(each["kind"]), Key(str(each["namespace"]), str(each["name"]))) for each in body["objects"]]
        if body.get("again"):
            for kind, key in asked:
                self._operator.request_look(kind, key)
        looks = [_as_answer(self._operator.find_look(kind, key)) for kind, key in asked]
        health = self._operator.read_health()
        return {
            "looks": looks,
            "problem": health.problem if health else "",
            "queued": health.queued if health else 0,
        }


def _as_answer(look: LookRecord | None) -> Json | None:
    return {"seen": look.outcome.value, "version": look.version} if look else None


@dataclass(frozen=True)
class LookAnswer:
    """The answer of an operator: which objects it has looked at, why it serves nothing, how many wait."""

    looks: Mapping[tuple[Resource, Key], LookRecord]
    problem: str
    queued: int


async def looks_of_server(
    client: Requester, objects: Sequence[tuple[Resource, Key]], *, again: bool
) -> LookAnswer | None:
    """Ask what its operator has seen of ``objects``; None where nobody can tell. Raises KubeError."""
    named = [{"kind": resource.kind, "namespace": key.namespace, "name": key.name} for resource, key in objects]
    try:
        answer = await client.request("POST", LOOKS, body={"objects": named, "again": again})
    except KubeError as problem:
        if problem.code in _NOBODY:
            return None
        raise
    found = zip(objects, answer["looks"], strict=True)
    looks = {each: LookRecord(LookOutcome(look["seen"]), str(look["version"])) for each, look in found if look}
    return LookAnswer(looks, str(answer.get("problem") or ""), int(answer.get("queued") or 0))
