"""Client tokens: sent again, they return what the first call made; with other parameters they are a mismatch."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from freehold_sim.aws.services import OPERATIONS
from freehold_sim.aws.settings import Assumptions
from harness.simulated_aws import refused, tagged

Case = tuple[Callable[[Any], dict[str, Any]], Callable[[Any], str], dict[str, Any]]


def _ec2(name: str, result: str, key: str, given: Callable[[Any], dict[str, Any]], other: dict[str, Any]) -> Case:
    def send(sim: Any, **params: Any) -> str:
        return str(getattr(sim.ec2, name)(**params)[result][key])

    return given, send, other


def _run(sim: Any, **params: Any) -> str:
    return str(sim.ec2.run_instances(**params)["Instances"][0]["InstanceId"])


MACHINE = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
CASES: Mapping[str, Case] = {
    "CreateNatGateway": _ec2(
        "create_nat_gateway", "NatGateway", "NatGatewayId",
        lambda sim: {"SubnetId": sim.network()[1][0], "AllocationId": sim.ec2.allocate_address()["AllocationId"]},
        {"TagSpecifications": tagged("natgateway", a="b")}),
    "CreateRouteTable": _ec2(
        "create_route_table", "RouteTable", "RouteTableId", lambda sim: {"VpcId": sim.vpc()},
        {"TagSpecifications": tagged("route-table", a="b")}),
    "CreateEgressOnlyInternetGateway": _ec2(
        "create_egress_only_internet_gateway", "EgressOnlyInternetGateway", "EgressOnlyInternetGatewayId",
        lambda sim: {"VpcId": sim.vpc()}, {"TagSpecifications": tagged("egress-only-internet-gateway", a="b")}),
    "CreateVpcEndpoint": _ec2(
        "create_vpc_endpoint", "VpcEndpoint", "VpcEndpointId",
        lambda sim: {"VpcId": sim.vpc(), "ServiceName": "com.amazonaws.us-east-1.s3"}, {"PolicyDocument": "{}"}),
    "CreateNetworkInterface": _ec2(
        "create_network_interface", "NetworkInterface", "NetworkInterfaceId",
        lambda sim: {"SubnetId": sim.network()[1][0]}, {"Description": "other"}),
    "CreateVolume": (
        lambda sim: {"AvailabilityZone": "us-east-1a", "Size": 8},
        lambda sim, **params: str(sim.ec2.create_volume(**params)["VolumeId"]), {"Size": 9}),
    "RunInstances": (lambda sim: {**MACHINE, "SubnetId": sim.network()[1][0]}, _run, {"InstanceType": "t3.small"}),
}  # fmt: skip


def test_every_token_of_ec2_is_in_this_table() -> None:
    assert {name for name, operation in OPERATIONS["ec2"].items() if operation.token} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_token_sent_again_makes_nothing_new(sim: Any, name: str) -> None:
    given, send, other = CASES[name]
    params = {**given(sim), "ClientToken": "token-1"}
    first = send(sim, **params)
    count = len(sim.cloud.resources())
    assert send(sim, **params) == first
    assert len(sim.cloud.resources()) == count
    with refused("IdempotentParameterMismatch"):
        send(sim, **{**params, **other})
    assert len(sim.cloud.resources()) == count


def test_a_token_is_bound_to_account_region_and_operation(sim: Any) -> None:
    vpc = sim.vpc()
    table = sim.ec2.create_route_table(VpcId=vpc, ClientToken="one")["RouteTable"]["RouteTableId"]
    far = sim.client("ec2", region="eu-west-1")
    there = far.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    assert far.create_route_table(VpcId=there, ClientToken="one")["RouteTable"]["RouteTableId"] != table
    sim.ec2.create_egress_only_internet_gateway(VpcId=vpc, ClientToken="one")


def test_the_token_of_a_terminated_instance_returns_that_instance(sim: Any) -> None:
    """It does not launch another one for at least a day, so the next attempt needs another token."""
    _, subnets = sim.network()
    params = {**MACHINE, "SubnetId": subnets[0], "ClientToken": "once"}
    first = _run(sim, **params)
    sim.ec2.terminate_instances(InstanceIds=[first])
    sim.clock.advance(60)
    again = sim.ec2.run_instances(**params)["Instances"][0]
    assert (again["InstanceId"], again["State"]["Name"]) == (first, "terminated")
    sim.clock.advance(2 * 86_400)
    assert _run(sim, **params) != first


@pytest.mark.parametrize("spent", [False, True])
def test_whether_a_refused_create_spends_its_token_is_an_assumption(make_sim: Any, spent: bool) -> None:
    sim = make_sim(assumptions=Assumptions(refused_token_is_spent=spent))
    _, subnets = sim.network()
    bad = {**MACHINE, "SubnetId": subnets[0], "ClientToken": "once", "KeyName": "none"}
    with refused("InvalidKeyPair.NotFound"):
        _run(sim, **bad)
    good = {key: value for key, value in bad.items() if key != "KeyName"}
    if spent:
        with refused("IdempotentParameterMismatch"):
            _run(sim, **good)
    else:
        assert _run(sim, **good).startswith("i-")


def test_tokens_of_eks(sim: Any) -> None:
    sim.cluster(clientRequestToken="one")
    held = sim.eks.describe_cluster(name="one")["cluster"]
    params = {"name": "one", "roleArn": held["roleArn"], "clientRequestToken": "one"}
    network = {"subnetIds": held["resourcesVpcConfig"]["subnetIds"]}
    again = sim.eks.create_cluster(**params, resourcesVpcConfig=network)["cluster"]
    assert (again["arn"], again["status"]) == (held["arn"], "ACTIVE")
    with refused("ResourceInUseException"):
        sim.eks.create_cluster(**{**params, "clientRequestToken": "two"}, resourcesVpcConfig=network)
    node = {"clusterName": "one", "nodegroupName": "n", "nodeRole": held["roleArn"], "subnets": network["subnetIds"]}
    made = [sim.eks.create_nodegroup(**node, clientRequestToken="n")["nodegroup"]["nodegroupArn"] for _ in "ab"]
    assert made[0] == made[1]
    addon = {"clusterName": "one", "addonName": "coredns", "clientRequestToken": "a"}
    made = [sim.eks.create_addon(**addon)["addon"]["addonArn"] for _ in "ab"]
    assert made[0] == made[1]
    with pytest.raises(ClientError, match="other parameters"):
        sim.eks.create_addon(**addon, addonVersion="v0")


def test_the_token_of_a_secret_is_its_version(sim: Any) -> None:
    made = [sim.secretsmanager.create_secret(Name="s", SecretString="x", ClientRequestToken="t" * 32) for _ in "ab"]
    assert (made[0]["ARN"], made[0]["VersionId"]) == (made[1]["ARN"], made[1]["VersionId"])
    with refused("ResourceExistsException"):
        sim.secretsmanager.create_secret(Name="s", SecretString="y", ClientRequestToken="t" * 32)
    with refused("ResourceExistsException"):
        sim.secretsmanager.create_secret(Name="s", SecretString="x", ClientRequestToken="u" * 32)
