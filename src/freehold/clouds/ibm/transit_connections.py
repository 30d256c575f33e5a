"""Reads of transit gateway connections (reference ibm-cloud.md §1.6)."""

from __future__ import annotations

from freehold.clouds.ibm.calls import PAGE, Caller, Json
from freehold.lifecycle.errors import NotFound


class Connections:
    """Remembers which ones a list has shown: lists show new connections late, and are believed from then on."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._sdk = caller.session.transit
        self._listed: set[str] = set()

    def listed_before(self, ident: str) -> bool:
        """Whether some list has shown this connection."""
        return ident in self._listed

    async def of_gateway(self, gateway: str) -> list[Json]:
        """All pages; none when the gateway is gone."""
        try:
            bodies = await self._caller.pages(
                "transit",
                "list_transit_gateway_connections",
                lambda start: self._sdk().list_transit_gateway_connections(gateway, limit=PAGE, start=start),
                "connections",
                f"of transit gateway {gateway}",
            )
        except NotFound:
            return []
        self._listed.update(body["id"] for body in bodies)
        return bodies

    async def get(self, gateway: str, ident: str) -> Json | None:
        body: Json | None = await self._caller.look(
            "transit",
            "get_transit_gateway_connection",
            lambda: self._sdk().get_transit_gateway_connection(gateway, ident),
            f"connection {ident} of transit gateway {gateway}",
        )
        return body
