"""The second act: an AWSCluster on the simulated AWS, with machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from freehold.cli.objects import manifests
from freehold.demo import checks
from freehold.demo.acts import Act, Damage, LostReply
from freehold.demo.world import AWSWorld, Resource, others, ours
from freehold.providers.aws.api_names import CAPA_TAG_PREFIX

_ANYWHERE = "0.0.0.0/0"


class AWSAct(Act):
    """An internet gateway has neither client token nor natural key: who asks again gets a second one."""

    title = "AWS"
    cloud = checks.AWS
    lost = LostReply(
        "ec2.CreateInternetGateway",
        "internet-gateway",
        "the internet gateway has been made, its reply never came, and asking again would make a second one",
    )
    healed = "the route leads to its NAT gateway again, the tag is back"

    def __init__(
        self, base: str, documents: Sequence[manifests.ManifestDocument], cluster: manifests.ManifestDocument
    ) -> None:
        self._region = str(cluster.obj["spec"]["region"])
        self.aws = AWSWorld(base, self._region)
        super().__init__(self.aws, documents, cluster)

    async def strangers_arrive(self) -> None:
        """Another cluster of CAPA's, whose resources have the Name tags of ours."""
        name, other = self.cluster.name, f"{self.cluster.name}2"
        made = await self.aws.call("ec2.CreateVpc", CidrBlock="10.0.0.0/16", **_tags("vpc", f"{name}-vpc", other))
        vpc = made["Vpc"]["VpcId"]
        zone = f"{self._region}a"
        named = _tags("subnet", f"{name}-subnet-private-{zone}", other)
        subnet = await self.aws.call(
            "ec2.CreateSubnet", VpcId=vpc, CidrBlock="10.0.0.0/24", AvailabilityZone=zone, **named
        )
        group = await self.aws.call(
            "ec2.CreateSecurityGroup", VpcId=vpc, GroupName=f"{name}-node", Description="Kubernetes cluster",
            **_tags("security-group", f"{name}-node", other),
        )  # fmt: skip
        await self.aws.call(
            "elb.CreateLoadBalancer",
            LoadBalancerName=f"{other}-apiserver",
            Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 6443, "InstancePort": 6443}],
            Subnets=[subnet["Subnet"]["SubnetId"]],
            SecurityGroups=[group["GroupId"]],
            Scheme="internal",
            Tags=_tag_list(f"{name}-apiserver", other),
        )

    async def endpoint(self, host: str) -> str:
        balancer = _ours(await self.aws.resources(), "balancer")
        answer = await self.aws.call("elbv2.DescribeLoadBalancers", LoadBalancerArns=[balancer.address])
        [seen] = answer["LoadBalancers"]
        if seen["DNSName"] != host or seen["Scheme"] != "internet-facing":
            raise checks.NotSo(f"controlPlaneEndpoint is {host}, the {seen['Scheme']} one is {seen['DNSName']}")
        return "the endpoint is the internet-facing load balancer's DNS name"

    async def meddle(self, there: Sequence[Resource]) -> Sequence[Damage]:
        """Take the way out of a private subnet and the owner tag off a subnet; copy our tags onto a stranger's VPC."""
        vpc, subnet = _ours(there, "vpc"), _ours(there, "subnet")
        theirs = next(each for each in others(there) if each.kind == "vpc")
        table, gateway = await self._way_out(vpc)
        stripped = checks.owner_tags(self.cloud, subnet)
        await self.aws.tag(theirs.id, vpc.tags - theirs.tags)
        await self.aws.call("ec2.DeleteRoute", RouteTableId=table, DestinationCidrBlock=_ANYWHERE)
        await self.aws.untag(subnet.id, stripped)

        async def routed() -> bool:
            return (table, gateway) in await self._ways_out(vpc)

        async def tagged() -> bool:
            return stripped <= next(each.tags for each in await self.aws.resources() if each.id == subnet.id)

        named = next(each.name for each in there if each.id == table)
        return (
            Damage(f"the route of {named} to its NAT gateway is gone", routed),
            Damage(f"the owner tag of subnet {subnet.name} is gone", tagged),
            Damage(f"all tags of our VPC are on the stranger's VPC {theirs.id} too"),
        )

    async def _way_out(self, vpc: Resource) -> tuple[str, str]:
        ways = await self._ways_out(vpc)
        if not ways:
            raise checks.NotSo("no private subnet has a route to a NAT gateway")
        return ways[0]

    async def _ways_out(self, vpc: Resource) -> list[tuple[str, str]]:
        """Route tables with a default route to a NAT gateway, and that gateway."""
        tables = await self.aws.call("ec2.DescribeRouteTables", Filters=[{"Name": "vpc-id", "Values": [vpc.id]}])
        return [
            (table["RouteTableId"], route["NatGatewayId"])
            for table in tables["RouteTables"]
            for route in table["Routes"]
            if route.get("DestinationCidrBlock") == _ANYWHERE and route.get("NatGatewayId")
        ]


def _ours(resources: Sequence[Resource], kind: str) -> Resource:
    return next(each for each in ours(resources) if each.kind == kind)


def _tag_list(name: str, cluster: str) -> list[dict[str, str]]:
    tags = {"Name": name, f"{CAPA_TAG_PREFIX}cluster/{cluster}": "owned", f"{CAPA_TAG_PREFIX}role": "common"}
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _tags(kind: str, name: str, cluster: str) -> dict[str, Any]:
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": _tag_list(name, cluster)}]}
