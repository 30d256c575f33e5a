"""Whether anybody reaches the API server: what must be open in resources of others, and in groups of the spec.

The endpoint is the hostname of one public load balancer. It leads nowhere if that one is private, has no listener on
the API server's port, or is behind a security group that does not let the port in. What is given is never changed, so
a person is told what to add there. A new VPC of IBM Cloud lets only members of its default group in
(https://cloud.ibm.com/docs/vpc?topic=vpc-updating-the-default-security-group).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from freehold.engine.graph import Node
from freehold.engine.resources import NodeKey, Observed, Part
from freehold.providers.ibm.powervs.balancers import Balancer
from freehold.providers.ibm.powervs.keys import GROUP_KIND, VPC
from freehold.providers.ibm.powervs.types.vpc import VPCSecurityGroup, VPCSecurityGroupRule
from freehold.providers.objects.spec_problems import SpecWarning

_TCP = frozenset({"tcp", "any", "all", "icmp_tcp_udp"})


def reachable(nodes: Iterator[Node], endpoint: Balancer, field: str, port: int) -> Iterator[Node]:
    """Add to the nodes what must hold for the endpoint. ``field`` is the endpoint's entry in the spec."""
    for node in nodes:
        if node.key == endpoint.key:
            unfit, lacks = partial(_is_private, field), partial(_no_listener, port)
            node = replace(
                node, given_problem=unfit, missing_inside=lacks, traffic_via=_find_traffic_gate(endpoint, field, port)
            )
        yield node


def _find_traffic_gate(endpoint: Balancer, field: str, port: int) -> tuple[NodeKey, partial[str]] | None:
    """Return what lets traffic in: the VPC's default group, or the one group that is asked for.

    With several groups one of them may be ours, or one that nobody looks at: then it is not told.
    """
    if not endpoint.groups:
        return VPC, partial(
            _no_rule, port, "in its default security group", f"; or name a group in {field}.securityGroups"
        )
    only = endpoint.groups[0]
    if len(endpoint.groups) == 1 and isinstance(only, NodeKey):
        return only, partial(_no_rule, port, "", "")
    return None


def _is_private(field: str, balancer: Observed) -> str:
    if balancer.attributes.get("public") is not False:
        return ""
    return (
        f"{field}: load balancer {balancer.name} ({balancer.id.rpartition('/')[2]}) is private, and nobody reaches the "
        "API server through it: give a public one, or write public: false here and add an entry for a public one"
    )


def _no_listener(port: int, parts: frozenset[Part]) -> str:
    if any(_listens(part.request, port) for part in parts):
        return ""
    return (
        f"has no TCP listener on port {port}, so nobody reaches the API server through it: add one there with a pool "
        "for the control plane, or name another load balancer"
    )


def _listens(listener: Mapping[str, Any], port: int) -> bool:
    first, last = listener.get("port_min") or listener.get("port"), listener.get("port_max") or listener.get("port")
    return listener.get("protocol") in ("tcp", "https") and bool(first and last and first <= port <= last)


def _no_rule(port: int, where: str, instead: str, parts: frozenset[Part]) -> str:
    if any(_lets_in(part.request, port) for part in parts):
        return ""
    place = f" {where}" if where else ""
    return (
        f"has no rule{place} that lets TCP port {port} in, so nobody reaches the API server: add one there (inbound, "
        f"protocol tcp, port_min {port}, port_max {port}, remote cidr_block 0.0.0.0/0 or your clients' range){instead}"
    )


def _lets_in(rule: Mapping[str, Any], port: int) -> bool:
    """Return whether a group lets the port in from any address: which clients there are is the user's to say."""
    remote = rule.get("remote") or {}
    anyone = not remote or bool(remote.get("cidr_block") or remote.get("address"))
    first, last = rule.get("port_min") or 1, rule.get("port_max") or 65535
    return rule.get("direction") == "inbound" and rule.get("protocol") in _TCP and first <= port <= last and anyone


def closed_groups(
    endpoint: Balancer, groups: Sequence[VPCSecurityGroup], port: int, field: str
) -> Iterator[SpecWarning]:
    """Note where the spec defines all groups of our load balancer, and none lets the port in."""
    own = {NodeKey(GROUP_KIND, group.name): group for group in groups if group.name and not group.id}
    if endpoint.given or not endpoint.groups or not all(group in own for group in endpoint.groups):
        return
    rules = [rule for key in endpoint.groups if isinstance(key, NodeKey) for rule in own[key].rules]
    if not any(_allows(rule, port) for rule in rules):
        yield SpecWarning(
            f"{field}.securityGroups",
            f"no rule of these groups lets TCP port {port} in: nobody reaches the API server; add one to a group",
            served=True,
        )


def _allows(rule: VPCSecurityGroupRule, port: int) -> bool:
    source = rule.source
    if rule.direction != "inbound" or source is None or source.protocol not in _TCP:
        return False
    ports = source.port_range
    return ports is None or (ports.minimum_port or 1) <= port <= (ports.maximum_port or 65535)
