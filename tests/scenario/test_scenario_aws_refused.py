"""What AWS would refuse: told with its field by plan and condition, before anything is made where that can be known."""

from __future__ import annotations

from typing import Any

from freehold.api import names
from freehold.controllers.plan.plan import PlanAction
from freehold_sim.aws.settings import Settings
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import GivenVpc, own, planned

LOCAL = "us-east-1-nyc-1a"
NLB = {"loadBalancerType": "nlb"}
FIELD = "spec.network.additionalControlPlaneIngressRules"


def rule(port: int, **source: Any) -> dict[str, Any]:
    return {"description": "a rule", "protocol": "tcp", "fromPort": port, "toPort": port, **source}


def group(strangers: Strangers, vpc: str) -> str:
    request = {"GroupName": "theirs", "Description": "d", "VpcId": vpc}
    return str(strangers.create("ec2", "CreateSecurityGroup", request)["id"])


def test_what_is_wrong_with_a_given_vpc_is_told_before_anything_is_made_in_it() -> None:
    settings = Settings(regions={"us-east-1": ("us-east-1a", "us-east-1b", LOCAL)})
    harness = AwsHarness(settings=settings)
    given, other = GivenVpc.create(harness), GivenVpc.create(harness)
    strangers, network = given.strangers, given.network("public-a", "private-a")
    place = {"VpcId": given.id, "CidrBlock": "10.9.20.0/24", "AvailabilityZone": LOCAL}
    local = strangers.create("ec2", "CreateSubnet", place)["id"]
    theirs, elsewhere = group(strangers, other.id), other.subnets["public-a"]
    gone = "sg-0123456789abcdef0"
    override = "spec.network.securityGroupOverrides[node]"
    cases: list[tuple[str, dict[str, Any]]] = [
        (
            f"spec.network.subnets[2].id: {local} is in {LOCAL}, a local-zone, which is not served",
            {"network": {**network, "subnets": [*network["subnets"], {"id": local}]}},
        ),
        (
            f"spec.controlPlaneLoadBalancer.subnets[0]: VPC {given.id} has no subnet {elsewhere}",
            {"network": network, "controlPlaneLoadBalancer": {"subnets": [elsewhere]}},
        ),
        (
            f"spec.network.vpc.ipv6: no subnet of VPC {given.id} has an IPv6 range",
            {"network": {**network, "vpc": {"id": given.id, "ipv6": {}}}, "controlPlaneLoadBalancer": NLB},
        ),
        (
            f"{override}: {theirs} is in VPC {other.id}, and the cluster's is {given.id}",
            {"network": {**network, "securityGroupOverrides": {"node": theirs}}},
        ),
        (
            f"{FIELD}[0].sourceSecurityGroupIds[0]: there is no security group {gone}",
            {"network": {**network, "additionalControlPlaneIngressRules": [rule(80, sourceSecurityGroupIds=[gone])]}},
        ),
    ]
    for said, spec in cases:
        harness.object.patch({"spec": {"network": None, "controlPlaneLoadBalancer": None}})
        harness.object.patch({"spec": spec})
        (problem,) = planned(harness).problems
        assert problem.startswith(said)
        harness.for_a_while(400)
        assert problem in harness.condition(names.READY)["message"]
    assert own(harness) == []


def test_a_source_that_aws_refuses_is_told_with_its_field_and_holds_up_no_other_rule() -> None:
    """AWS takes all rules of a call or none; whether two VPCs are connected nobody else can tell."""
    harness = AwsHarness()
    theirs = group(Strangers(harness.cloud), GivenVpc.create(harness).id)
    sources = [rule(80, cidrBlocks=["192.0.2.0/24"]), rule(81, sourceSecurityGroupIds=[theirs])]
    harness.object.patch({"spec": {"network": {"additionalControlPlaneIngressRules": sources}}})
    assert planned(harness).problems == ()
    harness.for_a_while(400)
    message = harness.condition("ClusterSecurityGroupsReady")["message"]
    assert f"{FIELD}[1].sourceSecurityGroupIds[0]: AWS refused to authorize security group ingress" in message
    assert "belong to different networks" in message and "connect the two VPCs" in message
    found = Strangers(harness.cloud).call("ec2", "DescribeSecurityGroups", {})["SecurityGroups"]
    (inside,) = [each["IpPermissions"] for each in found if each["GroupName"] == "demo-controlplane"]
    assert {80, 6443, 2379} <= {each.get("FromPort") for each in inside}
    tried = len(harness.calls(mutating=True))
    harness.for_a_while(900)
    assert len(harness.calls(mutating=True)) - tried <= 4, "what is refused is asked for seldom"


def test_a_group_of_another_vpc_that_a_living_cluster_is_given_is_told_by_plan_and_condition() -> None:
    harness = AwsHarness()
    given, other = GivenVpc.create(harness), GivenVpc.create(harness)
    harness.object.patch({"spec": {"network": given.network()}})
    harness.up()
    theirs = group(given.strangers, other.id)
    harness.object.patch({"spec": {"network": {"securityGroupOverrides": {"node": theirs}}}})
    (row,) = [row for row in planned(harness).rows if row.action is PlanAction.REFUSE]
    assert row.reason == (
        f"spec.network.securityGroupOverrides[node]: {theirs} is in VPC {other.id}, and the cluster's is {given.id}; "
        "give a group of that one"
    )
    harness.for_a_while(900)
    assert row.reason in harness.condition("ClusterSecurityGroupsReady")["message"]


def test_a_range_that_only_aws_refuses_is_told_in_its_words_with_the_field() -> None:
    """Its page restricts some ranges; nobody could get around a refusal of ours where that is not so."""
    more = [{"ipv4CidrBlock": "198.19.0.0/16"}]
    harness = AwsHarness(aws_cluster(network={"vpc": {"secondaryCidrBlocks": more}}))
    harness.for_a_while(600)
    message = harness.condition("VpcReady")["message"]
    assert "spec.network.vpc.secondaryCidrBlocks[198.19.0.0/16]: AWS refused to associate vpc cidr block" in message
    assert "The CIDR '198.19.0.0/16' is restricted. Use a CIDR from the same private address range" in message
