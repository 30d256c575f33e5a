"""Reads of transit gateway connections (reference ibm-cloud.md §1.6)."""

from __future__ import annotations

from freehold.clouds.ibm.calls import PAGE, Caller, Json
from freehold.clouds.ibm.errors import ListNotFound
from freehold.lifecycle.errors import NotReady


class Connections:
    """A connection has no address but that of its gateway."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._sdk = caller.session.transit

    async def of_gateway(self, gateway: str) -> list[Json]:
        """All pages. Raises NotFound when the gateway is gone: when it is not found by its own id either."""
        try:
            return await self._caller.pages(
                "transit",
                "list_transit_gateway_connections",
                lambda start: self._sdk().list_transit_gateway_connections(gateway, limit=PAGE, start=start),
                "connections",
                f"of transit gateway {gateway}",
            )
        except ListNotFound as missing:
            await self._caller.read(
                "transit",
                "get_transit_gateway",
                lambda: self._sdk().get_transit_gateway(gateway),
                f"transit gateway {gateway}",
            )
            message = f"the connections of transit gateway {gateway} are not found, but the gateway is"
            raise NotReady(f"{message}. They are asked for again; open a case with IBM if this stays") from missing

    async def get(self, gateway: str, ident: str) -> Json | None:
        body: Json | None = await self._caller.look(
            "transit",
            "get_transit_gateway_connection",
            lambda: self._sdk().get_transit_gateway_connection(gateway, ident),
            f"connection {ident} of transit gateway {gateway}",
        )
        return body
