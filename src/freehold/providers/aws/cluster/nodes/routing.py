"""The ways out of subnets: addresses, NAT gateways, a route table for each subnet, and the endpoint of S3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from freehold.engine.graph import Node, ReadyNodes
from freehold.engine.resources import NodeKey, Part
from freehold.providers.aws.cluster import keys
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan, NatGateway, PlannedSubnet
from freehold.providers.aws.cluster.nodes.tags import NodeTags, reach_of
from freehold.providers.aws.kinds.route_table import ASSOCIATION, ROUTE
from freehold.providers.aws.kinds.vpc_endpoint import ROUTE_TABLE
from freehold.providers.aws.tags import capa_tags

_ANY_IPV4, _ANY_IPV6 = "0.0.0.0/0", "::/0"
Ways = Mapping[str, NodeKey]
"""What leads out, by destination."""


def address_of(nat: NatGateway) -> NodeKey:
    return NodeKey(keys.ELASTIC_IP_KIND, nat.logical)


def gateway_of(nat: NatGateway) -> NodeKey:
    return NodeKey(keys.NAT_GATEWAY_KIND, nat.logical)


def routing_nodes(plan: ClusterPlan, tags: NodeTags) -> Iterator[Node]:
    """Yield gateways and routes; none in a given VPC, whose routes are its owner's."""
    if plan.vpc.given:
        return
    for nat in plan.nat_gateways:
        yield _address(nat, tags)
        yield _nat_gateway(nat, tags)
    nats = {nat.zone: gateway_of(nat) for nat in plan.nat_gateways}
    for each in plan.subnets:
        yield _route_table(each, _ways(each, nats, ipv6=plan.vpc.ipv6), tags)
    if plan.bucket:
        yield _s3_endpoint(plan, tags)


def _address(nat: NatGateway, tags: NodeTags) -> Node:
    capa = capa_tags.elastic_ip(tags.cluster)
    return Node(address_of(nat), capa.name, lambda known: {"name": capa.name}, tags=tags.own(capa), place=nat.zone)


def _nat_gateway(nat: NatGateway, tags: NodeTags) -> Node:
    """Make a NAT gateway, which needs a VPC that has an internet gateway.

    https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-working-with.html
    """
    address, subnet = address_of(nat), keys.subnet(nat.subnet)
    capa = capa_tags.nat_gateway(tags.cluster)
    return Node(
        gateway_of(nat),
        capa.name,
        lambda known: {"name": capa.name, "subnet_id": known[subnet].id, "allocation_id": known[address].id},
        requires=frozenset({keys.VPC, keys.INTERNET_GATEWAY, subnet, address}),
        tags=tags.own(capa),
        place=nat.zone,
    )


def _ways(subnet: PlannedSubnet, nats: Mapping[str, NodeKey], *, ipv6: bool) -> Ways:
    """Return the routes out. A private subnet in a zone without NAT gateway has none over IPv4."""
    if subnet.public:
        return {_ANY_IPV4: keys.INTERNET_GATEWAY} | ({_ANY_IPV6: keys.INTERNET_GATEWAY} if ipv6 else {})
    four = {_ANY_IPV4: nats[subnet.zone]} if subnet.zone in nats else {}
    return four | ({_ANY_IPV6: keys.EGRESS_GATEWAY} if ipv6 else {})


def _route_table(subnet: PlannedSubnet, ways: Ways, tags: NodeTags) -> Node:
    """Make a route table. It does not wait for a NAT gateway, which takes long: its parts do."""
    slow = frozenset(way for way in ways.values() if way.kind == keys.NAT_GATEWAY_KIND)
    capa = capa_tags.route_table(tags.cluster, reach_of(subnet), subnet.zone)
    return Node(
        keys.route_table(subnet.logical),
        capa.name,
        lambda known: {"name": capa.name, "vpc_id": known[keys.VPC].id},
        requires=frozenset({keys.VPC, keys.subnet(subnet.logical), *ways.values()}) - slow,
        parts=partial(_build_parts, subnet, ways),
        parts_require=slow,
        tags=tags.own(capa),
    )


def _build_parts(subnet: PlannedSubnet, ways: Ways, known: ReadyNodes) -> frozenset[Part]:
    association = Part(ASSOCIATION, known[keys.subnet(subnet.logical)].id)
    return frozenset({association, *(_route(to, known[way].id) for to, way in ways.items())})


def _route(destination: str, target: str) -> Part:
    member = "DestinationIpv6CidrBlock" if ":" in destination else "DestinationCidrBlock"
    return Part(ROUTE, destination, {member: destination}, behavior=target)


def _s3_endpoint(plan: ClusterPlan, tags: NodeTags) -> Node:
    """Make the endpoint by which machines read bootstrap data without a NAT gateway, as upstream beside a bucket."""
    tables = frozenset(keys.route_table(each.logical) for each in plan.subnets)
    service = f"com.amazonaws.{plan.region}.s3"
    return Node(
        keys.S3_ENDPOINT,
        service,
        lambda known: {
            "vpc_id": known[keys.VPC].id,
            "service_name": service,
            "route_table_ids": sorted(known[table].id for table in tables),
        },
        requires=frozenset({keys.VPC, *tables}),
        parts=lambda known: frozenset(Part(ROUTE_TABLE, known[table].id) for table in tables),
        tags=tags.own(capa_tags.vpc_endpoint()),
    )
