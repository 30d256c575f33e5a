"""The drivers on a simulated account, through the real SDKs, without a socket, on virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import requests

from freehold.clouds.ibm.calls import Caller
from freehold.clouds.ibm.registry import ibm_kinds
from freehold.clouds.ibm.session import Credentials, Endpoints, IbmSession
from freehold.clouds.ibm.tags import IbmTagger
from freehold.lifecycle.kinds import Birth, NodeKey, Observed, Ref, State, Want
from freehold.lifecycle.port import Call, InlinePort
from freehold_sim.clock import VirtualClock
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Settings
from freehold_sim.mount import WorldAdapter, mount_s3

BASE = "http://ibm.sim"
GROUP = "11111111111111111111111111111111"
NONCE = "fabcdefg"


class SimulatedMount:
    """Puts a simulated account under every SDK."""

    def __init__(self, cloud: SimulatedIBM) -> None:
        self._cloud = cloud

    def http(self, session: requests.Session) -> None:
        session.mount(BASE, WorldAdapter(self._cloud))

    def s3(self, client: Any) -> None:
        mount_s3(client, self._cloud)


class RecordingPort(InlinePort):
    """Keeps every call that passed."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    async def send(self, call: Call) -> Any:
        self.calls.append(call)
        return await super().send(call)


class Account:
    """One simulated account with our adapters on it."""

    def __init__(self, settings: Settings, api_key: str | None = None) -> None:
        self.clock = VirtualClock()
        self.cloud = SimulatedIBM(self.clock, settings)
        self.port = RecordingPort()
        credentials = Credentials(api_key or settings.api_key)
        self.session = IbmSession(credentials, Endpoints.at(BASE), SimulatedMount(self.cloud))
        self.caller = Caller(self.session, self.port)
        self.kinds = ibm_kinds(self.session, self.port)
        self.tagger = IbmTagger(self.caller)

    def requests(self) -> list[str]:
        """The operations that the cloud was asked for, by us."""
        return [call.operation for call in self.cloud.calls if call.actor == "api"]

    async def create(self, kind: str, request: Mapping[str, Any], nonce: str = NONCE) -> Observed:
        return await self.kinds[kind].driver.create(request, Birth("token", nonce))

    async def look(self, kind: str, seen: Observed) -> Observed | None:
        found = await self.kinds[kind].driver.observe([Ref(seen.id, seen.target)])
        return found.get(seen.id)

    async def find(self, kind: str, request: Mapping[str, Any], *nonces: str) -> list[Observed]:
        key = NodeKey(kind, "main")
        name = str(request.get("network") or request["name"])
        found = await self.kinds[kind].driver.find([Want(key, name, request, frozenset(nonces))])
        return list(found[key])

    async def ready(self, kind: str, request: Mapping[str, Any], nonce: str = NONCE) -> Observed:
        """Create, and let the time pass that it takes."""
        made = await self.create(kind, request, nonce)
        self.clock.advance(self.kinds[kind].create_time)
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
    return Account(Settings())
