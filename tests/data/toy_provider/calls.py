"""Every request to the toy cloud becomes one call through the port, and every failure one of the engine's errors."""

from __future__ import annotations

from typing import Any

from freehold.engine import errors
from freehold.engine.port import Call, Effect, Port
from freehold.providers.toy.access import VARIABLE
from freehold.providers.toy.cloud import Row, ToyCloud, ToyError

API = "toy"
FENCED = frozenset({"create", "tag"})
"""What makes or marks a resource: not sent by a process that may have lost its object meanwhile (port.FencedPort)."""

ERRORS: dict[int, tuple[type[errors.CloudError], str]] = {
    401: (errors.Denied, f"check the file that {VARIABLE} names"),
    402: (errors.Quota, "delete what is not needed"),
    403: (errors.Denied, f"check the file that {VARIABLE} names"),
    404: (errors.NotFound, "it is gone"),
    409: (errors.InUse, "remove the boxes that are in it"),
    429: (errors.Throttled, "it is asked again more slowly"),
    503: (errors.Unavailable, "it is asked again"),
}
"""What each status means, and what to do. With any other one it is not known what became of a write."""


class ToyClient:
    """Sends requests of one account through a port."""

    def __init__(self, cloud: ToyCloud, port: Port) -> None:
        self._cloud = cloud
        self._port = port

    async def list(self, kind: str = "") -> list[Row]:
        """Return all resources of a kind, or all there are. Raises CloudError, never NotFound."""
        rows: list[Row] = await self._send(Effect.READ, "list", kind or "everything", kind=kind)
        return rows

    async def write(self, operation: str, subject: str, **arguments: Any) -> Any:
        """Send a request that changes the cloud, once. Raises Unknown where the effect may have happened."""
        return await self._send(Effect.WRITE, operation, subject, **arguments)

    async def _send(self, effect: Effect, operation: str, subject: str, **arguments: Any) -> Any:
        def run() -> Any:
            try:
                return self._cloud.request(operation, **arguments)
            except (ToyError, OSError) as error:
                raise _translated(error, effect, f"{operation} {subject}") from None

        return await self._port.send(Call(API, operation, effect, run, subject, arguments, operation in FENCED))


def _translated(error: ToyError | OSError, effect: Effect, what: str) -> errors.CloudError:
    status, said = (error.status, "refused to") if isinstance(error, ToyError) else (0, "gave no answer when asked to")
    if effect is Effect.READ and (status == 404 or status not in ERRORS):  # a list that is not found proves no absence
        found, advice = ERRORS[503]
    else:
        found, advice = ERRORS.get(status, (errors.Unknown, "it is looked for before anything else is done"))
    return found(f"Toy Cloud {said} {what}: {advice}", code=str(status))
