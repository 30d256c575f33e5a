"""Checks of the load balancers of an AWSCluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from freehold.api.endpoint import APIEndpoint
from freehold.providers.aws.cluster.cluster_plan import BalancerType
from freehold.providers.aws.cluster.facts import Facts, Recorded
from freehold.providers.aws.cluster.keys import key_of
from freehold.providers.aws.cluster.load_balancers import (
    PRIMARY,
    TRAFFIC_PORT,
    HealthTimes,
    health_check,
    name_of,
    times_of,
    type_of_address,
)
from freehold.providers.aws.cluster.names import DefaultNames
from freehold.providers.aws.cluster.subnets import is_aws_id
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.types.load_balancer import AWSLoadBalancerSpec
from freehold.providers.aws.types.load_balancer import HealthCheck as HealthCheckSpec
from freehold.providers.objects.spec_problems import SpecProblem

Checks = Iterator[SpecProblem]
_FIRST = "spec.controlPlaneLoadBalancer"
_SECOND = "spec.secondaryControlPlaneLoadBalancer"
_NO_IPV6 = "the VPC has no IPv6; set spec.network.vpc.ipv6, or write ipv4"


def check(names: DefaultNames, spec: AWSClusterSpec, facts: Facts) -> Checks:
    """Check the two load balancers, and the second beside the first."""
    first = spec.control_plane_load_balancer or AWSLoadBalancerSpec()
    second = spec.secondary_control_plane_load_balancer
    ipv6 = bool(spec.network and spec.network.vpc and spec.network.vpc.ipv6 is not None)
    listed = {each.id for each in spec.network.subnets} if spec.network else set[str]()
    usual = times_of(facts.recorded)
    yield from _places(_FIRST, first, listed)
    yield from _one(_FIRST, first, usual, ipv6=ipv6)
    yield from _ports(_FIRST, first, facts.api_port)
    yield from _behind_endpoint(first, spec.control_plane_endpoint, facts.recorded)
    if second is None:
        return
    yield from _places(_SECOND, second, listed)
    yield from _one(_SECOND, second, usual, ipv6=ipv6)
    yield from _ports(_SECOND, second, facts.api_port)
    if second.name and second.name == name_of(first, names):
        yield SpecProblem(f"{_SECOND}.name", f"{second.name!r} is the name of both load balancers; change one")


def _places(field: str, spec: AWSLoadBalancerSpec, listed: Collection[str]) -> Checks:
    """Check the subnets that a load balancer names. ``listed`` are the ids that the spec gives to subnets."""
    if spec.load_balancer_type == "disabled":
        return
    for index, ident in enumerate(spec.subnets):
        if not is_aws_id(ident) and ident not in listed:
            yield SpecProblem(
                f"{field}.subnets[{index}]",
                f"there is no subnet {ident!r} in spec.network.subnets; list it there, or give an id like "
                "subnet-0123456789abcdef0",
            )


def _one(field: str, spec: AWSLoadBalancerSpec, usual: HealthTimes, *, ipv6: bool) -> Checks:
    kind = spec.load_balancer_type
    if kind in ("classic", "nlb"):
        yield from _health(field, spec, usual)
        yield from _families(field, spec, ipv6=ipv6)
    if kind == "nlb" and spec.name and spec.name.startswith("internal-"):
        yield SpecProblem(f"{field}.name", "AWS keeps names that begin with internal- for itself; choose another")


def _behind_endpoint(first: AWSLoadBalancerSpec, endpoint: APIEndpoint | None, recorded: Recorded) -> Checks:
    """Check that the type stays, where the endpoint is the address of the load balancer that is there."""
    there = type_of_address(endpoint.host or "") if endpoint else None
    if endpoint is None or there is None or first.load_balancer_type == there.value:
        return
    if key_of(there, PRIMARY) in recorded.balancers:
        yield SpecProblem(
            f"{_FIRST}.loadBalancerType",
            f"the endpoint {endpoint.host} is the address of the load balancer of type {there}, which is there, and "
            f"cannot change; write {there}",
        )


def _ports(field: str, spec: AWSLoadBalancerSpec, api_port: int) -> Checks:
    """Check that a port has one listener. A classic load balancer has that of the API server alone."""
    if spec.load_balancer_type != BalancerType.NETWORK.value:
        return
    taken = {api_port: "the API server's"}
    for index, each in enumerate(spec.additional_listeners):
        where = f"additionalListeners[{index}].port"
        if each.port in taken:
            yield SpecProblem(f"{field}.{where}", f"{each.port} is {taken[each.port]} already; remove it, or change it")
        taken.setdefault(each.port, f"that of {field}.{where}")


def _health(field: str, spec: AWSLoadBalancerSpec, usual: HealthTimes) -> Checks:
    classic = spec.load_balancer_type == "classic"
    yield from _times(f"{field}.healthCheck", spec.health_check, usual, classic=classic)
    for index, listener in enumerate(spec.additional_listeners):
        where = f"{field}.additionalListeners[{index}].healthCheck"
        yield from _times(where, listener.health_check, usual, classic=classic)
        port = (listener.health_check and listener.health_check.port) or TRAFFIC_PORT
        if port != TRAFFIC_PORT and not (port.isascii() and port.isdecimal() and 1 <= int(port) <= 65535):
            yield SpecProblem(
                f"{where}.port", f"{port!r} is no port; write a number from 1 to 65535, or {TRAFFIC_PORT}"
            )


def _times(field: str, spec: HealthCheckSpec | None, usual: HealthTimes, *, classic: bool) -> Checks:
    """Check the timeout against the interval: a network load balancer takes equal ones (aws-cdk#16445, aws-cdk#26031).

    A classic one refuses them:
    https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_HealthCheck.html.
    """
    check = health_check("TCP", 0, spec, usual)
    if classic and check.timeout >= check.interval:
        yield SpecProblem(
            f"{field}.timeoutSeconds", "the timeout must be shorter than the interval; change one of them"
        )
    elif check.timeout > check.interval:
        yield SpecProblem(f"{field}.timeoutSeconds", "the timeout must not exceed the interval; change one of them")


def _families(field: str, spec: AWSLoadBalancerSpec, *, ipv6: bool) -> Checks:
    if spec.target_group_ip_type == "ipv6" and spec.load_balancer_type == "nlb" and not ipv6:
        yield SpecProblem(f"{field}.targetGroupIPType", _NO_IPV6)
    for index, each in enumerate(spec.additional_listeners):
        where = f"{field}.additionalListeners[{index}].targetGroupIPType"
        if each.target_group_ip_type and spec.load_balancer_type == "classic":
            yield SpecProblem(where, "a classic load balancer has no target groups; remove it, or write nlb")
        elif each.target_group_ip_type == "ipv6" and not ipv6:
            yield SpecProblem(where, _NO_IPV6)
