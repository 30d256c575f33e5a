"""Checks of the spec of an IBMPowerVSCluster: what is wrong, where, what to do.

What must be given: docs/reference/requirements.md I6, I13, I22; what not together: I24.

The rules of the schema are checked here, too (``types/rules.py``), beside what depends on the
create-infra annotation, and what the cloud would refuse halfway.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping

from freehold.api.parse import broken_rules
from freehold.api.rules import RANGE
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs import names
from freehold.providers.ibm.powervs.create_infra import CreateInfra, create_infra
from freehold.providers.ibm.powervs.facts import PowerVSFacts, needs_global_routing
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec
from freehold.providers.ibm.tag_dialect import IBM
from freehold.providers.objects.cloud_answers import Answer, NotThere
from freehold.providers.objects.spec_problems import SpecProblem
from freehold.tags.policy.protected import IgnoreList, KeyAccess, access

Checks = Iterator[SpecProblem]
_SMALLEST_SUBNET = 29
"""In bits of the prefix: 8 addresses (https://cloud.ibm.com/docs/vpc?topic=vpc-about-networking-for-vpc)."""


def creation(annotations: Mapping[str, str]) -> bool | SpecProblem:
    """Return whether the infrastructure is to be created, or what is wrong with the annotation that says so."""
    match create_infra(annotations):
        case CreateInfra.REQUESTED:
            return True
        case CreateInfra.NOT_REQUESTED:
            return False
    value = annotations[ibm_names.CREATE_INFRA_ANNOTATION]
    return SpecProblem(
        f"metadata.annotations[{ibm_names.CREATE_INFRA_ANNOTATION}]",
        f"{value!r} is not a boolean; write 'true' or 'false'",
    )


def check(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> tuple[SpecProblem, ...]:
    """Find everything that must be changed before the infrastructure can be created."""
    parts = (_id_or_name, _place, _names, _network, _subnets, _groups, _gateway, _load_balancers, _object_storage)
    return (*(problem for part in parts for problem in part(spec, facts)), *broken_rules(spec, "spec"))


def _id_or_name(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Checks:
    """Check that one of the two is given, or nobody can tell which is meant (docs/reference/requirements.md I24)."""
    yield from one_workspace(spec)
    yield from protected_tags(spec)
    if spec.vpc and spec.vpc.id and spec.vpc.name:
        yield SpecProblem("spec.vpc", f"id {spec.vpc.id!r} and name {spec.vpc.name!r} are both set; give one of them")


def one_workspace(spec: IBMPowerVSClusterSpec) -> Checks:
    """Check the deprecated field beside its successor: the same id, or a person must say which one is meant."""
    old, new = spec.service_instance_id, spec.service_instance
    if old and new and (new.id or new.name) and (new.id or old) != old:
        yield SpecProblem(
            "spec.serviceInstanceID", f"{old!r} is not spec.serviceInstance.id {new.id!r}; remove one of them"
        )
    elif old and new and new.name and not new.id:
        yield SpecProblem(
            "spec.serviceInstanceID", f"spec.serviceInstance.name {new.name!r} is set too; remove one of them"
        )


def protected_tags(spec: IBMPowerVSClusterSpec) -> Checks:
    """Check the tags, which are on existing resources too: none may say that one is a cluster's, or a controller's."""
    for index, tag in enumerate(spec.tags):
        if access(IBM, tag.key, IgnoreList()) is KeyAccess.PROTECTED:
            yield SpecProblem(
                f"spec.tags[{index}].key",
                f"{tag.key!r} would be put on existing resources, too, and controllers of clusters decide by such keys "
                "what they may use and delete; choose another",
            )


def _place(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Checks:
    if not (spec.resource_group and spec.resource_group.name):
        yield SpecProblem("spec.resourceGroup.name", "it is missing; name the resource group in which to create")
    elif isinstance(facts.resource_group, NotThere):
        yield SpecProblem(
            "spec.resourceGroup.name", _unknown("resource group", spec.resource_group.name, facts.resource_group)
        )
    if not spec.zone:
        yield SpecProblem("spec.zone", "it is missing; give the PowerVS zone in which to create, for example dal10")
    elif isinstance(facts.zone, NotThere):
        yield SpecProblem("spec.zone", _unknown("PowerVS zone", spec.zone, facts.zone))
    elif isinstance(facts.zone, Answer) and not facts.zone.value.edge_router:
        yield SpecProblem(
            "spec.zone",
            f"zone {spec.zone!r} has no Power Edge Router, which the transit gateway needs; choose a zone that has one",
        )
    region = spec.vpc.region if spec.vpc else None
    if not region:
        yield SpecProblem(
            "spec.vpc.region", "it is missing; give the VPC region in which to create, for example us-south"
        )
    elif isinstance(facts.vpc_zones, NotThere):
        yield SpecProblem("spec.vpc.region", _unknown("VPC region", region, facts.vpc_zones))


def _unknown(what: str, value: str, answer: NotThere) -> str:
    choice = f"choose one of {', '.join(answer.known)}" if answer.known else "correct it"
    return f"there is no {what} {value!r}; {choice}"


def _names(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Checks:
    named: list[tuple[str, str | None, names.NameRule]] = []
    if spec.service_instance and not spec.service_instance.id:
        named.append(("spec.serviceInstance.name", spec.service_instance.name, names.INSTANCE))
    if spec.network and not spec.network.id:
        named.append(("spec.network.name", spec.network.name, names.NETWORK))
    if spec.dhcp_server and not spec.dhcp_server.id:
        named.append(("spec.dhcpServer.name", spec.dhcp_server.name, names.DHCP))
    if spec.vpc and not spec.vpc.id:
        named.append(("spec.vpc.name", spec.vpc.name, names.VPC))
    named += [(f"spec.vpcSubnets[{i}].name", s.name, names.VPC) for i, s in enumerate(spec.vpc_subnets) if not s.id]
    groups = enumerate(spec.vpc_security_groups)
    named += [(f"spec.vpcSecurityGroups[{i}].name", g.name, names.VPC) for i, g in groups if not g.id]
    if spec.transit_gateway and not spec.transit_gateway.id:
        named.append(("spec.transitGateway.name", spec.transit_gateway.name, names.GATEWAY))
    named += [
        (f"spec.loadBalancers[{i}].name", b.name, names.VPC) for i, b in enumerate(spec.load_balancers) if not b.id
    ]
    if spec.cos_instance:
        named.append(("spec.cosInstance.name", spec.cos_instance.name, names.INSTANCE))
        named.append(("spec.cosInstance.bucketName", spec.cos_instance.bucket_name, names.BUCKET))
    for field, name, rule in named:
        if name and (validation_error := rule.validation_error(name)):
            yield SpecProblem(field, validation_error)


def _network(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Checks:
    dhcp = spec.dhcp_server
    if dhcp is None:
        return
    if spec.network and (spec.network.id or spec.network.name) and (dhcp.id or dhcp.name):
        field = "spec.dhcpServer." + ("id" if dhcp.id else "name")
        yield SpecProblem(field, "spec.network names the network already; give one of the two, not both")
    if dhcp.cidr and not dhcp.id:
        yield from _first_address("spec.dhcpServer.cidr", dhcp.cidr)
    if not dhcp.dns_server and not dhcp.id:
        yield SpecProblem("spec.dhcpServer.dnsServer", "it is empty; give an IPv4 address like 1.1.1.1, or remove it")


def _first_address(field: str, text: str) -> Checks:
    """Check that a range has no host bits; what is none is refused by ``types/rules.py``."""
    if re.fullmatch(RANGE, text):
        network = ipaddress.IPv4Network(text, strict=False)
        if str(network) != text:
            yield SpecProblem(field, f"{text!r} is not the first address of a range with its length; write {network}")


def _subnets(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Checks:
    ranges: list[tuple[str, ipaddress.IPv4Network]] = []
    for index, subnet in enumerate(spec.vpc_subnets):
        field = f"spec.vpcSubnets[{index}]"
        if subnet.cidr and not subnet.id:
            yield from _subnet_range(f"{field}.cidr", subnet.cidr, ranges)
        zones = facts.vpc_zones
        if subnet.zone and not subnet.id and isinstance(zones, Answer) and subnet.zone not in zones.value:
            region = spec.vpc.region if spec.vpc else ""
            message = f"VPC region {region!r} has no zone {subnet.zone!r}; choose one of {', '.join(zones.value)}"
            yield SpecProblem(f"{field}.zone", message)


def _subnet_range(field: str, value: str, earlier: list[tuple[str, ipaddress.IPv4Network]]) -> Checks:
    """Check a range against ``earlier`` ones, and add it to them if it is legal."""
    problems = list(_first_address(field, value))
    yield from problems
    if problems or not re.fullmatch(RANGE, value):
        return
    network = ipaddress.IPv4Network(value)
    if network.prefixlen > _SMALLEST_SUBNET:
        yield SpecProblem(field, f"{value!r} has {network.num_addresses} addresses; a subnet has at least 8")
    for other, taken in earlier:
        if network.overlaps(taken):
            yield SpecProblem(field, f"{value!r} overlaps {other} {str(taken)!r}; give each subnet a range of its own")
    earlier.append((field, network))


def _groups(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Checks:
    groups = {g.name for g in spec.vpc_security_groups}
    subnets = {s.name for s in spec.vpc_subnets}
    for i, group in enumerate(spec.vpc_security_groups):
        for j, rule in enumerate(group.rules):
            end, prototype = ("source", rule.source) if rule.source else ("destination", rule.destination)
            for k, remote in enumerate(prototype.remotes if prototype else ()):
                field = f"spec.vpcSecurityGroups[{i}].rules[{j}].{end}.remotes[{k}]"
                if remote.security_group_name and remote.security_group_name not in groups:
                    yield SpecProblem(
                        f"{field}.securityGroupName",
                        f"{remote.security_group_name!r} is no group of spec.vpcSecurityGroups; add it there",
                    )
                if remote.cidr_subnet_name and remote.cidr_subnet_name not in subnets:
                    yield SpecProblem(
                        f"{field}.cidrSubnetName",
                        f"{remote.cidr_subnet_name!r} is no subnet of spec.vpcSubnets; add it there",
                    )


def _gateway(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Checks:
    gateway, region = spec.transit_gateway, spec.vpc.region if spec.vpc else None
    if gateway is None or gateway.id or gateway.global_routing is not False or not region:
        return
    if isinstance(facts.zone, Answer) and needs_global_routing(facts.zone.value.region, region):
        yield SpecProblem(
            "spec.transitGateway.globalRouting",
            "global routing is required since PowerVS and VPC region are from different region: zone "
            f"{spec.zone!r}, VPC region {region!r}; set it to true or leave it out",
        )


def _load_balancers(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Checks:
    balancers = spec.load_balancers
    groups, subnets = {g.name for g in spec.vpc_security_groups}, {s.name for s in spec.vpc_subnets}
    for index, balancer in enumerate(balancers):
        field = f"spec.loadBalancers[{index}]"
        for i, listener in enumerate(balancer.additional_listeners):
            if listener.port == facts.api_port:
                message = f"port {listener.port} is the API server's and is listened on already; remove it"
                yield SpecProblem(f"{field}.additionalListeners[{i}].port", message)
        for i, reference in enumerate(balancer.security_groups):
            if not reference.id and reference.name not in groups:
                message = f"{reference.name!r} is no group of spec.vpcSecurityGroups; add it there, or give its id"
                yield SpecProblem(f"{field}.securityGroups[{i}].name", message)
        for i, reference in enumerate(balancer.subnets):
            if not reference.id and reference.name not in subnets:
                message = f"{reference.name!r} is no subnet of spec.vpcSubnets; add it there, or give its id"
                yield SpecProblem(f"{field}.subnets[{i}].name", message)


def _object_storage(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Checks:
    """Check the three fields of the bucket, which Ignition needs (docs/reference/requirements.md I22)."""
    if spec.ignition is None:
        return
    cos = spec.cos_instance
    fields = {
        "name": cos and cos.name,
        "bucketName": cos and cos.bucket_name,
        "bucketRegion": cos and cos.bucket_region,
    }
    for field, value in fields.items():
        if not value:
            yield SpecProblem(f"spec.cosInstance.{field}", "it is missing, and spec.ignition needs it; set it")
