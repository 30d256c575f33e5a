"""State machines on the simulator's clock (docs/reference/simulator-aws.md#states)."""

from collections.abc import Callable
from typing import Any

import pytest

from freehold_sim.aws.settings import Assumptions, Quotas, Settings
from freehold_sim.faults import Effect, Fault
from harness.simulated_aws import Sim, refused


def _nat(sim: Any, ident: str) -> str:
    rows = sim.ec2.describe_nat_gateways(NatGatewayIds=[ident])["NatGateways"]
    return str(rows[0]["State"])


def test_a_nat_gateway_from_birth_to_the_end_of_its_listing(sim: Any) -> None:
    _, subnets = sim.network()
    nat = sim.nat(subnets[0])
    seen = [_nat(sim, nat)]
    sim.clock.advance(90)
    seen.append(_nat(sim, nat))
    sim.ec2.delete_nat_gateway(NatGatewayId=nat)
    seen.append(_nat(sim, nat))
    address = sim.ec2.describe_addresses()["Addresses"][0]
    assert "AssociationId" in address, "the address is held until the gateway is deleted"
    sim.clock.advance(45)
    seen.append(_nat(sim, nat))
    sim.ec2.release_address(AllocationId=address["AllocationId"])
    assert seen == ["pending", "available", "deleting", "deleted"]
    assert sim.ec2.describe_network_interfaces()["NetworkInterfaces"] == []
    sim.clock.advance(3600)
    with refused("NatGatewayNotFound"):
        _nat(sim, nat)


def test_a_public_nat_gateway_fails_without_an_internet_gateway(sim: Any) -> None:
    """The create succeeds; the failure shows later, with its code."""
    nat = sim.nat(sim.subnet(sim.vpc()))
    assert _nat(sim, nat) == "pending"
    sim.clock.advance(90)
    shown = sim.ec2.describe_nat_gateways(NatGatewayIds=[nat])["NatGateways"][0]
    assert (shown["State"], shown["FailureCode"]) == ("failed", "Gateway.NotAttached")
    assert "AssociationId" not in sim.ec2.describe_addresses()["Addresses"][0]


def test_a_delete_ends_a_nat_gateway_that_has_failed(sim: Any) -> None:
    """As one that works: Terraform's provider expects it to be deleting, or gone."""
    nat = sim.nat(sim.subnet(sim.vpc()))
    sim.clock.advance(90)
    seen = [_nat(sim, nat)]
    sim.ec2.delete_nat_gateway(NatGatewayId=nat)
    seen.append(_nat(sim, nat))
    sim.clock.advance(45)
    seen.append(_nat(sim, nat))
    assert seen == ["failed", "deleting", "deleted"]


def test_a_nat_gateway_that_has_failed_may_stay_for_an_hour_in_spite_of_a_delete() -> None:
    sim = Sim(Settings(assumptions=Assumptions(failed_nat_gateway_stays=True)))
    nat = sim.nat(sim.subnet(sim.vpc()))
    sim.clock.advance(90)
    sim.ec2.delete_nat_gateway(NatGatewayId=nat)
    sim.clock.advance(3500)
    assert _nat(sim, nat) == "failed"
    sim.clock.advance(101)
    assert sim.ec2.describe_nat_gateways()["NatGateways"] == []


def test_an_instance_from_birth_to_the_end_of_its_listing(sim: Any) -> None:
    _, subnets = sim.network()
    given = {"ImageId": "ami-0a0000000000000c1", "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
    disks = [{"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 20, "DeleteOnTermination": False}}]
    made = sim.ec2.run_instances(**given, SubnetId=subnets[0], BlockDeviceMappings=disks)["Instances"][0]
    ident, seen = made["InstanceId"], [made["State"]["Name"]]

    def look() -> dict[str, Any]:
        return dict(sim.ec2.describe_instances(InstanceIds=[ident])["Reservations"][0]["Instances"][0])

    sim.clock.advance(20)
    seen.append(look()["State"]["Name"])
    assert len(look()["BlockDeviceMappings"]) == 2
    sim.ec2.terminate_instances(InstanceIds=[ident])
    seen.append(look()["State"]["Name"])
    with refused("DependencyViolation"):
        sim.ec2.delete_subnet(SubnetId=subnets[0])
    sim.clock.advance(40)
    seen.append(look()["State"]["Name"])
    assert seen == ["pending", "running", "shutting-down", "terminated"]
    sim.ec2.delete_subnet(SubnetId=subnets[0])
    volumes = sim.ec2.describe_volumes()["Volumes"]
    assert [(row["Size"], row["State"]) for row in volumes] == [(20, "available")], "the root volume went with it"
    sim.clock.advance(3600)
    with refused("InvalidInstanceID.NotFound"):
        look()


def test_a_volume_alone_from_birth_to_its_end(sim: Any) -> None:
    made = sim.ec2.create_volume(AvailabilityZone="us-east-1b", Size=8, VolumeType="gp3")
    ident = made["VolumeId"]
    assert (made["State"], made["Iops"], made["Throughput"], made["Encrypted"]) == ("creating", 3000, 125, False)
    with refused("IncorrectState"):
        sim.ec2.delete_volume(VolumeId=ident)
    sim.clock.advance(2)
    shown = sim.ec2.describe_volumes(Filters=[{"Name": "status", "Values": ["available"]}])["Volumes"]
    assert [(row["VolumeId"], row["AvailabilityZone"], row["Attachments"]) for row in shown] == [
        (ident, "us-east-1b", [])
    ]
    sim.ec2.delete_volume(VolumeId=ident)
    with refused("InvalidVolume.NotFound"):
        sim.ec2.describe_volumes(VolumeIds=[ident])


def test_a_volume_whose_making_fails_shows_it_later(sim: Any) -> None:
    sim.cloud.faults.add(Fault(Effect.FAILED, "ec2.CreateVolume"))
    ident = sim.ec2.create_volume(AvailabilityZone="us-east-1a", Size=8)["VolumeId"]
    sim.clock.advance(2)
    assert sim.ec2.describe_volumes(VolumeIds=[ident])["Volumes"][0]["State"] == "error"


def test_stopping_and_starting_and_termination_protection(sim: Any) -> None:
    _, subnets = sim.network()
    ident = sim.instance(subnets[0], DisableApiTermination=True)
    with refused("OperationNotPermitted"):
        sim.ec2.terminate_instances(InstanceIds=[ident])
    sim.ec2.modify_instance_attribute(InstanceId=ident, DisableApiTermination={"Value": False})
    with refused("IncorrectInstanceState"):
        sim.ec2.modify_instance_attribute(InstanceId=ident, InstanceType={"Value": "t3.small"})
    sim.ec2.stop_instances(InstanceIds=[ident])
    sim.clock.advance(30)
    with refused("InvalidParameterValue"):
        sim.ec2.modify_instance_attribute(InstanceId=ident, InstanceType={"Value": "x9.huge"})
    sim.ec2.modify_instance_attribute(InstanceId=ident, InstanceType={"Value": "t3.small"})
    sim.ec2.start_instances(InstanceIds=[ident])
    sim.clock.advance(20)
    shown = sim.ec2.describe_instances(InstanceIds=[ident])["Reservations"][0]["Instances"][0]
    assert (shown["State"]["Name"], shown["InstanceType"]) == ("running", "t3.small")
    assert sim.ec2.describe_instance_status()["InstanceStatuses"][0]["InstanceStatus"]["Status"] == "ok"
    attribute = sim.ec2.describe_instance_attribute(InstanceId=ident, Attribute="disableApiTermination")
    assert attribute["DisableApiTermination"] == {"Value": False}


def test_an_instance_needs_what_it_names(make_sim: Any) -> None:
    sim = make_sim(limits={})
    _, subnets = sim.network()
    for wrong, code in (
        ({"ImageId": "ami-0"}, "InvalidAMIID.NotFound"),
        ({"InstanceType": "x9.huge"}, "InvalidParameterValue"),
        ({"InstanceType": "m6g.large"}, "InvalidParameterValue"),
        ({"KeyName": "none"}, "InvalidKeyPair.NotFound"),
        ({"IamInstanceProfile": {"Name": "none"}}, "InvalidParameterValue"),
        ({"SecurityGroupIds": ["sg-0"]}, "InvalidGroup.NotFound"),
        ({"UserData": "x" * 16385}, "InvalidParameterValue"),
        ({"MinCount": 2}, "InvalidParameterValue"),
        ({"SubnetId": "subnet-0"}, "InvalidSubnetID.NotFound"),
    ):
        with refused(code):
            sim.instance(subnets[0], **wrong)
    assert sim.ec2.describe_instances()["Reservations"] == []


def test_what_is_refused_halfway_leaves_nothing(make_sim: Any) -> None:
    """A subnet of 28 bits has eleven addresses: twelve instances are not launched, nor eleven of them."""
    sim = make_sim(limits={})
    vpc = sim.vpc()
    small = sim.ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/28")["Subnet"]["SubnetId"]
    before = sim.cloud.resources()
    with refused("InsufficientFreeAddressesInSubnet"):
        sim.instance(small, MinCount=12, MaxCount=12)
    assert sim.cloud.resources() == before
    assert sim.ec2.describe_subnets(SubnetIds=[small])["Subnets"][0]["AvailableIpAddressCount"] == 11
    sim.instance(small, MinCount=11, MaxCount=11)
    assert sim.ec2.describe_subnets(SubnetIds=[small])["Subnets"][0]["AvailableIpAddressCount"] == 0


def test_as_many_instances_as_the_quota_allows_if_that_is_enough(make_sim: Any) -> None:
    sim = make_sim(quotas=Quotas(vcpus=7))
    _, subnets = sim.network()
    with refused("VcpuLimitExceeded"):
        sim.instance(subnets[0], MinCount=4, MaxCount=5)
    sim.instance(subnets[0], MinCount=2, MaxCount=5)
    assert len(sim.ec2.describe_instances()["Reservations"][0]["Instances"]) == 3


def test_a_load_balancer_becomes_active_and_its_interfaces_outlive_it(sim: Any) -> None:
    """They hold subnets and groups for minutes after the load balancer has gone (cluster-api-provider-aws#6067)."""
    vpc, subnets = sim.network()
    group = sim.group(vpc)
    made = sim.elbv2.create_load_balancer(Name="lb", Type="network", Subnets=subnets, SecurityGroups=[group])
    assert made["LoadBalancers"][0]["State"]["Code"] == "provisioning"
    sim.clock.advance(120)
    arn = made["LoadBalancers"][0]["LoadBalancerArn"]
    assert sim.elbv2.describe_load_balancers(Names=["lb"])["LoadBalancers"][0]["State"]["Code"] == "active"
    sim.elbv2.delete_load_balancer(LoadBalancerArn=arn)
    with refused("LoadBalancerNotFound"):
        sim.elbv2.describe_load_balancers(LoadBalancerArns=[arn])
    for held in (
        lambda: sim.ec2.delete_subnet(SubnetId=subnets[0]),
        lambda: sim.ec2.delete_security_group(GroupId=group),
    ):
        with refused("DependencyViolation"):
            held()
        assert len(sim.ec2.describe_network_interfaces()["NetworkInterfaces"]) == 3
    sim.clock.advance(180)
    sim.ec2.delete_subnet(SubnetId=subnets[0])
    sim.ec2.delete_security_group(GroupId=group)


def test_an_eks_cluster_goes_after_its_node_groups_and_takes_what_eks_made(sim: Any) -> None:
    made = sim.cluster()
    network = made["resourcesVpcConfig"]
    node = {"clusterName": "one", "nodegroupName": "n"}
    sim.eks.create_nodegroup(**node, nodeRole=made["roleArn"], subnets=network["subnetIds"])
    with refused("ResourceInUseException"):
        sim.eks.delete_cluster(name="one")
    sim.eks.delete_nodegroup(**node)
    assert sim.eks.describe_nodegroup(**node)["nodegroup"]["status"] == "DELETING"
    sim.clock.advance(240)
    with refused("ResourceNotFoundException"):
        sim.eks.describe_nodegroup(**node)
    sim.eks.delete_cluster(name="one")
    with refused("DependencyViolation"):
        sim.ec2.delete_subnet(SubnetId=network["subnetIds"][0])
    sim.clock.advance(300)
    with refused("ResourceNotFoundException"):
        sim.eks.describe_cluster(name="one")
    sim.ec2.delete_subnet(SubnetId=network["subnetIds"][0])
    with refused("InvalidGroup.NotFound"):
        sim.ec2.describe_security_groups(GroupIds=[network["clusterSecurityGroupId"]])


def test_a_deleted_secret_holds_its_name_through_its_recovery_window(sim: Any) -> None:
    sim.secretsmanager.create_secret(Name="s", SecretString="x")
    sim.secretsmanager.delete_secret(SecretId="s", RecoveryWindowInDays=7)
    for act in (
        lambda: sim.secretsmanager.create_secret(Name="s", SecretString="x"),
        lambda: sim.secretsmanager.get_secret_value(SecretId="s"),
    ):
        with refused("InvalidRequestException"):
            act()
    sim.clock.advance(7 * 86_400)
    sim.secretsmanager.create_secret(Name="s", SecretString="y")
    sim.secretsmanager.delete_secret(SecretId="s", ForceDeleteWithoutRecovery=True)
    sim.clock.advance(5)
    with refused("ResourceNotFoundException"):
        sim.secretsmanager.describe_secret(SecretId="s")


FAILING: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], str], str]] = {
    "ec2.CreateNatGateway": (lambda sim: sim.nat(sim.network()[1][0]), _nat, "failed"),
    "ec2.RunInstances": (
        lambda sim: sim.instance(sim.network()[1][0]),
        lambda sim, made: sim.ec2.describe_instances()["Reservations"][0]["Instances"][0]["State"]["Name"],
        "terminated",
    ),
    "elbv2.CreateLoadBalancer": (
        lambda sim: sim.balancer(sim.network()[1]),
        lambda sim, made: sim.elbv2.describe_load_balancers()["LoadBalancers"][0]["State"]["Code"],
        "failed",
    ),
    "eks.CreateCluster": (
        lambda sim: sim.cluster(),
        lambda sim, made: sim.eks.describe_cluster(name="one")["cluster"]["status"],
        "FAILED",
    ),
}


@pytest.mark.parametrize("operation", FAILING)
def test_what_is_provisioned_can_fail_or_be_slow(sim: Any, operation: str) -> None:
    make, look, failed = FAILING[operation]
    sim.cloud.faults.add(Fault(Effect.FAILED, operation))
    made = make(sim)
    sim.clock.advance(1000)
    assert look(sim, made) == failed


def test_slow_provisioning_takes_ten_times_as_long(sim: Any) -> None:
    _, subnets = sim.network()
    sim.cloud.faults.add(Fault(Effect.SLOW, "ec2.CreateNatGateway"))
    nat = sim.nat(subnets[0])
    sim.clock.advance(899)
    assert _nat(sim, nat) == "pending"
    sim.clock.advance(1)
    assert _nat(sim, nat) == "available"
