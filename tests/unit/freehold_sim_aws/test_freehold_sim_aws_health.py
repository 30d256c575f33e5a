"""Health of instances behind load balancers: as long as the checks of the group take, and why it is bad."""

from collections.abc import Mapping
from typing import Any

import pytest

from freehold_sim.aws.health_checks import Check, health
from harness.simulated_aws import refused

UPSTREAM = {"HealthCheckIntervalSeconds": 5, "HealthCheckTimeoutSeconds": 4, "HealthyThresholdCount": 2,
            "UnhealthyThresholdCount": 6}  # fmt: skip
RELEASED = {"HealthCheckIntervalSeconds": 10, "HealthCheckTimeoutSeconds": 5, "HealthyThresholdCount": 5,
            "UnhealthyThresholdCount": 3}  # fmt: skip
"""The health checks of the upstream provider's main branch, and of its released versions."""


class Behind:
    """An instance that is a target of a network load balancer."""

    def __init__(self, sim: Any, checks: Mapping[str, Any] = RELEASED) -> None:
        self.sim = sim
        vpc, subnets = sim.network()
        self.instance, self.group = sim.instance(subnets[0]), sim.target_group(vpc, **checks)
        action = [{"Type": "forward", "TargetGroupArn": self.group}]
        sim.elbv2.create_listener(
            LoadBalancerArn=sim.balancer(subnets), Protocol="TCP", Port=6443, DefaultActions=action
        )
        self.register()

    def register(self) -> None:
        self.sim.elbv2.register_targets(TargetGroupArn=self.group, Targets=[{"Id": self.instance}])

    def answers(self, *, answers: bool) -> None:
        self.sim.cloud.foreign_act("answer", {"id": self.instance, "answers": answers})

    def after(self, seconds: float) -> str:
        """State and reason after a time; "" when the target is no longer listed."""
        self.sim.clock.advance(seconds)
        rows = self.sim.elbv2.describe_target_health(TargetGroupArn=self.group)["TargetHealthDescriptions"]
        found = [row["TargetHealth"] for row in rows]
        return " ".join(filter(None, (found[0]["State"], found[0].get("Reason")))) if found else ""


def test_the_health_of_targets_follows_the_clock(sim: Any) -> None:
    vpc, subnets = sim.network()
    instance, group = sim.instance(subnets[0]), sim.target_group(vpc, "alone")
    sim.elbv2.register_targets(TargetGroupArn=group, Targets=[{"Id": instance}])
    (row,) = sim.elbv2.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
    assert row["TargetHealth"]["Reason"] == "Target.NotInUse"
    behind = Behind(sim)
    assert behind.after(0) == "initial Elb.RegistrationInProgress"
    assert behind.after(10) == "initial Elb.InitialHealthChecking"
    assert behind.after(49) == "initial Elb.InitialHealthChecking"
    assert behind.after(1) == "healthy"
    sim.elbv2.deregister_targets(TargetGroupArn=behind.group, Targets=[{"Id": behind.instance}])
    assert behind.after(299) == "draining Target.DeregistrationInProgress"
    assert behind.after(1) == ""


def test_draining_takes_as_long_as_the_group_says(sim: Any) -> None:
    """https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html"""
    behind = Behind(sim)
    delay = {"Key": "deregistration_delay.timeout_seconds", "Value": "30"}
    sim.elbv2.modify_target_group_attributes(TargetGroupArn=behind.group, Attributes=[delay])
    sim.elbv2.deregister_targets(TargetGroupArn=behind.group, Targets=[{"Id": behind.instance}])
    assert behind.after(29) == "draining Target.DeregistrationInProgress"
    assert behind.after(1) == ""


@pytest.mark.parametrize(("checks", "seconds"), [(UPSTREAM, 10), (RELEASED, 50)], ids=["upstream", "released"])
def test_a_first_machine_is_healthy_after_its_server_answers(sim: Any, checks: Mapping[str, Any], seconds: int) -> None:
    """https://github.com/kubernetes/kubeadm/issues/3294: kubeadm waits 60 s for this."""
    behind = Behind(sim, checks)
    behind.answers(answers=False)
    assert behind.after(120) == "unhealthy Target.FailedHealthChecks"
    behind.answers(answers=True)
    assert behind.after(seconds - 1) == "unhealthy Target.FailedHealthChecks"
    assert behind.after(1) == "healthy"
    behind.answers(answers=False)
    assert behind.after(29) == "healthy"
    assert behind.after(1) == "unhealthy Target.FailedHealthChecks"


def test_a_stopped_target_is_unused_and_a_terminated_one_goes(sim: Any) -> None:
    """https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-register-targets.html"""
    behind = Behind(sim)
    assert behind.after(60) == "healthy"
    sim.ec2.stop_instances(InstanceIds=[behind.instance])
    assert behind.after(60) == "unused Target.InvalidState"
    with refused("InvalidTarget", "not in a running state"):
        behind.register()
    sim.ec2.start_instances(InstanceIds=[behind.instance])
    assert behind.after(60) == "unhealthy Target.FailedHealthChecks", "it runs for 40 s, the checks need 50"
    assert behind.after(10) == "healthy"
    sim.ec2.terminate_instances(InstanceIds=[behind.instance])
    assert behind.after(30) == "unused Target.InvalidState"
    assert behind.after(10) == ""
    with refused("InvalidTarget"):
        behind.register()


def test_a_target_in_a_zone_without_load_balancer_is_unused(sim: Any) -> None:
    """https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetHealth.html"""
    behind = Behind(sim)
    balancer = sim.elbv2.describe_load_balancers()["LoadBalancers"][0]
    zones = [row["SubnetId"] for row in balancer["AvailabilityZones"]]
    subnet = sim.ec2.describe_instances(InstanceIds=[behind.instance])["Reservations"][0]["Instances"][0]["SubnetId"]
    sim.elbv2.delete_load_balancer(LoadBalancerArn=balancer["LoadBalancerArn"])
    others = [ident for ident in zones if ident != subnet]
    action = [{"Type": "forward", "TargetGroupArn": behind.group}]
    made = sim.balancer(others, "other")
    sim.elbv2.create_listener(LoadBalancerArn=made, Protocol="TCP", Port=6443, DefaultActions=action)
    assert behind.after(60) == "unused Target.NotInUse"


def test_a_target_by_address_answers_as_its_instance_does(sim: Any) -> None:
    vpc, subnets = sim.network()
    instance, group = sim.instance(subnets[0]), sim.target_group(vpc, TargetType="ip", **RELEASED)
    address = sim.ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]["PrivateIpAddress"]
    action = [{"Type": "forward", "TargetGroupArn": group}]
    sim.elbv2.create_listener(LoadBalancerArn=sim.balancer(subnets), Protocol="TCP", Port=1, DefaultActions=action)
    sim.elbv2.register_targets(TargetGroupArn=group, Targets=[{"Id": address}])
    sim.cloud.strangers.answer(instance, answers=False)
    sim.clock.advance(60)
    (row,) = sim.elbv2.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
    assert row["TargetHealth"]["State"] == "unhealthy"


@pytest.mark.parametrize(
    ("answers", "now", "expected"),
    [
        ([[0, True]], 9, "initial"),
        ([[0, True]], 10, "healthy"),
        ([[0, False]], 30, "unhealthy"),
        ([[0, False], [25, True]], 34, "initial"),
        ([[0, False], [25, True]], 35, "healthy"),
        ([[0, False], [40, True]], 89, "unhealthy"),
        ([[0, True], [20, False], [45, True]], 60, "healthy"),
        ([[0, True], [50, False]], 20, "healthy"),
    ],
)
def test_health_follows_from_answers(answers: list[list[Any]], now: float, expected: str) -> None:
    """New ones need one check as behind an application load balancer, then five; bad ones three."""
    assert health(Check(10, 1, 5, 3), 0, answers, now) == expected


# -- classic load balancers -----------------------------------------------------------------------------------


class BehindClassic:
    """An instance that is registered with a classic load balancer."""

    def __init__(self, sim: Any) -> None:
        self.sim, self.name = sim, {"LoadBalancerName": "api"}
        _, subnets = sim.network()
        listener = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstancePort": 6443}
        sim.elb.create_load_balancer(**self.name, Listeners=[listener], Subnets=subnets)
        check = {"Target": "TCP:6443", "Interval": 10, "Timeout": 5, "HealthyThreshold": 5, "UnhealthyThreshold": 3}
        sim.elb.configure_health_check(**self.name, HealthCheck=check)
        self.instance = sim.instance(subnets[0])
        self.it = [{"InstanceId": self.instance}]
        sim.elb.register_instances_with_load_balancer(**self.name, Instances=self.it)

    def after(self, seconds: float) -> str:
        self.sim.clock.advance(seconds)
        rows = self.sim.elb.describe_instance_health(**self.name)["InstanceStates"]
        return " ".join((rows[0]["State"], rows[0]["ReasonCode"], rows[0]["Description"])) if rows else ""


def test_the_health_behind_a_classic_load_balancer(sim: Any) -> None:
    """https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_InstanceState.html"""
    behind = BehindClassic(sim)
    assert behind.after(59) == "OutOfService ELB Instance registration is still in progress."
    assert behind.after(1) == "InService N/A N/A"
    sim.cloud.strangers.answer(behind.instance, answers=False)
    assert behind.after(30).startswith("OutOfService Instance Instance has failed at least the UnhealthyThreshold")
    sim.ec2.stop_instances(InstanceIds=[behind.instance])
    assert behind.after(30) == "OutOfService Instance Instance is in stopped state."
    sim.ec2.terminate_instances(InstanceIds=[behind.instance])
    assert behind.after(60) == ""


def test_an_instance_in_a_zone_without_classic_load_balancer_is_out_of_service(sim: Any) -> None:
    behind = BehindClassic(sim)
    subnet = sim.ec2.describe_instances(InstanceIds=[behind.instance])["Reservations"][0]["Instances"][0]["SubnetId"]
    sim.elb.detach_load_balancer_from_subnets(**behind.name, Subnets=[subnet])
    assert behind.after(60).startswith("OutOfService Instance Instance is in the EC2 Availability Zone for which")


def test_a_classic_load_balancer_drains_where_it_is_to(sim: Any) -> None:
    """https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/config-conn-drain.html"""
    behind = BehindClassic(sim)
    sim.elb.deregister_instances_from_load_balancer(**behind.name, Instances=behind.it)
    assert behind.after(0) == ""
    sim.elb.register_instances_with_load_balancer(**behind.name, Instances=behind.it)
    drains = {"ConnectionDraining": {"Enabled": True, "Timeout": 60}}
    sim.elb.modify_load_balancer_attributes(**behind.name, LoadBalancerAttributes=drains)
    sim.elb.deregister_instances_from_load_balancer(**behind.name, Instances=behind.it)
    assert behind.after(59) == "InService N/A Instance deregistration currently in progress."
    assert sim.elb.describe_load_balancers()["LoadBalancerDescriptions"][0]["Instances"] == []
    assert behind.after(1) == ""
    with refused("InvalidInstance"):
        sim.elb.describe_instance_health(**behind.name, Instances=behind.it)


def test_an_instance_of_another_network_is_not_registered(sim: Any) -> None:
    behind = BehindClassic(sim)
    vpc = sim.vpc("10.8.0.0/16")
    subnet = sim.ec2.create_subnet(VpcId=vpc, CidrBlock="10.8.0.0/24")["Subnet"]["SubnetId"]
    with refused("InvalidInstance", "not in the same VPC as ELB"):
        far = [{"InstanceId": sim.instance(subnet)}]
        sim.elb.register_instances_with_load_balancer(**behind.name, Instances=far)
