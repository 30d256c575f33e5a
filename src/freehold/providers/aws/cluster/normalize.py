"""The way from the spec of an AWSCluster to its cluster plan: a pure function of spec, facts and what is on record.

Two spellings of one cluster plan give equal values: a default written or left out, lists in another order, host bits
in a range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster import node_sources
from freehold.providers.aws.cluster.address_plan import NoRoom
from freehold.providers.aws.cluster.cluster_plan import (
    Bucket,
    CallerIdentity,
    ClusterPlan,
    Group,
    NatGateway,
    PlannedBastion,
    PlannedSubnet,
    Role,
    Source,
    SourceKind,
    Vpc,
)
from freehold.providers.aws.cluster.facts import AWSClusterFacts, Recorded
from freehold.providers.aws.cluster.load_balancers import Front, failure_domains
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.rules import Firewall
from freehold.providers.aws.cluster.subnets import given_subnets, homes, nat_gateways, normal_block, own_subnets
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec, S3Bucket
from freehold.providers.aws.types.network import NetworkSpec, VPCSpec
from freehold.providers.aws.types.rules import DEFAULT_VPC_RANGE
from freehold.providers.objects.cloud_answers import Answer

_PARTITIONS = (
    ("cn-", "aws-cn"),
    ("us-gov-", "aws-us-gov"),
    ("us-isob-", "aws-iso-b"),
    ("us-isof-", "aws-iso-f"),
    ("us-iso-", "aws-iso"),
    ("eu-isoe-", "aws-iso-e"),
    ("eusc-", "aws-eusc"),
)
"""By prefix of the region (https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html)."""
DEFAULT_KEY = "default"
"""Upstream's name of the SSH key where the spec has none."""
_NO_IDENTITY = CallerIdentity(aws_names.AWS_CONTROLLER_IDENTITY_KIND, aws_names.AWS_CONTROLLER_IDENTITY_NAME)


def partition_of(region: str) -> str:
    """Return the partition that a region is in."""
    return next((partition for prefix, partition in _PARTITIONS if region.startswith(prefix)), "aws")


def normalize_spec(
    names: AWSClusterNames, spec: AWSClusterSpec, facts: AWSClusterFacts, *, storage: bool = False
) -> ClusterPlan:
    """Make the cluster plan of a spec in which :mod:`spec_checks` found nothing, with facts that are all in.

    ``storage``: whether ``s3Bucket`` is acted on (feature gate BootstrapFormatIgnition). Raises ValueError for a spec
    that was not checked.
    """
    network = spec.network or NetworkSpec()
    vpc = wanted_vpc(network.vpc, names, facts.recorded)
    listed = wanted_subnets(network, vpc, names, facts)
    if isinstance(listed, NoRoom):
        raise ValueError(f"{vpc.cidr} has no room for {listed.subnets} subnets")
    subnets = tuple(sorted(listed, key=lambda one: one.logical))
    public = homes(listed, facts.recorded)
    gateways = () if vpc.given else nat_gateways(subnets, public)
    front = Front(names, facts.api_port, listed, public, vpc.ipv6, facts.recorded, _zones_beside(facts))
    balancers = front.load_balancers(spec)
    nodes_from = node_sources.addresses(subnets, facts) if vpc.given else ()
    identity = spec.identity_ref
    return ClusterPlan(
        region=spec.region or "",
        partition=spec.partition or partition_of(spec.region or ""),
        identity=CallerIdentity(identity.kind, identity.name) if identity else _NO_IDENTITY,
        vpc=vpc,
        subnets=subnets,
        nat_gateways=gateways,
        given_nat_addresses=nodes_from,
        groups=_groups(spec, names, Firewall(spec, vpc, facts.api_port, _nat_sources(gateways, nodes_from))),
        load_balancers=balancers,
        bastion=_bastion(spec, public, _held_home(subnets, facts.recorded)),
        bucket=_bucket(spec.s3_bucket) if storage and spec.s3_bucket else None,
        tags=tuple(sorted(spec.additional_tags.items())),
        failure_domains=failure_domains(subnets, balancers),
    )


def _nat_sources(own: Sequence[NatGateway], given: Sequence[str]) -> tuple[Source, ...]:
    """Return the sources: of a given VPC by address; ours are named, as they have none before they are made."""
    return (Source(SourceKind.NAT_GATEWAYS),) if own else tuple(Source(SourceKind.IPV4, f"{each}/32") for each in given)


def wanted_vpc(spec: VPCSpec | None, names: AWSClusterNames, recorded: Recorded) -> Vpc:
    """Return the VPC that the spec means; the id of the object's own one means that."""
    spec = spec or VPCSpec()
    if given := recorded.given_vpc_of(spec):
        return Vpc(given=given, ipv6=spec.ipv6 is not None)
    secondary = {normal_block(each.ipv4_cidr_block) for each in spec.secondary_cidr_blocks}
    cidr = normal_block(spec.cidr_block or DEFAULT_VPC_RANGE)
    return Vpc("", names.vpc, cidr, tuple(sorted(secondary)), ipv6=spec.ipv6 is not None)


def wanted_subnets(
    network: NetworkSpec, vpc: Vpc, names: AWSClusterNames, facts: AWSClusterFacts
) -> tuple[PlannedSubnet, ...] | NoRoom:
    """Return the subnets as the spec lists them; NoRoom where the range is too small for derived ones."""
    if vpc.given:
        there = facts.network.value.subnets if isinstance(facts.network, Answer) else {}
        return given_subnets(network.subnets, there)
    zones = facts.zones.value if isinstance(facts.zones, Answer) else ()
    return own_subnets(network, names, zones, facts.recorded)


def _zones_beside(facts: AWSClusterFacts) -> dict[str, str]:
    """Return the zones of all subnets of a given VPC, by id, as far as they are known."""
    there = facts.network.value.subnets if isinstance(facts.network, Answer) else {}
    return {ident: each.zone for ident, each in there.items()}


def wanted_roles(spec: AWSClusterSpec) -> tuple[Role, ...]:
    """Return the roles of the security groups that a cluster has."""
    machines = (Role.API_SERVER_LB, Role.CONTROL_PLANE, Role.LB, Role.NODE)
    common = (Role.EKS_NODE,) if spec.IS_EKS else machines
    return (Role.BASTION, *common) if spec.bastion and spec.bastion.enabled else common


def _groups(spec: AWSClusterSpec, names: AWSClusterNames, firewall: Firewall) -> tuple[Group, ...]:
    overrides = spec.network.security_group_overrides if spec.network else {}
    found = []
    for role in wanted_roles(spec):
        given = overrides.get(role.value, "")
        rules = () if given and role is not Role.LB else firewall.rules(role)
        found.append(Group(role, "" if given else names.group(role.value), given, rules))
    return tuple(found)


def _held_home(subnets: Sequence[PlannedSubnet], recorded: Recorded) -> str:
    """Return the public subnet that the bastion is in; empty where there is none, or the spec took it away."""
    return next((each.logical for each in subnets if each.public and each.logical == recorded.bastion), "")


def _bastion(spec: AWSClusterSpec, public: Mapping[str, str], held: str) -> PlannedBastion | None:
    """Make the bastion with upstream's defaults, in the first public subnet.

    One that is there stays where it is (``held``). ``public``: by zone.
    """
    if not (spec.bastion and spec.bastion.enabled):
        return None
    usual = "t2.micro" if spec.region == "us-east-1" else "t3.micro"
    first = public[min(public)] if public else ""
    key = DEFAULT_KEY if spec.ssh_key_name is None else spec.ssh_key_name
    return PlannedBastion(spec.bastion.instance_type or usual, spec.bastion.ami or "", key, held or first)


def _bucket(spec: S3Bucket) -> Bucket:
    """Make the bucket. With presigned URLs nobody needs an instance profile to read."""
    if spec.presigned_url_duration:
        return Bucket(spec.name, presigned=spec.presigned_url_duration)
    profiles = tuple(sorted(set(spec.nodes_iam_instance_profiles)))
    return Bucket(spec.name, spec.control_plane_iam_instance_profile or "", profiles)
