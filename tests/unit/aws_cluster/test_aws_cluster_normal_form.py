"""The wish of an AWSCluster: equal for every spelling, another one for every change."""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freehold.api.crd import build_crd
from freehold.providers.aws.cluster.cluster_plan import (
    ClusterPlan,
    NatGateway,
    PlannedSubnet,
    Role,
    Source,
    SourceKind,
    TrafficRule,
)
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenNetwork, GivenSubnet, Recorded
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.types.crd import AWS_CLUSTERS
from freehold.providers.objects.cloud_answers import Answer
from freehold_apiserver.custom import CustomStrategy
from harness.aws_specs import (
    NAMES,
    REGION,
    SUBNET,
    VPC,
    ZONES,
    Spec,
    at,
    cluster,
    decide,
    facts,
    put,
    reordered,
    rule,
    with_defaults,
    without_defaults,
)
from harness.rows import over_rows
from harness.schemas import schema_of

LEAST: Spec = {"region": REGION}


def plan_of(
    spec: Spec, known: AWSClusterFacts | None = None, *, storage: bool = True, names: AWSClusterNames = NAMES
) -> ClusterPlan:
    found = decide(names, cluster(spec), known or facts(), storage=storage)
    assert isinstance(found, Decided), found
    return found.cluster_plan


# --- one wish in many words ------------------------------------------------------------------------

rules = st.lists(
    st.sampled_from([
        rule(cidrBlocks=["192.0.2.0/24", "198.51.100.0/24"]),
        rule(sourceSecurityGroupRoles=["node", "controlplane"], fromPort=443, toPort=443),
        rule(sourceSecurityGroupIds=["sg-0123456789abcdef0"], protocol="udp"),
        rule(protocol="-1", fromPort=0, toPort=0),
        rule(natGatewaysIPsSource=True, fromPort=9, toPort=10),
        rule(cidrBlocks=["203.0.113.0/24"], protocol="icmp", fromPort=8, toPort=-1),
    ]),
    max_size=3,
)  # fmt: skip
listed = st.sampled_from([
    [],
    [
        {"id": "one", "availabilityZone": ZONES[0], "cidrBlock": "10.0.0.0/24", "isPublic": True},
        {"id": "two", "availabilityZone": ZONES[0], "cidrBlock": "10.0.1.0/24"},
        {"id": "three", "availabilityZone": ZONES[1], "cidrBlock": "10.0.2.0/24", "isPublic": True},
        {"id": "four", "availabilityZone": ZONES[1], "cidrBlock": "10.0.3.0/24"},
    ],
])  # fmt: skip
rest_of_networks = {
    "additionalControlPlaneIngressRules": rules,
    "additionalNodeIngressRules": rules,
    "nodePortIngressRuleCidrBlocks": st.just(["192.0.2.0/24", "198.51.100.0/24"]),
    "cni": st.sampled_from([{}, {"cniIngressRules": [rule(protocol="udp", fromPort=8472, toPort=8472)]}]),
}
given_networks = st.fixed_dictionaries(
    {
        "vpc": st.fixed_dictionaries({"id": st.just(VPC["id"])}, optional={"ipv6": st.just({})}),
        "subnets": st.just([SUBNET, {"id": "subnet-0123456789abcdef1"}]),
    },
    optional={**rest_of_networks, "securityGroupOverrides": st.just({"node": "sg-1", "lb": "sg-2"})},
)
created_networks = st.fixed_dictionaries(
    {},
    optional={
        "vpc": st.fixed_dictionaries(
            {},
            optional={
                "availabilityZoneUsageLimit": st.integers(1, 3),
                "availabilityZoneSelection": st.sampled_from(["Ordered", "Random"]),
                "subnetSchema": st.sampled_from(["PreferPrivate", "PreferPublic"]),
                "ipv6": st.just({}),
                "secondaryCidrBlocks": st.just([{"ipv4CidrBlock": "10.1.0.0/16"}, {"ipv4CidrBlock": "10.2.0.0/16"}]),
            },
        ),
        "subnets": listed,
        **rest_of_networks,
    },
)
listeners = st.sampled_from([
    [{"port": 8132}],
    [
        {"port": 8132, "healthCheck": {"protocol": "HTTPS", "path": "/healthz", "thresholdCount": 2}},
        {"port": 9345, "healthCheck": {"protocol": "HTTP", "port": "9346"}},
    ],
])  # fmt: skip
of_balancers = {
    "healthCheckProtocol": st.sampled_from(["TCP", "HTTPS"]),
    "healthCheck": st.just({"intervalSeconds": 30}),
    "crossZoneLoadBalancing": st.booleans(),
    "preserveClientIP": st.booleans(),
    "additionalListeners": listeners,
    "ingressRules": rules,
    "additionalSecurityGroups": st.just(["sg-1", "sg-2"]),
}
balancers = st.one_of(
    st.just({"loadBalancerType": "disabled"}),
    st.fixed_dictionaries(
        {"loadBalancerType": st.sampled_from(["classic", "nlb", "nlb"])},
        optional={"scheme": st.sampled_from(["internal", "internet-facing"]), **of_balancers},
    ),
)
second_balancers = st.fixed_dictionaries(
    {"loadBalancerType": st.just("nlb"), "name": st.just("second")}, optional=of_balancers
)


def _of_two_schemes(spec: Spec) -> Spec:
    """The second load balancer has the scheme that the first has not."""
    if "secondaryControlPlaneLoadBalancer" not in spec:
        return spec
    internal = at(spec, "controlPlaneLoadBalancer.scheme") == "internal"
    scheme = "internet-facing" if internal else "internal"
    return {
        **spec,
        "secondaryControlPlaneLoadBalancer": {**spec["secondaryControlPlaneLoadBalancer"], "scheme": scheme},
    }


def _around(spec: Spec) -> AWSClusterFacts:
    """What is known beside a spec: where it gives a VPC, that one's subnets."""
    ids = (SUBNET["id"], "subnet-0123456789abcdef1")
    blocks = (f"10.1.{number}.0/24" for number, _ in enumerate(ids))
    there = [
        GivenSubnet(ident, zone, block, public=ident == SUBNET["id"], ipv6=True)
        for ident, zone, block in zip(ids, ZONES, blocks, strict=False)
    ]
    network = Answer(GivenNetwork({each.id: each for each in there}))
    return replace(facts(), network=network) if at(spec, "network.vpc.id") else facts()


def _can_be_made(spec: Spec) -> bool:
    """Not in listed subnets without IPv6 a network load balancer with it, nor NAT gateways in rules where none is."""
    return isinstance(decide(NAMES, cluster(spec), _around(spec), storage=True), Decided)


specs = st.fixed_dictionaries(
    {"region": st.just(REGION)},
    optional={
        "network": st.one_of(created_networks, given_networks),
        "controlPlaneLoadBalancer": balancers,
        "secondaryControlPlaneLoadBalancer": second_balancers,
        "bastion": st.sampled_from([{}, {"enabled": True}, {"enabled": True, "disableIngressRules": True}]),
        "sshKeyName": st.sampled_from(["default", "mine", ""]),
        "additionalTags": st.just({"team": "a", "stage": "prod"}),
        "identityRef": st.just({"kind": "AWSClusterRoleIdentity", "name": "r"}),
        "s3Bucket": st.just({
            "name": "bootstrap-data", "controlPlaneIAMInstanceProfile": "cp", "nodesIAMInstanceProfiles": ["a", "b"],
        }),
    },
).map(_of_two_schemes).filter(_can_be_made)  # fmt: skip
seeds = st.integers(0, 2**32).map(random.Random)


@given(spec=specs, choose=seeds)
def test_defaults_written_are_the_same_wish(spec: Spec, choose: random.Random) -> None:
    assert plan_of(with_defaults(spec, choose), _around(spec)) == plan_of(spec, _around(spec))


@given(spec=specs, choose=seeds)
def test_defaults_taken_out_are_the_same_wish(spec: Spec, choose: random.Random) -> None:
    assert plan_of(without_defaults(spec, choose), _around(spec)) == plan_of(spec, _around(spec))


@given(spec=specs, choose=seeds)
def test_another_order_of_lists_and_fields_is_the_same_wish(spec: Spec, choose: random.Random) -> None:
    assert plan_of(reordered(spec, choose), _around(spec)) == plan_of(spec, _around(spec))


STRATEGY = CustomStrategy(schema_of(build_crd(AWS_CLUSTERS)), has_status=True)


@given(spec=specs)
def test_the_defaults_of_the_api_server_are_the_same_wish(spec: Spec) -> None:
    stored = cluster(copy.deepcopy(spec))
    STRATEGY.decode(stored)
    assert [str(each) for each in STRATEGY.validate(stored, None)] == []
    assert plan_of(stored["spec"], _around(spec)) == plan_of(spec, _around(spec))


def as_upstream_writes(found: ClusterPlan) -> list[dict[str, Any]]:
    """Derived subnets as upstream writes them into the spec."""
    return [
        {
            "id": each.name, "availabilityZone": each.zone, "cidrBlock": each.cidr, "isPublic": each.public,
            **({"isIpv6": True, "ipv6CidrBlock": f"2600:1f14:e08:74{each.ipv6_number:02x}::/64"}
               if each.ipv6_number is not None else {}),
        }
        for each in found.subnets
    ]  # fmt: skip


@pytest.mark.parametrize("ipv6", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("schema", ["PreferPrivate", "PreferPublic"])
def test_derived_subnets_written_into_the_spec_by_upstream_are_the_same_wish(schema: str, ipv6: bool) -> None:
    spec: Spec = {**LEAST, "network": {"vpc": {"subnetSchema": schema, **({"ipv6": {}} if ipv6 else {})}}}
    written = copy.deepcopy(spec)
    written["network"]["subnets"] = as_upstream_writes(plan_of(spec))
    assert plan_of(written) == plan_of(spec)


def test_host_bits_say_nothing() -> None:
    """AWS drops them."""
    odd = {"vpc": {"cidrBlock": "10.0.7.9/16"}, "nodePortIngressRuleCidrBlocks": ["192.0.2.77/24"]}
    even = {"vpc": {"cidrBlock": "10.0.0.0/16"}, "nodePortIngressRuleCidrBlocks": ["192.0.2.0/24"]}
    assert plan_of({**LEAST, "network": odd}) == plan_of({**LEAST, "network": even})


def test_nulls_are_fields_left_out() -> None:
    assert plan_of({**LEAST, "network": None, "bastion": None, "sshKeyName": None}) == plan_of(LEAST)


CHANGES: dict[str, tuple[str, Any]] = {
    "another region": ("region", "us-west-2"),
    "an identity": ("identityRef", {"kind": "AWSClusterStaticIdentity", "name": "s"}),
    "a tag": ("additionalTags", {"team": "b"}),
    "another range": ("network.vpc.cidrBlock", "10.8.0.0/16"),
    "one more range": ("network.vpc.secondaryCidrBlocks", [{"ipv4CidrBlock": "10.1.0.0/16"}]),
    "IPv6": ("network.vpc.ipv6", {}),
    "fewer zones": ("network.vpc.availabilityZoneUsageLimit", 2),
    "PreferPublic": ("network.vpc.subnetSchema", "PreferPublic"),
    "no rules for a CNI": ("network.cni", {}),
    "a rule for the control plane": ("network.additionalControlPlaneIngressRules", [rule(cidrBlocks=["192.0.2.0/24"])]),
    "a rule for the nodes": ("network.additionalNodeIngressRules", [rule(cidrBlocks=["192.0.2.0/24"])]),
    "node ports": ("network.nodePortIngressRuleCidrBlocks", ["192.0.2.0/24"]),
    "network load balancer": ("controlPlaneLoadBalancer.loadBalancerType", "nlb"),
    "no load balancer": ("controlPlaneLoadBalancer.loadBalancerType", "disabled"),
    "internal": ("controlPlaneLoadBalancer.scheme", "internal"),
    "its name": ("controlPlaneLoadBalancer.name", "mine"),
    "its check": ("controlPlaneLoadBalancer.healthCheckProtocol", "HTTPS"),
    "its interval": ("controlPlaneLoadBalancer.healthCheck", {"intervalSeconds": 20}),
    "its subnets": ("controlPlaneLoadBalancer.subnets", ["subnet-0123456789abcdef0"]),
    "its groups": ("controlPlaneLoadBalancer.additionalSecurityGroups", ["sg-1"]),
    "its rules": ("controlPlaneLoadBalancer.ingressRules", [rule(cidrBlocks=["192.0.2.0/24"])]),
    "cross-zone": ("controlPlaneLoadBalancer.crossZoneLoadBalancing", True),
    "a second one": (
        "secondaryControlPlaneLoadBalancer", {"name": "in", "loadBalancerType": "nlb", "scheme": "internal"},
    ),
    "a bastion": ("bastion", {"enabled": True}),
    "a bucket": (
        "s3Bucket", {"name": "b-1", "controlPlaneIAMInstanceProfile": "c", "nodesIAMInstanceProfiles": ["n"]},
    ),
}  # fmt: skip


@over_rows(("path", "value"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_another_wish(path: str, value: Any) -> None:
    """Otherwise the tests above would hold for a wish that forgets everything."""
    changed = copy.deepcopy(LEAST)
    put(changed, path, value)
    assert plan_of(changed) != plan_of(LEAST)


# --- what the default cluster is -----------------------------------------------------------------


def test_the_default_cluster() -> None:
    """Upstream's: three zones with a NAT gateway each, four groups, a public classic load balancer."""
    found = plan_of(LEAST)
    assert (found.region, found.partition, found.identity.name) == (REGION, "aws", "default")
    assert (found.vpc.name, found.vpc.cidr, found.vpc.ipv6, found.vpc.given) == ("prod-vpc", "10.0.0.0/16", False, "")
    assert [each.name for each in found.subnets if each.public] == [f"prod-subnet-public-{zone}" for zone in ZONES]
    private = [each.cidr for each in found.subnets if not each.public]
    assert private == ["10.0.64.0/18", "10.0.128.0/18", "10.0.192.0/18"]
    assert [(each.zone, each.subnet.split(":")[0]) for each in found.nat_gateways] == [(z, "public") for z in ZONES]
    assert [each.name for each in found.groups] == ["prod-apiserver-lb", "prod-controlplane", "prod-lb", "prod-node"]
    (balancer,) = found.load_balancers
    assert (balancer.name, balancer.type, balancer.scheme) == ("prod-apiserver", "classic", "internet-facing")
    assert balancer.subnets == tuple(each.logical for each in found.subnets if each.public)
    (listener,) = balancer.listeners
    assert (listener.port, listener.target_port, listener.health.protocol) == (6443, 6443, "TCP")
    assert [(each.zone, each.control_plane) for each in found.failure_domains] == [(zone, True) for zone in ZONES]
    assert found.bastion is None and found.bucket is None and found.tags == ()


def group(spec: Spec, role: Role, known: AWSClusterFacts | None = None) -> tuple[TrafficRule, ...]:
    (found,) = (each for each in plan_of(spec, known).groups if each.role is role)
    return found.rules


def ports(rules: tuple[TrafficRule, ...]) -> list[str]:
    return [f"{r.protocol} {r.from_port}-{r.to_port} {r.source.kind.value}:{r.source.value}" for r in rules]


def test_rules_of_the_default_cluster_are_upstreams() -> None:
    between = ["group:controlplane", "group:node"]
    assert ports(group(LEAST, Role.CONTROL_PLANE)) == [
        *(f"4 -1--1 {source}" for source in between),
        *(f"tcp 179-179 {source}" for source in between),
        "tcp 2379-2379 group:controlplane",
        "tcp 2380-2380 group:controlplane",
        *(f"tcp 6443-6443 group:{role}" for role in ("apiserver-lb", "controlplane", "node")),
    ]
    assert ports(group(LEAST, Role.NODE)) == [
        *(f"4 -1--1 {source}" for source in between),
        *(f"tcp 179-179 {source}" for source in between),
        *(f"tcp 10250-10250 {source}" for source in between),
        "tcp 30000-32767 ipv4:0.0.0.0/0",
    ]
    assert ports(group(LEAST, Role.API_SERVER_LB)) == ["tcp 6443-6443 ipv4:0.0.0.0/0"]
    assert group(LEAST, Role.LB) == ()


BALANCER_RULES: dict[str, tuple[Spec, AWSClusterFacts, Role, list[str]]] = {
    "another port of the API server": (
        {}, facts(port=443), Role.API_SERVER_LB, ["tcp 443-443 ipv4:0.0.0.0/0"],
    ),
    "rules of the spec, and the nodes through NAT": (
        {"controlPlaneLoadBalancer": {"ingressRules": [rule(cidrBlocks=["192.0.2.0/24"])]}}, facts(),
        Role.API_SERVER_LB, ["tcp 80-80 ipv4:192.0.2.0/24", "tcp 6443-6443 nat-gateways:"],
    ),
    "rules of the spec, internal: the nodes within the VPC": (
        {"controlPlaneLoadBalancer": {"scheme": "internal", "ingressRules": [rule(cidrBlocks=["192.0.2.0/24"])]}},
        facts(), Role.API_SERVER_LB, ["tcp 80-80 ipv4:192.0.2.0/24", "tcp 6443-6443 ipv4:10.0.0.0/16"],
    ),
    "rules of the spec in a given VPC: nothing more": (
        {"network": {"vpc": VPC, "subnets": [SUBNET]},
         "controlPlaneLoadBalancer": {"ingressRules": [rule(cidrBlocks=["192.0.2.0/24"])]}}, facts(),
        Role.API_SERVER_LB, ["tcp 80-80 ipv4:192.0.2.0/24"],
    ),
    "rules of the spec, two load balancers: the nodes on both ways": (
        {"controlPlaneLoadBalancer": {"ingressRules": [rule(cidrBlocks=["192.0.2.0/24"])]},
         "secondaryControlPlaneLoadBalancer": {"name": "in", "loadBalancerType": "nlb", "scheme": "internal"}}, facts(),
        Role.API_SERVER_LB,
        ["tcp 80-80 ipv4:192.0.2.0/24", "tcp 6443-6443 ipv4:10.0.0.0/16", "tcp 6443-6443 nat-gateways:"],
    ),
    "network load balancer: from within the VPC": (
        {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}}, facts(), Role.LB, ["tcp 6443-6443 ipv4:10.0.0.0/16"],
    ),
    "network load balancer in a given VPC": (
        {"network": {"vpc": VPC, "subnets": [SUBNET]}, "controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}},
        facts(), Role.LB, ["tcp 6443-6443 vpc:"],
    ),
    "network load balancer that keeps addresses: from everywhere": (
        {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "preserveClientIP": True,
                                      "additionalListeners": [{"port": 8132}]}},
        facts(), Role.LB, ["tcp 6443-6443 ipv4:0.0.0.0/0", "tcp 8132-8132 ipv4:0.0.0.0/0"],
    ),
    "a rule without a source is for the control plane": (
        {"network": {"additionalNodeIngressRules": [rule(fromPort=1, toPort=2)], "cni": {},
                     "nodePortIngressRuleCidrBlocks": ["192.0.2.0/24"]}}, facts(), Role.NODE,
        ["tcp 1-2 group:controlplane", "tcp 10250-10250 group:controlplane", "tcp 10250-10250 group:node",
         "tcp 30000-32767 ipv4:192.0.2.0/24"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "known", "role", "wanted"), BALANCER_RULES.values(), ids=BALANCER_RULES.keys())
def test_rules(spec: Spec, known: AWSClusterFacts, role: Role, wanted: list[str]) -> None:
    assert ports(group({**LEAST, **spec}, role, known)) == wanted


def test_rules_that_differ_in_the_description_alone_are_one() -> None:
    """AWS answers InvalidPermission.Duplicate to the second."""
    source = {"cidrBlocks": ["192.0.2.0/24"]}
    twice = [rule(description="b", **source), rule(description="a", **source)]
    found = group({**LEAST, "network": {"additionalNodeIngressRules": twice}}, Role.NODE)
    of_spec = [each for each in found if each.source == Source(SourceKind.IPV4, "192.0.2.0/24")]
    assert [each.description for each in of_spec] == ["a"]


def test_protocols_are_called_as_aws_shows_them() -> None:
    """A rule for 58 comes back as icmpv6: compared by number it would be written in each pass."""
    rules = [rule(protocol="58", fromPort=-1, toPort=-1, ipv6CidrBlocks=["::/0"]), rule(protocol="50", fromPort=7)]
    found = ports(group({**LEAST, "network": {"additionalNodeIngressRules": rules}}, Role.NODE))
    assert "icmpv6 -1--1 ipv6:::/0" in found and "50 -1--1 group:controlplane" in found


def test_a_bastion_brings_its_group_and_ssh() -> None:
    spec = {**LEAST, "bastion": {"enabled": True, "allowedCIDRBlocks": ["192.0.2.0/24", "2001:db8::/64"]}}
    found = plan_of(spec)
    assert found.bastion and (found.bastion.instance_type, found.bastion.key_name) == ("t3.micro", "default")
    assert found.bastion.subnet == next(each.logical for each in found.subnets if each.public)
    assert ports(group(spec, Role.BASTION)) == ["tcp 22-22 ipv4:192.0.2.0/24", "tcp 22-22 ipv6:2001:db8::/64"]
    for role in (Role.NODE, Role.CONTROL_PLANE):
        assert "tcp 22-22 group:bastion" in ports(group(spec, role))
    assert group({**LEAST, "bastion": {"enabled": True, "disableIngressRules": True}}, Role.BASTION) == ()


def test_a_bastion_stays_where_it_is() -> None:
    """A zone that comes before its own, by name, is no reason to move it."""
    spec = {**LEAST, "bastion": {"enabled": True}}
    first = plan_of(spec, facts(ZONES[1:]))
    assert first.bastion is not None
    held = Recorded(subnets={each.logical: "" for each in first.subnets}, bastion=first.bastion.subnet)
    later = plan_of(spec, facts(recorded=held))
    assert len(later.subnets) > len(first.subnets) and later.bastion == first.bastion


def test_a_network_load_balancer_with_its_listeners() -> None:
    check = {"protocol": "HTTPS", "port": "9345", "intervalSeconds": 20}
    spec: Spec = {
        **LEAST,
        "controlPlaneLoadBalancer": {
            "loadBalancerType": "nlb", "healthCheckProtocol": "HTTPS", "healthCheck": {"thresholdCount": 2},
            "additionalListeners": [{"port": 9345, "healthCheck": check}, {"port": 8132}],
        },
    }  # fmt: skip
    (balancer,) = plan_of(spec).load_balancers
    assert balancer.name == "team-prod-apiserver"
    assert [(each.port, each.target_port, each.ip_type) for each in balancer.listeners] == [
        (6443, 6443, "ipv4"), (8132, 8132, "ipv4"), (9345, 9345, "ipv4"),
    ]  # fmt: skip
    api, other, named = (each.health for each in balancer.listeners)
    assert (api.protocol, api.path, api.healthy, api.interval) == ("HTTPS", "/readyz", 2, 5)
    assert (other.protocol, other.port, other.path) == ("TCP", 8132, "")
    assert (named.protocol, named.port, named.path, named.interval) == ("HTTPS", 9345, "/", 20)


def test_two_load_balancers_have_opposite_schemes_and_subnets() -> None:
    second = {"name": "inside", "loadBalancerType": "nlb", "scheme": "internal"}
    found = plan_of({**LEAST, "secondaryControlPlaneLoadBalancer": second})
    outside, inside = found.load_balancers
    private = tuple(each.logical for each in found.subnets if not each.public)
    assert (outside.key, inside.key, inside.name) == ("primary", "secondary", "inside")
    assert inside.subnets == private and not set(outside.subnets) & set(private)


def test_a_long_name_is_hashed_as_upstream_hashes_it() -> None:
    """CAPA's GenerateELBName: 28 letters of blake2b, and -k8s; names with dots get dashes."""
    (balancer,) = plan_of(LEAST, names=AWSClusterNames("team", "a" * 40)).load_balancers
    assert len(balancer.name) == 32 and balancer.name.endswith("-k8s")
    (dotted,) = plan_of(LEAST, names=AWSClusterNames("team", "a.b")).load_balancers
    assert dotted.name == "a-b-apiserver"


def test_no_default_name_begins_with_what_aws_refuses() -> None:
    network = {**LEAST, "controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}}
    (balancer,) = plan_of(network, names=AWSClusterNames("internal", "a")).load_balancers
    assert not balancer.name.startswith("internal-") and balancer.name.endswith("-k8s")


def test_names_like_ids_are_made_legal_for_groups() -> None:
    assert {each.name for each in plan_of(LEAST, names=AWSClusterNames("team", "sg-1")).groups} >= {"@sg-1-node"}


# --- a given VPC, and what is on record ----------------------------------------------------------

GIVEN: Spec = {**LEAST, "network": {"vpc": VPC, "subnets": [SUBNET, {"id": "subnet-0123456789abcdef1"}]}}


def test_in_a_given_vpc_nothing_of_the_network_is_created() -> None:
    found = plan_of(GIVEN)
    assert (found.created_vpc, found.vpc.given, found.vpc.cidr) == (False, VPC["id"], "")
    assert [each.given for each in found.subnets] == [SUBNET["id"], "subnet-0123456789abcdef1"]
    assert found.nat_gateways == () and found.failure_domains == ()
    assert found.load_balancers[0].subnets == ()


def test_overridden_groups_are_given_and_have_no_rules_of_ours() -> None:
    spec = copy.deepcopy(GIVEN)
    spec["network"]["securityGroupOverrides"] = {"node": "sg-0123456789abcdef0"}
    found = {each.role: each for each in plan_of(spec).groups}
    assert (found[Role.NODE].given, found[Role.NODE].rules) == ("sg-0123456789abcdef0", ())
    assert found[Role.CONTROL_PLANE].given == "" and found[Role.CONTROL_PLANE].rules


def record_of(found: ClusterPlan) -> Recorded:
    ids = {each.logical: f"subnet-{number:017x}" for number, each in enumerate(found.subnets)}
    return Recorded(vpc=VPC["id"], subnets=ids)


def test_ids_of_our_own_resources_in_the_spec_change_nothing() -> None:
    """ADR 13: an id that is our own resource's names the node that this resource has."""
    first = plan_of(LEAST)
    held = record_of(first)
    by_id = {"vpc": VPC, "subnets": [{"id": ident} for ident in held.subnets.values()]}
    assert plan_of({**LEAST, "network": by_id}, facts(recorded=held)) == first


EDITS: dict[str, Spec] = {
    "a lower limit": {"network": {"vpc": {"availabilityZoneUsageLimit": 1}}},
    "the other schema": {"network": {"vpc": {"subnetSchema": "PreferPublic"}}},
    "random zones": {"network": {"vpc": {"availabilityZoneSelection": "Random"}}},
    "another load balancer": {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}},
    "secondary ranges": {"network": {"vpc": {"secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}]}}},
}


@over_rows("zones", [ZONES, ("eu-central-1d", *ZONES), ("eu-central-1d", "eu-central-1e"), ()])
@over_rows("edit", EDITS.values(), ids=EDITS.keys())
def test_derived_subnets_keep_zone_and_range(edit: Spec, zones: tuple[str, ...]) -> None:
    first = plan_of(LEAST)
    known = facts(zones or ZONES[:1], recorded=record_of(first))
    assert plan_of({**LEAST, **edit}, known).subnets == first.subnets


def test_a_subnet_written_out_with_another_range_is_still_the_one_on_record() -> None:
    """The difference is then drift of a subnet, which cannot change its range; not a second subnet."""
    first = plan_of(LEAST)
    written = as_upstream_writes(first)
    written[0]["cidrBlock"] = "10.0.48.0/24"
    later = plan_of({**LEAST, "network": {"subnets": written}}, facts(recorded=record_of(first)))
    assert [each.logical for each in later.subnets] == [each.logical for each in first.subnets]
    changed = [(one.cidr, other.cidr) for one, other in zip(first.subnets, later.subnets, strict=True) if one != other]
    assert changed == [(first.subnets[0].cidr, "10.0.48.0/24")]


def test_a_subnet_written_out_without_its_range_keeps_the_one_on_record() -> None:
    first = plan_of(LEAST)
    written = [{key: value for key, value in each.items() if key != "cidrBlock"} for each in as_upstream_writes(first)]
    spec = {**LEAST, "network": {"subnets": written}}
    assert plan_of(spec, facts(recorded=record_of(first))).subnets == first.subnets


def test_a_load_balancer_is_in_one_subnet_of_a_zone() -> None:
    """AWS refuses two. NAT gateways too are one in a zone. It is the first that is listed, as upstream's."""
    subnets = [
        {"id": name, "availabilityZone": ZONES[0], "cidrBlock": f"10.0.{index}.0/24", "isPublic": name != "c"}
        for index, name in enumerate(("b", "c", "a"))
    ]
    found = plan_of({**LEAST, "network": {"subnets": subnets}})
    assert found.load_balancers[0].subnets == ("b",)
    assert found.nat_gateways == (NatGateway(ZONES[0], "b"),)
    subnets.reverse()
    held = Recorded(subnets={"b": "", "c": ""}, nat_gateways=[NatGateway(ZONES[0], "b").logical])
    later = plan_of({**LEAST, "bastion": {"enabled": True}, "network": {"subnets": subnets}}, facts(recorded=held))
    assert later.nat_gateways == (NatGateway(ZONES[0], "b"),), "a NAT gateway cannot move"
    assert later.load_balancers[0].subnets == ("b",) and later.bastion and later.bastion.subnet == "b"


def test_ipv6_later_adds_ranges_to_the_subnets_that_are_there() -> None:
    first = plan_of(LEAST)
    later = plan_of({**LEAST, "network": {"vpc": {"ipv6": {}}}}, facts(recorded=record_of(first)))
    assert [each.logical for each in later.subnets] == [each.logical for each in first.subnets]
    assert sorted(each.ipv6_number or 0 for each in later.subnets) == [2, 3, 4, 5, 6, 7]


def test_listed_subnets_are_called_by_their_ids_and_nat_is_in_their_zone() -> None:
    subnets = [
        {"id": "subnet-zone-1-private", "availabilityZone": ZONES[0], "cidrBlock": "10.0.0.0/24"},
        {"id": "subnet-zone-1-public", "availabilityZone": ZONES[0], "cidrBlock": "10.0.1.0/24", "isPublic": True},
    ]
    found = plan_of({**LEAST, "network": {"subnets": subnets}})
    private = PlannedSubnet("subnet-zone-1-private", "", "subnet-zone-1-private", ZONES[0], "10.0.0.0/24")
    assert found.subnets[0] == private
    assert found.nat_gateways == (NatGateway(ZONES[0], "subnet-zone-1-public"),)


def test_the_bucket_needs_its_feature_gate() -> None:
    bucket = {"name": "b-1", "controlPlaneIAMInstanceProfile": "c", "nodesIAMInstanceProfiles": ["n"]}
    assert plan_of({**LEAST, "s3Bucket": bucket}, storage=False).bucket is None
    presigned = plan_of({**LEAST, "s3Bucket": {"name": "b-1", "presignedURLDuration": "1h"}}).bucket
    assert presigned and (presigned.presigned, presigned.node_profiles) == ("1h", ())


PARTITIONS = {"cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "us-isob-east-1": "aws-iso-b", "sa-east-1": "aws"}


@pytest.mark.parametrize(("region", "partition"), PARTITIONS.items())
def test_the_partition_follows_from_the_region(region: str, partition: str) -> None:
    assert plan_of({"region": region}).partition == partition
