"""Bad input: each gives one clear sentence (what, where in the manifest, what to do), and nothing is created."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api.feature_gates import FeatureGate
from freehold.engine.outcomes import Reason
from freehold.providers.ibm.powervs.desired import build_desired
from freehold.providers.ibm.powervs.facts import PowerVSFacts, PowerZone
from freehold.providers.objects.adapter import RefusedSpec, UndecidedSpec, WantedGraph
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere
from harness.rows import over_rows
from harness.schemas import powervs_spec

ANNOTATION = "powervs.cluster.x-k8s.io/create-infra"
CREATE = {ANNOTATION: "true"}
ZONES = ("us-south-1", "us-south-2")
FACTS = PowerVSFacts(Answer("rg-id"), Answer(PowerZone("dal", edge_router=True)), Answer(ZONES))
LEAST: dict[str, Any] = {"resourceGroup": {"name": "rg"}, "zone": "dal10", "vpc": {"region": "us-south"}}
LONG = "x" * 200


def facts(**changes: Any) -> PowerVSFacts:
    answers = {"resource_group": FACTS.resource_group, "zone": FACTS.zone, "vpc_zones": FACTS.vpc_zones}
    return PowerVSFacts(**{**answers, **changes})


def remote(**fields: str) -> dict[str, Any]:
    rule = {"direction": "inbound", "source": {"protocol": "tcp", "remotes": [fields]}}
    return {"vpcSecurityGroups": [{"name": "g", "rules": [rule]}]}


BAD: dict[str, tuple[dict[str, Any], PowerVSFacts, str]] = {
    "resource group missing": (
        {"resourceGroup": None},
        FACTS,
        "spec.resourceGroup.name: it is missing; name the resource group in which to create",
    ),
    "resource group by id only: the id is not acted on": (
        {"resourceGroup": {"id": "rg-id"}},
        FACTS,
        "spec.resourceGroup.name: it is missing; name the resource group in which to create",
    ),
    "resource group unknown": (
        {},
        facts(resource_group=NotThere(("default", "prod"))),
        "spec.resourceGroup.name: there is no resource group 'rg'; choose one of default, prod",
    ),
    "zone missing": (
        {"zone": None},
        FACTS,
        "spec.zone: it is missing; give the PowerVS zone in which to create, for example dal10",
    ),
    "zone unknown": (
        {"zone": "dal99"},
        facts(zone=NotThere(("dal10", "dal12"))),
        "spec.zone: there is no PowerVS zone 'dal99'; choose one of dal10, dal12",
    ),
    "zone without a Power Edge Router": (
        {},
        facts(zone=Answer(PowerZone("dal", edge_router=False))),
        "spec.zone: zone 'dal10' has no Power Edge Router, which the transit gateway needs; choose a zone that has one",
    ),
    "VPC region missing": (
        {"vpc": {}},
        FACTS,
        "spec.vpc.region: it is missing; give the VPC region in which to create, for example us-south",
    ),
    "VPC region unknown": (
        {"vpc": {"region": "us-west"}},
        facts(vpc_zones=NotThere()),
        "spec.vpc.region: there is no VPC region 'us-west'; correct it",
    ),
    "subnet in a zone of another region": (
        {"vpcSubnets": [{"name": "s", "zone": "eu-de-1"}]},
        FACTS,
        "spec.vpcSubnets[0].zone: VPC region 'us-south' has no zone 'eu-de-1'; choose one of us-south-1, us-south-2",
    ),
    "two load balancers of one name": (
        {"loadBalancers": [{"name": "a"}, {"name": "a", "public": False}]},
        FACTS,
        "spec.loadBalancers[1].name: 'a' is used by spec.loadBalancers[0].name too; rename one",
    ),
    "two subnets of one name": (
        {"vpcSubnets": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
        FACTS,
        "spec.vpcSubnets[2].name: 'a' is used by spec.vpcSubnets[0].name too; rename one",
    ),
    "two security groups of one name": (
        {"vpcSecurityGroups": [{"name": "a"}, {"name": "a"}]},
        FACTS,
        "spec.vpcSecurityGroups[1].name: 'a' is used by spec.vpcSecurityGroups[0].name too; rename one",
    ),
    "a VPC by id and by name": (
        {"vpc": {"id": "r006-1", "name": "a", "region": "us-south"}},
        FACTS,
        "spec.vpc: id 'r006-1' and name 'a' are both set; give one of them",
    ),
    "two workspaces by id": (
        {"serviceInstanceID": "one", "serviceInstance": {"id": "two"}},
        FACTS,
        "spec.serviceInstanceID: 'one' is not spec.serviceInstance.id 'two'; remove one of them",
    ),
    "a workspace by id, and one by name": (
        {"serviceInstanceID": "one", "serviceInstance": {"name": "two"}},
        FACTS,
        "spec.serviceInstanceID: spec.serviceInstance.name 'two' is set too; remove one of them",
    ),
    "no public load balancer": (
        {"loadBalancers": [{"name": "a", "public": False}]},
        FACTS,
        "spec.loadBalancers: at least one load balancer must be public, for the API server; set public: true on one",
    ),
    "a workspace name of 200 characters": (
        {"serviceInstance": {"name": LONG}},
        FACTS,
        "spec.serviceInstance.name: the name has 200 characters, IBM Cloud allows 180; shorten it",
    ),
    "a network name of 200 characters": (
        {"network": {"name": LONG}},
        FACTS,
        "spec.network.name: the name has 200 characters, IBM Cloud allows 128; shorten it",
    ),
    "a security group name of 200 characters": (
        {"vpcSecurityGroups": [{"name": LONG}]},
        FACTS,
        "spec.vpcSecurityGroups[0].name: the name has 200 characters, IBM Cloud allows 63; shorten it",
    ),
    "a gateway name of 61 characters: legal in the schema, refused by the API": (
        {"transitGateway": {"name": "x" * 61}},
        FACTS,
        "spec.transitGateway.name: the name has 61 characters, IBM Cloud allows 60; shorten it",
    ),
    "a DHCP server's name with a dot": (
        {"dhcpServer": {"name": "a.b"}},
        FACTS,
        "spec.dhcpServer.name: IBM Cloud refuses the name 'a.b'; use letters, digits and dashes",
    ),
    "a bucket name with capitals": (
        {"cosInstance": {"bucketName": "Bucket"}},
        FACTS,
        "spec.cosInstance.bucketName: IBM Cloud refuses the name 'Bucket'; use 3 to 63 lower-case letters, digits, "
        "dots and dashes, a letter or digit first and last",
    ),
    "a CIDR that is none": (
        {"dhcpServer": {"cidr": "10.0.0.0/33"}},
        FACTS,
        "spec.dhcpServer.cidr: '10.0.0.0/33' is not an IPv4 range; write one like 192.168.10.0/24",
    ),
    "a CIDR with host bits": (
        {"dhcpServer": {"cidr": "10.0.0.7/24"}},
        FACTS,
        "spec.dhcpServer.cidr: '10.0.0.7/24' is not the first address of a range with its length; write 10.0.0.0/24",
    ),
    "a CIDR without length": (
        {"dhcpServer": {"cidr": "10.0.0.7"}},
        FACTS,
        "spec.dhcpServer.cidr: '10.0.0.7' is not an IPv4 range; write one like 192.168.10.0/24",
    ),
    "a subnet's CIDR that is none": (
        {"vpcSubnets": [{"name": "a", "cidr": "ten"}]},
        FACTS,
        "spec.vpcSubnets[0].cidr: 'ten' is not an IPv4 range; write one like 192.168.10.0/24",
    ),
    "a range of a subnet that is too small": (
        {"vpcSubnets": [{"name": "a", "cidr": "10.0.0.0/30"}]},
        FACTS,
        "spec.vpcSubnets[0].cidr: '10.0.0.0/30' has 4 addresses; a subnet has at least 8",
    ),
    "ranges of subnets that overlap": (
        {"vpcSubnets": [{"name": "a", "cidr": "10.0.0.0/24"}, {"name": "b", "cidr": "10.0.0.128/25"}]},
        FACTS,
        "spec.vpcSubnets[1].cidr: '10.0.0.128/25' overlaps spec.vpcSubnets[0].cidr '10.0.0.0/24'; give each subnet a "
        "range of its own",
    ),
    "a DNS server that is no address": (
        {"dhcpServer": {"dnsServer": "dns"}},
        FACTS,
        "spec.dhcpServer.dnsServer: 'dns' is not an IPv4 address; write one like 1.1.1.1",
    ),
    "network and DHCP server both named": (
        {"network": {"name": "a"}, "dhcpServer": {"name": "b"}},
        FACTS,
        "spec.dhcpServer.name: spec.network names the network already; give one of the two, not both",
    ),
    "local routing between two regions: upstream's sentence": (
        {"transitGateway": {"globalRouting": False}},
        facts(zone=Answer(PowerZone("syd", edge_router=True))),
        "spec.transitGateway.globalRouting: global routing is required since PowerVS and VPC region are from "
        "different region: zone 'dal10', VPC region 'us-south'; set it to true or leave it out",
    ),
    "the API server's port again": (
        {"loadBalancers": [{"name": "a", "additionalListeners": [{"port": 6443}]}]},
        FACTS,
        "spec.loadBalancers[0].additionalListeners[0].port: port 6443 is the API server's and is listened on "
        "already; remove it",
    ),
    "a load balancer's group that nobody defines": (
        {"loadBalancers": [{"name": "a", "securityGroups": [{"name": "g"}]}]},
        FACTS,
        "spec.loadBalancers[0].securityGroups[0].name: 'g' is no group of spec.vpcSecurityGroups; add it there, or "
        "give its id",
    ),
    "a rule's group that nobody defines": (
        remote(remoteType="sg", securityGroupName="other"),
        FACTS,
        "spec.vpcSecurityGroups[0].rules[0].source.remotes[0].securityGroupName: 'other' is no group of "
        "spec.vpcSecurityGroups; add it there",
    ),
    "a rule's subnet that nobody defines": (
        remote(remoteType="cidr", cidrSubnetName="s"),
        FACTS,
        "spec.vpcSecurityGroups[0].rules[0].source.remotes[0].cidrSubnetName: 's' is no subnet of spec.vpcSubnets; "
        "add it there",
    ),
    "a rule's address that is none": (
        remote(remoteType="address", address="home"),
        FACTS,
        "spec.vpcSecurityGroups[0].rules[0].source.remotes[0].address: 'home' is not an IPv4 address; "
        "write one like 192.168.10.7",
    ),
    "Ignition without a bucket's region": (
        {"ignition": {}, "cosInstance": {"name": "cos", "bucketName": "bucket"}},
        FACTS,
        "spec.cosInstance.bucketRegion: it is missing, and spec.ignition needs it; set it",
    ),
}


@over_rows(("more", "known", "sentence"), BAD.values(), ids=BAD.keys())
def test_one_clear_sentence(more: dict[str, Any], known: PowerVSFacts, sentence: str) -> None:
    result = build_desired("c1", CREATE, powervs_spec({"spec": {**LEAST, **more}}), known)
    assert isinstance(result, RefusedSpec)
    assert [str(problem) for problem in result.problems] == [sentence]


def test_the_annotation_must_be_a_boolean() -> None:
    """Upstream's webhook refuses it; without one, a condition does."""
    result = build_desired("c1", {ANNOTATION: "maybe"}, powervs_spec({"spec": LEAST}), FACTS)
    assert isinstance(result, RefusedSpec)
    assert [str(p) for p in result.problems] == [
        f"metadata.annotations[{ANNOTATION}]: 'maybe' is not a boolean; write 'true' or 'false'"
    ]


def test_all_problems_are_reported_at_once() -> None:
    """A user should not find them one by one."""
    result = build_desired("c1", CREATE, powervs_spec({"spec": {}}), PowerVSFacts())
    assert isinstance(result, RefusedSpec)
    assert [p.field for p in result.problems] == ["spec.resourceGroup.name", "spec.zone", "spec.vpc.region"]


def test_a_wrong_api_key_is_not_an_error_in_the_manifest() -> None:
    """The cloud could not be read, so the manifest is neither right nor wrong; nothing is created."""
    denied = NoAnswer(Reason.DENIED, "the API key was refused; give a valid one", 300.0)
    asked = PowerVSFacts(resource_group=denied, zone=denied, vpc_zones=denied)
    result = build_desired("c1", CREATE, powervs_spec({"spec": LEAST}), asked)
    assert isinstance(result, UndecidedSpec)
    assert result.after == 300.0


NAMES = {
    "long": "a" * 80,
    "dot": "my.cluster",
    "leading digit": "1cluster",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_cluster_name_that_the_cloud_refuses_is_mapped_and_reported(name: str) -> None:
    """It is legal in Kubernetes, so it is not refused but mapped, with a note."""
    result = build_desired(name, CREATE, powervs_spec({"spec": LEAST}), FACTS)
    assert isinstance(result, WantedGraph)
    (note,) = result.notes
    assert note.field == "metadata.name"
    assert note.served


IGNORED: dict[str, tuple[dict[str, Any], str]] = {
    "resource group's id": ({"resourceGroup": {"name": "rg", "id": "x"}}, "spec.resourceGroup.id"),
    "resource group's regex": ({"resourceGroup": {"name": "rg", "regex": "x"}}, "spec.resourceGroup.regex"),
    "workspace's regex": ({"serviceInstance": {"regex": "x"}}, "spec.serviceInstance.regex"),
    "network's regex": ({"network": {"regex": "x"}}, "spec.network.regex"),
    "name beside an id": ({"network": {"id": "a", "name": "b"}}, "spec.network.name"),
    "cidr of a DHCP server that is given": ({"dhcpServer": {"id": "d", "cidr": "10.0.0.0/24"}}, "spec.dhcpServer.cidr"),
    "cidr of a given subnet": ({"vpcSubnets": [{"id": "a", "cidr": "10.0.0.0/24"}]}, "spec.vpcSubnets[0].cidr"),
    "a group's tags": ({"vpcSecurityGroups": [{"name": "g", "tags": ["t"]}]}, "spec.vpcSecurityGroups[0].tags"),
    "backend pools": (
        {
            "loadBalancers": [
                {
                    "name": "a",
                    "backendPools": [
                        {
                            "algorithm": "round_robin",
                            "protocol": "tcp",
                            "healthMonitor": {"delay": 5, "retries": 2, "timeout": 2, "type": "tcp"},
                        }
                    ],
                }
            ]
        },
        "spec.loadBalancers[0].backendPools",
    ),
    "a listener's selector": (
        {
            "loadBalancers": [
                {"name": "a", "additionalListeners": [{"port": 80, "selector": {"matchLabels": {"a": "b"}}}]}
            ]
        },
        "spec.loadBalancers[0].additionalListeners[0].selector",
    ),
    "listeners of a given load balancer": (
        {"loadBalancers": [{"id": "a", "additionalListeners": [{"port": 80}]}]},
        "spec.loadBalancers[0].additionalListeners",
    ),
    "ignition": (
        {"ignition": {}, "cosInstance": {"name": "cos", "bucketName": "bkt", "bucketRegion": "us-south"}},
        "spec.ignition",
    ),
}


@pytest.mark.parametrize(("more", "field"), IGNORED.values(), ids=IGNORED.keys())
def test_an_ignored_field_is_named(more: dict[str, Any], field: str) -> None:
    """A silently ignored field would mislead (upstream #2537)."""
    gates = frozenset(FeatureGate)
    result = build_desired("c1", CREATE, powervs_spec({"spec": {**LEAST, **more}}), FACTS, gates=gates)
    assert isinstance(result, WantedGraph)
    assert [note.field for note in result.notes if not note.served] == [field]


def test_the_deprecated_field_is_used_and_reported() -> None:
    """It is used, so it is not an ignored field; but the next API version does not have it."""
    result = build_desired("c1", CREATE, powervs_spec({"spec": {**LEAST, "serviceInstanceID": "ws"}}), FACTS)
    assert isinstance(result, WantedGraph)
    assert [(note.field, note.served) for note in result.notes] == [("spec.serviceInstanceID", True)]


def test_without_the_annotation_the_fields_of_the_infrastructure_are_named() -> None:
    """A user who forgot the annotation must be told why nothing is created."""
    spec = {**LEAST, "serviceInstanceID": "ws", "network": {"id": "n"}, "loadBalancers": [{"name": "a"}]}
    result = build_desired("c1", {}, powervs_spec({"spec": spec}), FACTS)
    assert isinstance(result, WantedGraph)
    assert [note.field for note in result.notes if not note.served] == ["spec.vpc", "spec.loadBalancers"]


MISSING = {
    "nothing given": (
        {},
        ["spec.serviceInstance", "spec.network"],
    ),
    "a regex is no name": (
        {"serviceInstance": {"regex": "x"}, "network": {"regex": "x"}},
        ["spec.serviceInstance", "spec.network"],
    ),
}


@pytest.mark.parametrize(("spec", "fields"), MISSING.values(), ids=MISSING.keys())
def test_without_the_annotation_what_must_exist_must_be_named(spec: dict[str, Any], fields: list[str]) -> None:
    result = build_desired("c1", {}, powervs_spec({"spec": spec}), PowerVSFacts())
    assert isinstance(result, RefusedSpec)
    assert [problem.field for problem in result.problems] == fields
