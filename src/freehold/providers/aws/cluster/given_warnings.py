"""Where the spec of an AWSCluster says of subnets that are there what they are not: they are used as they are.

Upstream writes what AWS has over these fields of its spec; here the spec stays a person's, who is told.
https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/network/subnets.go
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from freehold.providers.aws.cluster.address_plan import Slot
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.subnets import normal_block
from freehold.providers.aws.tags.capa_tags import is_for_pods
from freehold.providers.aws.types.network import NetworkSpec, SubnetSpec, VPCSpec
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.spec_problems import SpecWarning

SpecWarnings = Iterator[SpecWarning]
_MEND = "correct the field, or remove it"


@dataclass(frozen=True)
class _There:
    """A subnet, given or derived. ``ipv6``: it has an IPv6 range."""

    id: str
    zone: str
    cidr: str
    public: bool
    ipv6: bool


def given_warnings(network: NetworkSpec, facts: AWSClusterFacts) -> SpecWarnings:
    """Compare the spec with a given VPC, its subnets, and own derived subnets that the spec lists by their ids."""
    vpc = network.vpc or VPCSpec()
    given = bool(facts.recorded.given_vpc_of(vpc))
    if given:
        for name, value in (("cidrBlock", vpc.cidr_block), ("secondaryCidrBlocks", vpc.secondary_cidr_blocks)):
            if value:
                yield SpecWarning(f"spec.network.vpc.{name}", "not acted on; a VPC given by its id is never changed")
    found = [_find_given_subnet(each.id, facts) if given else _own(each.id, vpc, facts) for each in network.subnets]
    if given and vpc.ipv6 is not None and found and not any(there is None or there.ipv6 for there in found):
        yield SpecWarning(
            "spec.network.vpc.ipv6",
            "none of the listed subnets has an IPv6 range, so no machine in them has an IPv6 address",
            served=True,
        )
    for index, (subnet, there) in enumerate(zip(network.subnets, found, strict=True)):
        if there:
            yield from _differences(f"spec.network.subnets[{index}]", subnet, there)
        if given:
            yield from _tags(f"spec.network.subnets[{index}].tags", subnet, facts)


def _find_given_subnet(ident: str, facts: AWSClusterFacts) -> _There | None:
    subnets = facts.network.value.subnets if isinstance(facts.network, Answer) else {}
    there = subnets.get(ident)
    return _There(there.id, there.zone, there.cidr, there.public, there.ipv6) if there else None


def _own(ident: str, vpc: VPCSpec, facts: AWSClusterFacts) -> _There | None:
    """Return what a derived subnet is like. One in the spec's own words is as it says, or is reported as drift."""
    slot = Slot.parse_name(facts.recorded.subnet_of(ident))
    return _There(ident, slot.zone, slot.block, slot.public, vpc.ipv6 is not None) if slot else None


def _differences(field: str, spec: SubnetSpec, there: _There) -> SpecWarnings:
    if spec.availability_zone and spec.availability_zone != there.zone:
        yield _differs(f"{field}.availabilityZone", f"{there.id} is in {there.zone}")
    if spec.cidr_block and _normal(spec.cidr_block) != there.cidr:
        yield _differs(f"{field}.cidrBlock", f"the range of {there.id} is {there.cidr}")
    if spec.is_public is not None and spec.is_public != there.public:
        leads = f"the routes of {there.id} {'' if there.public else 'do not '}lead to an internet gateway"
        yield _differs(f"{field}.isPublic", f"{leads}, so it is {'public' if there.public else 'private'}")
    if spec.is_ipv6 is not None and spec.is_ipv6 != there.ipv6:
        yield _differs(f"{field}.isIpv6", f"{there.id} has {'an' if there.ipv6 else 'no'} IPv6 range")
    if spec.ipv6_cidr_block and not there.ipv6:
        yield _differs(f"{field}.ipv6CidrBlock", f"{there.id} has no IPv6 range")
    elif spec.ipv6_cidr_block:
        message = f"not compared; {there.id} keeps the IPv6 range that it has"
        yield SpecWarning(f"{field}.ipv6CidrBlock", message, served=True)


def _tags(field: str, spec: SubnetSpec, facts: AWSClusterFacts) -> SpecWarnings:
    """Name tags that are not written. Upstream writes them on its own subnets, and reads those of others."""
    there = facts.network.value.subnets.get(spec.id) if isinstance(facts.network, Answer) else None
    if there is None:
        return
    lacking = sorted(
        key for key, value in spec.tags.items() if there.tags.get(key) != value and not is_for_pods({key: value})
    )
    if lacking:
        yield SpecWarning(
            field,
            f"not written; {there.id} is not this object's, and gets spec.additionalTags alone. It has no "
            f"{', '.join(lacking)} with the value here: put it there in AWS, or remove it",
        )


def _differs(field: str, truth: str) -> SpecWarning:
    return SpecWarning(field, f"not acted on; {truth}: {_MEND}")


def _normal(text: str) -> str:
    """Return the range without host bits. What is no range stays as it is: it then differs from every one."""
    try:
        return normal_block(text)
    except ValueError:
        return text
