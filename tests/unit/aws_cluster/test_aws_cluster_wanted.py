"""The nodes of an AWSCluster: what is wanted for the examples of upstream, with CAPA's tags; equal for equal wishes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from freehold.engine.graph import Graph
from freehold.engine.reasons import Reason
from freehold.engine.resources import NodeKey
from freehold.providers.aws.cluster import keys
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenNetwork, GivenSubnet, Namesake, Recorded
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.kind_facts import KINDS
from freehold.providers.objects.adapter import RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from harness.aws_graphs import VPC_RANGE, VPC_RANGE_6, counts, parts, plain, ready, requests, tags
from harness.aws_specs import NAMES, REGION, VPC, ZONES, Spec, cluster, facts, reordered, wanted, with_defaults

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "aws-cluster.yaml"
UPSTREAM = ROOT / "tests" / "data" / "upstream" / "capa" / "manifests.yaml"
LEAST: Spec = {"region": REGION}
IMAGE = "ami-0123456789abcdef0"
PUBLIC, PRIVATE, OTHER = (f"subnet-0123456789abcdef{number}" for number in range(3))
NETWORK = GivenNetwork({
    PUBLIC: GivenSubnet(PUBLIC, ZONES[0], "10.1.0.0/24", public=True),
    PRIVATE: GivenSubnet(PRIVATE, ZONES[0], "10.1.1.0/24", public=False),
    OTHER: GivenSubnet(OTHER, ZONES[1], "10.1.2.0/24", public=False),
})  # fmt: skip
GIVEN: Spec = {**LEAST, "network": {"vpc": VPC, "subnets": [{"id": PUBLIC}, {"id": PRIVATE}]}}
CAPA, ROLE = (
    f"sigs.k8s.io/cluster-api-provider-aws/cluster/{NAMES.cluster}",
    "sigs.k8s.io/cluster-api-provider-aws/role",
)
CCM = f"kubernetes.io/cluster/{NAMES.cluster}"


def known(**more: Any) -> AWSClusterFacts:
    found = facts()
    values = {"recorded": found.recorded, "network": Answer(NETWORK), "image": Answer(IMAGE), "namesakes": Answer(())}
    return AWSClusterFacts(found.zones, found.api_port, **{**values, **more})


def plan(spec: Spec, *, storage: bool = False, names: AWSClusterNames = NAMES, **more: Any) -> AWSWanted:
    found = wanted(names, cluster(spec), known(**more), account="111122223333", storage=storage)
    assert isinstance(found, AWSWanted), found
    return found


def graph(spec: Spec, **more: Any) -> Graph:
    return plan(spec, **more).graph


# --- counts ----------------------------------------------------------------------------------------


def test_a_default_cluster_over_three_zones_is_upstreams_25_resources() -> None:
    assert counts(graph(LEAST)) == {
        "vpc": 1, "subnet": 6, "internet-gateway": 1, "elastic-ip": 3, "nat-gateway": 3, "route-table": 6,
        "security-group": 4, "classic-load-balancer": 1,
    }  # fmt: skip


def test_only_zones_of_the_load_balancer_are_for_the_control_plane_also_where_its_subnet_is_named_for_it_alone() -> (
    None
):
    """It passes nothing to machines of other zones."""
    network = {"vpc": VPC, "subnets": [{"id": PRIVATE}, {"id": OTHER}]}
    spec = {**LEAST, "network": network, "controlPlaneLoadBalancer": {"subnets": [PUBLIC]}}
    found = plan(spec).cluster_plan
    assert found is not None and found.load_balancers[0].zones == (ZONES[0],)
    assert [(each.zone, each.control_plane) for each in found.failure_domains] == [(ZONES[0], True), (ZONES[1], False)]


def test_the_id_of_an_own_subnet_places_a_load_balancer_in_that_subnet() -> None:
    own, found = f"public:{ZONES[0]}:10.0.0.0/20:5", {**LEAST, "controlPlaneLoadBalancer": {"subnets": [PUBLIC]}}
    wish = plan(found, recorded=Recorded(subnets={own: PUBLIC})).cluster_plan
    assert wish is not None
    (balancer,) = wish.load_balancers
    assert (balancer.subnets, balancer.zones) == ((own,), (ZONES[0],))


def test_a_network_load_balancer_has_a_target_group_and_a_listener_for_each_port() -> None:
    ports = [{"port": 22623}, {"port": 8132}]
    found = counts(
        graph({**LEAST, "controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "additionalListeners": ports}})
    )
    assert (found["network-load-balancer"], found["target-group"], found["listener"]) == (1, 3, 3)
    assert not found["classic-load-balancer"]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_each_zone_has_two_subnets_a_way_out_and_an_address(limit: int) -> None:
    found = counts(graph({**LEAST, "network": {"vpc": {"availabilityZoneUsageLimit": limit}}}))
    assert [found[kind] for kind in ("subnet", "route-table", "nat-gateway", "elastic-ip")] == [
        2 * limit, 2 * limit, limit, limit,
    ]  # fmt: skip


def test_with_everything_each_kind_of_the_table_of_kinds_is_wanted_and_no_other() -> None:
    everything: Spec = {
        **LEAST,
        "network": {"vpc": {"ipv6": {}}},
        "bastion": {"enabled": True},
        "secondaryControlPlaneLoadBalancer": {"name": "inner", "loadBalancerType": "nlb", "scheme": "internal"},
        "s3Bucket": {"name": "boot", "presignedURLDuration": "24h"},
    }
    of_others = {"bootstrap-secret", "iam-role", "oidc-provider", "eks-cluster", "eks-addon", "eks-access-entry"}
    assert set(counts(graph(everything, storage=True))) == {kind.name for kind in KINDS} - of_others, (
        "machines and control planes have these"
    )


def test_in_a_given_vpc_only_groups_and_the_load_balancer_are_created() -> None:
    found = graph(GIVEN)
    created = {key.kind for key, node in found.nodes.items() if not node.given}
    assert created == {"security-group", "classic-load-balancer"}
    assert {node.given({}) for node in found.nodes.values() if node.given} == {VPC["id"], PUBLIC, PRIVATE}


def test_a_group_that_the_spec_overrides_is_given_and_has_no_parts() -> None:
    override = {"securityGroupOverrides": {"node": "sg-0123456789abcdef0"}}
    found = graph({**GIVEN, "network": {**GIVEN["network"], **override}})
    assert found.nodes[NodeKey("security-group", "node")].given
    assert parts(found, "security-group/node") == frozenset()


def test_a_disabled_load_balancer_leaves_the_endpoint_to_the_user() -> None:
    found = plan({**LEAST, "controlPlaneLoadBalancer": {"loadBalancerType": "disabled"}})
    assert found.endpoint is None
    assert not counts(found.graph)["classic-load-balancer"]


# --- routes, rules, requests -----------------------------------------------------------------------


def test_private_subnets_go_out_through_the_nat_gateway_of_their_zone_and_public_ones_directly() -> None:
    found = graph(LEAST)
    for key in found.nodes:
        if key.kind == "route-table":
            zone = key.logical.split(":")[1]
            (route,) = (part for part in parts(found, str(key)) if part.kind == "route")
            way = "internet-gateway/main" if key.logical.startswith("public") else f"nat-gateway/{zone}@public:{zone}"
            assert route.natural_key == "0.0.0.0/0"
            assert route.behavior.startswith(way)
            assert {part.natural_key for part in parts(found, str(key))} - {"0.0.0.0/0"} == {f"subnet/{key.logical}"}


def test_over_ipv6_private_subnets_go_out_through_the_egress_only_gateway() -> None:
    found = graph({**LEAST, "network": {"vpc": {"ipv6": {}}}})
    ways = {
        (key.logical.split(":")[0], part.behavior)
        for key in found.nodes
        if key.kind == "route-table"
        for part in parts(found, str(key))
        if part.natural_key == "::/0"
    }
    assert ways == {("public", "internet-gateway/main"), ("private", "egress-only-gateway/main")}


def test_subnets_of_an_ipv6_vpc_get_different_parts_of_its_range() -> None:
    found = graph({**LEAST, "network": {"vpc": {"ipv6": {}}}})
    blocks = [parts(found, str(key)) for key in found.nodes if key.kind == "subnet"]
    texts = {part.natural_key for inside in blocks for part in inside}
    assert len(texts) == 6
    assert all(text.startswith(VPC_RANGE_6.removesuffix("00::/56")) and text.endswith("::/64") for text in texts)


def test_rules_are_written_as_a_read_shows_them() -> None:
    found = parts(graph(LEAST), "security-group/node")
    assert {part.natural_key for part in found} == {
        "tcp 179 security-group/controlplane", "tcp 179 security-group/node",
        "4 security-group/controlplane", "4 security-group/node",
        "tcp 30000-32767 0.0.0.0/0",
        "tcp 10250 security-group/controlplane", "tcp 10250 security-group/node",
    }  # fmt: skip
    assert all(part.kind == "ingress-rule" for part in found)


def test_the_default_groups_let_in_what_upstreams_do() -> None:
    found = graph(LEAST)
    assert [len(parts(found, f"security-group/{role}")) for role in ("apiserver-lb", "controlplane", "lb", "node")] == [
        1, 9, 0, 7,
    ]  # fmt: skip


def test_rules_for_nat_gateways_are_one_for_each_address() -> None:
    spec: Spec = {
        **LEAST,
        "network": {
            "additionalNodeIngressRules": [
                {"description": "n", "protocol": "tcp", "fromPort": 9, "toPort": 9, "natGatewaysIPsSource": True}
            ]
        },
    }
    keys = [
        part.natural_key for part in parts(graph(spec), "security-group/node") if part.natural_key.startswith("tcp 9 ")
    ]
    assert len(keys) == 3
    assert all(key.endswith("/32") for key in keys)


def test_rules_for_a_given_vpc_name_its_range() -> None:
    nlb = {"loadBalancerType": "nlb", "scheme": "internal"}
    found = parts(graph({**GIVEN, "controlPlaneLoadBalancer": nlb}), "security-group/controlplane")
    assert f"tcp 6443 {VPC_RANGE}" in {part.natural_key for part in found}


def test_a_load_balancer_in_a_secondary_range_reaches_the_machines() -> None:
    vpc = {"secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}]}
    found = graph({**LEAST, "network": {"vpc": vpc}, "controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}})
    inside = {part.natural_key for part in parts(found, "security-group/controlplane")}
    assert {"tcp 6443 10.0.0.0/16", "tcp 6443 10.1.0.0/16"} <= inside


def test_the_group_for_services_is_handed_over_and_what_network_load_balancers_need_is_in_another() -> None:
    found = graph({**LEAST, "controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}})
    assert [str(key) for key, node in found.nodes.items() if node.shared] == ["security-group/lb"]
    assert parts(found, "security-group/lb") == frozenset()
    assert "tcp 6443 10.0.0.0/16" in {part.natural_key for part in parts(found, "security-group/controlplane")}


@pytest.mark.parametrize(("given", "inside"), [("lb", "controlplane"), ("controlplane", "lb")])
def test_what_network_load_balancers_need_is_in_the_group_of_control_plane_machines_that_is_ours(
    given: str, inside: str
) -> None:
    """Nothing is put into a group that the spec gives. Upstream puts it into ``lb``, before that is handed over."""
    network = {**GIVEN["network"], "securityGroupOverrides": {given: "sg-1"}}
    nlb = {"loadBalancerType": "nlb", "additionalListeners": [{"port": 8132}]}
    found = graph({**GIVEN, "network": network, "controlPlaneLoadBalancer": nlb})
    node = found.nodes[NodeKey("security-group", inside)]
    put = (node.first_parts if node.shared else node.parts)(ready(found))
    assert {f"tcp 6443 {VPC_RANGE}", f"tcp 8132 {VPC_RANGE}"} <= {part.natural_key for part in put}
    assert node.shared is (inside == "lb")


def test_a_request_needs_no_more_than_what_the_node_requires() -> None:
    spec: Spec = {
        **LEAST, "network": {"vpc": {"ipv6": {}}}, "bastion": {"enabled": True},
        "secondaryControlPlaneLoadBalancer": {"name": "inner", "loadBalancerType": "nlb", "scheme": "internal"},
    }  # fmt: skip
    assert len(requests(graph(spec))) == len(graph(spec).nodes)


@pytest.mark.parametrize("kind", ["nat-gateway", "classic-load-balancer", "network-load-balancer", "instance"])
def test_what_has_a_public_address_waits_for_the_internet_gateway(kind: str) -> None:
    """AWS refuses it, or makes it and lets it fail, in a VPC without one."""
    balancer = {"loadBalancerType": "nlb" if kind.startswith("network") else "classic"}
    found = graph({**LEAST, "controlPlaneLoadBalancer": balancer, "bastion": {"enabled": True}})
    nodes = [node for key, node in found.nodes.items() if key.kind == kind]
    assert nodes
    assert all(NodeKey("internet-gateway", "main") in node.requires for node in nodes)


def test_the_classic_load_balancer_is_upstreams() -> None:
    assert requests(graph(LEAST))["classic-load-balancer/primary"] == {
        "name": "prod-apiserver",
        "scheme": "internet-facing",
        "subnets": sorted(str(key) for key in graph(LEAST).nodes if str(key).startswith("subnet/public")),
        "security_groups": ["security-group/apiserver-lb"],
        "listeners": [{"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}],
        "health_check": {
            "Target": "TCP:6443", "Interval": 5, "Timeout": 4, "HealthyThreshold": 2, "UnhealthyThreshold": 6,
        },
        "cross_zone": False,
        "idle_timeout": 600,
    }  # fmt: skip


def test_names_of_target_groups_fit_and_differ_between_clusters_and_ports() -> None:
    nlb = {**LEAST, "controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "additionalListeners": [{"port": 22623}]}}
    names = [
        node.name
        for names in (NAMES, AWSClusterNames("team", "test"), AWSClusterNames("other", "prod"))
        for key, node in graph(nlb, names=names).nodes.items()
        if key.kind == "target-group"
    ]
    assert len(set(names)) == len(names) == 6
    assert all(len(name) <= 32 for name in names)


def test_a_bastion_whose_subnet_is_not_known_is_no_node() -> None:
    """A delete does not ask for zones: of a cluster without recorded subnets there is none for it to be in."""
    spec = cluster({**LEAST, "bastion": {"enabled": True}})
    found = wanted(NAMES, spec, AWSClusterFacts(None, facts().api_port), account="111122223333", storage=False)
    assert isinstance(found, AWSWanted)
    assert keys.BASTION not in found.graph.nodes


def test_a_bastion_has_the_newest_image_and_keeps_the_one_that_it_has() -> None:
    found = graph({**LEAST, "bastion": {"enabled": True}})
    key = NodeKey("instance", "bastion")
    assert requests(found)[str(key)]["image_id"] == IMAGE
    assert found.nodes[key].request(ready(found))["image_id"] == "ami-of-the-one-that-is-there"


def test_the_bucket_lets_each_sort_of_machine_read_its_own_data() -> None:
    bucket = {
        "name": "boot", "controlPlaneIAMInstanceProfile": "cp", "nodesIAMInstanceProfiles": ["workers"],
    }  # fmt: skip
    (policy,) = parts(graph({**LEAST, "s3Bucket": bucket}, storage=True), "s3-bucket/main")
    found = json.loads(policy.request["Policy"])["Statement"]
    assert [(each["Sid"], each["Principal"]["AWS"], each["Resource"]) for each in found] == [
        ("ForceSSLOnlyAccess", ["*"], ["arn:aws:s3:::boot/*"]),
        ("control-plane", ["arn:aws:iam::111122223333:role/cp"], ["arn:aws:s3:::boot/control-plane/*"]),
        ("workers", ["arn:aws:iam::111122223333:role/workers"], ["arn:aws:s3:::boot/node/*"]),
    ]


# --- tags ------------------------------------------------------------------------------------------


def test_tags_are_exactly_those_of_capa() -> None:
    found = {str(key).replace("10.0.0.0/20", "…"): tags(node) for key, node in graph(LEAST).nodes.items()}
    zone = ZONES[0]
    own = {CAPA: "owned"}
    assert found["vpc/main"] == {**own, ROLE: "common", "Name": "prod-vpc"}
    public = next(tag for key, tag in found.items() if key.startswith(f"subnet/public:{zone}"))
    assert public == {
        **own, ROLE: "public", CCM: "owned", "kubernetes.io/role/elb": "1", "Name": f"prod-subnet-public-{zone}",
    }  # fmt: skip
    table = next(tag for key, tag in found.items() if key.startswith(f"route-table/private:{zone}"))
    assert table == {**own, ROLE: "common", CCM: "owned", "Name": f"prod-rt-private-{zone}"}
    assert found["security-group/lb"] == {**own, ROLE: "lb", CCM: "owned", "Name": "prod-lb"}
    assert found["security-group/node"] == {**own, ROLE: "node", "Name": "prod-node"}
    assert found["classic-load-balancer/primary"] == {**own, ROLE: "apiserver", "Name": "prod-apiserver"}


def test_a_users_name_replaces_upstreams_and_nothing_else() -> None:
    usual = {key: tags(node) for key, node in graph(LEAST).nodes.items()}
    found = plan({**LEAST, "additionalTags": {"Name": "mine", "a": "b"}})
    assert {key: tags(node) for key, node in found.graph.nodes.items()} == {
        key: {name: value for name, value in own.items() if name != "Name"} for key, own in usual.items()
    }
    assert found.user_tags == (("Name", "mine"), ("a", "b"))


def test_the_cloud_controller_finds_one_group_whatever_the_user_tags() -> None:
    """Of several it takes none, and serves no load balancer."""
    groups = {str(key): node.refused_tags for key, node in graph(LEAST).nodes.items() if key.kind == "security-group"}
    assert {key for key, refused in groups.items() if CCM not in refused} == {"security-group/lb"}


def test_given_subnets_are_shared_and_say_whether_they_are_public() -> None:
    found = graph(GIVEN)
    assert tags(found.nodes[NodeKey("subnet", PUBLIC)]) == {CCM: "shared", "kubernetes.io/role/elb": "1"}
    assert tags(found.nodes[NodeKey("subnet", PRIVATE)]) == {CCM: "shared", "kubernetes.io/role/internal-elb": "1"}


# --- facts -----------------------------------------------------------------------------------------


def test_in_a_given_vpc_load_balancer_and_bastion_are_in_its_public_subnets() -> None:
    found = requests(graph({**GIVEN, "bastion": {"enabled": True}}))
    assert found["classic-load-balancer/primary"]["subnets"] == [f"subnet/{PUBLIC}"]
    assert found["instance/bastion"]["subnet_id"] == f"subnet/{PUBLIC}"


def refused(spec: Spec, **more: Any) -> RefusedSpec:
    found = wanted(NAMES, cluster(spec), known(**more))
    assert isinstance(found, RefusedSpec), found
    return found


def test_a_vpc_that_is_not_there_is_named() -> None:
    assert [problem.field for problem in refused(GIVEN, network=NotThere()).problems] == ["spec.network.vpc.id"]


def test_a_subnet_of_another_vpc_is_refused() -> None:
    spec = {**GIVEN, "network": {**GIVEN["network"], "subnets": [{"id": PUBLIC}, {"id": "subnet-0fedcba9876543210"}]}}
    assert [problem.field for problem in refused(spec).problems] == ["spec.network.subnets[1].id"]


def test_public_addresses_need_a_public_subnet() -> None:
    spec = {**GIVEN, "network": {**GIVEN["network"], "subnets": [{"id": PRIVATE}]}, "bastion": {"enabled": True}}
    assert [problem.field for problem in refused(spec).problems] == [
        "spec.bastion.enabled", "spec.controlPlaneLoadBalancer.scheme",
    ]  # fmt: skip
    internal = {**spec, "bastion": {}, "controlPlaneLoadBalancer": {"scheme": "internal"}}
    assert requests(graph(internal))["classic-load-balancer/primary"]["subnets"] == [f"subnet/{PRIVATE}"]


@pytest.mark.parametrize(
    ("fact", "field", "spec"),
    [
        ("network", "spec.network.vpc.id", GIVEN),
        ("image", "spec.bastion.ami", {**LEAST, "bastion": {"enabled": True}}),
        ("namesakes", "metadata.name", LEAST),
    ],
)
def test_nothing_is_wanted_while_the_cloud_cannot_be_asked(fact: str, field: str, spec: Spec) -> None:
    found = wanted(NAMES, cluster(spec), known(**{fact: NoAnswer(Reason.RETRYING, "no reply")}))
    assert isinstance(found, UndecidedSpec)
    assert set(found.missing) == {field}


def test_a_given_vpc_that_was_not_asked_about_decides_nothing() -> None:
    assert isinstance(wanted(NAMES, cluster(GIVEN), known(network=None)), UndecidedSpec)


def test_a_cluster_of_the_same_name_is_named_with_all_that_it_has() -> None:
    arns = [f"arn:aws:ec2:{REGION}:111122223333:vpc/vpc-{number}" for number in range(2)]
    found = refused(LEAST, namesakes=Answer((Namesake(arns[1], "team/other"), Namesake(arns[0]))))
    assert found.reason == Reason.NAME_TAKEN.value
    (problem,) = found.problems
    assert problem.field == "metadata.name"
    assert "vpc/vpc-0, vpc/vpc-1 (of team/other)" in problem.message


def _of(resource: str, *, ccm: bool = True, service: str = "ec2") -> Namesake:
    return Namesake(f"arn:aws:{service}:{REGION}:111122223333:{resource}", by_cloud_provider=ccm)


OVERRIDE = "sg-0123456789abcdef0"
NETWORK_OF_USERS = (
    *(f"subnet/{each}" for each in NETWORK.subnets), f"vpc/{VPC['id']}", "route-table/rtb-1", "natgateway/nat-1",
    "internet-gateway/igw-1", "elastic-ip/eipalloc-1", "network-acl/acl-1",
)  # fmt: skip
"""What a user may have tagged for the cloud controller before the cluster was there."""


def test_a_network_and_groups_of_the_users_own_are_not_another_cluster_although_tagged_owned() -> None:
    """Guides of other tools say so: https://docs.mirantis.com/mke/3.8/install/install-aws/aws-prerequisites.html"""
    spec = {**GIVEN, "network": {**GIVEN["network"], "securityGroupOverrides": {"node": OVERRIDE}}}
    assert plan(spec, namesakes=Answer(tuple(map(_of, (f"security-group/{OVERRIDE}", *NETWORK_OF_USERS)))))


@pytest.mark.parametrize(
    "namesake",
    [
        pytest.param(_of("vpc/vpc-of-others"), id="a VPC that the spec does not name"),
        pytest.param(_of("subnet/subnet-of-others"), id="a subnet of another VPC"),
        pytest.param(_of("instance/i-1"), id="a machine"),
        pytest.param(_of("security-group/sg-1"), id="a group that the spec does not name"),
        pytest.param(_of("loadbalancer/a1b2", service="elasticloadbalancing"), id="a load balancer of a Service"),
        pytest.param(_of(f"vpc/{VPC['id']}", ccm=False), id="what CAPA's own tag makes the cluster's to CAPA"),
        pytest.param(_of("natgateway/nat-1", ccm=False), id="the same of a gateway"),
    ],
)
def test_beside_a_network_of_the_users_own_another_cluster_is_one_all_the_same(namesake: Namesake) -> None:
    found = refused(GIVEN, namesakes=Answer((namesake, *map(_of, NETWORK_OF_USERS))))
    (problem,) = found.problems
    assert problem.message.endswith(f"are {namesake.arn.split(':', 5)[5]}")


def test_without_a_given_vpc_a_gateway_is_another_clusters() -> None:
    (problem,) = refused(LEAST, namesakes=Answer((_of("natgateway/nat-1"),))).problems
    assert "natgateway/nat-1" in problem.message
    assert f"change the tag {CCM} from owned to shared" in problem.message


def test_an_object_whose_own_resources_are_there_is_not_stopped_by_what_its_cluster_made() -> None:
    """It was restored from before its first pass; machines and load balancers of Services have no mark of ours."""
    made = (_of("instance/i-1", ccm=False), _of("loadbalancer/a1b2", service="elasticloadbalancing"))
    assert plan(LEAST, namesakes=Answer(made), known_before=True).known_before


def test_a_name_in_the_spec_is_no_id() -> None:
    """What a load balancer is called proves nothing about whose it is."""
    spec = {**LEAST, "controlPlaneLoadBalancer": {"name": "front"}}
    assert refused(spec, namesakes=Answer((_of("loadbalancer/front", service="elasticloadbalancing"),)))


def test_a_plan_names_all_that_another_cluster_has_and_a_condition_counts_them() -> None:
    """The condition is repeated: by Ready, by an event, while a person waits, and where that ends."""
    few = tuple(_of(f"vpc/vpc-{number:017x}", ccm=False) for number in range(5))
    found = refused(LEAST, namesakes=Answer(few))
    assert all(each.arn.partition("vpc/")[2] in found.problems[0].message for each in few)
    assert found.in_condition == ""
    many = (*(_of(f"instance/i-{number:017x}") for number in range(500)), *few, _of("the-bucket", service="s3"))
    found = refused(LEAST, namesakes=Answer(many))
    (problem,) = found.problems
    assert all(each.arn.rpartition(":")[2] in problem.message for each in many)
    assert found.in_condition.startswith("metadata.name: ")
    assert found.in_condition.endswith(" 500 instance, 1 s3, 5 vpc. To list all: freehold plan -f FILE")


def test_an_earlier_cluster_of_ones_own_name_is_told_with_the_way_back() -> None:
    """Its store was lost: to choose another name would leave all of it behind, to delete it by hand is not needed."""
    uuid, own = "0b7e6a52-9a59-4d0c-8a2c-6f0d6f5f1c11", f"{NAMES.namespace}/{NAMES.cluster}"
    arn = f"arn:aws:ec2:{REGION}:111122223333:vpc/vpc-1"
    (problem,) = refused(LEAST, namesakes=Answer((Namesake(arn, own, uuid),))).problems
    assert f"freehold recover --uuid {uuid} --region {REGION}" in problem.message
    for other in (Namesake(arn, "team/other", uuid), Namesake(arn, own, "1 --yes")):
        (problem,) = refused(LEAST, namesakes=Answer((other,))).problems
        assert "recover" not in problem.message, "the text of a stranger's tag is part of no command"


# --- equal wishes, equal graphs; examples -----------------------------------------------------------

specs = st.fixed_dictionaries(
    {"region": st.just(REGION)},
    optional={
        "network": st.fixed_dictionaries({}, optional={
            "vpc": st.sampled_from([
                {}, {"ipv6": {}}, {"availabilityZoneUsageLimit": 2}, {"subnetSchema": "PreferPublic"},
            ]),
            "nodePortIngressRuleCidrBlocks": st.just(["192.0.2.0/24", "198.51.100.0/24"]),
        }),
        "controlPlaneLoadBalancer": st.sampled_from([
            {}, {"loadBalancerType": "nlb", "additionalListeners": [{"port": 1}, {"port": 2}]}, {"scheme": "internal"},
        ]),
        "bastion": st.sampled_from([{}, {"enabled": True}]),
        "additionalTags": st.sampled_from([{}, {"a": "b", "c": "d"}]),
    },
)  # fmt: skip


@given(specs, st.integers(0, 2**16))
def test_a_wish_in_other_words_is_the_same_graph(spec: Spec, seed: int) -> None:
    choose = random.Random(seed)
    other = reordered(with_defaults(spec, choose), choose)
    assert plain(graph(spec)) == plain(graph(other))
    assert plain(graph(spec)) == plain(graph(spec))


def manifests(path: Path) -> list[dict[str, Any]]:
    found = [document for document in yaml.safe_load_all(path.read_text()) if document]
    return [document for document in found if document.get("kind") == "AWSCluster"]


@pytest.mark.parametrize("manifest", manifests(UPSTREAM), ids=lambda manifest: str(manifest["metadata"]["name"]))
def test_upstreams_manifests_decide_to_a_graph_or_say_what_is_wrong(manifest: dict[str, Any]) -> None:
    names = AWSClusterNames("default", manifest["metadata"]["name"])
    region = manifest["spec"].get("region", REGION)
    zones = Answer(tuple(f"{region}{letter}" for letter in "abc"))
    found = wanted(
        names, manifest, AWSClusterFacts(zones, namesakes=Answer(()), image=Answer(IMAGE), network=Answer(NETWORK))
    )
    if isinstance(found, AWSWanted):
        assert plain(found.graph)
    else:
        assert isinstance(found, RefusedSpec)
        assert all(problem.field.startswith(("spec.", "metadata.")) for problem in found.problems)


def test_the_example_decides_to_a_default_cluster() -> None:
    (manifest,) = manifests(EXAMPLE)
    zones = Answer(tuple(f"{manifest['spec']['region']}{letter}" for letter in "abc"))
    names = AWSClusterNames(manifest["metadata"]["namespace"], manifest["metadata"]["name"])
    found = wanted(names, manifest, AWSClusterFacts(zones, namesakes=Answer(())))
    assert isinstance(found, AWSWanted)
    assert sum(counts(found.graph).values()) == 25
    assert found.notes == ()


def test_no_two_rows_of_a_kind_have_one_title() -> None:
    """Upstream gives all NAT gateways of a cluster one name, and all their addresses another."""
    twins = [
        {"id": name, "availabilityZone": ZONES[0], "cidrBlock": f"10.0.{number}.0/24", "isPublic": number == 0}
        for number, name in enumerate("abc")
    ]
    for spec in (LEAST, {**LEAST, "network": {"subnets": twins}}):
        found = graph(spec)
        titles = [(key.kind, found.title(key)) for key in found.nodes]
        assert len(titles) == len(set(titles))
