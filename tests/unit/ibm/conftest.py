"""The drivers on a simulated account, with requests as the reconciler writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from freehold.engine.resources import Observed, State
from freehold_sim.ibm.settings import Settings
from harness import account as shared
from harness.account import GROUP, NONCE


class Account(shared.Account):
    """One simulated account with our adapters on it."""

    async def ready(self, kind: str, request: Mapping[str, Any], nonce: str = NONCE) -> Observed:
        """Create, and let the time pass that it takes."""
        made = await self.create(kind, request, nonce)
        self.clock.advance(self.kinds[kind].creation.usual_time)
        seen = await self.look(kind, made)
        assert seen is not None and seen.state is State.READY, seen
        return seen

    def machine(self, server: Observed, name: str = "theirs") -> None:
        """A stranger's virtual machine on the network of a DHCP server."""
        guid, network = server.id.partition("/")[0], server.attributes["network_id"]
        self.cloud.strangers.make("vm", region="dal", workspace=guid, network=network, name=name)

    # -- requests as the reconciler writes them ----------------------------------------------------------------

    def workspace(self, name: str = "ws", zone: str = "dal10") -> dict[str, Any]:
        return {"name": name, "zone": zone, "resource_group": GROUP}

    def dhcp(self, workspace: Observed, name: str = "net") -> dict[str, Any]:
        network = f"DHCPSERVER{name}_Private"
        return {
            "workspace": workspace.attributes["id"], "zone": workspace.attributes["zone"], "name": name,
            "network": network, "search": [name, network], "dns": "1.1.1.1", "snat": True,
        }  # fmt: skip

    def vpc(self, name: str = "net", region: str = "us-south") -> dict[str, Any]:
        return {"name": name, "region": region, "resource_group": GROUP}

    def subnet(self, vpc: Observed, name: str = "sub", zone: str = "us-south-1") -> dict[str, Any]:
        return {
            "name": name, "region": vpc.attributes["region"], "zone": zone, "vpc": vpc.attributes["id"],
            "resource_group": GROUP, "address_count": 256,
        }  # fmt: skip

    def group(self, vpc: Observed, name: str = "sg") -> dict[str, Any]:
        region = vpc.attributes["region"]
        return {"name": name, "region": region, "vpc": vpc.attributes["id"], "resource_group": GROUP}

    def balancer(self, *subnets: Observed, name: str = "lb") -> dict[str, Any]:
        pool = {
            "name": f"{name}-pool-6443", "protocol": "tcp", "algorithm": "round_robin", "delay": 5, "timeout": 2,
            "retries": 2, "type": "tcp",
        }  # fmt: skip
        return {
            "name": name, "region": "us-south", "public": True, "resource_group": GROUP,
            "subnets": [one.attributes["id"] for one in subnets], "security_groups": [], "pools": [pool],
            "listeners": [{"port": 6443, "protocol": "tcp", "pool": pool["name"]}],
        }  # fmt: skip

    def gateway(self, name: str = "gw", *, routing: bool = False) -> dict[str, Any]:
        return {"name": name, "location": "us-south", "global": routing, "resource_group": GROUP}

    def connection(self, gateway: Observed, end: Observed, network_type: str = "vpc") -> dict[str, Any]:
        return {
            "gateway": gateway.attributes["id"], "gateway_crn": gateway.attributes["crn"],
            "network_type": network_type, "network_id": end.attributes["crn"], "name": f"gw-{network_type[:3]}-con",
        }  # fmt: skip

    def cos(self, name: str = "cos") -> dict[str, Any]:
        return {"name": name, "resource_group": GROUP}

    def bucket(self, instance: Observed, name: str = "our-bucket") -> dict[str, Any]:
        held = instance.attributes
        return {"instance": held["id"], "instance_crn": held["crn"], "name": name, "region": "us-south"}


@pytest.fixture
def make_account() -> Callable[..., Account]:
    """Return a maker of accounts: ``make_account(page_size=1)`` takes fields of Settings."""
    return lambda api_key=None, **fields: Account(Settings(**fields), api_key)


@pytest.fixture
def account() -> Account:
    return Account()
