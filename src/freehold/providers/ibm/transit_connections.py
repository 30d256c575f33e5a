"""Reads of transit gateway connections (docs/reference/ibm-cloud.md#transit-gateway)."""

from __future__ import annotations

from freehold.engine.errors import NotReady
from freehold.providers.ibm.calls import PAGE, ApiClient, Json
from freehold.providers.ibm.errors import ListNotFound


class Connections:
    """A connection has no address but that of its gateway."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._sdk = client.session.transit

    async def of_gateway(self, gateway: str) -> list[Json]:
        """All pages. Raises NotFound when the gateway is gone: when it is not found by its own id either."""
        try:
            return await self._client.pages(
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

    async def of_account(self) -> list[Json]:
        """The connections of all gateways, each with its gateway's id and CRN. All pages."""
        return await self._client.pages(
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
