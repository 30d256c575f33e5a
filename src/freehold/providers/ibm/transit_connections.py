"""Reads of transit gateway connections (docs/reference/ibm-cloud.md#transit-gateway)."""

from __future__ import annotations

from freehold.engine.errors import NotReady
from freehold.providers.ibm.calls import PAGE, IbmClient, Json
from freehold.providers.ibm.errors import ListNotFound


class Connections:
    """Reads of connections. A connection has no address but that of its gateway."""

    def __init__(self, client: IbmClient) -> None:
        self._client = client
        self._sdk = client.session.transit

    async def list_for_gateway(self, gateway: str) -> list[Json]:
        """Return all pages. Raises NotFound when the gateway is gone, which a read by its own id decides."""
        try:
            return await self._client.read_list(
                "transit",
                "list_transit_gateway_connections",
                lambda start: self._sdk().list_transit_gateway_connections(gateway, limit=PAGE, start=start),
                "connections",
                f"of transit gateway {gateway}",
            )
        except ListNotFound as missing:
            await self._client.read(
                "transit",
                "get_transit_gateway",
                lambda: self._sdk().get_transit_gateway(gateway),
                f"transit gateway {gateway}",
            )
            message = f"the connections of transit gateway {gateway} are not found, but the gateway is"
            raise NotReady(f"{message}. They are asked for again; open a case with IBM if this stays") from missing

    async def list_for_account(self) -> list[Json]:
        """Return the connections of all gateways, each with its gateway's id and CRN. All pages."""
        return await self._client.read_list(
            "transit",
            "list_connections",
            lambda start: self._sdk().list_connections(limit=PAGE, start=start),
            "connections",
            "in the account",
        )

    async def get(self, gateway: str, ident: str) -> Json | None:
        body: Json | None = await self._client.get_or_none(
            "transit",
            "get_transit_gateway_connection",
            lambda: self._sdk().get_transit_gateway_connection(gateway, ident),
            f"connection {ident} of transit gateway {gateway}",
        )
        return body
