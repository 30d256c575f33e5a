"""What strangers have in an AWS account: networks, machines, load balancers; and a plan beside it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from freehold.controllers.plan.list_cache import ListCache
from freehold.controllers.plan.plan import Plan, PlanRow
from freehold.controllers.plan.planner import plan_with_accounts
from freehold.engine.keyed_codec import UUID
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Resource
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness

AWS_CLUSTERS = resource_of(AWS_CLUSTER)
LISTENER = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
MACHINE = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}


@dataclass
class GivenVpc:
    """A stranger's VPC. ``subnets``: ids by name, ``public-a`` to ``private-b``."""

    strangers: Strangers
    id: str
    subnets: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, harness: AwsHarness) -> GivenVpc:
        strangers = Strangers(harness.cloud)
        vpc = strangers.create("ec2", "CreateVpc", {"CidrBlock": "10.9.0.0/16"})["id"]
        gateway = strangers.create("ec2", "CreateInternetGateway", {})["id"]
        strangers.call("ec2", "AttachInternetGateway", {"InternetGatewayId": gateway, "VpcId": vpc})
        table = strangers.create("ec2", "CreateRouteTable", {"VpcId": vpc})["id"]
        out = {"RouteTableId": table, "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": gateway}
        strangers.call("ec2", "CreateRoute", out)
        found = cls(strangers, vpc)
        for number, name in enumerate(("public-a", "public-b", "private-a", "private-b")):
            zone, block = f"us-east-1{name[-1]}", f"10.9.{number}.0/24"
            request = {"VpcId": vpc, "CidrBlock": block, "AvailabilityZone": zone}
            subnet = found.subnets[name] = strangers.create("ec2", "CreateSubnet", request)["id"]
            if name.startswith("public"):
                strangers.call("ec2", "AssociateRouteTable", {"RouteTableId": table, "SubnetId": subnet})
        return found

    def network(self, *names: str) -> dict[str, Any]:
        """``spec.network`` with this VPC and these of its subnets, all where none is named."""
        return {"vpc": {"id": self.id}, "subnets": [{"id": self.subnets[name]} for name in names or self.subnets]}

    def classic_balancer(self, name: str) -> None:
        subnets = [self.subnets["public-a"], self.subnets["public-b"]]
        request = {"LoadBalancerName": name, "Listeners": [LISTENER], "Subnets": subnets}
        self.strangers.create("elb", "CreateLoadBalancer", request)


def own(harness: AwsHarness, kind: str = "") -> list[dict[str, Any]]:
    """What the object has made and is there."""
    made = [each for each in harness.resources() if UUID in each["tags"] and each["state"] != "deleted"]
    return [each for each in made if not kind or each["kind"] == kind]


def planned(harness: AwsHarness, *, deleting: bool = False) -> Plan:
    raw = {**harness.object.raw, "metadata": dict(harness.object.raw["metadata"])}
    if deleting:
        raw["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z"
    ring, stored = harness.rings.ring, ListCache(_Together(harness), AWS_CLUSTERS)
    return asyncio.run(
        plan_with_accounts(AWS_CLUSTER, harness.new_accounts(), harness.wall, raw, ring, harness.around, stored=stored)
    )


@dataclass(frozen=True)
class _Together:
    """Lists the objects of a harness and of those beside it."""

    harness: AwsHarness

    async def list(self, resource: Resource, namespace: str = "") -> ObjectList:
        return ObjectList([each.object.raw for each in self.harness.together if not each.object.gone], "1")


def changes(plan: Plan) -> list[PlanRow]:
    """The rows that are no "keep"."""
    return [row for row in plan.rows if row.action.value != "keep"]


def writes(harness: AwsHarness) -> Counter[str]:
    """How many writes each API has got from the operator so far, refused ones too."""
    return Counter(call.operation.partition(".")[0] for call in harness.calls(mutating=True))


def sent(harness: AwsHarness) -> int:
    """How many writes the operator has sent so far."""
    return len(harness.calls(mutating=True))
