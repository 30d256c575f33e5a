"""Each field that is acted on changes what is made, or a note or a problem names it: in every spec that can have it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from freehold.api.served_fields import Serving, find_covering
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.types.crd import AWS_CLUSTERS
from freehold.providers.objects.adapter import RefusedSpec
from harness.aws_bases import BASES, OTHER, PRIVATE, facts_of
from harness.aws_graphs import plain
from harness.aws_specs import REGION, VPC, ZONES, Spec, cluster, wanted
from unit.api.test_api_served_fields import leaves

STAGE = AWSClusterNames("team", "stage")
"""The zones that ``Random`` chooses for this name are not the first ones."""
_ENTRIES = {each: find_covering(AWS_CLUSTERS.name.fields, each) for each in leaves()}
FIELDS = [field for field, entry in _ENTRIES.items() if entry and entry.serving is Serving.SERVED]
ELSEWHERE = {
    "spec.controlPlaneEndpoint.host": "Cluster API reads it where it is (test_aws_cluster_status)",
    "spec.controlPlaneEndpoint.port": "the same; a port without a host is no endpoint",
    **{f"spec.imageLookup{each}": "machines look their images up by it" for each in ("BaseOS", "Format", "Org")},
    "spec.sshKeyName": "machines without one of their own have it (test_aws_machine_plan); a bastion, too",
    **{
        f"spec.{each}.additionalListeners[*].protocol": "TCP is all that there is"
        for each in ("controlPlaneLoadBalancer", "secondaryControlPlaneLoadBalancer")
    },
}
"""Fields that make no resource, and why."""
VALUES: dict[str, tuple[Any, ...]] = {
    "additionalTags": ({"team": "a"},),
    "allowedCIDRBlocks": (["192.0.2.0/24"],),
    "ami": ("ami-7",),
    "disableIngressRules": (True,),
    "enabled": (True, False),
    "instanceType": ("m5.large",),
    "intervalSeconds": (31,),
    "thresholdCount": (9,),
    "timeoutSeconds": (3,),
    "unhealthyThresholdCount": (9,),
    "path": ("/x",),
    "healthCheck.port": ("77",),
    "healthCheck.protocol": ("HTTP", "HTTPS"),
    "additionalListeners[*].port": (4321,),
    "targetGroupIPType": ("ipv6", "ipv4"),
    "additionalSecurityGroups": (["sg-1"],),
    "crossZoneLoadBalancing": (True,),
    "healthCheckProtocol": ("HTTP", "HTTPS"),
    "cidrBlocks": (["198.51.100.0/24"],),
    "description": ("another",),
    "fromPort": (79,),
    "ipv6CidrBlocks": (["2001:db8::/64"],),
    "natGatewaysIPsSource": (True,),
    "protocol": ("udp", "tcp"),
    "sourceSecurityGroupIds": (["sg-1"],),
    "sourceSecurityGroupRoles": (["node"],),
    "toPort": (81,),
    "loadBalancerType": ("nlb", "classic"),
    "name": ("another",),
    "preserveClientIP": (True,),
    "scheme": ("internal", "internet-facing"),
    "controlPlaneLoadBalancer.subnets": ([OTHER],),
    "secondaryControlPlaneLoadBalancer.subnets": ([OTHER],),
    "kind": ("AWSClusterRoleIdentity",),
    "nodePortIngressRuleCidrBlocks": (["192.0.2.0/24"],),
    "securityGroupOverrides": ({"node": "sg-1"},),
    "availabilityZone": (ZONES[2],),
    "subnets[*].cidrBlock": ("10.0.9.0/24",),
    "vpc.cidrBlock": ("10.0.0.0/17",),
    "subnets[*].id": ("another", OTHER),
    "ipv6CidrBlock": ("2600:1f14:e08:7401::/64",),
    "isIpv6": (True, False),
    "isPublic": (True, False),
    "zoneType": ("local-zone",),
    "subnets[*].tags": ({"team": "a"},),
    "availabilityZoneSelection": ("Random",),
    "availabilityZoneUsageLimit": (2,),
    "vpc.id": (VPC["id"], "vpc-0123456789abcdef1"),
    "ipv4CidrBlock": ("10.2.0.0/16",),
    "subnetSchema": ("PreferPublic",),
    "partition": ("aws-cn",),
    "region": ("eu-west-1",),
    "controlPlaneIAMInstanceProfile": ("another",),
    "s3Bucket.name": ("b-2",),
    "nodesIAMInstanceProfiles": (["another"],),
    "presignedURLDuration": ("2h",),
    "sshKeyName": ("mine",),
    "ipv6": ({},),
}
"""By the end of the path, the longest end that fits: values that are no default. One of them must tell."""


def values(field: str) -> tuple[Any, ...]:
    ends = [end for end in VALUES if field == f"spec.{end}" or field.endswith(f".{end}")]
    return VALUES[max(ends, key=len)]


def holders(spec: Any, steps: list[str], at: str = "spec") -> Iterator[tuple[dict[str, Any], str]]:
    """Each object that can have the field, with its path. Objects on the way are made, items of lists are not."""
    if not steps:
        yield spec, at
        return
    name, *rest = steps
    if name.endswith("[*]"):
        name = name.removesuffix("[*]")
        for index, item in enumerate(spec.get(name, ())):
            yield from holders(item, rest, f"{at}.{name}[{index}]")
    else:
        yield from holders(spec.setdefault(name, {}), rest, f"{at}.{name}")


def edits(spec: Spec, field: str) -> Iterator[tuple[str, list[Spec]]]:
    """Each place of the field in a spec, and the specs with its values there."""
    *above, last = field.split(".")[1:]
    for number, (_, at) in enumerate(holders(copy.deepcopy(spec), above)):
        edited = []
        for value in values(field):
            changed = copy.deepcopy(spec)
            list(holders(changed, above))[number][0][last] = copy.deepcopy(value)
            edited.append(changed)
        if any(each != spec for each in edited):
            yield f"{at}.{last}", edited


def outcome(spec: Spec, base: str) -> tuple[object, list[str]]:
    """What comes of it, and the fields that it names."""
    found = wanted(STAGE, cluster(copy.deepcopy(spec)), facts_of(base), account="111122223333", storage=True)
    notes = [note.field for note in getattr(found, "notes", ())]
    if isinstance(found, AWSWanted) and found.cluster_plan is not None:
        wish = found.cluster_plan
        return (plain(found.graph), found.user_tags, wish.region, wish.identity, wish.failure_domains), notes
    assert isinstance(found, RefusedSpec), found
    return found.problems, notes


def names(said: str, field: str) -> bool:
    """Whether a note at ``said`` speaks for the field: it is the field's, or that of a field around it or below."""
    inner, outer = sorted((f"{said}.", f"{field}."), key=len, reverse=True)
    return inner.replace("[", ".[").startswith(outer.replace("[", ".["))


@pytest.mark.parametrize("base", BASES)
def test_a_field_is_acted_on_or_named(base: str) -> None:
    spec = {"region": REGION, **BASES[base]}
    before, _ = outcome(spec, base)
    silent = []
    for field in FIELDS:
        for place, edited in edits(spec, field) if field not in ELSEWHERE else ():
            found = (outcome(each, base) for each in edited)
            if not any(after != before or any(names(said, place) for said in notes) for after, notes in found):
                silent.append(place)
    assert silent == []


def test_every_field_is_tried() -> None:
    """A field of a list is tried where a base has an item of the list."""
    elsewhere = set(ELSEWHERE)
    tried = {each for each in FIELDS if each not in elsewhere for spec in BASES.values() for _ in edits(spec, each)}
    assert tried | elsewhere == set(FIELDS)


def test_every_base_can_be_made() -> None:
    """Otherwise every edit would be refused as well, and so be told."""
    for base, spec in BASES.items():
        made, _ = outcome({"region": REGION, **spec}, base)
        assert isinstance(made, tuple) and isinstance(made[0], dict), (base, made)
    assert PRIVATE != OTHER
