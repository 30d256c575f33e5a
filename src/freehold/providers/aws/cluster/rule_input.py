"""What is wrong with the ingress rules of an AWSCluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network

from freehold.providers.aws.cluster.network_input import group_id, range_4, range_6
from freehold.providers.aws.cluster.rules import ingress_rules
from freehold.providers.aws.cluster.wish import Role
from freehold.providers.aws.types.cluster import AWSClusterSpec
from freehold.providers.aws.types.network import CNIIngressRule, IngressRule, NetworkSpec
from freehold.providers.objects.spec_problems import Problem

Checks = Iterator[Problem]
_TEXT = re.compile(r"[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{0,255}")
"""Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpRange.html"""
_PROTOCOLS = ("-1", "4", "tcp", "udp", "icmp", "58", "50")
_ICMP = ("icmp", "58")


def check(spec: AWSClusterSpec) -> Checks:
    """All rules, in the order of the spec."""
    network = spec.network or NetworkSpec()
    cni = "spec.network.cni.cniIngressRules"
    for index, rule in enumerate(network.cni.cni_ingress_rules if network.cni else ()):
        if rule.protocol not in _PROTOCOLS:
            known = ", ".join(_PROTOCOLS)
            yield Problem(f"{cni}[{index}].protocol", f"{rule.protocol!r} is no protocol; write one of {known}")
        yield from _ports(f"{cni}[{index}]", rule)
        yield from _icmp(f"{cni}[{index}]", rule)
        yield from _description(f"{cni}[{index}]", rule)
    bastion = bool(spec.bastion and spec.bastion.enabled)
    for field, _, each in ingress_rules(spec):
        yield from _rule(field, each, bastion=bastion)
    for index, text in enumerate(network.node_port_ingress_rule_cidr_blocks):
        yield from range_4(f"spec.network.nodePortIngressRuleCidrBlocks[{index}]", text)


def _rule(field: str, rule: IngressRule, *, bastion: bool) -> Checks:
    ranges = (*rule.cidr_blocks, *rule.ipv6_cidr_blocks)
    groups = (*rule.source_security_group_ids, *rule.source_security_group_roles)
    if rule.nat_gateways_ips_source and (ranges or groups):
        yield Problem(
            field, "natGatewaysIPsSource is a source by itself; remove the other sources, or write a second rule"
        )
    if ranges and groups:
        yield Problem(field, "a rule has ranges or security groups as its source, not both; write two rules")
    yield from _ports(field, rule)
    yield from _icmp(field, rule)
    yield from _description(field, rule)
    for index, text in enumerate(rule.cidr_blocks):
        yield from range_4(f"{field}.cidrBlocks[{index}]", text)
    for index, text in enumerate(rule.ipv6_cidr_blocks):
        yield from range_6(f"{field}.ipv6CidrBlocks[{index}]", text)
    for index, ident in enumerate(rule.source_security_group_ids):
        yield from group_id(f"{field}.sourceSecurityGroupIds[{index}]", ident)
    for index, role in enumerate(rule.source_security_group_roles):
        yield from _role(f"{field}.sourceSecurityGroupRoles[{index}]", role, bastion=bastion)


def _role(field: str, role: str, *, bastion: bool) -> Checks:
    if role not in {each.value for each in Role}:
        yield Problem(field, f"{role!r} is a security group of EKS; this cluster has none; remove it")
    elif role == Role.BASTION and not bastion:
        yield Problem(field, "there is no bastion, so it has no security group; set bastion.enabled, or remove it")


def _ports(field: str, rule: IngressRule | CNIIngressRule) -> Checks:
    first, last = rule.from_port, rule.to_port
    if rule.protocol in ("tcp", "udp") and not 0 <= first <= last <= 65535:
        yield Problem(field, f"{first} to {last} is no range of ports; fromPort is at most toPort, within 0 to 65535")


def _icmp(field: str, rule: IngressRule | CNIIngressRule) -> Checks:
    """Ports are type and code there: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpPermission.html"""
    kind, code = rule.from_port, rule.to_port
    if rule.protocol not in _ICMP:
        return
    if not (-1 <= kind <= 255 and -1 <= code <= 255):
        yield Problem(field, f"{kind} and {code} are no type and code of ICMP; write -1 for all, or 0 to 255")
    elif kind == -1 and code != -1:
        yield Problem(field, f"code {code} of all types of ICMP is no rule; write -1 as toPort, or name the type")


def _description(field: str, rule: IngressRule | CNIIngressRule) -> Checks:
    if not _TEXT.fullmatch(rule.description):
        yield Problem(
            f"{field}.description",
            "AWS refuses it; a description has at most 255 letters, digits, spaces and . _ - : / ( ) # , @ [ ] + = & ; "
            "{ } ! $ *",
        )


def any_range(field: str, text: str) -> Checks:
    """A problem where the text is neither an IPv4 nor an IPv6 range."""
    try:
        ip_network(text, strict=False)
    except ValueError:
        yield Problem(field, f"{text!r} is not a range; write one like 192.0.2.0/24 or 2001:db8::/64")
