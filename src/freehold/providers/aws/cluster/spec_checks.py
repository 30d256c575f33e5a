"""Checks of the spec of an AWSCluster: what is wrong, where, what to do.

A schema has refused most of it when the object was applied. This says the same of objects that no such API server
checked, by the same rules (``types/rules.py``), and what no schema can know: ranges that overlap, zones and regions
that do not exist.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from ipaddress import IPv4Address
from typing import Any

from freehold.api.parse import broken_rules
from freehold.api.served import ServedName
from freehold.providers.aws.cluster import balancer_checks, given_checks, group_checks, network_checks, tag_checks
from freehold.providers.aws.cluster.cluster_plan import Role
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.cluster.names import NAME_LIMIT, AWSClusterNames
from freehold.providers.aws.cluster.normalize import partition_of, wanted_roles
from freehold.providers.aws.cluster.rules import ingress_rules
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.types.network import CNIIngressRule, IngressRule, NetworkSpec, VPCSpec
from freehold.providers.objects.cloud_answers import Answer, NotThere
from freehold.providers.objects.served_fields import find_refused_fields
from freehold.providers.objects.spec_problems import SpecProblem

Checks = Iterator[SpecProblem]
_TEXT = re.compile(r"[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{0,255}")
"""Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpRange.html"""
_PROTOCOLS = ("-1", "4", "tcp", "udp", "icmp", "58", "50")
_ICMP = ("icmp", "58")
_SSH_KEY = re.compile(r"[!-~]+([ -~]*[!-~]+)*")


def check(
    names: AWSClusterNames,
    raw: Mapping[str, Any],
    spec: AWSClusterSpec,
    facts: AWSClusterFacts,
    *,
    storage: bool = False,
    served: ServedName = AWS_CLUSTER,
) -> tuple[SpecProblem, ...]:
    """Find everything that must be changed before anything is created, in the order of the docs.

    ``raw`` is the object that ``spec`` was parsed from. ``storage``: whether ``s3Bucket`` is acted on; it is not
    checked otherwise. ``served`` is the kind of the object, whose fields they are.
    """
    parts = (
        _name(names),
        find_refused_fields(served.fields, raw),
        _place(spec, facts),
        broken_rules(_without_unused(spec, facts, storage=storage), "spec"),
        tag_checks.check(names, spec, facts),
        network_checks.check(names, spec, facts),
        _ingress(spec),
        balancer_checks.check(names, spec, facts),
        given_checks.check(spec, facts),
        given_checks.check_families(spec, facts),
        group_checks.check(spec, facts),
        _bastion(spec, facts),
        _bucket(spec) if storage else (),
    )
    return tuple(problem for part in parts for problem in part)


def _without_unused(spec: AWSClusterSpec, facts: AWSClusterFacts, *, storage: bool) -> AWSClusterSpec:
    """Leave out what is not acted on: a bucket without its gate, ranges of a given VPC and of its subnets."""
    unused: dict[str, object] = {} if storage else {"s3_bucket": None}
    if spec.network and (given := facts.recorded.given_vpc_of(spec.network.vpc)):
        unused["network"] = spec.network.model_copy(update={"vpc": VPCSpec(id=given), "subnets": ()})
    return spec.model_copy(update=unused)


def _name(names: AWSClusterNames) -> Checks:
    if len(names.cluster) > NAME_LIMIT:
        yield SpecProblem(
            "metadata.name",
            f"{names.cluster!r} has {len(names.cluster)} characters; it is part of a tag's key, which leaves "
            f"{NAME_LIMIT}: choose a shorter name",
        )


def _place(spec: AWSClusterSpec, facts: AWSClusterFacts) -> Checks:
    if not spec.region:
        yield SpecProblem("spec.region", "it is missing; give the AWS region, for example eu-central-1")
        return
    if isinstance(facts.zones, NotThere):
        known = facts.zones.known
        choice = f"choose one of {', '.join(known)}" if known else "correct it"
        yield SpecProblem("spec.region", f"there is no AWS region {spec.region!r}; {choice}")
    elif isinstance(facts.zones, Answer) and not facts.zones.value:
        yield SpecProblem("spec.region", f"region {spec.region!r} has no availability zone for you; enable the region")
    right = partition_of(spec.region)
    if spec.partition and spec.partition != right:
        yield SpecProblem(
            "spec.partition", f"region {spec.region!r} is in partition {right!r}; write that, or remove it"
        )


def _bastion(spec: AWSClusterSpec, facts: AWSClusterFacts) -> Checks:
    if isinstance(facts.image, NotThere):
        yield SpecProblem(
            "spec.bastion.ami", f"AWS offers no image by default in {spec.region}; give the id of one, like ami-…"
        )
    if spec.ssh_key_name and not _SSH_KEY.fullmatch(spec.ssh_key_name):
        yield SpecProblem(
            "spec.sshKeyName",
            f"{spec.ssh_key_name!r} is not the name of an SSH key: ASCII, without spaces at its ends; correct it",
        )


def _bucket(spec: AWSClusterSpec) -> Checks:
    bucket = spec.s3_bucket
    if bucket is None:
        return
    try:
        IPv4Address(bucket.name)
    except ValueError:
        pass
    else:
        yield SpecProblem(
            "spec.s3Bucket.name", f"{bucket.name!r} is an address, which AWS refuses; choose another name"
        )
    if bucket.presigned_url_duration:
        return
    if not bucket.control_plane_iam_instance_profile:
        yield SpecProblem(
            "spec.s3Bucket.controlPlaneIAMInstanceProfile",
            "it is missing; name the profile that may read, or set presignedURLDuration",
        )
    profiles = bucket.nodes_iam_instance_profiles
    if not profiles or "" in profiles:
        where = f"[{profiles.index('')}]" if "" in profiles else ""
        yield SpecProblem(
            f"spec.s3Bucket.nodesIAMInstanceProfiles{where}",
            "it is missing; name the profiles that may read, or set presignedURLDuration",
        )


def _ingress(spec: AWSClusterSpec) -> Checks:
    """Check all ingress rules, in the order of the spec."""
    network = spec.network or NetworkSpec()
    cni = "spec.network.cni.cniIngressRules"
    for index, rule in enumerate(network.cni.cni_ingress_rules if network.cni else ()):
        if rule.protocol not in _PROTOCOLS:
            known = ", ".join(_PROTOCOLS)
            yield SpecProblem(f"{cni}[{index}].protocol", f"{rule.protocol!r} is no protocol; write one of {known}")
        yield from _ports(f"{cni}[{index}]", rule)
        yield from _icmp(f"{cni}[{index}]", rule)
        yield from _description(f"{cni}[{index}]", rule)
    roles = {role.value for role in wanted_roles(spec)}
    for field, _, each in ingress_rules(spec):
        yield from _rule(field, each, roles)


def _rule(field: str, rule: IngressRule, roles: Collection[str]) -> Checks:
    yield from _ports(field, rule)
    yield from _icmp(field, rule)
    yield from _description(field, rule)
    for index, role in enumerate(rule.source_security_group_roles):
        yield from _role(f"{field}.sourceSecurityGroupRoles[{index}]", role, roles)


def _role(field: str, role: str, roles: Collection[str]) -> Checks:
    """Check a role that a rule names. ``roles`` are those of the cluster's groups."""
    if role == Role.EKS_NODE and role not in roles:
        yield SpecProblem(field, f"{role!r} is a security group of EKS; this cluster has none; remove it")
    elif role == Role.BASTION and role not in roles:
        yield SpecProblem(field, "there is no bastion, so it has no security group; set bastion.enabled, or remove it")
    elif role not in roles:
        known = ", ".join(sorted(roles))
        yield SpecProblem(field, f"this cluster has no security group {role!r}; choose among {known}, or remove it")


def _ports(field: str, rule: IngressRule | CNIIngressRule) -> Checks:
    first, last = rule.from_port, rule.to_port
    if rule.protocol in ("tcp", "udp") and not 0 <= first <= last <= 65535:
        yield SpecProblem(
            field, f"{first} to {last} is no range of ports; fromPort is at most toPort, within 0 to 65535"
        )


def _icmp(field: str, rule: IngressRule | CNIIngressRule) -> Checks:
    """Check type and code, which the ports are there.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpPermission.html
    """
    kind, code = rule.from_port, rule.to_port
    if rule.protocol not in _ICMP:
        return
    if not (-1 <= kind <= 255 and -1 <= code <= 255):
        yield SpecProblem(field, f"{kind} and {code} are no type and code of ICMP; write -1 for all, or 0 to 255")
    elif kind == -1 and code != -1:
        yield SpecProblem(field, f"code {code} of all types of ICMP is no rule; write -1 as toPort, or name the type")


def _description(field: str, rule: IngressRule | CNIIngressRule) -> Checks:
    if not _TEXT.fullmatch(rule.description):
        yield SpecProblem(
            f"{field}.description",
            "AWS refuses it; a description has at most 255 letters, digits, spaces and . _ - : / ( ) # , @ [ ] + = & ; "
            "{ } ! $ *",
        )
