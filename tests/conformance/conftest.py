"""A simulated IBM account with every kind's requirements standing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from freehold.lifecycle.kinds import Observed, Place, Ref, State
from freehold_sim.ibm.settings import Settings
from harness.account import GROUP, Account

HOUR = 3600.0
STEP = 1.0


HOMES = {
    "dhcp-server": "workspace",
    "vpc-subnet": "vpc",
    "security-group": "vpc",
    "load-balancer": "vpc",
    "transit-gateway-connection": "transit-gateway",
}
"""The kinds that are created inside another resource, and the kind of that."""


def place_of(kind: str, seen: Observed) -> Place:
    return Place(kind, Ref(seen.id, seen.target))


class Bench(Account):
    """What the suite does with a kind, whatever it is."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        self.stands: dict[str, Observed] = {}

    def writes(self) -> list[str]:
        """The requests of ours that the cloud saw and that ask for a change."""
        return [call.operation for call in self.cloud.calls if call.mutating and call.actor == "api"]

    async def crowd(self, kind: str, name: str) -> None:
        """Another of the kind in the same place, where there may be more than one."""
        request = {**await self.request(kind), "name": name}
        if kind == "transit-gateway-connection":
            vpc = await self.create("vpc", {**await self.request("vpc"), "name": name}, "fcrowded")
            request["network_id"] = (await self.ready("vpc", vpc)).attributes["crn"]
        if kind == "dhcp-server":  # of which a workspace has one: its networks are listed beside it
            known = self.stands["workspace"]
            self.cloud.strangers.make("network", region="dal", workspace=known.id, name=name)
        else:
            await self.create(kind, request, "fcrowded")

    async def request(self, kind: str) -> dict[str, Any]:
        """A create request of ``kind``, as the reconciler writes it; what it requires is created first."""
        for required in self.kinds[kind].requires:
            if required not in self.stands:
                made = await self.create(required, await self.request(required), "frequire")
                self.stands[required] = await self.ready(required, made)
        return _request(kind, {name: seen.attributes for name, seen in self.stands.items()})

    def places(self, *without: str) -> list[Place]:
        """What was created for the kind to be created in, but those ``without``."""
        return [place_of(kind, seen) for kind, seen in self.stands.items() if kind not in without]

    async def elsewhere(self, kind: str) -> Place:
        """Another place of the kind in which ``kind`` is created; for a load balancer in another region."""
        home = HOMES[kind]
        request = {**await self.request(home), "name": f"other-{home}"}
        if kind == "load-balancer":
            request["region"] = "eu-de"
        return place_of(home, await self.ready(home, await self.create(home, request, "frequire")))

    async def ready(self, kind: str, made: Observed) -> Observed:
        """Let the time pass that the kind says it takes."""
        self.clock.advance(self.kinds[kind].create_time)
        seen = await self.look(kind, made)
        assert seen is not None and seen.state is State.READY, seen
        return seen

    async def until(self, kind: str, seen: Observed, wanted: State | None) -> tuple[Observed, float]:
        """Let time pass until the state is ``wanted`` (None: gone); the last look, and how long it took."""
        start = self.clock.now()
        while self.clock.now() - start < HOUR:
            now = await self.look(kind, seen)
            if (now.state if now else None) is wanted:
                return now or seen, self.clock.now() - start
            self.clock.advance(STEP)
        raise AssertionError(f"{kind} {seen.id} was not {wanted} within an hour")


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
    raise KeyError(f"say in this file what a request of kind {kind} looks like")


@pytest.fixture
def make_bench() -> Callable[..., Bench]:
    """Return a maker: ``make_bench(page_size=1)`` takes fields of Settings."""
    return lambda **fields: Bench(Settings(**fields))


@pytest.fixture
def bench() -> Bench:
    return Bench()
