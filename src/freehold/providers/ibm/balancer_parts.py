"""Listeners of a load balancer, each with a pool of its own (docs/reference/ibm-cloud.md#vpc).

Every change puts the load balancer into ``update_pending`` for a while, in which the next one is refused (NotReady): a
listener with a new pool takes two passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freehold.engine.resources import Part
from freehold.providers.ibm.calls import IbmClient, Json
from freehold.providers.ibm.names import VPC, is_nested

KIND = "listener"


def pool_prototype(pool: Mapping[str, Any], name: str) -> Json:
    """Return the pool ``{name, protocol, algorithm, delay, timeout, retries, type}`` as the API takes it."""
    return {
        "name": name,
        "protocol": pool["protocol"],
        "algorithm": pool["algorithm"],
        "health_monitor": {
            "delay": pool["delay"],
            "timeout": pool["timeout"],
            "max_retries": pool["retries"],
            "type": pool["type"],
        },
    }


def _behavior(listener: Json) -> str:
    return f"{listener['protocol']} to {(listener.get('default_pool') or {}).get('name', 'no pool')}"


class Listeners:
    """Parts of kind ``listener``; the natural key is the port."""

    def __init__(self, client: IbmClient) -> None:
        self._client = client

    async def read_all(self, region: str, balancer: str) -> frozenset[Part]:
        """Return all listeners; the list is not paged."""
        found = await self._client.read_short_list(
            "vpc",
            "list_load_balancer_listeners",
            lambda: self._sdk(region).list_load_balancer_listeners(balancer),
            "listeners",
            f"load balancer {balancer}",
        )
        return frozenset(Part(KIND, str(one["port"]), one, one["id"], behavior=_behavior(one)) for one in found)

    async def add(self, region: str, balancer: str, part: Part) -> None:
        """Add the pool, unless an earlier pass did, then the listener."""
        wanted = part.request
        pool = await self._find_or_create_pool(region, balancer, wanted["pool"])
        port, protocol = wanted["port"], wanted["protocol"]
        await self._client.write(
            "vpc",
            "create_load_balancer_listener",
            lambda: self._sdk(region).create_load_balancer_listener(
                balancer, protocol, port=port, default_pool={"id": pool}
            ),
            f"listener {port} of load balancer {balancer}",
            port=port,
        )

    async def remove(self, region: str, balancer: str, part: Part) -> None:
        """Remove the listener. Its pool, which nothing uses any more, stays until the balancer goes."""
        await self._client.write(
            "vpc",
            "delete_load_balancer_listener",
            lambda: self._sdk(region).delete_load_balancer_listener(balancer, part.id),
            f"listener {part.natural_key} of load balancer {balancer}",
            port=part.natural_key,
        )

    async def users(self, region: str, balancer: str) -> list[str]:
        """Return the pools with members: somebody's servers."""
        pools = await self._read_pools(region, balancer)
        return sorted(
            f"pool {pool['name']} has {len(pool['members'])} members" for pool in pools if pool.get("members")
        )

    async def _find_or_create_pool(self, region: str, balancer: str, wanted: Mapping[str, Any]) -> str:
        pools = await self._read_pools(region, balancer)
        name = wanted["name"]
        for pool in sorted(pools, key=lambda pool: bool(pool["name"] != name)):  # an exact name first
            if pool["name"] == name or is_nested(pool["name"], name, VPC):
                return str(pool["id"])  # its members, which others added, stay
        fields = pool_prototype(wanted, wanted["name"])
        made = await self._client.write(
            "vpc",
            "create_load_balancer_pool",
            lambda: self._sdk(region).create_load_balancer_pool(balancer, **fields),
            f"pool {wanted['name']} of load balancer {balancer}",
            name=wanted["name"],
        )
        return str(made["id"])

    async def _read_pools(self, region: str, balancer: str) -> list[Json]:
        return await self._client.read_short_list(
            "vpc",
            "list_load_balancer_pools",
            lambda: self._sdk(region).list_load_balancer_pools(balancer),
            "pools",
            f"load balancer {balancer}",
        )

    def _sdk(self, region: str) -> Any:
        return self._client.session.vpc(region)
