"""Deletes of an AWSCluster: what they do not need cannot hold them, and what holds them is told."""

from __future__ import annotations

import pytest

from freehold.api import names
from freehold.providers.aws import api_names as aws_names
from freehold_sim.aws.settings import Assumptions, Quotas, Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import GivenVpc, own
from harness.aws_pruning import LISTED
from harness.powervs import Harness
from harness.standing import standing


def denied(harness: AwsHarness, operation: str) -> None:
    """As a policy that was narrowed, to a process that has asked nothing yet."""
    harness.cloud.faults.add(Fault(Effect.DENIED, operation, count=None))
    harness.start_process()


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="derived subnets are known from the record"),
        pytest.param(
            {"network": {"subnets": [
                {"id": "pub", "availabilityZone": "us-east-1a", "cidrBlock": "10.0.0.0/24", "isPublic": True},
                {"id": "pri", "availabilityZone": "us-east-1a", "cidrBlock": "10.0.1.0/24"},
            ]}},
            id="listed subnets say their zones",
        ),
    ],
)  # fmt: skip
def test_a_delete_needs_no_list_of_zones(spec: dict[str, object]) -> None:
    harness = standing(AwsHarness, aws_cluster(**spec))
    denied(harness, "ec2.DescribeAvailabilityZones")
    harness.down()
    assert own(harness) == []


RULE = {"description": "from groups", "protocol": "tcp", "fromPort": 8443, "toPort": 8443}
NAMED = {
    "controlPlaneLoadBalancer": {
        "loadBalancerType": "nlb", "ingressRules": [{**RULE, "sourceSecurityGroupRoles": ["node", "controlplane"]}],
    },
    "network": {
        "vpc": {"availabilityZoneUsageLimit": 1},
        "additionalNodeIngressRules": [{**RULE, "sourceSecurityGroupRoles": ["lb", "apiserver-lb"]}],
    },
}  # fmt: skip


@pytest.mark.parametrize("restarted", (False, True))
def test_groups_that_name_each_other_go_together_and_no_person_is_asked(restarted: bool) -> None:
    """That of the load balancer waits for its interfaces. Its rules name two groups, and those name the others."""
    harness = standing(AwsHarness, aws_cluster(**NAMED))
    harness.settle(1)
    harness.object.delete()
    harness.pass_once()
    if restarted:
        harness.start_process()
    said: set[str] = set()

    def gone() -> bool:
        said.update(row.get("reason") or "" for row in harness.status().get("resources", ()))
        return harness.object.gone

    before = len(harness.cloud.calls)
    harness.run(gone)
    deletes = [call for call in harness.cloud.calls[before:] if call.operation == "ec2.DeleteSecurityGroup"]
    assert [call.status for call in deletes] == [200] * 4
    assert "InUse" not in said


@pytest.mark.parametrize("restarted", (False, True))
@pytest.mark.parametrize("stays", (False, True), ids=("a delete ends it", "AWS shows it for an hour"))
def test_a_nat_gateway_that_has_failed_does_not_hold_the_delete(stays: bool, restarted: bool) -> None:
    """It has nothing any more. AWS takes it off the list by itself, an hour after it failed at the latest."""
    settings = Settings(quotas=Quotas(addresses=50), assumptions=Assumptions(failed_nat_gateway_stays=stays))
    harness = AwsHarness(aws_cluster(network={"subnets": LISTED[:2]}), settings=settings)
    harness.cloud.faults.add(Fault(Effect.FAILED, "ec2.CreateNatGateway"))
    harness.for_a_while(300)
    assert not harness.ready()
    told = harness.condition(aws_names.NAT_GATEWAYS_READY)["message"]
    assert "Please try again. AWS removes it within about an hour, and it is made again then" in told
    harness.object.delete()
    if restarted:
        harness.for_a_while(120)
        harness.start_process()
    begun = harness.clock.now()
    harness.run(lambda: harness.object.gone)
    assert harness.clock.now() - begun < 900
    assert {each["state"] for each in own(harness)} <= {"failed"}
    deletes = [call for call in harness.calls(mutating=True) if call.operation == "ec2.DeleteNatGateway"]
    assert len(deletes) <= 2
    harness.clock.advance(3600)
    assert own(harness) == []


INSIDE = {
    "subnet": ("CreateSubnet", {"CidrBlock": "10.0.250.0/24"}),
    "security-group": ("CreateSecurityGroup", {"GroupName": "theirs", "Description": "theirs"}),
    "route-table": ("CreateRouteTable", {}),
    "egress-only-gateway": ("CreateEgressOnlyInternetGateway", {}),
}


@pytest.mark.parametrize("kind", INSIDE)
def test_what_somebody_has_made_in_our_vpc_is_named_and_the_delete_goes_on_without_it(kind: str) -> None:
    """EC2 names nothing of what a VPC has in it."""
    harness = standing(AwsHarness, aws_cluster(network={"subnets": LISTED[:2]}))
    (vpc,) = (each for each in own(harness) if each["kind"] == "vpc")
    operation, params = INSIDE[kind]
    theirs = harness.cloud.strangers.create("ec2", operation, {**params, "VpcId": vpc["id"]}, region=REGION)
    harness.object.delete()
    harness.for_a_while(400)
    assert not harness.object.gone
    assert f"held by {theirs['id']}" in harness.condition(names.DELETING)["message"]
    harness.cloud.strangers.delete(theirs["id"])
    harness.run(lambda: harness.object.gone)


def test_a_delete_that_waits_for_an_answer_says_which() -> None:
    """In a given VPC something of ours may be that is on no record: its subnets must be read before the object goes."""
    harness = AwsHarness()
    given = GivenVpc.create(harness)
    harness.object.patch({"spec": {"network": given.network()}})
    harness.up()
    denied(harness, "ec2.DescribeRouteTables")
    harness.object.delete()
    harness.for_a_while(300)
    assert not harness.object.gone
    for each in (names.READY, names.DELETING):
        said = harness.condition(each)["message"]
        assert "where else something of it may be cannot be told: spec.network.vpc.id: " in said
        assert "DescribeRouteTables" in said
    assert harness.condition(names.DELETING)["reason"] == "Denied"
    harness.cloud.faults.clear()
    harness.run(lambda: harness.object.gone)


def test_a_powervs_delete_that_waits_for_an_answer_says_which() -> None:
    harness = standing(Harness)
    harness.start_process()
    harness.cloud.faults.add(Fault(Effect.DENIED, "rm.list_resource_groups", count=None))
    harness.object.delete()
    harness.for_a_while(1800)
    assert "cannot be told: spec.resourceGroup.name: IBM Cloud refused" in harness.condition(names.DELETING)["message"]
    harness.cloud.faults.clear()
    harness.run(lambda: harness.object.gone)
