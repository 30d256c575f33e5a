"""Load balancers: names that stand for settings, what they need, what they hold."""

from typing import Any

import pytest

from freehold_sim.aws.settings import Assumptions, Quotas
from harness.simulated_aws import refused

LISTENER = [{"Protocol": "TCP", "LoadBalancerPort": 6443, "InstancePort": 6443}]


def test_a_name_with_the_same_settings_is_the_same_load_balancer(sim: Any) -> None:
    """Even if somebody else made it: the tags of the second call are not compared (assumed), and not applied."""
    _, subnets = sim.network()
    first = sim.balancer(subnets, Tags=[{"Key": "owner", "Value": "somebody"}])
    assert sim.balancer(subnets, Tags=[{"Key": "owner", "Value": "me"}]) == first
    shown = sim.elbv2.describe_tags(ResourceArns=[first])["TagDescriptions"][0]["Tags"]
    assert shown == [{"Key": "owner", "Value": "somebody"}]
    assert sim.balancer(subnets[::-1], Scheme="internet-facing") == first, "order and defaults make no difference"
    with refused("DuplicateLoadBalancerName"):
        sim.balancer(subnets[:2])
    with refused("DuplicateLoadBalancerName"):
        sim.balancer(subnets, Scheme="internal")


def test_whether_tags_are_settings_is_an_assumption(make_sim: Any) -> None:
    sim = make_sim(assumptions=Assumptions(balancer_tags_are_settings=True))
    vpc, subnets = sim.network()
    sim.balancer(subnets)
    sim.target_group(vpc)
    with refused("DuplicateLoadBalancerName"):
        sim.balancer(subnets, Tags=[{"Key": "a", "Value": "b"}])
    with refused("DuplicateTargetGroupName"):
        sim.target_group(vpc, Tags=[{"Key": "a", "Value": "b"}])


def test_a_name_with_the_same_settings_is_the_same_target_group_and_listener(sim: Any) -> None:
    vpc, subnets = sim.network()
    group = sim.target_group(vpc)
    assert sim.target_group(vpc) == group
    assert sim.target_group(vpc, HealthCheckProtocol="TCP") == group, "a default that is spelled out is no difference"
    with refused("DuplicateTargetGroupName"):
        sim.target_group(vpc, Port=443)
    balancer = sim.balancer(subnets)
    action = [{"Type": "forward", "TargetGroupArn": group}]
    listener = {"LoadBalancerArn": balancer, "Protocol": "TCP", "Port": 6443, "DefaultActions": action}
    made = [sim.elbv2.create_listener(**listener)["Listeners"][0]["ListenerArn"] for _ in "ab"]
    assert made[0] == made[1]
    with refused("DuplicateListener"):
        sim.elbv2.create_listener(**{**listener, "Protocol": "UDP"})


def test_a_target_group_goes_after_the_listeners_that_name_it(sim: Any) -> None:
    vpc, subnets = sim.network()
    group, balancer = sim.target_group(vpc), sim.balancer(subnets)
    action = [{"Type": "forward", "TargetGroupArn": group}]
    made = sim.elbv2.create_listener(LoadBalancerArn=balancer, Protocol="TCP", Port=1, DefaultActions=action)
    with refused("ResourceInUse"):
        sim.elbv2.delete_target_group(TargetGroupArn=group)
    other = sim.balancer(subnets, "other")
    with refused("TargetGroupAssociationLimit"):
        sim.elbv2.create_listener(LoadBalancerArn=other, Protocol="TCP", Port=1, DefaultActions=action)
    listener = made["Listeners"][0]["ListenerArn"]
    sim.elbv2.modify_listener(ListenerArn=listener, Port=2)
    assert sim.elbv2.describe_listeners(LoadBalancerArn=balancer)["Listeners"][0]["Port"] == 2
    sim.elbv2.delete_listener(ListenerArn=listener)
    with refused("ListenerNotFound"):
        sim.elbv2.delete_listener(ListenerArn=listener)
    sim.elbv2.delete_target_group(TargetGroupArn=group)
    sim.elbv2.delete_target_group(TargetGroupArn=group)  # what is missing counts as deleted


def test_a_deleted_load_balancer_takes_its_listeners_and_missing_counts_as_deleted(sim: Any) -> None:
    vpc, subnets = sim.network()
    group, balancer = sim.target_group(vpc), sim.balancer(subnets)
    action = [{"Type": "forward", "TargetGroupArn": group}]
    sim.elbv2.create_listener(LoadBalancerArn=balancer, Protocol="TCP", Port=1, DefaultActions=action)
    sim.elbv2.modify_load_balancer_attributes(
        LoadBalancerArn=balancer, Attributes=[{"Key": "deletion_protection.enabled", "Value": "true"}]
    )
    with refused("OperationNotPermitted"):
        sim.elbv2.delete_load_balancer(LoadBalancerArn=balancer)
    sim.elbv2.modify_load_balancer_attributes(
        LoadBalancerArn=balancer, Attributes=[{"Key": "deletion_protection.enabled", "Value": "false"}]
    )
    sim.elbv2.delete_load_balancer(LoadBalancerArn=balancer)
    sim.elbv2.delete_load_balancer(LoadBalancerArn=balancer)
    sim.elbv2.delete_target_group(TargetGroupArn=group)
    assert not [row for row in sim.cloud.resources() if row["kind"] == "listener"]


def test_what_a_load_balancer_needs(sim: Any) -> None:
    vpc, subnets = sim.network()
    lonely = sim.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    apart = sim.subnet(lonely, 7, "a")
    same_zone = sim.subnet(vpc, 8, "a")
    for subnet_ids, more, code in (
        (["subnet-0"], {}, "SubnetNotFound"),
        ([apart], {}, "InvalidSubnet"),
        ([subnets[0], apart], {}, "InvalidConfigurationRequest"),
        ([subnets[0], same_zone], {}, "InvalidConfigurationRequest"),
        (subnets, {"SecurityGroups": ["sg-0"]}, "InvalidSecurityGroup"),
    ):
        with refused(code):
            sim.balancer(subnet_ids, **more)
    with refused("InvalidConfigurationRequest"):
        sim.elbv2.create_load_balancer(Name="app", Subnets=subnets[:1])
    for name in ("-a", "a_b", "a" * 33):
        with refused("ValidationError"):
            sim.balancer(subnets, name)
    sim.balancer([apart], "inside", Scheme="internal")


def test_groups_of_a_network_load_balancer_are_changed_only_if_it_was_made_with_some(sim: Any) -> None:
    vpc, subnets = sim.network()
    one, other = sim.group(vpc, "one"), sim.group(vpc, "other")
    without = sim.balancer(subnets, "without")
    with refused("InvalidConfigurationRequest"):
        sim.elbv2.set_security_groups(LoadBalancerArn=without, SecurityGroups=[one])
    with_one = sim.balancer(subnets, "with", SecurityGroups=[one])
    sim.elbv2.set_security_groups(LoadBalancerArn=with_one, SecurityGroups=[other])
    sim.ec2.delete_security_group(GroupId=one)
    with refused("DependencyViolation"):
        sim.ec2.delete_security_group(GroupId=other)


def test_subnets_of_a_load_balancer_can_be_changed(sim: Any) -> None:
    _, subnets = sim.network()
    balancer = sim.balancer(subnets[:2])
    sim.elbv2.set_subnets(LoadBalancerArn=balancer, Subnets=subnets[1:])
    zones = sim.elbv2.describe_load_balancers(LoadBalancerArns=[balancer])["LoadBalancers"][0]["AvailabilityZones"]
    assert {zone["SubnetId"] for zone in zones} == set(subnets[1:])
    sim.clock.advance(200)
    sim.ec2.delete_subnet(SubnetId=subnets[0])


def test_the_address_type_of_a_load_balancer_can_be_changed(sim: Any) -> None:
    """To both families only in subnets that have both."""
    vpc = sim.vpc(AmazonProvidedIpv6CidrBlock=True)
    sim.gateway(vpc)
    block = sim.ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"]
    both = sim.subnet(vpc, 1, "a", Ipv6CidrBlock=block.replace("/56", "/64"))
    balancer = sim.balancer([both, sim.subnet(vpc, 2, "b")])

    def address_type() -> str:
        return str(sim.elbv2.describe_load_balancers(LoadBalancerArns=[balancer])["LoadBalancers"][0]["IpAddressType"])

    with refused("InvalidSubnet"):
        sim.elbv2.set_ip_address_type(LoadBalancerArn=balancer, IpAddressType="dualstack")
    assert address_type() == "ipv4"
    sim.elbv2.set_subnets(LoadBalancerArn=balancer, Subnets=[both])
    sim.elbv2.set_ip_address_type(LoadBalancerArn=balancer, IpAddressType="dualstack")
    assert address_type() == "dualstack"


def test_an_elastic_address_of_a_network_load_balancer(sim: Any) -> None:
    _, subnets = sim.network()
    address = sim.ec2.allocate_address()["AllocationId"]
    mappings = [{"SubnetId": subnets[0], "AllocationId": address}]
    made = sim.elbv2.create_load_balancer(Name="lb", Type="network", SubnetMappings=mappings)["LoadBalancers"][0]
    assert made["AvailabilityZones"][0]["LoadBalancerAddresses"][0]["AllocationId"] == address
    with refused("ResourceInUse"):
        sim.elbv2.create_load_balancer(Name="other", Type="network", SubnetMappings=mappings)
    with refused("AuthFailure"):
        sim.ec2.release_address(AllocationId=address)
    sim.elbv2.delete_load_balancer(LoadBalancerArn=made["LoadBalancerArn"])
    sim.clock.advance(180)
    sim.ec2.release_address(AllocationId=address)


@pytest.mark.parametrize(("quota", "code"), [("balancers", "TooManyLoadBalancers"),
                                             ("target_groups", "TooManyTargetGroups")])  # fmt: skip
def test_quotas_of_load_balancers(make_sim: Any, quota: str, code: str) -> None:
    sim = make_sim(quotas=Quotas(**{quota: 0}))
    vpc, subnets = sim.network()
    with refused(code):
        sim.balancer(subnets) if quota == "balancers" else sim.target_group(vpc)


# -- classic --------------------------------------------------------------------------------------------------


def _classic(sim: Any, subnets: list[str], **more: Any) -> None:
    sim.elb.create_load_balancer(**{"LoadBalancerName": "api", "Listeners": LISTENER, "Subnets": subnets, **more})


def test_a_classic_name_is_unique_and_missing_counts_as_deleted(sim: Any) -> None:
    vpc, subnets = sim.network()
    group = sim.group(vpc)
    _classic(sim, subnets, SecurityGroups=[group])
    with refused("DuplicateLoadBalancerName"):
        _classic(sim, subnets)
    sim.elb.delete_load_balancer(LoadBalancerName="api")
    sim.elb.delete_load_balancer(LoadBalancerName="api")
    with refused("LoadBalancerNotFound"):
        sim.elb.describe_load_balancers(LoadBalancerNames=["api"])
    with refused("DependencyViolation"):
        sim.ec2.delete_security_group(GroupId=group)
    sim.clock.advance(180)
    sim.ec2.delete_security_group(GroupId=group)


def test_parts_of_a_classic_load_balancer(sim: Any) -> None:
    vpc, subnets = sim.network()
    _classic(sim, subnets[:2], Tags=[{"Key": "a", "Value": "b"}])
    name = {"LoadBalancerName": "api"}
    check = {"Target": "SSL:6443", "Interval": 10, "Timeout": 5, "HealthyThreshold": 5, "UnhealthyThreshold": 3}
    sim.elb.configure_health_check(**name, HealthCheck=check)
    with refused("ValidationError"):
        sim.elb.configure_health_check(**name, HealthCheck={**check, "Target": "smoke"})
    sim.elb.modify_load_balancer_attributes(**name, LoadBalancerAttributes={"ConnectionSettings": {"IdleTimeout": 600}})
    held = sim.elb.describe_load_balancer_attributes(**name)["LoadBalancerAttributes"]
    assert (held["ConnectionSettings"]["IdleTimeout"], held["CrossZoneLoadBalancing"]["Enabled"]) == (600, False)
    with refused("DuplicateListener"):
        sim.elb.create_load_balancer_listeners(**name, Listeners=[{**LISTENER[0], "InstancePort": 1}])
    sim.elb.create_load_balancer_listeners(**name, Listeners=[{**LISTENER[0], "LoadBalancerPort": 80}])
    sim.elb.delete_load_balancer_listeners(**name, LoadBalancerPorts=[6443])
    sim.elb.attach_load_balancer_to_subnets(**name, Subnets=subnets[2:])
    sim.elb.detach_load_balancer_from_subnets(**name, Subnets=subnets[:1])
    group, instance = sim.group(vpc), sim.instance(subnets[1])
    sim.elb.apply_security_groups_to_load_balancer(**name, SecurityGroups=[group])
    sim.elb.register_instances_with_load_balancer(**name, Instances=[{"InstanceId": instance}])
    states = [sim.elb.describe_instance_health(**name)["InstanceStates"][0]["State"]]
    sim.clock.advance(60)
    states.append(sim.elb.describe_instance_health(**name)["InstanceStates"][0]["State"])
    shown = sim.elb.describe_load_balancers(LoadBalancerNames=["api"])["LoadBalancerDescriptions"][0]
    assert states == ["OutOfService", "InService"]
    assert shown["HealthCheck"] == check
    assert [row["Listener"]["LoadBalancerPort"] for row in shown["ListenerDescriptions"]] == [80]
    assert (set(shown["Subnets"]), shown["SecurityGroups"]) == (set(subnets[1:]), [group])
    assert sim.elb.describe_tags(LoadBalancerNames=["api"])["TagDescriptions"][0]["Tags"][0]["Key"] == "a"
    sim.elb.deregister_instances_from_load_balancer(**name, Instances=[{"InstanceId": instance}])
    sim.elb.remove_tags(LoadBalancerNames=["api"], Tags=[{"Key": "a"}])
    assert sim.elb.describe_tags(LoadBalancerNames=["api"])["TagDescriptions"][0]["Tags"] == []
