"""The first act: an IBMPowerVSCluster on the simulated IBM Cloud."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from freehold.cli.objects import manifests
from freehold.demo import checks
from freehold.demo.acts import Act, Damage, LostReply
from freehold.demo.world import CloudResource, IBMWorld, others, select_ours


class PowerVSAct(Act):
    """Its load balancer is the slowest to make, and the only way to the cluster."""

    title = "IBM Cloud"
    cloud = checks.IBM
    lost = LostReply(
        "vpc.create_load_balancer",
        "load-balancer",
        "the load balancer has been made, its reply never came, and nobody is left who knows",
    )
    healed = "the connection is made anew and attached, the tag is back"

    def __init__(
        self, base: str, documents: Sequence[manifests.ManifestDocument], cluster: manifests.ManifestDocument
    ) -> None:
        self._ibm = IBMWorld(base)
        self._region = str(cluster.obj["spec"]["vpc"]["region"])
        super().__init__(self._ibm, documents, cluster)

    async def strangers_arrive(self) -> None:
        name, region = self.cluster.name, self._region
        beside = await self._ibm.make("vpc", region=region, name=f"{name}-vpc2")
        subnets = self.cluster.obj["spec"].get("vpcSubnets") or [{"name": f"{name}-vpcsubnet"}]
        tempting = subnets[0].get("name") or f"{name}-vpcsubnet"
        await self._ibm.make("subnet", region=region, vpc=beside, zone=f"{region}-1", name=tempting)
        await self._ibm.make("vpc", region=region, name=f"{name}2-vpc")

    async def endpoint(self, host: str) -> str:
        balancer = next(each for each in select_ours(await self._ibm.resources()) if each.kind == "load-balancer")
        seen = await self._ibm.look(f"/vpc/{self._region}/v1/load_balancers/{balancer.id}")
        if seen["hostname"] != host or not seen["is_public"]:
            raise checks.NotSo(f"controlPlaneEndpoint is {host}, the public load balancer is {seen['hostname']}")
        return "the endpoint is the public load balancer's hostname"

    async def meddle(self, there: Sequence[CloudResource]) -> Sequence[Damage]:
        """Remove a connection, strip a tag, and copy our tags onto a stranger's VPC."""
        gateway, subnet, vpc = (_first(select_ours(there), kind) for kind in ("gateway", "subnet", "vpc"))
        theirs = next(each for each in others(there) if each.name == f"{self.cluster.name}-vpc2")
        removed = next(each for each in await self._connections(gateway.id) if each["network_type"] == "vpc")
        stripped = checks.owner_tags(self.cloud, subnet)
        await self._ibm.attach(theirs.address, vpc.tags)
        await self._ibm.delete(removed["id"])
        await self._ibm.detach(subnet.address, stripped)

        async def is_connected() -> bool:
            return any(
                each["network_type"] == "vpc" and each["status"] == "attached" and each["id"] != removed["id"]
                for each in await self._connections(gateway.id)
            )

        async def is_tagged() -> bool:
            return stripped <= next(each.tags for each in await self._ibm.resources() if each.id == subnet.id)

        return (
            Damage(f"the connection of the VPC is gone ({removed['name']})", is_connected),
            Damage(f"the owner tag of subnet {subnet.name} is gone", is_tagged),
            Damage(f"all tags of our VPC are on the stranger's VPC {theirs.name} too"),
        )

    async def _connections(self, gateway: str) -> list[dict[str, Any]]:
        path = f"/transit/v1/transit_gateways/{gateway}/connections"
        return list((await self._ibm.look(path))["connections"])


def _first(resources: Sequence[CloudResource], kind: str) -> CloudResource:
    return next(each for each in resources if each.kind == kind)
