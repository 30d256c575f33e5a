"""VPC, subnets and the gateways of the VPC."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from ipaddress import IPv6Network
from typing import Any

from freehold.engine.dry_run_overlay import is_planned
from freehold.engine.graph import Node, ReadyNodes
from freehold.engine.resources import Part, Request
from freehold.providers.aws.cluster import keys
from freehold.providers.aws.cluster.address_plan import Slot
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan, PlannedSubnet, Vpc
from freehold.providers.aws.cluster.nodes.given import given_node
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.kinds.internet_gateway import ATTACHMENT
from freehold.providers.aws.kinds.subnet import IPV6_CIDR
from freehold.providers.aws.kinds.vpc import CIDR
from freehold.providers.aws.tags import capa_tags


def network_nodes(plan: ClusterPlan, tags: NodeTags) -> Iterator[Node]:
    if plan.vpc.given:
        yield given_node(keys.VPC, plan.vpc.given, "spec.network.vpc.id")
        for each in plan.subnets:
            field = f"spec.network.subnets[{each.given}].id"
            yield given_node(keys.subnet(each.logical), each.given, field, tags.given_subnet(each))
        return
    yield _vpc(plan.vpc, tags)
    for each in plan.subnets:
        yield _subnet(each, tags)
    yield _internet_gateway(tags)
    if plan.vpc.ipv6:
        yield _egress_gateway(tags)


def _vpc(vpc: Vpc, tags: NodeTags) -> Node:
    """Make the VPC. It resolves and gives names, as upstream's does: load balancers and nodes are found by name."""
    request = {
        "name": vpc.name,
        "cidr": vpc.cidr,
        "ipv6": vpc.ipv6,
        "enable_dns_support": True,
        "enable_dns_hostnames": True,
    }
    blocks = frozenset(Part(CIDR, block) for block in vpc.secondary)
    own = tags.own(capa_tags.vpc(tags.cluster))
    return Node(
        keys.VPC,
        vpc.name,
        lambda known: request,
        parts=lambda known: blocks,
        field="spec.network.vpc",
        part_field=lambda part: f"spec.network.vpc.secondaryCidrBlocks[{part.natural_key}]",
        tags=own,
    )


def _subnet(subnet: PlannedSubnet, tags: NodeTags) -> Node:
    derived, listed = Slot.parse_name(subnet.logical) is not None, f"spec.network.subnets[{subnet.name}]"
    return Node(
        keys.subnet(subnet.logical),
        subnet.name,
        partial(_subnet_request, subnet),
        requires=frozenset({keys.VPC}),
        parts=partial(_subnet_parts, subnet),
        field="spec.network.vpc.cidrBlock" if derived else listed,
        part_field=lambda part: "spec.network.vpc.ipv6" if derived else f"{listed}.ipv6CidrBlock",
        tags=tags.subnet(subnet),
    )


def _subnet_request(subnet: PlannedSubnet, known: ReadyNodes) -> Request:
    block = _ipv6_block(subnet, known)
    request: dict[str, Any] = {
        "name": subnet.name,
        "vpc_id": known[keys.VPC].id,
        "zone": subnet.zone,
        "cidr": subnet.cidr,
        "map_public_ip_on_launch": subnet.public,
        "assign_ipv6_address_on_creation": bool(block),
    }
    return request | ({"ipv6_cidr": block} if block else {})


def _subnet_parts(subnet: PlannedSubnet, known: ReadyNodes) -> frozenset[Part]:
    block = _ipv6_block(subnet, known)
    return frozenset({Part(IPV6_CIDR, block)} if block else ())


def _ipv6_block(subnet: PlannedSubnet, known: ReadyNodes) -> str:
    """Return the /64; empty where the subnet has none, and while the VPC has no range: it is then added later.

    In a plan the range of a VPC that does not exist is not known, nor what is cut from it.
    """
    if subnet.ipv6 or subnet.ipv6_number is None:
        return subnet.ipv6
    ranges = known[keys.VPC].attributes.get("ipv6_cidrs") or ()
    if not ranges or is_planned(ranges[0]):
        return ranges[0] if ranges else ""
    first = int(IPv6Network(ranges[0]).network_address)
    return str(IPv6Network((first + (subnet.ipv6_number << 64), 64)))


def _internet_gateway(tags: NodeTags) -> Node:
    capa = capa_tags.internet_gateway(tags.cluster)
    return Node(
        keys.INTERNET_GATEWAY,
        capa.name,
        lambda known: {"name": capa.name},
        requires=frozenset({keys.VPC}),
        parts=lambda known: frozenset({Part(ATTACHMENT, known[keys.VPC].id)}),
        tags=tags.own(capa),
    )


def _egress_gateway(tags: NodeTags) -> Node:
    capa = capa_tags.egress_only_gateway(tags.cluster)
    return Node(
        keys.EGRESS_GATEWAY,
        capa.name,
        lambda known: {"name": capa.name, "vpc_id": known[keys.VPC].id},
        requires=frozenset({keys.VPC}),
        tags=tags.own(capa),
    )
