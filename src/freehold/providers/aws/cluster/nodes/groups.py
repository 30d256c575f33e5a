"""Security groups, and their rules as parts. Groups may name each other: a rule waits for what it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from freehold.engine.graph import Node, ReadyNodes
from freehold.engine.resources import NodeKey, Observed, Part, Request
from freehold.providers.aws.cluster import keys
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan, Group, Role, SourceKind, TrafficRule
from freehold.providers.aws.cluster.group_checks import in_another_vpc
from freehold.providers.aws.cluster.nodes.given import given_node
from freehold.providers.aws.cluster.nodes.routing import address_of
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.cluster.rules import WITH_PORTS, normal_rules
from freehold.providers.aws.kinds.security_group import INGRESS
from freehold.providers.aws.kinds.security_group import rule_parts as rule_parts
from freehold.providers.aws.tags import capa_tags
from freehold.providers.aws.tags.capa_tags import cloud_provider_key

_PEERS = {
    "CidrIp": "IpRanges",
    "CidrIpv6": "Ipv6Ranges",
    "GroupId": "UserIdGroupPairs",
}
"""Where a permission lists each sort of peer
(https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpPermission.html)."""


def group_nodes(plan: ClusterPlan, tags: NodeTags) -> Iterator[Node]:
    addresses = tuple(address_of(nat) for nat in plan.nat_gateways)
    given = {group.role for group in plan.groups if group.given}
    for group in plan.groups:
        key = keys.group(group.role.value)
        if group.given:
            yield _build_given_node(key, group, plan.vpc.given, tags)
        elif group.role is Role.LB:
            yield _handed_over(
                _own(key, group, (), addresses, tags), group.rules if Role.CONTROL_PLANE in given else ()
            )
        else:
            yield _own(key, group, _rules(group, plan), addresses, tags)


def _rules(group: Group, plan: ClusterPlan) -> tuple[TrafficRule, ...]:
    """Return the rules of a group; the control plane's has those of the ``lb`` group too.

    What is in the ``lb`` group is for the cloud controller to say (``Node.shared``). Every control-plane machine is
    in both groups, so the rules let the same traffic in.
    """
    more = [each.rules for each in plan.groups if each.role is Role.LB] if group.role is Role.CONTROL_PLANE else []
    return normal_rules([*group.rules, *(rule for rules in more for rule in rules)])


def _own(
    key: NodeKey, group: Group, rules: tuple[TrafficRule, ...], addresses: tuple[NodeKey, ...], tags: NodeTags
) -> Node:
    request = partial(_request, group.name, f"Kubernetes cluster {tags.cluster}: {group.role.value}")
    return Node(
        key,
        group.name,
        request,
        requires=frozenset({keys.VPC}),
        parts=partial(_build_parts, rules, addresses),
        parts_require=frozenset(_list_named_nodes(rules, addresses)),
        part_field=partial(_field, {each.source.value: each.source.field for each in rules if each.source.field}),
        tags=tags.own(capa_tags.security_group(tags.cluster, group.role.value)),
        name_taken_advice=(
            "delete that one, choose another name for the cluster or, in a VPC that the spec gives, write its id into "
            f"spec.network.securityGroupOverrides[{group.role.value}] to use it as it is"
        ),
        refused_tags=_refused_tags(group, tags),
    )


def _build_given_node(key: NodeKey, group: Group, vpc: str, tags: NodeTags) -> Node:
    node = given_node(key, group.given, f"spec.network.securityGroupOverrides[{group.role.value}]")
    return replace(node, refused_tags=_refused_tags(group, tags), given_problem=partial(_unfit, node.field, vpc))


def _unfit(field: str, vpc: str, seen: Observed) -> str:
    there = seen.attributes["vpc_id"]
    return "" if there == vpc else f"{field}: {in_another_vpc(seen.id, there, vpc)}"


def _handed_over(node: Node, rules: tuple[TrafficRule, ...]) -> Node:
    """Make the ``lb`` group, with ``rules`` where the spec gives the control plane's: nothing is put into that one.

    Upstream puts them there before it hands the group over:
    https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/securitygroup/securitygroups.go
    """
    return replace(node, shared=True, first_parts=partial(_build_parts, rules, ()))


def _refused_tags(group: Group, tags: NodeTags) -> frozenset[str]:
    """Return the tags that must not be: the cloud controller opens ports in one group, of several in none.

    https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/securitygroup/securitygroups.go
    """
    return frozenset() if group.role is Role.LB else frozenset({cloud_provider_key(tags.of_workloads)})


def _request(name: str, about: str, known: ReadyNodes) -> Request:
    return {"name": name, "description": about, "vpc_id": known[keys.VPC].id}


def _list_named_nodes(rules: tuple[TrafficRule, ...], addresses: tuple[NodeKey, ...]) -> Iterator[NodeKey]:
    """Return what rules name, the group itself included: its id is known only when it is there."""
    for rule in rules:
        if rule.source.kind is SourceKind.GROUP:
            yield keys.group(rule.source.value)
        elif rule.source.kind is SourceKind.NAT_GATEWAYS:
            yield from addresses


def _build_parts(rules: tuple[TrafficRule, ...], addresses: tuple[NodeKey, ...], known: ReadyNodes) -> frozenset[Part]:
    """Return the rules as parts. Two may come to the same, such as a range and the VPC's: AWS then has one."""
    found: dict[str, Part] = {}
    for rule in rules:
        for member, peer in _peers(rule, addresses, known):
            part = _part(rule, member, peer)
            found.setdefault(part.natural_key, part)
    return frozenset(found.values())


def _peers(rule: TrafficRule, addresses: tuple[NodeKey, ...], known: ReadyNodes) -> Iterator[tuple[str, str]]:
    vpc, value = known[keys.VPC].attributes, rule.source.value
    match rule.source.kind:
        case SourceKind.IPV4:
            yield "CidrIp", value
        case SourceKind.IPV6:
            yield "CidrIpv6", value
        case SourceKind.GROUP:
            yield "GroupId", known[keys.group(value)].id
        case SourceKind.GROUP_ID:
            yield "GroupId", value
        case SourceKind.NAT_GATEWAYS:
            for address in addresses:
                yield "CidrIp", f"{known[address].attributes['address']}/32"
        case SourceKind.VPC:
            for block in vpc.get("cidrs") or (vpc["cidr"],):
                yield "CidrIp", block
        case SourceKind.VPC_IPV6:
            for block in vpc.get("ipv6_cidrs") or ():
                yield "CidrIpv6", block


def _field(fields: Mapping[str, str], part: Part) -> str:
    """Return where the spec names the group that a rule lets in. ``fields`` are by id."""
    peers = part.request.get("UserIdGroupPairs") or ()
    return next((fields[each["GroupId"]] for each in peers if each["GroupId"] in fields), "")


@lru_cache(maxsize=1024)  # a pass asks several times what is wanted in a group
def _part(rule: TrafficRule, member: str, peer: str) -> Part:
    """Spell a rule in the words of a read; the description is no part of what a rule is."""
    permission: dict[str, Any] = {"IpProtocol": rule.protocol, **_ports(rule), _PEERS[member]: [{member: peer}]}
    (part,) = rule_parts(INGRESS, permission, account="")
    described = {member: peer, "Description": rule.description} if rule.description else {member: peer}
    return replace(part, request={**part.request, _PEERS[member]: [described]})


def _ports(rule: TrafficRule) -> Mapping[str, int]:
    return {"FromPort": rule.from_port, "ToPort": rule.to_port} if rule.protocol in WITH_PORTS else {}
