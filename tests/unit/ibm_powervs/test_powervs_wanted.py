"""From the manifest to wanted nodes: each resource by id, by name, or omitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGate, FeatureGates
from freehold.engine.graph import Naming, Node
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.outcomes import Reason
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, State, Want
from freehold.providers.ibm.powervs.desired import build_desired
from freehold.providers.ibm.powervs.existing import ById, lookups
from freehold.providers.ibm.powervs.facts import PowerVSFacts, PowerZone
from freehold.providers.objects.adapter import GraphMode, RefusedSpec, UndecidedSpec, WantedGraph
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from harness.schemas import powervs_spec

CREATE = {"powervs.cluster.x-k8s.io/create-infra": "true"}
ZONES = ("us-south-1", "us-south-2", "us-south-3")
FACTS = PowerVSFacts(Answer("rg-id"), Answer(PowerZone("dal", edge_router=True)), Answer(ZONES))
LEAST: dict[str, Any] = {"resourceGroup": {"name": "rg"}, "zone": "dal10", "vpc": {"region": "us-south"}}
IGNITION: FeatureGates = frozenset({FeatureGate.BOOTSTRAP_FORMAT_IGNITION})
OWNER = Owner("u1", "IBMPowerVSCluster", "ns", "c1")


def plan(
    more: dict[str, Any] | None = None,
    *,
    journal: Journal | None = None,
    facts: PowerVSFacts = FACTS,
    gates: FeatureGates = IGNITION,
) -> WantedGraph:
    result = build_desired("c1", CREATE, powervs_spec({"spec": {**LEAST, **(more or {})}}), facts, journal, gates)
    assert isinstance(result, WantedGraph), result
    return result


def node(wish: WantedGraph, key: str) -> Node:
    return wish.graph.nodes[NodeKey.parse(key)]


def remembered(*keys: str) -> Journal:
    return Journal(OWNER, {NodeKey.parse(key): Entry(RecordState.OWNED, id=f"id-of-{key}") for key in keys})


def seen(**attributes: Any) -> Observed:
    return Observed(str(attributes.get("id", "")), "", State.READY, attributes=attributes)


KNOWN = {
    NodeKey("workspace", "main"): seen(id="guid", crn="crn-ws"),
    NodeKey("vpc", "main"): seen(id="vpc-id", crn="crn-vpc", default_security_group="sg-default"),
    NodeKey("transit-gateway", "main"): seen(id="tg-id", crn="crn-tg"),
    NodeKey("cos-instance", "main"): seen(id="cos-id", crn="crn-cos"),
    **{NodeKey("vpc-subnet", zone): seen(id=f"sub-{zone}", cidr="10.0.0.0/24") for zone in ZONES},
}


def test_everything_omitted() -> None:
    """The smallest manifest names nothing, and all names are defaults (docs/reference/requirements.md I11 to I20)."""
    wish = plan()
    assert {str(key): node.name for key, node in wish.graph.nodes.items()} == {
        "workspace/main": "c1-serviceInstance",
        "dhcp-server/main": "DHCPSERVERc1_Private",
        "vpc/main": "c1-vpc",
        "vpc-subnet/us-south-1": "c1-vpcsubnet-us-south-1",
        "vpc-subnet/us-south-2": "c1-vpcsubnet-us-south-2",
        "vpc-subnet/us-south-3": "c1-vpcsubnet-us-south-3",
        "load-balancer/0": "c1-loadbalancer",
        "transit-gateway/main": "c1-transitgateway",
        "transit-gateway-connection/vpc": "c1-transitgateway-vpc-con",
        "transit-gateway-connection/powervs": "c1-transitgateway-pvs-con",
    }
    assert {node.naming for node in wish.graph.nodes.values()} == {Naming.DEFAULT}
    assert wish.endpoint == NodeKey("load-balancer", "0")
    assert wish.notes == ()


def test_requests_when_everything_is_omitted() -> None:
    """The requests are what the kinds' drivers expect."""
    wish = plan()
    assert {str(key): dict(node.request(KNOWN)) for key, node in wish.graph.nodes.items()} == {
        "workspace/main": {"name": "c1-serviceInstance", "zone": "dal10", "resource_group": "rg-id"},
        "dhcp-server/main": {
            "workspace": "guid",
            "zone": "dal10",
            "name": "c1",
            "network": "DHCPSERVERc1_Private",
            "search": ["DHCPSERVERc1_Private"],
            "dns": "1.1.1.1",
            "snat": True,
        },
        "vpc/main": {"name": "c1-vpc", "region": "us-south", "resource_group": "rg-id"},
        **{
            f"vpc-subnet/{zone}": {
                "name": f"c1-vpcsubnet-{zone}",
                "region": "us-south",
                "zone": zone,
                "vpc": "vpc-id",
                "resource_group": "rg-id",
                "address_count": 256,
            }
            for zone in ZONES
        },
        "load-balancer/0": {
            "name": "c1-loadbalancer",
            "region": "us-south",
            "public": True,
            "subnets": [f"sub-{zone}" for zone in ZONES],
            "security_groups": ["sg-default"],
            "resource_group": "rg-id",
            "pools": [
                {
                    "name": "c1-loadbalancer-pool-6443",
                    "protocol": "tcp",
                    "algorithm": "round_robin",
                    "delay": 5,
                    "timeout": 2,
                    "retries": 2,
                    "type": "tcp",
                }
            ],
            "listeners": [{"port": 6443, "protocol": "tcp", "pool": "c1-loadbalancer-pool-6443"}],
        },
        "transit-gateway/main": {
            "name": "c1-transitgateway",
            "location": "us-south",
            "global": False,
            "resource_group": "rg-id",
        },
        "transit-gateway-connection/vpc": {
            "gateway": "tg-id",
            "gateway_crn": "crn-tg",
            "network_type": "vpc",
            "network_id": "crn-vpc",
            "name": "c1-transitgateway-vpc-con",
        },
        "transit-gateway-connection/powervs": {
            "gateway": "tg-id",
            "gateway_crn": "crn-tg",
            "network_type": "power_virtual_server",
            "network_id": "crn-ws",
            "name": "c1-transitgateway-pvs-con",
        },
    }


def test_the_first_wave_is_gateway_workspace_and_vpc() -> None:
    """These three start at once; connections follow as soon as both ends exist."""
    graph = plan().graph
    first = {node.key.kind for node in graph.wave([]) if not node.requires}
    assert first == {"workspace", "vpc", "transit-gateway"}
    assert node(plan(), "transit-gateway-connection/vpc").requires == {
        NodeKey("transit-gateway", "main"),
        NodeKey("vpc", "main"),
    }


BY_ID = {
    "serviceInstance": ({"serviceInstance": {"id": "ws"}}, "workspace/main", "ws"),
    "serviceInstanceID, deprecated": ({"serviceInstanceID": "ws"}, "workspace/main", "ws"),
    "network": ({"network": {"id": "net"}}, "dhcp-server/main", "guid/network/net"),
    "dhcpServer": ({"dhcpServer": {"id": "dh"}}, "dhcp-server/main", "guid/dhcp/dh"),
    "vpc": ({"vpc": {"id": "v", "region": "us-south"}}, "vpc/main", "us-south/v"),
    "subnet": ({"vpcSubnets": [{"id": "s"}]}, "vpc-subnet/s", "us-south/s"),
    "security group": ({"vpcSecurityGroups": [{"id": "g"}]}, "security-group/g", "us-south/g"),
    "load balancer": ({"loadBalancers": [{"id": "lb"}]}, "load-balancer/lb", "us-south/lb"),
    "transit gateway": ({"transitGateway": {"id": "tg"}}, "transit-gateway/main", "tg"),
}


@pytest.mark.parametrize(("spec", "key", "ident"), BY_ID.values(), ids=BY_ID.keys())
def test_given_by_id(spec: dict[str, Any], key: str, ident: str) -> None:
    """A resource given by id is used as it is: the engine gets its id, and no create request."""
    given = node(plan(spec), key).given
    assert given is not None
    assert given(KNOWN) == ident


BY_NAME = {
    "serviceInstance": ({"serviceInstance": {"name": "x"}}, "workspace/main", "x"),
    "network": ({"network": {"name": "x"}}, "dhcp-server/main", "DHCPSERVERx_Private"),
    "dhcpServer": ({"dhcpServer": {"name": "x"}}, "dhcp-server/main", "DHCPSERVERx_Private"),
    "vpc": ({"vpc": {"name": "x", "region": "us-south"}}, "vpc/main", "x"),
    "subnet": ({"vpcSubnets": [{"name": "x"}]}, "vpc-subnet/x:us-south-1", "x"),
    "security group": ({"vpcSecurityGroups": [{"name": "x"}]}, "security-group/x", "x"),
    "load balancer": ({"loadBalancers": [{"name": "x"}]}, "load-balancer/x:public", "x"),
    "transit gateway": ({"transitGateway": {"name": "x"}}, "transit-gateway/main", "x"),
    "object storage": ({"cosInstance": {"name": "xxx"}}, "cos-instance/main", "xxx"),
    "bucket": ({"cosInstance": {"bucketName": "xxx"}}, "cos-bucket/main", "xxx"),
}


@pytest.mark.parametrize(("spec", "key", "name"), BY_NAME.values(), ids=BY_NAME.keys())
def test_named_in_the_spec(spec: dict[str, Any], key: str, name: str) -> None:
    """A name in the spec is explicit: an unmarked namesake may be used (docs/reference/requirements.md I10)."""
    found = node(plan(spec), key)
    assert (found.name, found.naming, found.given) == (name, Naming.EXPLICIT, None)


NETWORKS = {
    "upstream #2159: foo, then DHCPSERVERfoo_Private": (
        {"network": {"name": "foo"}},
        ("foo", "DHCPSERVERfoo_Private", ["foo", "DHCPSERVERfoo_Private"]),
    ),
    "the full network name is not wrapped twice": (
        {"network": {"name": "DHCPSERVERfoo_Private"}},
        ("foo", "DHCPSERVERfoo_Private", ["DHCPSERVERfoo_Private"]),
    ),
    "dhcpServer.name": (
        {"dhcpServer": {"name": "foo"}},
        ("foo", "DHCPSERVERfoo_Private", ["DHCPSERVERfoo_Private"]),
    ),
}


@pytest.mark.parametrize(("spec", "expected"), NETWORKS.values(), ids=NETWORKS.keys())
def test_names_of_the_network(spec: dict[str, Any], expected: tuple[str, str, list[str]]) -> None:
    request = node(plan(spec), "dhcp-server/main").request(KNOWN)
    assert (request["name"], request["network"], request["search"]) == expected


def test_the_dhcp_server_is_made_as_the_spec_says() -> None:
    """docs/reference/requirements.md I13: cidr, dnsServer and snat are the user's."""
    spec = {"dhcpServer": {"cidr": "192.168.5.0/24", "dnsServer": "9.9.9.9", "snat": False}}
    request = node(plan(spec), "dhcp-server/main").request(KNOWN)
    assert (request["cidr"], request["dns"], request["snat"]) == ("192.168.5.0/24", "9.9.9.9", False)


GATEWAYS = {
    "same region, omitted: local": ("dal", {}, False),
    "other region, omitted: global": ("syd", {}, True),
    "a region that we do not know: global": ("mars", {}, True),
    "Montreal has no VPC region: global": ("mon", {}, True),
    "forced global": ("dal", {"globalRouting": True}, True),
    "local where local will do": ("dal", {"globalRouting": False}, False),
}


@pytest.mark.parametrize(("region", "gateway", "expected"), GATEWAYS.values(), ids=GATEWAYS.keys())
def test_routing_of_the_gateway(region: str, gateway: dict[str, Any], expected: bool) -> None:
    facts = PowerVSFacts(Answer("rg-id"), Answer(PowerZone(region, edge_router=True)), Answer(ZONES))
    wish = plan({"transitGateway": gateway}, facts=facts)
    assert node(wish, "transit-gateway/main").request(KNOWN)["global"] is expected


def test_object_storage_only_when_asked_for() -> None:
    """COS only when spec.cosInstance is set (docs/reference/requirements.md I22); names have defaults."""
    assert not [key for key in plan().graph.nodes if key.kind.startswith("cos-")]
    wish = plan({"cosInstance": {}})
    assert node(wish, "cos-instance/main").name == "c1-cosinstance"
    assert node(wish, "cos-bucket/main").request(KNOWN) == {
        "instance": "cos-id",
        "instance_crn": "crn-cos",
        "name": "c1-cosbucket",
        "region": "us-south",
    }


COS = NodeKey("cos-instance", "main")


def test_object_storage_is_not_acted_on_without_its_feature_gate() -> None:
    """Upstream's gate: nothing is created, and the note names the option (docs/reference/requirements.md I22)."""
    wish = plan({"cosInstance": {}}, gates=DEFAULT_GATES)
    assert not [key for key in wish.graph.nodes if key.kind.startswith("cos-")]
    (note,) = wish.notes
    assert (note.field, note.served) == ("spec.cosInstance", False)
    assert "--feature-gates=BootstrapFormatIgnition=true" in note.message
    assert plan(gates=DEFAULT_GATES).notes == ()


@pytest.mark.parametrize("phase", [RecordState.INTENDED, RecordState.RECORDED, RecordState.OWNED, RecordState.REUSED])
def test_object_storage_that_was_begun_goes_on_without_its_feature_gate(phase: RecordState) -> None:
    """After an upgrade the gate is off, and what an earlier version created must not become surplus."""
    journal = Journal(OWNER, {COS: Entry(phase, id="cos-id")})
    wish = plan({"cosInstance": {}}, journal=journal, gates=DEFAULT_GATES)
    assert {key.kind for key in wish.graph.nodes} > {"cos-instance", "cos-bucket"}
    assert [(note.field, note.served) for note in wish.notes] == [("spec.cosInstance", True)]


def test_a_taken_back_annotation_keeps_object_storage_that_was_begun() -> None:
    """The gate is off, too: neither makes surplus of what is there."""
    journal = Journal(OWNER, {COS: Entry(RecordState.OWNED, id="cos-id")})
    result = build_desired("c1", {}, powervs_spec({"spec": {**LEAST, "cosInstance": {}}}), FACTS, journal)
    assert isinstance(result, WantedGraph)
    assert COS in result.graph.nodes


def subnets(wish: WantedGraph) -> list[tuple[str, str]]:
    found = [n for key, n in wish.graph.nodes.items() if key.kind == "vpc-subnet"]
    return [(n.name, n.request(KNOWN)["zone"]) for n in found]


def test_subnets_without_a_zone_are_spread() -> None:
    """Not a random zone (docs/reference/requirements.md I18): the zones fill evenly, the same way every time."""
    spec = {"vpcSubnets": [{"name": name} for name in ("a", "b", "c", "d")]}
    zones = [zone for _, zone in subnets(plan(spec))]
    assert sorted(zones.count(zone) for zone in ZONES) == [1, 1, 2]
    assert subnets(plan(spec)) == subnets(plan(spec))


def test_removing_the_first_subnet_moves_no_other() -> None:
    """ADR 13: assignments are persisted (in the logical names that the journal holds)."""
    spec = {"vpcSubnets": [{"name": "a"}, {"zone": "us-south-2"}, {}, {"name": "d"}]}
    before = plan(spec)
    journal = remembered(*(str(key) for key in before.graph.nodes))
    after = plan({"vpcSubnets": spec["vpcSubnets"][1:]}, journal=journal)
    assert subnets(after) == subnets(before)[1:]


def test_an_unnamed_subnet_keeps_its_index() -> None:
    """The default name has the index that the subnet had first (docs/reference/requirements.md I19)."""
    first = plan({"vpcSubnets": [{"zone": "us-south-1"}, {"zone": "us-south-2"}]})
    assert [name for name, _ in subnets(first)] == ["c1-vpcsubnet-0", "c1-vpcsubnet-1"]
    journal = remembered(*(str(key) for key in first.graph.nodes))
    assert subnets(plan({"vpcSubnets": [{"zone": "us-south-2"}]}, journal=journal)) == [
        ("c1-vpcsubnet-1", "us-south-2")
    ]


def test_a_zone_that_is_down_keeps_its_subnet() -> None:
    """Omitted subnets follow the zones that the cloud lists, but an existing one stays wanted."""
    journal = remembered("vpc-subnet/us-south-3")
    facts = PowerVSFacts(FACTS.resource_group, FACTS.zone, Answer(ZONES[:2]))
    assert [zone for _, zone in subnets(plan(journal=journal, facts=facts))] == list(ZONES)


def test_load_balancers_with_listeners_groups_and_subnets() -> None:
    """Several load balancers; each listens on the API server's port and its additional ones."""
    spec = {
        "vpcSubnets": [{"name": "s1"}, {"name": "s2"}],
        "vpcSecurityGroups": [{"name": "g1"}],
        "loadBalancers": [
            {"name": "inner", "public": False, "subnets": [{"name": "s2"}], "securityGroups": [{"name": "g1"}]},
            {"name": "outer", "additionalListeners": [{"port": 22623}, {"port": 80, "defaultPoolName": "web"}]},
        ],
    }
    wish = plan(spec)
    assert wish.endpoint == NodeKey("load-balancer", "outer:public")
    inner, outer = node(wish, "load-balancer/inner:private"), node(wish, "load-balancer/outer:public")
    s1, s2 = (key for key in wish.graph.nodes if key.kind == "vpc-subnet")
    vpc = NodeKey("vpc", "main")
    assert inner.requires == {vpc, s2, NodeKey("security-group", "g1")}
    assert outer.requires == {vpc, s1, s2}
    known = {**KNOWN, s1: seen(id="s1"), s2: seen(id="s2"), NodeKey("security-group", "g1"): seen(id="g1")}
    request = inner.request(known)
    assert (request["public"], request["subnets"], request["security_groups"]) == (False, ["s2"], ["g1"])
    assert [(listener["port"], listener["pool"]) for listener in outer.request(known)["listeners"]] == [
        (6443, "outer-pool-6443"),
        (22623, "additional-pool-22623"),
        (80, "web"),
    ]
    assert sorted(part.natural_key for part in outer.parts(known)) == ["22623", "6443", "80"]


def test_removing_the_first_unnamed_load_balancer_leaves_the_second() -> None:
    """An unnamed private one must not become what the removed public one was."""
    spec = {"loadBalancers": [{}, {"public": False}, {"name": "x"}]}
    journal = remembered(*(str(key) for key in plan(spec).graph.nodes))
    after = plan({"loadBalancers": spec["loadBalancers"][1:]}, journal=journal)
    assert {n.name for key, n in after.graph.nodes.items() if key.kind == "load-balancer"} == {"c1-loadbalancer-1", "x"}


def test_the_api_server_rule_is_a_part_of_the_vpc() -> None:
    """Clients reach the API server through the default security group."""
    facts = PowerVSFacts(FACTS.resource_group, FACTS.zone, FACTS.vpc_zones, api_port=8443)
    (part,) = node(plan(facts=facts), "vpc/main").parts(KNOWN)
    assert part.kind == "rule"
    assert part.request == {
        "direction": "inbound",
        "protocol": "tcp",
        "port_min": 8443,
        "port_max": 8443,
        "remote": {"cidr_block": "0.0.0.0/0"},
    }


GROUPS = {
    "vpcSubnets": [{"name": "s1", "zone": "us-south-1"}],
    "vpcSecurityGroups": [
        {
            "name": "a",
            "rules": [
                {
                    "direction": "inbound",
                    "source": {
                        "protocol": "tcp",
                        "portRange": {"minimumPort": 80, "maximumPort": 81},
                        "remotes": [
                            {"remoteType": "any"},
                            {"remoteType": "address", "address": "9.9.9.9"},
                            {"remoteType": "cidr", "cidrSubnetName": "s1"},
                            {"remoteType": "sg", "securityGroupName": "b"},
                        ],
                    },
                },
                {
                    "direction": "outbound",
                    "destination": {
                        "protocol": "icmp",
                        "icmpType": 8,
                        "icmpCode": 0,
                        "remotes": [{"remoteType": "any"}],
                    },
                },
            ],
        },
        {"name": "b", "rules": []},
    ],
}


def test_rules_of_a_security_group() -> None:
    """One rule of the cloud for each remote; a group or subnet that a rule names comes first."""
    wish = plan(GROUPS)
    a = node(wish, "security-group/a")
    subnet, b = NodeKey("vpc-subnet", "s1:us-south-1"), NodeKey("security-group", "b")
    assert a.requires == {NodeKey("vpc", "main"), subnet, b}
    known = {**KNOWN, subnet: seen(id="s1", cidr="10.1.0.0/24"), b: seen(id="sg-b")}
    assert {part.natural_key for part in a.parts(known)} == {
        "inbound tcp 80-81 0.0.0.0/0",
        "inbound tcp 80-81 9.9.9.9",
        "inbound tcp 80-81 10.1.0.0/24",
        "inbound tcp 80-81 sg-b",
        "outbound icmp 8-0 0.0.0.0/0",
    }


def test_groups_that_name_each_other_do_not_wait_for_each_other() -> None:
    """Parts break the cycle: the rule is added when the other group is known."""

    def group(name: str, other: str) -> dict[str, Any]:
        remote = {"remoteType": "sg", "securityGroupName": other}
        rule = {"direction": "inbound", "source": {"protocol": "tcp", "remotes": [remote]}}
        return {"name": name, "rules": [rule]}

    wish = plan({"vpcSecurityGroups": [group("a", "b"), group("b", "a"), group("c", "c"), group("d", "a")]})
    vpc = NodeKey("vpc", "main")
    assert node(wish, "security-group/a").requires == {vpc}
    assert node(wish, "security-group/c").requires == {vpc}
    assert node(wish, "security-group/d").requires == {vpc, NodeKey("security-group", "a")}
    assert node(wish, "security-group/a").parts(KNOWN) == frozenset()
    known = {NodeKey("security-group", "b"): seen(id="sg-b")}
    assert {part.natural_key for part in node(wish, "security-group/a").parts(known)} == {"inbound tcp any sg-b"}


def test_an_existing_connection_is_used_when_the_spec_names_both_ends() -> None:
    """A network can join a gateway only once: an existing connection between named resources is used and kept."""
    wish = plan({"transitGateway": {"name": "shared"}, "vpc": {"id": "v", "region": "us-south"}})
    assert node(wish, "transit-gateway-connection/vpc").naming is Naming.EXPLICIT
    assert node(wish, "transit-gateway-connection/powervs").naming is Naming.DEFAULT


def test_user_tags_are_in_the_graph() -> None:
    """docs/reference/requirements.md T16, T17: user tags go to every resource, the given ones too."""
    spec = {"tags": [{"key": "team", "value": "power"}, {"key": "bare"}]}
    assert plan(spec).user_tags == (("team", "power"), ("bare", ""))


# --- facts that could not be read ----------------------------------------------------------------


def test_nothing_is_decided_without_the_facts() -> None:
    """Unknown is not absent: nothing is created until zone, region and group have been read."""
    facts = PowerVSFacts(Answer("rg-id"), NoAnswer(Reason.DENIED, "the API key is not valid", 300.0), Answer(ZONES))
    result = build_desired("c1", CREATE, powervs_spec({"spec": LEAST}), facts)
    assert isinstance(result, UndecidedSpec)
    assert (result.missing["spec.zone"].message, result.after) == ("the API key is not valid", 300.0)


# --- without the annotation ----------------------------------------------------------------------

EXISTING = {"serviceInstanceID": "guid", "zone": "dal10", "network": {"id": "net"}}
OFF = {"powervs.cluster.x-k8s.io/create-infra": "false"}


@pytest.mark.parametrize("annotations", [{}, OFF], ids=["absent", "false"])
def test_without_the_annotation_nothing_is_created(annotations: dict[str, str]) -> None:
    """docs/reference/requirements.md I5: workspace and network are given, nothing else is wanted."""
    result = build_desired("c1", annotations, powervs_spec({"spec": EXISTING}), PowerVSFacts())
    assert isinstance(result, WantedGraph)
    assert result.mode is GraphMode.EXISTING
    assert {str(key): n.given and n.given(KNOWN) for key, n in result.graph.nodes.items()} == {
        "workspace/main": "guid",
        "dhcp-server/main": "guid/network/net",
    }


def test_existing_resources_are_searched_by_name() -> None:
    """First the workspace, then the network in it; both count as given from then on."""
    spec = powervs_spec({"spec": {"serviceInstance": {"name": "ws"}, "network": {"name": "foo"}, "zone": "dal10"}})
    workspace = NodeKey("workspace", "main")
    network = NodeKey("dhcp-server", "main")
    (want,) = lookups(spec, PowerVSFacts())
    assert isinstance(want, Want)
    assert (want.key, want.name, want.request["zone"]) == (workspace, "ws", "dal10")
    assert isinstance(build_desired("c1", {}, spec, PowerVSFacts()), UndecidedSpec)
    found = {workspace: Answer(Observed("guid", "ws", State.READY, attributes={"zone": "dal12"}))}
    (want,) = lookups(spec, PowerVSFacts(existing=found))
    assert isinstance(want, Want)
    assert (want.key, want.request["workspace"], want.request["zone"]) == (network, "guid", "dal12")
    assert want.request["search"] == ["foo", "DHCPSERVERfoo_Private"]
    both = PowerVSFacts(existing={**found, network: Answer(Observed("guid/network/n", "foo", State.READY))})
    assert lookups(spec, both) == ()
    result = build_desired("c1", {}, spec, both)
    assert isinstance(result, WantedGraph)
    given = result.graph.nodes[network].given
    assert given is not None
    assert given(KNOWN) == "guid/network/n"


def test_the_upstream_template_without_the_annotation() -> None:
    """It gives a workspace by id, a network by name, and no zone: the zone is that of the workspace."""
    spec = powervs_spec({"spec": {"serviceInstanceID": "guid", "network": {"name": "foo"}}})
    workspace = NodeKey("workspace", "main")
    assert lookups(spec, PowerVSFacts()) == (ById(workspace, "guid"),)
    found = {workspace: Answer(Observed("guid", "ws", State.READY, attributes={"zone": "dal12"}))}
    (want,) = lookups(spec, PowerVSFacts(existing=found))
    assert isinstance(want, Want)
    assert (want.request["workspace"], want.request["zone"]) == ("guid", "dal12")
    gone = build_desired("c1", {}, spec, PowerVSFacts(existing={workspace: NotThere()}))
    assert isinstance(gone, RefusedSpec)
    assert str(gone.problems[0]).startswith("spec.serviceInstanceID: there is no workspace 'guid'")
    asked = build_desired("c1", {}, spec, PowerVSFacts())
    assert isinstance(asked, UndecidedSpec)
    assert set(asked.missing) == {"spec.serviceInstanceID"}


def test_a_missing_given_resource_is_reported() -> None:
    """Nothing may be created without the annotation, so somebody else must create it."""
    spec = powervs_spec({"spec": {"serviceInstance": {"name": "ws"}, "network": {"name": "foo"}}})
    result = build_desired("c1", {}, spec, PowerVSFacts(existing={NodeKey("workspace", "main"): NotThere()}))
    assert isinstance(result, RefusedSpec)
    assert str(result.problems[0]).startswith("spec.serviceInstance.name: there is no workspace 'ws'")


def test_annotation_removed_from_a_live_cluster() -> None:
    """Nothing more is created: only recorded resources and their requirements stay wanted."""
    journal = remembered("workspace/main", "vpc/main", "vpc-subnet/us-south-1")
    result = build_desired("c1", {}, powervs_spec({"spec": LEAST}), FACTS, journal)
    assert isinstance(result, WantedGraph)
    assert result.mode is GraphMode.FROZEN
    assert {str(key) for key in result.graph.nodes} == {"workspace/main", "vpc/main", "vpc-subnet/us-south-1"}


def test_a_subnet_whose_zone_is_edited_stays_the_same_node() -> None:
    """The engine then reports the drift of the zone, and does not create a second subnet with that name."""
    journal = remembered("vpc-subnet/a:us-south-1")
    wish = plan({"vpcSubnets": [{"name": "a", "zone": "us-south-3"}]}, journal=journal)
    assert node(wish, "vpc-subnet/a:us-south-1").request(KNOWN)["zone"] == "us-south-3"


EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("powervs-*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_wanted_without_a_problem(path: Path) -> None:
    """The upstream manifest and our other examples have no problem."""
    found = [d for d in yaml.safe_load_all(path.read_text()) if d and d["kind"] == "IBMPowerVSCluster"]
    assert found
    for raw in found:
        spec, metadata = powervs_spec(raw), raw["metadata"]
        region = spec.vpc.region if spec.vpc else ""
        zones = tuple(f"{region}-{number}" for number in (1, 2, 3))
        power = {"us-south": "dal", "eu-de": "eu-de"}.get(region or "", "dal")
        asked = PowerVSFacts(Answer("rg-id"), Answer(PowerZone(power, edge_router=True)), Answer(zones))
        result = build_desired(metadata["name"], metadata.get("annotations") or {}, spec, asked)
        assert isinstance(result, WantedGraph), result


def test_a_gateway_that_routes_globally_without_need_stays_so() -> None:
    """If the spec does not set routing, others may route through it."""
    gateway = node(plan(), "transit-gateway/main")
    wide = {**KNOWN, gateway.key: seen(id="tg-id", crn="crn-tg", **{"global": True})}
    assert gateway.request(wide)["global"] is True
    assert (
        node(plan({"transitGateway": {"globalRouting": False}}), "transit-gateway/main").request(wide)["global"]
        is False
    )


@pytest.mark.parametrize(("region", "wide", "fits"), [("syd", False, False), ("syd", True, True), ("dal", False, True)])
def test_a_gateway_of_others_must_route_globally_between_distant_regions(region: str, wide: bool, fits: bool) -> None:
    """It is never changed, so a person must enable it or name another one; otherwise no traffic would pass."""
    facts = PowerVSFacts(Answer("rg-id"), Answer(PowerZone(region, edge_router=True)), Answer(ZONES))
    gateway = node(plan({"transitGateway": {"id": "tg-id"}}, facts=facts), "transit-gateway/main")
    said = gateway.given_problem(Observed("tg-id", "theirs", State.READY, attributes={"global": wide}))
    assert ("theirs (tg-id) routes locally" in said) is not fits


def test_a_network_that_is_given_by_its_id_is_not_searched_by_name() -> None:
    spec = {"serviceInstance": {"id": "guid"}, "zone": "dal10", "network": {"id": "net", "name": "other"}}
    assert lookups(powervs_spec({"spec": spec}), PowerVSFacts()) == ()


def test_all_ports_are_written_as_none() -> None:
    """IBM Cloud shows the rule without ports; with ports it would seem to be missing in each pass."""
    source = {
        "protocol": "tcp",
        "portRange": {"minimumPort": 1, "maximumPort": 65535},
        "remotes": [{"remoteType": "any"}],
    }
    wish = plan({"vpcSecurityGroups": [{"name": "a", "rules": [{"direction": "inbound", "source": source}]}]})
    (part,) = node(wish, "security-group/a").parts(KNOWN)
    assert part.natural_key == "inbound tcp any 0.0.0.0/0"
    assert "port_min" not in part.request


def test_listener_and_rule_of_the_endpoint_stay_when_the_port_changes() -> None:
    """The endpoint may still have the old port; other listeners are removed when the spec drops them."""
    wish = plan({"loadBalancers": [{"name": "lb", "public": True, "additionalListeners": [{"port": 22623}]}]})
    listeners = {part.natural_key: part.retain for part in node(wish, "load-balancer/lb:public").parts(KNOWN)}
    assert listeners == {"6443": True, "22623": False}
    (rule,) = node(wish, "vpc/main").parts(KNOWN)
    assert rule.retain
