"""Attributes of load balancers and target groups, compared with what botocore's documentation of them says."""

import html
import re
from collections.abc import Mapping
from typing import Any

import pytest

from freehold_sim.aws.elbv2.attributes import BALANCERS, group_attributes
from freehold_sim.aws.models import service
from harness.simulated_aws import refused

TERMINATES = "target_health_state.unhealthy.connection_termination.enabled"
DRAINS = "target_health_state.unhealthy.draining_interval_seconds"


def _documented(shape: str, sort: str) -> set[str]:
    """The names under the headings that speak of all load balancers or of this sort; targets are not functions."""
    text = html.unescape(service("elbv2").model.shape_for(shape).members["Key"].documentation)
    found: set[str] = set()
    for section in text.split("The following attribute")[1:]:
        heading = section.partition("<ul>")[0]
        if ("all load balancers" in heading or f"{sort} Load Balancer" in heading) and "Lambda" not in heading:
            found |= set(re.findall(r"<li> <p> <code>([a-z0-9_.]+\.[a-z0-9_.]+)</code>", section))
    return found


@pytest.mark.parametrize(
    ("shape", "sort", "known"),
    [
        ("LoadBalancerAttribute", "Network", BALANCERS["network"]),
        ("LoadBalancerAttribute", "Application", BALANCERS["application"]),
        ("TargetGroupAttribute", "Network", group_attributes("TCP", "instance")),
        ("TargetGroupAttribute", "Application", group_attributes("HTTP", "instance")),
    ],
    ids=["network balancer", "application balancer", "group of a network one", "group of an application one"],
)
def test_the_attributes_are_those_that_aws_documents(shape: str, sort: str, known: Mapping[str, object]) -> None:
    assert set(known) == _documented(shape, sort)


def _attributes(sim: Any, group: str) -> dict[str, str]:
    rows = sim.elbv2.describe_target_group_attributes(TargetGroupArn=group)["Attributes"]
    return {row["Key"]: row["Value"] for row in rows}


def _modify(sim: Any, group: str, **wanted: str) -> None:
    rows = [{"Key": key, "Value": value} for key, value in wanted.items()]
    sim.elbv2.modify_target_group_attributes(TargetGroupArn=group, Attributes=rows)


def test_connections_to_unhealthy_targets_drain_only_where_they_are_not_cut(sim: Any) -> None:
    group = sim.target_group(sim.vpc())
    assert (_attributes(sim, group)[TERMINATES], _attributes(sim, group)[DRAINS]) == ("true", "0")
    with refused("InvalidConfigurationRequest"):
        _modify(sim, group, **{DRAINS: "300"})
    _modify(sim, group, **{DRAINS: "300", TERMINATES: "false"})
    with refused("InvalidConfigurationRequest"):
        _modify(sim, group, **{TERMINATES: "true"})
    assert (_attributes(sim, group)[TERMINATES], _attributes(sim, group)[DRAINS]) == ("false", "300")
    _modify(sim, group, **{DRAINS: "0", TERMINATES: "true"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target_failover.on_unhealthy", "rebalance"),
        ("slow_start.duration_seconds", "30"),
        ("stickiness.enabled", "perhaps"),
        ("stickiness.type", "lb_cookie"),
        ("deregistration_delay.timeout_seconds", "3601"),
        ("target_group_health.dns_failover.minimum_healthy_targets.percentage", "101"),
    ],
    ids=["of a gateway", "of an application one", "no switch", "another sort's word", "beyond the range", "no share"],
)
def test_what_a_target_group_does_not_have_is_refused(sim: Any, key: str, value: str) -> None:
    group = sim.target_group(sim.vpc())
    before = _attributes(sim, group)
    with refused("ValidationError", key):
        _modify(sim, group, **{"proxy_protocol_v2.enabled": "true", key: value})
    assert _attributes(sim, group) == before


def test_defaults_follow_from_protocol_targets_and_scheme(sim: Any) -> None:
    vpc, subnets = sim.network()
    on_udp = _attributes(sim, sim.target_group(vpc, "udp", Protocol="UDP", HealthCheckProtocol="TCP"))
    assert (on_udp[TERMINATES], on_udp["deregistration_delay.connection_termination.enabled"]) == ("false", "true")
    addresses = _attributes(sim, sim.target_group(vpc, "ips", TargetType="ip"))
    assert addresses["preserve_client_ip.enabled"] == "false"
    inside = sim.balancer(subnets, "inside", Scheme="internal")
    rows = sim.elbv2.describe_load_balancer_attributes(LoadBalancerArn=inside)["Attributes"]
    assert {"Key": "ipv6.deny_all_igw_traffic", "Value": "true"} in rows
