"""AWSCluster specs in which fields matter, and what is known beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenNetwork, GivenSubnet
from freehold.providers.objects.cloud_answers import Answer
from harness.aws_specs import REGION, VPC, ZONES, Spec, facts, rule

PUBLIC, PRIVATE, OTHER = (f"subnet-0123456789abcdef{number}" for number in range(3))
MORE_ZONES = (*ZONES, *(f"{REGION}{letter}" for letter in "def"))
_RULE = rule(cidrBlocks=["192.0.2.0/24"])
_LISTED = [
    {"id": "a", "availabilityZone": ZONES[0], "cidrBlock": "10.0.0.0/24", "isPublic": True},
    {"id": "b", "availabilityZone": ZONES[0], "cidrBlock": "10.0.1.0/24"},
]


def _first(kind: str, **fields: Any) -> Spec:
    return {"controlPlaneLoadBalancer": {"loadBalancerType": kind, **fields}}


def _second(**fields: Any) -> Spec:
    usual = {"loadBalancerType": "nlb", "scheme": "internal", "name": "in"}
    return {"secondaryControlPlaneLoadBalancer": {**usual, **fields}}


def _given(**vpc: Any) -> Spec:
    return {"network": {"vpc": {**VPC, **vpc}, "subnets": [{"id": PUBLIC}, {"id": PRIVATE}]}}


BASES: dict[str, Spec] = {
    "least": {},
    "listed subnets": {"network": {"subnets": _LISTED}},
    "listed subnets, IPv6": {"network": {"vpc": {"ipv6": {}}, "subnets": _LISTED}},
    "secondary range": {"network": {"vpc": {"secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}]}}},
    "IPv6": {"network": {"vpc": {"ipv6": {}}}},
    "rules": {
        "network": {
            "additionalControlPlaneIngressRules": [_RULE],
            "additionalNodeIngressRules": [_RULE],
            "cni": {"cniIngressRules": [rule(protocol="udp", fromPort=8472, toPort=8472)]},
        },
        **_first("nlb", ingressRules=[_RULE]),
        **_second(ingressRules=[_RULE]),
    },
    "classic": _first("classic", additionalListeners=[{"port": 1234, "healthCheck": {"protocol": "HTTP"}}]),
    "network": {
        **_first("nlb", additionalListeners=[{"port": 1234}]),
        **_second(additionalListeners=[{"port": 1234}]),
    },
    "network, checked with HTTPS": {
        **_first("nlb", healthCheckProtocol="HTTPS",
                 additionalListeners=[{"port": 1234, "healthCheck": {"protocol": "HTTPS"}}]),
        **_second(additionalListeners=[{"port": 1234, "healthCheck": {"protocol": "HTTP"}}]),
    },
    "disabled": _first("disabled"),
    "disabled, and a second one": {**_first("disabled"), **_second()},
    "bastion": {"bastion": {"enabled": True}},
    "no bastion": {"bastion": {"enabled": False}},
    "bucket": {
        "s3Bucket": {"name": "b-1", "controlPlaneIAMInstanceProfile": "c", "nodesIAMInstanceProfiles": ["n"]},
    },
    "bucket with URLs": {"s3Bucket": {"name": "b-1", "presignedURLDuration": "1h"}},
    "endpoint": {"controlPlaneEndpoint": {"host": "api.example.org", "port": 6443}},
    "given VPC": _given(),
    "given VPC, IPv6": {**_given(ipv6={}), **_first("nlb")},
}  # fmt: skip
"""By what they have."""


def facts_of(name: str) -> AWSClusterFacts:
    """Nothing of the object is made. ``name``: of the base."""
    ipv6 = name == "given VPC, IPv6"
    there = GivenNetwork({
        PUBLIC: GivenSubnet(PUBLIC, ZONES[0], "10.1.0.0/24", public=True, ipv6=ipv6),
        PRIVATE: GivenSubnet(PRIVATE, ZONES[0], "10.1.1.0/24", public=False, ipv6=ipv6),
        OTHER: GivenSubnet(OTHER, ZONES[1], "10.1.2.0/24", public=False, ipv6=ipv6),
    })  # fmt: skip
    return replace(facts(MORE_ZONES), network=Answer(there), image=Answer("ami-1"), namesakes=Answer(()))
