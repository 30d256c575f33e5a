"""IBM Cloud in the conformance suite: the simulated account, and a create request of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.bench import CloudUnderTest, Request, Verbs, place_of
from freehold.engine.port import InlinePort
from freehold.engine.resources import Observed, ParentResource
from freehold.providers.ibm.registry import ibm_kinds
from freehold.providers.ibm.session import ApiKey, IbmSession
from freehold_sim.ibm.settings import Lags, Settings
from harness.account import GROUP, Account

HOMES = {
    "dhcp-server": "workspace",
    "vpc-subnet": "vpc",
    "security-group": "vpc",
    "load-balancer": "vpc",
    "transit-gateway-connection": "transit-gateway",
}
"""The kinds that are created inside another resource, and the kind of that resource."""

REGISTERED_TIMES = {
    "workspace": ("create_workspace", "delete_workspace"),
    "dhcp-server": ("create_dhcp", "delete_dhcp"),
    "vpc": ("create_vpc", "delete_vpc"),
    "vpc-subnet": ("create_subnet", "delete_subnet"),
    "load-balancer": ("create_load_balancer", "delete_load_balancer"),
    "transit-gateway": ("create_gateway", "delete_gateway"),
    "transit-gateway-connection": ("create_connection", "delete_connection"),
}


class IbmBench(Account, Verbs):
    """A simulated IBM account in which the requirements of every kind exist, with the operations of the suite."""

    homes = HOMES
    keeps_nonce = frozenset({"load-balancer", "transit-gateway-connection"})
    other_lists = frozenset({"cos-bucket", "vpc"})
    all_but_tokens = "[!i]*"
    credentials = "IBMCLOUD_API_KEY"
    region = "us-south"
    goes_twice: frozenset[str] = frozenset()

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        self.stands: dict[str, Observed] = {}

    def creates(self, kind: str) -> str:
        """The pattern of the operations that create it."""
        return "*.create_*"

    def secret(self) -> str:
        return self.settings.api_key

    def elsewhere_in_account(self, request: Request) -> Request:
        """The same request in another resource group, and in another region if it has one."""
        region = {"region": "eu-es"} if "region" in request else {}
        return {**request, "resource_group": self.settings.resource_groups["ibm-hypershift-dev"], **region}

    def declared_times(self, kind: str) -> tuple[float, float] | None:
        """The published times of a create and a delete; None if there are none."""
        names, delays = REGISTERED_TIMES.get(kind), self.settings.delays
        if names is None:
            return None
        create, delete = names
        network = delays.delete_dhcp_network if kind == "dhcp-server" else 0.0
        return getattr(delays, create), getattr(delays, delete) + network if delete else self.kinds[
            kind
        ].deletion.usual_time

    def longest_doubt(self) -> float:
        """Seconds until a sent create shows in every list and index."""
        lags = self.settings.lags
        return 2 * (lags.new + lags.tags + lags.lists) + 30.0

    def writes(self) -> list[str]:
        """Our requests for changes that reached the cloud."""
        return [call.operation for call in self.cloud.calls if call.mutating and call.actor == "api"]

    async def crowd(self, kind: str, name: str) -> None:
        """Create another resource of the kind in the same place, if more than one is possible."""
        request = {**await self.request(kind), "name": name}
        if kind == "transit-gateway-connection":
            vpc = await self.create("vpc", {**await self.request("vpc"), "name": name}, "fcrowded")
            request["network_id"] = (await self.ready("vpc", vpc)).attributes["crn"]
        if kind == "dhcp-server":  # a workspace has only one: create another network instead
            known = self.stands["workspace"]
            self.cloud.strangers.make("network", region="dal", workspace=known.id, name=name)
        else:
            await self.create(kind, request, "fcrowded")

    async def request(self, kind: str) -> dict[str, Any]:
        """A create request of ``kind``, as the reconciler writes it; its requirements are created first."""
        for required in self.kinds[kind].requires:
            if required not in self.stands:
                made = await self.create(required, await self.request(required), "frequire")
                self.stands[required] = await self.ready(required, made)
        return _request(kind, {name: seen.attributes for name, seen in self.stands.items()})

    async def elsewhere(self, kind: str) -> ParentResource:
        """Another container for ``kind``; for a load balancer in another region."""
        home = self.homes[kind]
        request = {**await self.request(home), "name": f"other-{home}"}
        if kind == "load-balancer":
            request["region"] = "eu-de"
        return place_of(home, await self.ready(home, await self.create(home, request, "frequire")))


def _request(kind: str, known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    plain = {"name": f"my-{kind}"[:30], "resource_group": GROUP}
    regional = {**plain, "region": "us-south"}
    match kind:
        case "workspace":
            return {**plain, "zone": "dal10"}
        case "dhcp-server":
            network = "DHCPSERVERmynet_Private"
            return {
                "name": "mynet", "network": network, "search": [network], "zone": "dal10", "dns": "1.1.1.1",
                "snat": True, "workspace": known["workspace"]["id"],
            }  # fmt: skip
        case "vpc":
            return regional
        case "vpc-subnet":
            return {**regional, "zone": "us-south-1", "vpc": known["vpc"]["id"], "address_count": 256}
        case "security-group":
            return {**regional, "vpc": known["vpc"]["id"]}
        case "load-balancer":
            check = {"protocol": "tcp", "algorithm": "round_robin", "delay": 5, "timeout": 2, "retries": 2}
            return {
                **regional, "public": True, "subnets": [known["vpc-subnet"]["id"]],
                "security_groups": [known["security-group"]["id"]],
                "pools": [{"name": "pool-6443", "type": "tcp", **check}],
                "listeners": [{"port": 6443, "protocol": "tcp", "pool": "pool-6443"}],
            }  # fmt: skip
        case "transit-gateway":
            return {**plain, "location": "us-south", "global": False}
        case "transit-gateway-connection":
            gateway = known["transit-gateway"]
            return {
                "name": "my-con", "gateway": gateway["id"], "gateway_crn": gateway["crn"], "network_type": "vpc",
                "network_id": known["vpc"]["crn"],
            }  # fmt: skip
        case "cos-instance":
            return plain
        case "cos-bucket":
            instance = known["cos-instance"]
            return {"name": "my-bucket", "instance": instance["id"], "instance_crn": instance["crn"],
                    "region": "us-south"}  # fmt: skip
    raise AssertionError(f"{kind} is registered: say in {__file__} what its create request looks like")


IBM = CloudUnderTest(
    kinds=ibm_kinds(IbmSession(ApiKey("")), InlinePort()),
    homes=HOMES,
    bench=lambda **fields: IbmBench(Settings(**fields)),
    lagging=lambda seconds: IbmBench(Settings(lags=Lags(lists=seconds, non_monotonic=True))),
    small_pages=lambda: IbmBench(Settings(page_size=1)),
)
