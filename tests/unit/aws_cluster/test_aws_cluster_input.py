"""Bad input: each gives one sentence (where in the manifest, what, what to do), at apply time where a rule can know."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from freehold.api.crd import build_crd
from freehold.engine.outcomes import Reason
from freehold.engine.resources import NodeKey
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenNetwork, GivenSubnet, Recorded
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.types.crd import AWS_CLUSTERS
from freehold.providers.objects.adapter import RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from freehold_apiserver.cel_rules import Rules
from freehold_apiserver.custom import CustomStrategy
from harness.aws_specs import NAMES, REGION, SUBNET, VPC, ZONES, Spec, cluster, decide, facts, rule
from harness.rows import over_rows
from harness.schemas import schema_of

STRATEGY = CustomStrategy(schema_of(build_crd(AWS_CLUSTERS)), has_status=True)
LEAST: Spec = {"region": REGION}


def problems(spec: Spec, known: AWSClusterFacts | None = None, names: AWSClusterNames = NAMES) -> list[str]:
    """What the condition says."""
    found = decide(names, cluster({**LEAST, **spec}), known or facts(), storage=True)
    return [str(each) for each in found.problems] if isinstance(found, RefusedSpec) else []


def refusals(spec: Spec, old: Spec | None = None) -> list[str]:
    """What the API server says when it is applied; with ``old``, over an object that has resources."""
    status = {"identity": {"uid": "u", "uuid": "u", "account": f"111122223333/{LEAST['region']}"}}
    on_record = {"status": status} if old is not None else {}
    objects = [{**cluster(copy.deepcopy({**LEAST, **each})), **on_record} for each in (spec, old) if each is not None]
    for each in objects:
        STRATEGY.decode(each)
    return [str(each) for each in STRATEGY.validate(objects[0], objects[1] if old is not None else None)]


def subnet(index: int = 0, **fields: Any) -> dict[str, Any]:
    """A public one; each index has a range of its own."""
    usual = {"id": f"s{index}", "availabilityZone": ZONES[0], "cidrBlock": f"10.0.{index}.0/24", "isPublic": True}
    return {key: value for key, value in {**usual, **fields}.items() if value is not None}


def network(**fields: Any) -> Spec:
    return {"network": fields}


def vpc(**fields: Any) -> Spec:
    return {"network": {"vpc": fields}}


def first(**fields: Any) -> Spec:
    return {"controlPlaneLoadBalancer": fields}


def second(**fields: Any) -> Spec:
    usual = {"name": "in", "loadBalancerType": "nlb", "scheme": "internal"}
    return {"secondaryControlPlaneLoadBalancer": {**usual, **fields}}


CP = "spec.network.additionalControlPlaneIngressRules[0]"
LB = "spec.controlPlaneLoadBalancer"
LB2 = "spec.secondaryControlPlaneLoadBalancer"
SUB = "spec.network.subnets"
RANGE = {"cidrBlocks": ["192.0.2.0/24"]}


def rules(**fields: Any) -> Spec:
    return network(additionalControlPlaneIngressRules=[rule(**fields)])


KNOWN_AT_APPLY: dict[str, tuple[Spec, str, str]] = {
    "region in words": ({"region": "Frankfurt"}, "spec.region", "eu-central-1"),
    "41 tags": ({"additionalTags": {f"k{n}": "v" for n in range(41)}}, "spec.additionalTags", "remove all but 40"),
    "aws: key": ({"additionalTags": {"aws:team": "a"}}, "spec.additionalTags", "reserved by AWS"),
    "AWS: key": ({"additionalTags": {"AWS:team": "a"}}, "spec.additionalTags", "reserved by AWS"),
    "our key": ({"additionalTags": {"freehold.dev/owner": "a"}}, "spec.additionalTags", "choose another"),
    "empty key": ({"additionalTags": {"": "a"}}, "spec.additionalTags", "1 to 128"),
    "long key": ({"additionalTags": {"k" * 129: "a"}}, "spec.additionalTags", "1 to 128"),
    "long value": ({"additionalTags": {"k": "v" * 257}}, "spec.additionalTags", "256"),
    "letters of a tag": ({"additionalTags": {"k": "a;b"}}, "spec.additionalTags", "letters, digits"),
    "URLs for no time": (
        {"s3Bucket": {"name": "b-1", "presignedURLDuration": "banana"}}, "spec.s3Bucket.presignedURLDuration",
        "is not a duration; write one like 30m or 24h0m0s",
    ),
    "VPC range without a length": (vpc(cidrBlock="10.0.0.0"), "spec.network.vpc.cidrBlock", "10.0.0.0/16"),
    "VPC range in words": (vpc(cidrBlock="all"), "spec.network.vpc.cidrBlock", "not an IPv4 range"),
    "VPC id": (vpc(id="prod"), "spec.network.vpc.id", "vpc-0123456789abcdef0"),
    "secondary range": (
        vpc(secondaryCidrBlocks=[{"ipv4CidrBlock": "x"}]),
        "spec.network.vpc.secondaryCidrBlocks[0].ipv4CidrBlock", "not an IPv4 range",
    ),
    "range of a subnet": (network(subnets=[subnet(cidrBlock="10.0.0.0/33")]), f"{SUB}[0].cidrBlock", "IPv4 range"),
    "IPv6 range of a subnet": (
        {"network": {"vpc": {"ipv6": {}}, "subnets": [subnet(ipv6CidrBlock="10.0.0.0/64x")]}},
        f"{SUB}[0].ipv6CidrBlock", "not an IPv6 range",
    ),
    "two sorts of sources": (rules(**RANGE, sourceSecurityGroupRoles=["node"]), CP, "write two rules"),
    "NAT and a range": (rules(**RANGE, natGatewaysIPsSource=True), CP, "natGatewaysIPsSource is a source by itself"),
    "application load balancer": (first(loadBalancerType="alb"), f"{LB}.loadBalancerType", "write nlb or classic"),
    "gateway load balancer": (first(loadBalancerType="elb"), f"{LB}.loadBalancerType", "write nlb or classic"),
    "disabled, with a name": (first(loadBalancerType="disabled", name="a"), f"{LB}.name", "there is no load balancer"),
    "disabled, with subnets": (
        first(loadBalancerType="disabled", subnets=["subnet-1"]), f"{LB}.subnets", "there is no load balancer",
    ),
    "disabled, across zones": (
        first(loadBalancerType="disabled", crossZoneLoadBalancing=True), f"{LB}.crossZoneLoadBalancing", "remove it",
    ),
    "disabled, with a check": (
        first(loadBalancerType="disabled", healthCheckProtocol="TCP"), f"{LB}.healthCheckProtocol", "remove it",
    ),
    "disabled, with groups": (
        first(loadBalancerType="disabled", additionalSecurityGroups=["sg-1"]), f"{LB}.additionalSecurityGroups", "",
    ),
    "disabled, with listeners": (
        first(loadBalancerType="disabled", additionalListeners=[{"port": 1}]), f"{LB}.additionalListeners", "remove it",
    ),
    "disabled, with rules": (
        first(loadBalancerType="disabled", ingressRules=[rule(**RANGE)]), f"{LB}.ingressRules", "remove it",
    ),
    "NLB checked with SSL": (
        first(loadBalancerType="nlb", healthCheckProtocol="SSL"), f"{LB}.healthCheckProtocol", "TCP, HTTP",
    ),
    "classic checked with TLS": (first(healthCheckProtocol="TLS"), f"{LB}.healthCheckProtocol", "SSL"),
    "target groups of a classic one": (first(targetGroupIPType="ipv4"), f"{LB}.targetGroupIPType", "remove it"),
    "second without a name": (second(name=None), f"{LB2}.name", "needs a name"),
    "two of one name": (
        {**first(name="in", loadBalancerType="nlb"), **second()}, f"{LB2}.name", "change one",
    ),
    "two of one scheme": (second(scheme="internet-facing"), f"{LB2}.scheme", "internal"),
    "second classic": (second(loadBalancerType="classic"), f"{LB2}.loadBalancerType", "nlb"),
    "range of node ports": (
        network(nodePortIngressRuleCidrBlocks=["x"]), "spec.network.nodePortIngressRuleCidrBlocks", "IPv4 range",
    ),
    "range of a bastion": (
        {"bastion": {"allowedCIDRBlocks": ["home"]}}, "spec.bastion.allowedCIDRBlocks", "is not a range",
    ),
    "bastion for nobody": (
        {"bastion": {"enabled": True, "disableIngressRules": True, "allowedCIDRBlocks": ["192.0.2.0/24"]}},
        "spec.bastion.allowedCIDRBlocks", "remove one of the two",
    ),
}  # fmt: skip


@over_rows("case", KNOWN_AT_APPLY)
def test_what_a_rule_can_know_is_refused_at_apply_time_and_in_a_condition(case: str) -> None:
    """The condition is for an object that no rule has seen: stored before, or by an API server without CEL."""
    spec, field, said = KNOWN_AT_APPLY[case]
    (refused,) = refusals(spec)
    assert refused.startswith((f"{field}: Invalid value: ", f"{field}.k: Too long: ")) and said in refused
    (problem,) = problems(spec, AWSClusterFacts(NotThere((REGION,))) if case == "region in words" else None)
    assert problem.startswith(field) and (case == "long value" or said in problem)


@over_rows("case", KNOWN_AT_APPLY)
def test_an_object_from_before_a_rule_stays_usable(case: str) -> None:
    """Writes that leave the field alone pass: its finalizer could not be removed otherwise."""
    spec, _, _ = KNOWN_AT_APPLY[case]
    assert not refusals({**spec, "sshKeyName": "k"}, spec)


def test_every_rule_is_one_that_the_api_server_can_check() -> None:
    assert Rules(schema_of(build_crd(AWS_CLUSTERS))).unenforceable == []


def recorded() -> Recorded:
    found = decide(NAMES, cluster(LEAST), facts())
    assert isinstance(found, Decided)
    return Recorded(VPC["id"], {each.logical: "" for each in found.cluster_plan.subnets})


def given(*subnets: GivenSubnet) -> AWSClusterFacts:
    """What is known of a given VPC that has these."""
    return replace(facts(), network=Answer(GivenNetwork({each.id: each for each in subnets})))


def new(**groups: str) -> AWSClusterFacts:
    """It is known that nothing of the object exists. ``groups``: the VPCs of those that do."""
    return replace(facts(), namesakes=Answer(()), groups=Answer(groups) if groups else None)


BESIDE = "subnet-0123456789abcdef1"
"""In the VPC, or not, and not in ``spec.network.subnets``."""
BEHIND = {"controlPlaneEndpoint": {"host": "a-1.elb.eu-central-1.amazonaws.com", "port": 6443}}
TWO = [subnet(0), subnet(1, isPublic=False)]
KNOWN_LATER: dict[str, tuple[Spec, AWSClusterFacts, str]] = {
    "no region": ({"region": None}, facts(), "spec.region: it is missing; give the AWS region"),
    "unknown region": (
        {"region": "eu-central-9"}, AWSClusterFacts(NotThere(("eu-central-1", "eu-west-1"))),
        "spec.region: there is no AWS region 'eu-central-9'; choose one of eu-central-1, eu-west-1",
    ),
    "region without zones": (
        {}, AWSClusterFacts(Answer(())), "spec.region: region 'eu-central-1' has no availability zone"
    ),
    "another partition": ({"partition": "aws-cn"}, facts(), "spec.partition: region 'eu-central-1' is in partition"),
    "upstream's key": (
        {"additionalTags": {"sigs.k8s.io/cluster-api-provider-aws/cluster/b": "owned"}}, facts(),
        "spec.additionalTags[sigs.k8s.io/cluster-api-provider-aws/cluster/b]: keys that begin with",
    ),
    "VPC too large": (vpc(cidrBlock="10.0.0.0/8"), facts(), "spec.network.vpc.cidrBlock: '10.0.0.0/8' has the wrong"),
    "VPC too small": (vpc(cidrBlock="10.0.0.0/29"), facts(), "spec.network.vpc.cidrBlock: '10.0.0.0/29' has the wrong"),
    "no room": (
        vpc(cidrBlock="10.0.0.0/26"), facts(),
        "spec.network.vpc.cidrBlock: 10.0.0.0/26 has no room for 6 subnets of at least 16 addresses; give a larger",
    ),
    "VPC range left": (
        vpc(cidrBlock="10.1.0.0/16"), facts(recorded=recorded()),
        "spec.network.vpc.cidrBlock: 10.1.0.0/16 leaves out 10.0.64.0/18",
    ),
    "secondary overlaps": (
        vpc(secondaryCidrBlocks=[{"ipv4CidrBlock": "10.0.128.0/17"}]), facts(),
        "spec.network.vpc.secondaryCidrBlocks[0].ipv4CidrBlock: '10.0.128.0/17' overlaps spec.network.vpc.cidrBlock",
    ),
    "five secondary ranges": (
        vpc(secondaryCidrBlocks=[{"ipv4CidrBlock": f"10.{n}.0.0/16"} for n in range(1, 6)]), facts(),
        "spec.network.vpc.secondaryCidrBlocks: there are 5; a VPC has at most 4 more ranges",
    ),
    "secondary range of another private one": (
        vpc(secondaryCidrBlocks=[{"ipv4CidrBlock": "100.64.0.0/16"}, {"ipv4CidrBlock": "192.168.0.0/16"}]), facts(),
        "spec.network.vpc.secondaryCidrBlocks[1].ipv4CidrBlock: AWS restricts '192.168.0.0/16' beside "
        "spec.network.vpc.cidrBlock '10.0.0.0/16', which is in another private range; choose one in 10.0.0.0/8 or 100",
    ),
    "subnet outside": (
        network(subnets=[subnet(cidrBlock="192.168.0.0/24")]), facts(),
        f"{SUB}[0].cidrBlock: '192.168.0.0/24' is outside the VPC's 10.0.0.0/16; choose a range inside",
    ),
    "subnets overlap": (
        network(subnets=[subnet(), subnet(1, cidrBlock="10.0.0.128/25")]), facts(),
        f"{SUB}[1].cidrBlock: '10.0.0.128/25' overlaps {SUB}[0].cidrBlock '10.0.0.0/24'",
    ),
    "subnet without a range": (
        network(subnets=[subnet(cidrBlock=None)]), facts(), f"{SUB}[0].cidrBlock: it is missing; give the IPv4 range",
    ),
    "subnet without a zone": (
        network(subnets=[subnet(availabilityZone=None)]), facts(), f"{SUB}[0].availabilityZone: it is missing; give",
    ),
    "unknown zone": (
        network(subnets=[subnet(availabilityZone="eu-central-1z")]), facts(),
        f"{SUB}[0].availabilityZone: there is no zone 'eu-central-1z' for you; choose one of {', '.join(ZONES)}",
    ),
    "one id twice": (
        network(subnets=[subnet(), subnet(1, id="s0")]), facts(), f"{SUB}[1].id: 's0' is {SUB}[0].id too; rename one",
    ),
    "one id twice in a given VPC": (
        network(vpc=VPC, subnets=[SUBNET, SUBNET]), facts(), f"{SUB}[1].id: '{SUBNET['id']}' is {SUB}[0].id too",
    ),
    "one subnet by its id and by its name": (
        network(subnets=[SUBNET, subnet(id=f"prod-subnet-public-{ZONES[0]}")]),
        facts(recorded=Recorded(VPC["id"], {f"public:{ZONES[0]}:10.0.0.0/20:2": SUBNET["id"]})),
        f"{SUB}[1].id: 'prod-subnet-public-{ZONES[0]}' is {SUBNET['id']}, which {SUB}[0] is already; remove one",
    ),
    "one listed subnet by its id and by its name": (
        network(subnets=[subnet(), {**subnet(), **SUBNET}]),
        facts(recorded=Recorded(VPC["id"], {"s0": SUBNET["id"]})),
        f"{SUB}[1].id: '{SUBNET['id']}' is {SUBNET['id']}, which {SUB}[0] is already; remove one of the two",
    ),
    "a subnet that exists in a VPC that does not": (
        network(subnets=[subnet(**SUBNET)]), facts(), f"{SUB}[0].id: '{SUBNET['id']}' exists in some VPC",
    ),
    "no public subnet": (network(subnets=[subnet(isPublic=False)]), facts(), f"{SUB}: none is public; set isPublic"),
    "own subnets by id, all private": (
        network(subnets=[SUBNET]),
        facts(recorded=Recorded(VPC["id"], {f"private:{ZONES[0]}:10.0.0.0/20:2": SUBNET["id"]})),
        f"{SUB}: none is public; set isPublic on one in each zone: load balancer and NAT gateway need it",
    ),
    "no way out": (
        network(subnets=[subnet(), subnet(1, availabilityZone=ZONES[1], isPublic=False)]), facts(),
        f"{SUB}[1]: zone 'eu-central-1b' has no public subnet, so this private one has no NAT gateway",
    ),
    "local zone": (
        network(subnets=[*TWO, subnet(2, zoneType="local-zone", parentZoneName=ZONES[0])]), facts(),
        f"{SUB}[2].zoneType: local-zone is not served",
    ),
    "local zone in a given VPC": (
        network(vpc=VPC, subnets=[{**SUBNET, "zoneType": "local-zone", "parentZoneName": ZONES[0]}]),
        given(GivenSubnet(SUBNET["id"], f"{REGION}-ham-1a", "10.0.0.0/24", True, "local-zone")),
        f"{SUB}[0].zoneType: local-zone is not served; remove the subnet, or use an availability zone",
    ),
    "local zone in a given VPC of which the spec does not say so": (
        network(vpc=VPC, subnets=[SUBNET]),
        given(GivenSubnet(SUBNET["id"], f"{REGION}-ham-1a", "10.0.0.0/24", True, "local-zone")),
        f"{SUB}[0].id: {SUBNET['id']} is in {REGION}-ham-1a, a local-zone, which is not served; remove the subnet",
    ),
    "IPv6 subnet without IPv6": (
        network(subnets=[subnet(isIpv6=True)]), facts(), f"{SUB}[0].isIpv6: the VPC has no IPv6; set vpc.ipv6",
    ),
    "IPv6 subnet without a range": (
        {"network": {"vpc": {"ipv6": {}}, "subnets": [subnet(isIpv6=True)]}}, facts(),
        f"{SUB}[0].ipv6CidrBlock: it is missing; give a /64",
    ),
    "IPv6 subnet in a VPC that has no range yet": (
        {"network": {"vpc": {"ipv6": {}}, "subnets": [subnet(isIpv6=True)]}}, new(),
        f"{SUB}[0].isIpv6: Amazon gives the VPC its IPv6 range when it is made, so no /64 of it is known",
    ),
    "IPv6 range of a VPC that has none yet": (
        {"network": {"vpc": {"ipv6": {}}, "subnets": [subnet(ipv6CidrBlock="2600:1f14:e08:7400::/64")]}}, new(),
        f"{SUB}[0].ipv6CidrBlock: Amazon gives the VPC its IPv6 range when it is made, so no /64 of it is known before",
    ),
    "IPv6 load balancer in subnets without IPv6": (
        {"network": {"vpc": {"ipv6": {}}, "subnets": TWO}, **first(loadBalancerType="nlb")}, new(),
        "spec.network.vpc.ipv6: network load balancers have IPv6 addresses then, for which s0 must have an IPv6 range; "
        "list no subnets, and each gets one; or write loadBalancerType: classic, or remove vpc.ipv6",
    ),
    "IPv6 load balancer in subnets of a VPC that is there": (
        {"network": {"vpc": {"ipv6": {}}, "subnets": TWO}, **first(loadBalancerType="nlb", scheme="internal")},
        facts(recorded=Recorded(VPC["id"])),
        "spec.network.vpc.ipv6: network load balancers have IPv6 addresses then, for which s1 must have an IPv6 range; "
        "give each a /64 of the VPC's range, in ipv6CidrBlock",
    ),
    "IPv6 in a given VPC without IPv6": (
        {"network": {"vpc": {**VPC, "ipv6": {}}, "subnets": [SUBNET]}},
        given(GivenSubnet(SUBNET["id"], ZONES[0], "10.0.0.0/24", True)),
        f"spec.network.vpc.ipv6: no subnet of VPC {VPC['id']} has an IPv6 range, and nothing of a given VPC is "
        "changed; give them ranges in AWS, or remove vpc.ipv6",
    ),
    "IPv6 load balancer in given subnets without IPv6": (
        {"network": {"vpc": {**VPC, "ipv6": {}}, "subnets": [SUBNET]}, **first(loadBalancerType="nlb")},
        given(GivenSubnet(SUBNET["id"], ZONES[0], "10.0.0.0/24", True),
              GivenSubnet(BESIDE, ZONES[0], "10.0.1.0/24", True, ipv6=True)),
        f"spec.network.vpc.ipv6: network load balancers have IPv6 addresses then, for which {SUBNET['id']} must have "
        "an IPv6 range; give them one in AWS, or remove vpc.ipv6",
    ),
    "a load balancer twice in a zone": (
        {**network(subnets=[*TWO, subnet(2)]), **first(subnets=["s0", "s2"])}, facts(),
        f"{LB}.subnets[1]: 's2' is in {ZONES[0]}, as {LB}.subnets[0] is, and a load balancer is in one subnet of a "
        "zone; remove one of the two",
    ),
    "a load balancer twice in a zone of a given VPC": (
        {**network(vpc=VPC, subnets=[SUBNET]), **second(subnets=[SUBNET["id"], BESIDE])},
        given(*(GivenSubnet(each, ZONES[1], "10.0.0.0/24", True) for each in (SUBNET["id"], BESIDE))),
        f"{LB2}.subnets[1]: '{BESIDE}' is in {ZONES[1]}, as {LB2}.subnets[0] is, and a load balancer is in one subnet",
    ),
    "a load balancer in another VPC": (
        {**network(vpc=VPC, subnets=[SUBNET]), **first(subnets=[BESIDE])},
        given(GivenSubnet(SUBNET["id"], ZONES[0], "10.0.0.0/24", True)),
        f"{LB}.subnets[0]: VPC {VPC['id']} has no subnet {BESIDE}; give one that it has",
    ),
    "a load balancer in a local zone": (
        {**network(vpc=VPC, subnets=[SUBNET]), **first(subnets=[BESIDE])},
        given(
            GivenSubnet(SUBNET["id"], ZONES[0], "10.0.0.0/24", True),
            GivenSubnet(BESIDE, f"{REGION}-ham-1a", "10.0.1.0/24", True, "local-zone"),
        ),
        f"{LB}.subnets[0]: {BESIDE} is in {REGION}-ham-1a, a local-zone, which is not served; remove it",
    ),
    "a load balancer outside of a VPC that is not there yet": (
        first(subnets=[SUBNET["id"]]), new(),
        f"{LB}.subnets[0]: {SUBNET['id']} exists in some VPC, and this one is created; give one of",
    ),
    "given VPC without subnets": (vpc(**VPC), facts(), f"{SUB}: with vpc.id nothing is created in the VPC"),
    "given VPC, subnet by name": (
        network(vpc=VPC, subnets=[{"id": "front"}]), facts(), f"{SUB}[0].id: 'front' is not the id of a subnet",
    ),
    "overrides in a created VPC": (
        network(securityGroupOverrides={"node": "sg-1"}), facts(),
        "spec.network.securityGroupOverrides: security groups are in a VPC, and this one is created",
    ),
    "override of an unknown role": (
        network(vpc=VPC, subnets=[SUBNET], securityGroupOverrides={"nodes": "sg-1"}), facts(),
        "spec.network.securityGroupOverrides[nodes]: there is no security group 'nodes'; choose among",
    ),
    "override that is no id": (
        network(vpc=VPC, subnets=[SUBNET], securityGroupOverrides={"node": "front"}), facts(),
        "spec.network.securityGroupOverrides[node]: 'front' is not the id of a security group",
    ),
    "IPAM": (vpc(ipamPool={"id": "p"}), facts(), "spec.network.vpc.ipamPool: IPAM is not served; give the range"),
    "IPv6 of one's own": (
        vpc(ipv6={"poolId": "p"}), facts(), "spec.network.vpc.ipv6.poolId: ranges of your own are not served; remove",
    ),
    "addresses of one's own": (
        vpc(elasticIpPool={"publicIpv4Pool": "ipv4pool-ec2-1", "publicIpv4PoolFallbackOrder": "none"}), facts(),
        "spec.network.vpc.elasticIpPool: pools of your own are not served; remove it",
    ),
    "protocol of a CNI": (
        network(cni={"cniIngressRules": [rule(protocol="sctp")]}), facts(),
        "spec.network.cni.cniIngressRules[0].protocol: 'sctp' is no protocol; write one of",
    ),
    "ports upside down": (rules(**RANGE, fromPort=90, toPort=80), facts(), f"{CP}: 90 to 80 is no range of ports"),
    "a type of ICMP": (rules(**RANGE, protocol="icmp", fromPort=999, toPort=-1), facts(), f"{CP}: 999 and -1 are no"),
    "a code of ICMP": (rules(**RANGE, protocol="icmp", fromPort=3, toPort=300), facts(), f"{CP}: 3 and 300 are no"),
    "a code of all": (rules(**RANGE, protocol="58", fromPort=-1, toPort=3), facts(), f"{CP}: code 3 of all types"),
    "port 70000": (rules(**RANGE, toPort=70000), facts(), f"{CP}: 80 to 70000 is no range of ports"),
    "description of a rule": (
        rules(**RANGE, description="Zugriff für alle"), facts(), f"{CP}.description: AWS refuses it; a description has",
    ),
    "range of a rule": (rules(cidrBlocks=["all"]), facts(), f"{CP}.cidrBlocks[0]: 'all' is not an IPv4 range"),
    "IPv6 in IPv4": (rules(cidrBlocks=["2001:db8::/64"]), facts(), f"{CP}.cidrBlocks[0]: '2001:db8::/64' is not an"),
    "IPv4 in IPv6": (rules(ipv6CidrBlocks=["10.0.0.0/8"]), facts(), f"{CP}.ipv6CidrBlocks[0]: '10.0.0.0/8' is not an"),
    "group of EKS": (
        rules(sourceSecurityGroupRoles=["node-eks-additional"]), facts(),
        f"{CP}.sourceSecurityGroupRoles[0]: 'node-eks-additional' is a security group of EKS",
    ),
    "group of no bastion": (
        rules(sourceSecurityGroupRoles=["bastion"]), facts(), f"{CP}.sourceSecurityGroupRoles[0]: there is no bastion",
    ),
    "timeout of a classic one": (
        first(healthCheck={"timeoutSeconds": 10}), facts(),
        f"{LB}.healthCheck.timeoutSeconds: the timeout must be shorter than the interval",
    ),
    "timeout of a network one, with the usual interval": (
        first(loadBalancerType="nlb", healthCheck={"timeoutSeconds": 11}), facts(),
        f"{LB}.healthCheck.timeoutSeconds: the timeout must not exceed the interval",
    ),
    "timeout of a listener's check": (
        second(additionalListeners=[{"port": 22, "healthCheck": {"intervalSeconds": 5, "timeoutSeconds": 6}}]), facts(),
        f"{LB2}.additionalListeners[0].healthCheck.timeoutSeconds: the timeout must not exceed the interval",
    ),
    "port of a check": (
        first(loadBalancerType="nlb", additionalListeners=[{"port": 1, "healthCheck": {"port": "http"}}]), facts(),
        f"{LB}.additionalListeners[0].healthCheck.port: 'http' is no port; write a number",
    ),
    "a listener on the port of the API server": (
        first(loadBalancerType="nlb", additionalListeners=[{"port": 6443}]), facts(),
        f"{LB}.additionalListeners[0].port: 6443 is the API server's already; remove it, or change it",
    ),
    "two listeners on one port": (
        second(additionalListeners=[{"port": 22}, {"port": 22}]), facts(),
        f"{LB2}.additionalListeners[1].port: 22 is that of {LB2}.additionalListeners[0].port already; remove it",
    ),
    "the second one has the name that the first one has without a name": (
        {**first(loadBalancerType="nlb"), **second(name="team-prod-apiserver")}, facts(),
        f"{LB2}.name: 'team-prod-apiserver' is the name of both load balancers; change one",
    ),
    "another type than the endpoint's": (
        {**first(loadBalancerType="classic"), **BEHIND},
        facts(recorded=Recorded(balancers={NodeKey("network-load-balancer", "primary"): ()})),
        f"{LB}.loadBalancerType: the endpoint a-1.elb.eu-central-1.amazonaws.com is the address of the load balancer "
        "of type nlb, which is there, and cannot change; write nlb",
    ),
    "IPv6 targets without IPv6": (
        first(loadBalancerType="nlb", targetGroupIPType="ipv6"), facts(),
        f"{LB}.targetGroupIPType: the VPC has no IPv6; set spec.network.vpc.ipv6",
    ),
    "a name of AWS' own": (
        first(loadBalancerType="nlb", name="internal-a"), facts(), f"{LB}.name: AWS keeps names that begin with",
    ),
    "a load balancer nowhere": (
        first(subnets=["front"]), facts(), f"{LB}.subnets[0]: there is no subnet 'front' in spec.network.subnets",
    ),
    "a group by its name": (
        first(additionalSecurityGroups=["front"]), facts(),
        f"{LB}.additionalSecurityGroups[0]: 'front' is not the id of a security group; write one like",
    ),
    "a source by its name": (
        rules(sourceSecurityGroupIds=["front"]), facts(),
        f"{CP}.sourceSecurityGroupIds[0]: 'front' is not the id of a security group; write one like",
    ),
    "addresses of NAT gateways in a given VPC": (
        {**network(vpc=VPC, subnets=[SUBNET]), **first(ingressRules=[rule(**RANGE), rule(natGatewaysIPsSource=True)])},
        facts(),
        f"{LB}.ingressRules[1].natGatewaysIPsSource: routes of the given subnets lead to no NAT gateways, so this rule "
        "lets nobody in; give ranges in cidrBlocks",
    ),
    "addresses of NAT gateways without private subnets": (
        network(subnets=[subnet()], additionalNodeIngressRules=[rule(natGatewaysIPsSource=True)]), facts(),
        "spec.network.additionalNodeIngressRules[0].natGatewaysIPsSource: without private subnets the cluster has no "
        "NAT gateways, so this rule lets nobody in; remove it, or give ranges in cidrBlocks",
    ),
    "a source that is not there": (
        rules(sourceSecurityGroupIds=["sg-1", "sg-2"]), new(**{"sg-1": "vpc-2"}),
        f"{CP}.sourceSecurityGroupIds[1]: there is no security group sg-2 in {REGION}; correct the id",
    ),
    "a group of a load balancer in a VPC that is not there yet": (
        first(additionalSecurityGroups=["sg-1"]), new(**{"sg-1": "vpc-2"}),
        f"{LB}.additionalSecurityGroups[0]: sg-1 is in VPC vpc-2, and the cluster's is created; remove it, or set",
    ),
    "an override in another VPC": (
        network(vpc=VPC, subnets=[SUBNET], securityGroupOverrides={"node": "sg-1", "bastion": "sg-9"}),
        new(**{"sg-1": "vpc-2"}),
        f"spec.network.securityGroupOverrides[node]: sg-1 is in VPC vpc-2, and the cluster's is {VPC['id']}; give a "
        "group of that one",
    ),
    "SSH key": ({"sshKeyName": " mine"}, facts(), "spec.sshKeyName: ' mine' is not the name of an SSH key"),
    "a bucket that is an address": (
        {"s3Bucket": {"name": "192.168.5.4", "presignedURLDuration": "1h"}}, facts(),
        "spec.s3Bucket.name: '192.168.5.4' is an address, which AWS refuses; choose",
    ),
    "a bucket that nobody may read": (
        {"s3Bucket": {"name": "b-1", "controlPlaneIAMInstanceProfile": "c"}}, facts(),
        "spec.s3Bucket.nodesIAMInstanceProfiles: it is missing; name the profiles",
    ),
    "a type": ({"network": {"subnets": "all"}}, facts(), "spec.network.subnets: must be a list, not a string"),
}  # fmt: skip


@over_rows("case", KNOWN_LATER)
def test_the_rest_is_said_before_anything_is_created(case: str) -> None:
    spec, known, said = KNOWN_LATER[case]
    found = problems(spec, known)
    assert len(found) == 1 and found[0].startswith(said), found


def test_a_load_balancer_may_be_in_a_subnet_that_a_person_made_in_the_clusters_vpc() -> None:
    """It is not on record; neither is anything of an object that was restored."""
    assert problems(first(subnets=[BESIDE]), facts(recorded=Recorded(VPC["id"]))) == []
    assert problems(first(subnets=[BESIDE]), replace(new(), known_before=True)) == []


def test_groups_of_a_cluster_that_is_there_are_not_judged() -> None:
    """Its VPC may not be on record after a restore, and what is missing must not hold up the rest."""
    known = replace(new(**{"sg-1": "vpc-2"}), known_before=True)
    assert problems({**first(additionalSecurityGroups=["sg-1"]), **rules(sourceSecurityGroupIds=["sg-2"])}, known) == []


def test_a_source_may_be_in_a_vpc_that_is_connected() -> None:
    """Only AWS knows whether it is."""
    assert problems(rules(sourceSecurityGroupIds=["sg-1"]), new(**{"sg-1": "vpc-2"})) == []


@pytest.mark.parametrize("block", ["10.1.0.0/16", "100.64.0.0/16", "203.0.112.0/20", "198.19.0.0/16"])
def test_other_ranges_are_for_aws_to_refuse(block: str) -> None:
    """Its page restricts some of them; where that is not so, nobody could get around a refusal of ours."""
    assert problems(vpc(secondaryCidrBlocks=[{"ipv4CidrBlock": block}])) == []


def test_every_problem_says_what_to_do() -> None:
    """What is wrong, then what to do: two clauses. What a type must be says it by itself."""
    cases: list[tuple[Spec, AWSClusterFacts | None]] = [(spec, None) for spec, _, _ in KNOWN_AT_APPLY.values()]
    cases += [(spec, known) for name, (spec, known, _) in KNOWN_LATER.items() if name != "a type"]
    said = [each.partition(": ")[2] for spec, known in cases for each in problems(spec, known)]
    assert [each for each in said if not {";", ":"} & set(each)] == []


def test_all_problems_are_said_at_once() -> None:
    found = problems({"region": None, "additionalTags": {"aws:a": ""}, **second(name=None)})
    assert [each.partition(":")[0] for each in found][:1] == ["spec.region"] and len(found) == 3


def test_a_name_that_does_not_fit_into_a_tag_is_refused() -> None:
    """``sigs.k8s.io/cluster-api-provider-aws/cluster/<name>`` has at most 128 characters, and is never cut (ADR 5)."""
    assert problems({}, names=AWSClusterNames("team", "a" * 83)) == []
    (found,) = problems({}, names=AWSClusterNames("team", "a" * 84))
    assert found.startswith("metadata.name: 'aaaa") and "84 characters" in found and "choose a shorter name" in found


def test_a_cloud_that_does_not_answer_decides_nothing() -> None:
    found = decide(NAMES, cluster(LEAST), AWSClusterFacts(NoAnswer(Reason.RETRYING, "no answer", 7.0)))
    assert isinstance(found, UndecidedSpec) and found.after == 7.0


def test_a_bucket_is_not_checked_where_it_is_not_acted_on() -> None:
    found = decide(NAMES, cluster({**LEAST, "s3Bucket": {"name": "b-1"}}), facts(), storage=False)
    assert isinstance(found, Decided)
    assert [str(note) for note in found.notes] == [
        "spec.s3Bucket: not acted on without --feature-gates=BootstrapFormatIgnition=true"
    ]


def test_a_vpc_that_is_taken_out_is_refused_by_the_record() -> None:
    """The API server lets it be: it may have been written by mistake beside a VPC of the cluster's own."""
    found = problems({}, facts(recorded=Recorded(given_vpc=VPC["id"])))
    assert found == [f"spec.network.vpc.id: the cluster is in {VPC['id']}, and cannot leave it; write {VPC['id']}"]


# --- notes ---------------------------------------------------------------------------------------

NOTES: dict[str, tuple[Spec, AWSClusterFacts, list[str]]] = {
    "nothing to say": ({}, facts(), []),
    "fields that are not acted on": (
        {"imageLookupOrg": "1", **network(subnets=[subnet(tags={"a": "b"}), subnet(1, isPublic=False)])}, facts(),
        [],
    ),
    "deletes that AWS does not bind": (
        {"identityRef": {"kind": "AWSClusterRoleIdentity", "name": "infra"}},
        replace(facts(), not_bound="its policy is long"),
        ["spec.identityRef: AWS does not check that what AWSClusterRoleIdentity infra deletes is this object's, only "
         "Freehold does: its policy is long"],
    ),
    "range of a given VPC": (
        network(vpc={**VPC, "cidrBlock": "10.0.0.0/16"}, subnets=[SUBNET]), facts(),
        ["spec.network.vpc.cidrBlock: not acted on; a VPC given by its id is never changed"],
    ),
    "our own VPC by its id": (
        vpc(**VPC), facts(recorded=recorded()),
        ["spec.network.vpc.id: this object's own VPC: nothing changes, and it still goes with the object"],
    ),
    "a lower limit": (
        vpc(availabilityZoneUsageLimit=1), facts(recorded=recorded()),
        ["spec.network.vpc.availabilityZoneUsageLimit: the cluster has subnets in 3 zones (eu-central-1a, "
         "eu-central-1b, eu-central-1c) already, and keeps them"],
    ),
    "a group that nobody has": (
        network(vpc=VPC, subnets=[SUBNET], securityGroupOverrides={"bastion": "sg-1"}), facts(),
        ["spec.network.securityGroupOverrides[bastion]: not used; this cluster has no such security group"],
    ),
    "nobody puts rules into groups of the control plane": (
        {**network(vpc=VPC, subnets=[SUBNET], securityGroupOverrides={"controlplane": "sg-1", "lb": "sg-2"}),
         **first(loadBalancerType="nlb", additionalListeners=[{"port": 8132}])}, facts(),
        ["spec.network.securityGroupOverrides: nothing is put into groups that the spec gives; let what comes from "
         "network load balancers, on port 6443, 8132, into the one for controlplane or for lb"],
    ),
    "listeners of a classic one": (
        first(additionalListeners=[{"port": 1}]), facts(),
        [f"{LB}.additionalListeners: not acted on; it is for network load balancers"],
    ),
    "image of no bastion": (
        {"bastion": {"ami": "ami-1"}}, facts(),
        ["spec.bastion.ami: not used; there is no bastion without enabled: true"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "known", "said"), NOTES.values(), ids=NOTES.keys())
def test_a_person_is_told_what_they_may_not_expect(spec: Spec, known: AWSClusterFacts, said: list[str]) -> None:
    found = decide(NAMES, cluster({**LEAST, **spec}), known, storage=True)
    assert isinstance(found, Decided), found
    assert [str(note) for note in found.notes] == said


def test_a_network_load_balancer_takes_a_timeout_as_long_as_its_interval() -> None:
    """OpenShift's installer writes 10 s and 10 s (aws-cdk#16445)."""
    equal = {"intervalSeconds": 10, "timeoutSeconds": 10}
    listener = {"port": 22623, "healthCheck": equal}
    assert problems(first(loadBalancerType="nlb", healthCheck=equal, additionalListeners=[listener])) == []
