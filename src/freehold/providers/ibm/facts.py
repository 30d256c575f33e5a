"""Facts that a cluster's plan depends on: resource groups, zones, regions. Cached: they change slowly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.engine.clock import Clock
from freehold.engine.errors import Invalid
from freehold.providers.ibm import vpc
from freehold.providers.ibm.calls import IbmClient, Json
from freehold.providers.ibm.crn import power_region


class NoSuchValue(Invalid):
    """IBM Cloud does not know the value; ``known`` are the existing ones."""

    def __init__(self, what: str, value: str, known: Sequence[str]) -> None:
        self.known = tuple(sorted(known))
        there = ", ".join(self.known) or "none"
        super().__init__(f"{what} {value!r} does not exist in IBM Cloud; choose one of: {there}")


@dataclass(frozen=True)
class PowerZoneFacts:
    """A PowerVS zone (``dal10``), its region (``dal``), and whether it has a Power Edge Router."""

    zone: str
    region: str
    edge_router: bool


class IbmFacts:
    """Facts, cached for ``max_age`` seconds of domain time; a missing value is read again.

    Lists of all zones and regions are asked of one region that always exists.
    """

    def __init__(self, client: IbmClient, clock: Clock, *, home: str = vpc.HOME, max_age: float = 3 * 3600.0) -> None:
        self._client = client
        self._clock = clock
        self._home = home
        self._max_age = max_age
        self._kept: dict[Hashable, tuple[float, Mapping[str, Any]]] = {}

    async def resource_group_id(self, name: str) -> str:
        """Return the id of a resource group. Raises NoSuchValue."""
        return str(await self._find_one("resource group", name, "groups", self._read_groups))

    async def power_zone(self, zone: str) -> PowerZoneFacts:
        """Return a zone, and whether it has a Power Edge Router. Raises NoSuchValue."""
        found: PowerZoneFacts = await self._find_one("PowerVS zone", zone, "zones", self._read_zones)
        return found

    async def vpc_zones(self, region: str) -> tuple[str, ...]:
        """Return the zones of a VPC region that can be used, sorted. Raises NoSuchValue."""
        await self._find_one("VPC region", region, "regions", self._read_regions)
        zones = await self._read_cached(("zones of", region), lambda: self._read_region_zones(region))
        return tuple(sorted(zones))

    async def _find_one(
        self, what: str, value: str, key: Hashable, ask: Callable[[], Awaitable[Mapping[str, Any]]]
    ) -> Any:
        known = await self._read_cached(key, ask)
        if value not in known:
            self._kept.pop(key, None)  # it may have been created since
            known = await self._read_cached(key, ask)
        if value not in known:
            raise NoSuchValue(what, value, list(known))
        return known[value]

    async def _read_cached(self, key: Hashable, ask: Callable[[], Awaitable[Mapping[str, Any]]]) -> Mapping[str, Any]:
        kept = self._kept.get(key)
        if kept is None or self._clock.now() - kept[0] > self._max_age:
            kept = self._kept[key] = (self._clock.now(), await ask())
        return kept[1]

    async def _read_groups(self) -> Mapping[str, str]:
        account, sdk = await self._client.account(), self._client.session.resource_manager
        body = await self._client.read(
            "rm", "list_resource_groups", lambda: sdk().list_resource_groups(account_id=account), "of the account"
        )
        return {group["name"]: group["id"] for group in body["resources"]}

    async def _read_zones(self) -> Mapping[str, PowerZoneFacts]:
        sdk = self._client.session.power
        body = await self._client.read(
            "power", "list_datacenters", lambda: sdk(self._home).list_datacenters(), "of PowerVS"
        )
        return {zone.zone: zone for zone in map(_zone, body["datacenters"])}

    async def _read_regions(self) -> Mapping[str, str]:
        return {region["name"]: region["status"] for region in await vpc.read_regions(self._client, self._home)}

    async def _read_region_zones(self, region: str) -> Mapping[str, str]:
        sdk = self._client.session.vpc
        body = await self._client.read(
            "vpc", "list_region_zones", lambda: sdk(self._home).list_region_zones(region), f"of {region}"
        )
        return {zone["name"]: zone["status"] for zone in body["zones"] if zone["status"] in {"available", "impaired"}}


def _zone(body: Json) -> PowerZoneFacts:
    name = str(body["location"]["region"])
    return PowerZoneFacts(name, power_region(name), bool(body["capabilities"].get("power-edge-router")))
