"""What the spec says of subnets that are there and is not so, is told with its field; the subnets are used as they are.

Upstream writes what AWS has into its spec, so a manifest that it wrote says nothing else, and passes without a note.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from freehold.providers.aws.cluster.address_plan import Slot
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenNetwork, GivenSubnet, Recorded
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.served_fields import observe_served_fields
from harness.aws_specs import NAMES, REGION, VPC, ZONES, Spec, cluster, decide, facts

OPEN, INNER = "subnet-0123456789abcdef0", "subnet-0123456789abcdef1"


def known(*, ipv6: bool = False) -> AWSClusterFacts:
    there = GivenNetwork({
        OPEN: GivenSubnet(OPEN, ZONES[0], "10.1.0.0/24", public=True, ipv6=ipv6),
        INNER: GivenSubnet(INNER, ZONES[1], "10.1.1.0/24", public=False, ipv6=ipv6),
    })  # fmt: skip
    return AWSClusterFacts(Answer(ZONES), network=Answer(there))


def given(first: dict[str, Any], second: dict[str, Any], **vpc: Any) -> Spec:
    subnets = [{"id": OPEN, **first}, {"id": INNER, **second}]
    return {"region": REGION, "network": {"vpc": {**VPC, **vpc}, "subnets": subnets}}


def decided(spec: Spec, on: AWSClusterFacts) -> Decided:
    found = decide(NAMES, cluster(spec), on)
    assert isinstance(found, Decided), found
    return found


AT = "spec.network.subnets[0]"
DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "zone": ({"availabilityZone": ZONES[2]}, f"{AT}.availabilityZone: not acted on; {OPEN} is in {ZONES[0]}"),
    "range": ({"cidrBlock": "10.99.0.0/24"}, f"{AT}.cidrBlock: not acted on; the range of {OPEN} is 10.1.0.0/24"),
    "no range": ({"cidrBlock": "all"}, f"{AT}.cidrBlock: not acted on; the range of {OPEN} is 10.1.0.0/24"),
    "private": (
        {"isPublic": False},
        f"{AT}.isPublic: not acted on; the routes of {OPEN} lead to an internet gateway, so it is public",
    ),
    "IPv6": ({"isIpv6": True}, f"{AT}.isIpv6: not acted on; {OPEN} has no IPv6 range"),
    "range of IPv6": (
        {"ipv6CidrBlock": "2600:1f14:e08:7401::/64"}, f"{AT}.ipv6CidrBlock: not acted on; {OPEN} has no IPv6 range",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "said"), DIFFERENT.values(), ids=DIFFERENT)
def test_a_subnet_that_is_not_as_the_spec_says(fields: dict[str, Any], said: str) -> None:
    found = decided(given(fields, {}), known())
    assert [str(note) for note in found.notes] == [f"{said}: correct the field, or remove it"]
    assert found.cluster_plan == decided(given({}, {}), known()).cluster_plan
    assert observe_served_fields(found.notes).status == "False"


def test_the_other_way_round() -> None:
    (public, six) = decided(given({}, {"isPublic": True, "isIpv6": False}, ipv6={}), known(ipv6=True)).notes
    assert str(public).startswith(
        f"spec.network.subnets[1].isPublic: not acted on; the routes of {INNER} do not lead to an internet gateway, so "
        "it is private"
    )
    assert str(six).startswith(f"spec.network.subnets[1].isIpv6: not acted on; {INNER} has an IPv6 range")


def test_a_manifest_that_upstream_wrote_passes() -> None:
    first = {"availabilityZone": ZONES[0], "cidrBlock": "10.1.0.0/24", "isPublic": True, "isIpv6": True}
    second = {"availabilityZone": ZONES[1], "cidrBlock": "10.1.1.7/24", "isIpv6": True}
    assert decided(given(first, second, ipv6={}), known(ipv6=True)).notes == ()
    said = decided(given({**first, "ipv6CidrBlock": "2600:1f14:e08:7401::/64"}, second, ipv6={}), known(ipv6=True))
    assert [str(note) for note in said.notes] == [
        f"{AT}.ipv6CidrBlock: not compared; {OPEN} keeps the IPv6 range that it has"
    ]
    assert observe_served_fields(said.notes).status == "True"


def test_ipv6_where_no_listed_subnet_has_it() -> None:
    there = GivenNetwork({
        OPEN: GivenSubnet(OPEN, ZONES[0], "10.1.0.0/24", public=True),
        INNER: GivenSubnet(INNER, ZONES[1], "10.1.1.0/24", public=False),
        "subnet-2": GivenSubnet("subnet-2", ZONES[2], "10.1.2.0/24", public=False, ipv6=True),
    })  # fmt: skip
    found = decided(given({}, {}, ipv6={}), AWSClusterFacts(Answer(ZONES), network=Answer(there)))
    assert [str(note) for note in found.notes] == [
        "spec.network.vpc.ipv6: none of the listed subnets has an IPv6 range, so no machine in them has an IPv6 address"
    ]


def test_an_own_derived_subnet_by_its_id_is_what_it_was_made_as() -> None:
    first = decided({"region": REGION}, facts()).cluster_plan
    ids = {each.logical: f"subnet-{number:017x}" for number, each in enumerate(first.subnets)}
    held = facts(recorded=Recorded(vpc=VPC["id"], subnets=ids))
    subnets = [{"id": ident} for ident in ids.values()]
    spec: Spec = {"region": REGION, "network": {"vpc": VPC, "subnets": subnets}}
    assert [note.field for note in decided(spec, held).notes] == ["spec.network.vpc.id"]
    changed = copy.deepcopy(spec)
    slot = Slot.parse_name(first.subnets[0].logical)
    assert slot is not None
    changed["network"]["subnets"][0] |= {"isPublic": not slot.public, "cidrBlock": "10.0.250.0/24"}
    found = decided(changed, held)
    assert [note.field for note in found.notes[1:]] == [f"{AT}.cidrBlock", f"{AT}.isPublic"]
    assert found.cluster_plan == first
