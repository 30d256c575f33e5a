"""Security groups of the VPC, and rules as parts.

One rule of the manifest is one rule of the cloud for each remote. A rule whose remote is a group or a
subnet that is not known yet is left out until it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from freehold.engine.graph import Naming, Node, ReadyNodes
from freehold.engine.journal import Entry
from freehold.engine.resources import NodeKey, Part, Request
from freehold.providers.ibm.powervs.keys import GROUP_KIND, VPC, constant, no_request
from freehold.providers.ibm.powervs.recorded import own_by_id
from freehold.providers.ibm.powervs.types.vpc import (
    VPCSecurityGroup,
    VPCSecurityGroupRule,
    VPCSecurityGroupRulePrototype,
    VPCSecurityGroupRuleRemote,
)

ANYWHERE = "0.0.0.0/0"
_RENAMED = {"all": "icmp_tcp_udp"}
"""The VPC API renamed the value; CAPIBM's schema still has the old one (docs/reference/ibm-cloud.md#vpc)."""
_ALL_PORTS = (1, 65535)
"""Says the same as leaving the ports out, which is how the adapter compares them."""

Remote = Mapping[str, str]


def rule_part(request: Mapping[str, Any], *, retain: bool = False) -> Part:
    """Spell a security-group rule as a part.

    ``request``: direction, protocol, remote ({cidr_block | address | id: text}), and port_min and port_max (tcp,
    udp) or type and code (icmp) where the rule narrows them. The natural key spells all of these.
    """
    ports = _span(request, "port_min", "port_max") or _span(request, "type", "code") or "any"
    remote = next(iter(request["remote"].values()))
    key = f"{request['direction']} {request['protocol']} {ports} {remote}"
    return Part("rule", key, dict(request), retain=retain)


def _span(request: Mapping[str, Any], first: str, last: str) -> str:
    values = [str(request[name]) for name in (first, last) if name in request]
    return "-".join(values)


def api_server_rule(port: int) -> Part:
    """Make the rule that lets clients in through a VPC's default security group; it stays, as its listener does."""
    remote = {"cidr_block": ANYWHERE}
    rule = {"direction": "inbound", "protocol": "tcp", "port_min": port, "port_max": port, "remote": remote}
    return rule_part(rule, retain=True)


def group_keys(groups: Sequence[VPCSecurityGroup], record: Mapping[NodeKey, Entry]) -> dict[str, NodeKey]:
    """Return the node of each group, by name, or by id when it has no name. ``record``: the journal's entries."""
    return {label: _key(group, label, record) for group in groups if (label := group.name or group.id)}


def _key(group: VPCSecurityGroup, label: str, record: Mapping[NodeKey, Entry]) -> NodeKey:
    own = own_by_id(GROUP_KIND, group.id, record) if group.id else None
    return own or NodeKey(GROUP_KIND, label)


def group_nodes(
    groups: Sequence[VPCSecurityGroup],
    keys: Mapping[str, NodeKey],
    region: str,
    resource_group: str,
    subnets: Mapping[str, NodeKey],
) -> Iterator[Node]:
    """Make the groups. ``keys`` are those of :func:`group_keys`, ``subnets`` the nodes that rules may name."""
    needs = {key: _find_named_groups(group, keys) - {key} for group, key in zip(groups, keys.values(), strict=True)}
    for index, (group, (name, key)) in enumerate(zip(groups, keys.items(), strict=True)):
        if group.id:
            given = partial(constant, f"{region}/{group.id}")
            field = f"spec.vpcSecurityGroups[{index}].id"
            yield Node(key, name, no_request, Naming.EXPLICIT, given=given, field=field)
            continue
        after = {other for other in needs[key] if key not in _closure(other, needs)}
        yield Node(
            key,
            name,
            request=partial(_request, name, region, resource_group),
            naming=Naming.EXPLICIT,
            requires=frozenset({VPC, *after, *_subnets(group, subnets)}),
            parts=partial(_parts, group, keys, subnets),
        )


def _request(name: str, region: str, resource_group: str, known: ReadyNodes) -> Request:
    vpc = known[VPC].attributes["id"]
    return {"name": name, "region": region, "vpc": vpc, "resource_group": resource_group}


def _prototypes(group: VPCSecurityGroup) -> Iterator[tuple[VPCSecurityGroupRule, VPCSecurityGroupRulePrototype]]:
    for rule in group.rules:
        prototype = rule.source or rule.destination
        if prototype:
            yield rule, prototype


def _remotes(group: VPCSecurityGroup) -> Iterator[VPCSecurityGroupRuleRemote]:
    for _, prototype in _prototypes(group):
        yield from prototype.remotes


def _find_named_groups(group: VPCSecurityGroup, keys: Mapping[str, NodeKey]) -> set[NodeKey]:
    return {keys[name] for remote in _remotes(group) if (name := remote.security_group_name) in keys and name}


def _subnets(group: VPCSecurityGroup, subnets: Mapping[str, NodeKey]) -> set[NodeKey]:
    return {subnets[name] for remote in _remotes(group) if (name := remote.cidr_subnet_name) in subnets and name}


def _closure(key: NodeKey, needs: Mapping[NodeKey, set[NodeKey]]) -> set[NodeKey]:
    """Return all groups that ``key`` names, and that those name: two that do so must not wait for each other."""
    found: set[NodeKey] = set()
    todo = [key]
    while todo:
        for other in needs[todo.pop()] - found:
            found.add(other)
            todo.append(other)
    return found


def _parts(
    group: VPCSecurityGroup, keys: Mapping[str, NodeKey], subnets: Mapping[str, NodeKey], known: ReadyNodes
) -> frozenset[Part]:
    return frozenset(
        rule_part({**_traffic(rule, prototype), "remote": remote})
        for rule, prototype in _prototypes(group)
        for wanted in prototype.remotes
        if (remote := _remote(wanted, known, keys, subnets))
    )


def _traffic(rule: VPCSecurityGroupRule, prototype: VPCSecurityGroupRulePrototype) -> dict[str, Any]:
    ports = prototype.port_range
    if ports and (ports.minimum_port, ports.maximum_port) == _ALL_PORTS:
        ports = None
    values = {
        "direction": rule.direction,
        "protocol": _RENAMED.get(prototype.protocol, prototype.protocol),
        "port_min": ports.minimum_port if ports else None,
        "port_max": ports.maximum_port if ports else None,
        "type": prototype.icmp_type,
        "code": prototype.icmp_code,
    }
    return {name: value for name, value in values.items() if value is not None}


def _remote(
    remote: VPCSecurityGroupRuleRemote, known: ReadyNodes, keys: Mapping[str, NodeKey], subnets: Mapping[str, NodeKey]
) -> Remote | None:
    match remote.remote_type:
        case "any":
            return {"cidr_block": ANYWHERE}
        case "address":
            return {"address": remote.address} if remote.address else None
        case "cidr":
            key, attribute = subnets.get(remote.cidr_subnet_name or ""), "cidr"
        case "sg":
            key, attribute = keys.get(remote.security_group_name or ""), "id"
    observed = known.get(key) if key else None
    value = observed.attributes.get(attribute) if observed else None
    return {"cidr_block" if attribute == "cidr" else "id": value} if value else None
