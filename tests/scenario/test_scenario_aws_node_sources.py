"""A given VPC whose API server is not for everybody: its nodes reach it, or a condition says why not."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.providers.aws import api_names as aws_names
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_cluster import aws_cluster
from harness.aws_network import GivenVpc, planned
from lab.aws import QUICK, ROOMY, QuickHarness
from lab.aws_neighbours import existing

OFFICE = {
    "description": "office",
    "protocol": "tcp",
    "fromPort": 6443,
    "toPort": 6443,
    "cidrBlocks": ["198.51.100.0/24"],
}
FIELD = "spec.controlPlaneLoadBalancer.ingressRules"


class Restricted:
    """A stranger's VPC over two zones, whose private subnets have the ways out that a test gives them."""

    def __init__(self, *zones: str, **balancer: Any) -> None:
        self.harness = QuickHarness(aws_cluster(), Settings(delays=QUICK, quotas=ROOMY, limits={}))
        self.vpc = GivenVpc.create(self.harness)
        self.addresses = {zone: self.lead_to_nat(zone) for zone in zones}
        self.harness.clock.advance(3600.0)
        self.balancer = {"loadBalancerType": "nlb", "ingressRules": [OFFICE], **balancer}
        self.harness.object.patch({"spec": {"network": self.vpc.network(), "controlPlaneLoadBalancer": self.balancer}})

    def call(self, operation: str, **params: Any) -> Any:
        return self.vpc.strangers.call("ec2", operation, params)

    def lead_to_nat(self, zone: str) -> str:
        """Make a NAT gateway in a public subnet of the zone, and the default route to it; return its address."""
        address = self.vpc.strangers.create("ec2", "AllocateAddress", {"Domain": "vpc"})["id"]
        where = {"SubnetId": self.vpc.subnets[f"public-{zone}"], "AllocationId": address}
        gateway = self.vpc.strangers.create("ec2", "CreateNatGateway", where)["id"]
        self.lead(zone, NatGatewayId=gateway)
        (row,) = self.call("DescribeAddresses", AllocationIds=[address])["Addresses"]
        return str(row["PublicIp"])

    def lead(self, zone: str, **target: str) -> None:
        table = self.vpc.strangers.create("ec2", "CreateRouteTable", {"VpcId": self.vpc.id})["id"]
        self.call("AssociateRouteTable", RouteTableId=table, SubnetId=self.vpc.subnets[f"private-{zone}"])
        self.call("CreateRoute", RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **target)

    def sources(self) -> set[str]:
        """From where the load balancer lets traffic to the API server's port in."""
        rows = self.call("DescribeSecurityGroups")["SecurityGroups"]
        (found,) = [row["IpPermissions"] for row in rows if row["GroupName"] == "demo-apiserver-lb"]
        return {each["CidrIp"] for rule in found if rule["FromPort"] == 6443 for each in rule.get("IpRanges", ())}

    def settle(self, seconds: float = 700.0) -> dict[str, Any]:
        self.harness.for_a_while(seconds)
        return dict(self.harness.condition(names.READY))


def test_nodes_come_in_through_the_nat_gateways_that_their_routes_lead_to() -> None:
    """As upstream since its pull request 5198; a gateway that a person makes later is let in, too."""
    given = Restricted("a", "b")
    given.harness.up()
    wanted = {"198.51.100.0/24", *(f"{each}/32" for each in given.addresses.values())}
    assert given.sources() == wanted and len(wanted) == 3
    assert given.harness.status()["networkStatus"]["natGatewaysIPs"] == sorted(given.addresses.values())
    assert FIELD not in given.harness.condition(names.FIELDS_SERVED).get("message", "")
    given.harness.down()
    assert {row["by"] for row in existing(given.harness)} == {"stranger"}


def test_where_it_cannot_be_told_from_where_nodes_come_the_cluster_is_not_ready() -> None:
    """One zone has a NAT gateway; the other has no way out at first, then one through a machine of a stranger's."""
    given = Restricted("a")
    ready = given.settle()
    lost = given.vpc.subnets["private-b"]
    assert (ready["status"], ready["reason"]) == ("False", "WaitingForRequirement")
    assert f"{FIELD}: nodes in {lost} (no route to 0.0.0.0/0) may be shut out" in ready["message"]
    assert not given.harness.status()["ready"] and lost in " ".join(planned(given.harness).lacking)
    assert given.sources() == {"198.51.100.0/24", f"{given.addresses['a']}/32"}
    interface = {"SubnetId": given.vpc.subnets["public-b"]}
    way = given.vpc.strangers.create("ec2", "CreateNetworkInterface", interface)["id"]
    given.lead("b", NetworkInterfaceId=way)
    assert f"{lost} (0.0.0.0/0 leads to {way})" in given.settle()["message"]
    assert "kubectl -n default annotate awscluster demo freehold.dev/nodes-let-in=true" in given.settle()["message"]
    given.harness.object.patch({"metadata": {"annotations": {aws_names.NODES_LET_IN_ANNOTATION: "true"}}})
    assert given.settle()["status"] == "True"


@pytest.mark.parametrize("balancer", [
    {"scheme": "internal"},
    {"ingressRules": [{**OFFICE, "cidrBlocks": ["0.0.0.0/0"]}]},
    {"ingressRules": []},
], ids=["internal", "everybody", "no rules"])  # fmt: skip
def test_nodes_reach_an_api_server_that_lets_them_in_anyway(balancer: dict[str, Any]) -> None:
    given = Restricted(**balancer)
    given.harness.up()
    assert given.settle()["status"] == "True"


def test_nodes_with_addresses_of_their_own_cannot_be_told() -> None:
    given = Restricted()
    given.harness.object.patch({"spec": {"network": given.vpc.network("public-a", "public-b")}})
    assert "(public: each node has an address of its own)" in given.settle()["message"]


def test_a_rule_for_nat_gateways_lets_those_of_a_given_vpc_in() -> None:
    given = Restricted("a", "b", ingressRules=[])
    rule = {"description": "x", "protocol": "tcp", "fromPort": 22623, "toPort": 22623, "natGatewaysIPsSource": True}
    given.harness.object.patch({"spec": {"controlPlaneLoadBalancer": {"ingressRules": [rule]}}})
    given.harness.up()
    assert given.sources() == {f"{each}/32" for each in given.addresses.values()}


def test_without_an_answer_nothing_is_made_and_the_condition_says_what_was_asked() -> None:
    given = Restricted("a", "b")
    given.harness.cloud.faults.add(Fault(Effect.DENIED, "ec2.DescribeNatGateways", count=None))
    given.settle(600.0)
    valid = given.harness.condition(names.SPEC_VALID)
    assert valid["status"] == "Unknown" and f"{FIELD}: cannot be checked" in valid["message"]
    assert "DescribeNatGateways" in valid["message"]
