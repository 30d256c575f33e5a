"""The status of an AWSCluster: upstream's fields and conditions, endpoint, what is sticky and what is rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from freehold.api.parse import parse
from freehold.collection.policy import Collect, Policy, SkipCollection, UnreadablePolicy, Volumes
from freehold.collection.things import DEFAULT_TASKS, CollectionTask
from freehold.engine.context import STRANGER
from freehold.engine.journal import Entry, Journal, Phase
from freehold.engine.outcomes import Blocked, Category, Kept, Outcome, Ready, Reason, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, State
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.cluster import status
from freehold.providers.aws.cluster.desired import AWSWanted
from freehold.providers.aws.cluster.facts import Facts, Namesake
from freehold.providers.aws.cluster.types.status import AWSClusterStatus
from freehold.providers.objects.adapter import Desired, PassReport, StatusUpdate
from freehold.providers.objects.cloud_answers import Answer, NoAnswer
from freehold.providers.objects.spec_problems import SpecWarning
from harness.aws_specs import NAMES, REGION, ZONES, Spec, cluster, wanted

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
OWNER = Owner("u1", "AWSCluster", NAMES.namespace, NAMES.cluster)
NLB_ARN = f"arn:aws:elasticloadbalancing:{REGION}:111122223333:loadbalancer/net/x/0123456789abcdef"
COLLECT = Collect(DEFAULT_TASKS, Volumes.RETAIN, "default")
ADDRESS = "prod-apiserver-1.elb.example.net"
ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "classic-load-balancer": {"address": ADDRESS},
    "network-load-balancer": {"address": ADDRESS},
    "elastic-ip": {"address": "198.51.100.7"},
    "instance": {
        "instance_type": "t3.micro", "private_address": "10.0.0.9", "public_address": "198.51.100.9",
        "subnet_id": "subnet-1", "image_id": "ami-1", "zone": ZONES[0], "security_groups": ["sg-1"],
    },
}  # fmt: skip


def plan(spec: Spec | None = None, **facts: Any) -> Desired:
    known = {"image": Answer("ami-1"), "namesakes": Answer(()), **facts}
    return wanted(NAMES, cluster({"region": REGION, **(spec or {})}), Facts(Answer(ZONES), **known))


def obj(status: dict[str, Any] | None = None, spec: Spec | None = None) -> dict[str, Any]:
    raw = cluster({"region": REGION, **(spec or {})})
    raw["metadata"] |= {"uid": "u1", "generation": 3, "resourceVersion": "9"}
    return raw if status is None else {**raw, "status": status}


def ident(key: NodeKey) -> str:
    return NLB_ARN if key.kind == "network-load-balancer" else f"id-of-{key.kind}-{key.logical}".replace("/", "-")


def report(found: Desired, *, without: tuple[str, ...] = (), **but: Outcome) -> PassReport:
    """A pass in which all is ready; ``but`` says what became of a kind, ``without`` what is not on record yet."""
    assert isinstance(found, AWSWanted)
    entries, outcomes = {}, {}
    for key in found.graph.nodes:
        if key.kind in without:
            continue
        entries[key] = Entry(Phase.OWNED, id=ident(key))
        seen = Observed(ident(key), str(key), State.READY, attributes=ATTRIBUTES.get(key.kind, {}))
        outcomes[key] = but.get(key.kind.replace("-", "_")) or Ready(seen, Category.MANAGED)
    return PassReport(found, Journal(OWNER, entries), outcomes)


def build_status(
    raw: dict[str, Any],
    report: PassReport,
    now: datetime,
    collection: Policy = COLLECT,
) -> StatusUpdate:
    return status.build_status(raw, report, now, collection)


def conditions(folded: StatusUpdate) -> dict[str, str]:
    return {each["type"]: each["status"] for each in folded.status["conditions"]}


def condition(folded: StatusUpdate, type_: str) -> dict[str, Any]:
    return next(each for each in folded.status["conditions"] if each["type"] == type_)


WHOLE = report(plan())


def test_what_has_copied_marks_is_named_by_the_end_of_its_arn() -> None:
    """The account and the region are the same for all."""
    found = plan()
    target = f"arn:aws:ec2:{REGION}:111122223333:vpc/vpc-9"
    told = {NodeKey(STRANGER, target): Kept(Reason.NOT_OWNED, f"{target} has our uuid")}
    rows = build_status(obj(), PassReport(found, WHOLE.journal, {**WHOLE.outcomes, **told}), NOW).status["resources"]
    assert [row["name"] for row in rows if row["kind"] == STRANGER] == ["vpc/vpc-9"]


def test_a_complete_cluster_has_upstreams_fields() -> None:
    folded = build_status(obj(), WHOLE, NOW)
    assert folded.spec == {"controlPlaneEndpoint": {"host": ADDRESS, "port": 6443}}
    status = {name: value for name, value in folded.status.items() if name not in ("conditions", "resources")}
    network = status.pop("networkStatus")
    assert status == {
        "ready": True,
        "initialization": {"provisioned": True},
        "phase": "Ready",
        "observedGeneration": 3,
        "identity": {"uid": "u1", "uuid": "u1"},
        "failureDomains": {zone: {"controlPlane": True} for zone in ZONES},
    }
    assert network["natGatewaysIPs"] == ["198.51.100.7"] * 3
    assert network["securityGroups"]["node"] == {"id": "id-of-security-group-node", "name": "prod-node"}
    assert set(network["securityGroups"]) == {"apiserver-lb", "controlplane", "lb", "node"}
    balancer = network["apiServerElb"]
    assert balancer["name"] == "prod-apiserver"
    assert balancer["dnsName"] == ADDRESS
    assert balancer["availabilityZones"] == list(ZONES)
    assert len(balancer["subnetIds"]) == 3
    assert balancer["securityGroupIds"] == ["id-of-security-group-apiserver-lb"]
    assert balancer["healthChecks"]["interval"] == 5_000_000_000


def test_conditions_are_upstreams_in_the_order_of_its_steps() -> None:
    folded = build_status(obj(), WHOLE, NOW)
    types = [each["type"] for each in folded.status["conditions"] if each["type"] in aws_names.AWS_PART_CONDITIONS]
    assert types == [
        "PrincipalUsageAllowed", "PrincipalCredentialRetrieved", "VpcReady", "SubnetsReady", "InternetGatewayReady",
        "NatGatewaysReady", "RouteTablesReady", "ClusterSecurityGroupsReady", "LoadBalancerReady",
    ]  # fmt: skip
    assert set(conditions(folded).values()) == {"True", "False"}
    assert [each for each, status in conditions(folded).items() if status == "False"] == ["Deleting", "Paused"]
    assert folded.status["conditions"][0]["type"] == "Ready"


@pytest.mark.parametrize(
    ("spec", "condition_"),
    [
        ({"network": {"vpc": {"secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}]}}}, "SecondaryCidrsReady"),
        ({"network": {"vpc": {"ipv6": {}}}}, "EgressOnlyInternetGatewayReady"),
        ({"bastion": {"enabled": True}}, "BastionHostReady"),
    ],
)
def test_a_condition_comes_and_goes_with_what_it_speaks_for(spec: Spec, condition_: str) -> None:
    with_it = build_status(obj(spec=spec), report(plan(spec)), NOW)
    assert conditions(with_it)[condition_] == "True"
    without = build_status(obj(with_it.status), WHOLE, LATER)
    assert condition_ not in conditions(without)


def test_the_status_is_valid_for_the_schema_with_everything_in_it() -> None:
    spec: Spec = {
        "bastion": {"enabled": True},
        "controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "additionalListeners": [{"port": 22623}]},
        "secondaryControlPlaneLoadBalancer": {"name": "inner", "loadBalancerType": "nlb", "scheme": "internal"},
    }
    for report_ in (WHOLE, report(plan(spec))):
        folded = build_status(obj(), report_, NOW)
        model = parse(AWSClusterStatus, folded.status, at="status")
        assert model.model_dump(by_alias=True, exclude_unset=True, mode="json") == folded.status


def test_failure_domains_are_a_map_as_the_contract_that_the_crd_is_labelled_with_says() -> None:
    """docs/reference/capi-contract.md C1: a list would be read by another contract."""
    domains = build_status(obj(), WHOLE, NOW).status["failureDomains"]
    assert isinstance(domains, dict)


def test_a_zone_is_no_failure_domain_before_it_has_a_subnet() -> None:
    assert "failureDomains" not in build_status(obj(), report(plan(), without=("subnet",)), NOW).status


def test_a_network_load_balancer_is_shown_with_its_arn_and_listeners() -> None:
    nlb = {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}}
    folded = build_status(obj(spec=nlb), report(plan(nlb)), NOW)
    balancer = folded.status["networkStatus"]["apiServerElb"]
    assert (balancer["arn"], balancer["loadBalancerType"]) == (NLB_ARN, "nlb")
    assert [each["port"] for each in balancer["elbListeners"]] == [6443]
    row = next(each for each in folded.status["resources"] if each["kind"] == "network-load-balancer")
    assert row["id"] == NLB_ARN


def test_the_second_load_balancer_is_no_endpoint() -> None:
    spec: Spec = {
        "controlPlaneLoadBalancer": {"loadBalancerType": "disabled"},
        "secondaryControlPlaneLoadBalancer": {"name": "inner", "loadBalancerType": "nlb", "scheme": "internal"},
    }
    found = plan(spec)
    assert isinstance(found, AWSWanted)
    folded = build_status(obj(spec=spec), report(found), NOW)
    assert folded.spec is None
    assert conditions(folded)["Ready"] == "False"
    assert "spec.controlPlaneEndpoint.host" in condition(folded, "Ready")["message"]
    assert "secondaryAPIServerELB" in folded.status["networkStatus"]


def test_an_endpoint_of_the_user_stays_and_only_gets_its_port() -> None:
    own = {"controlPlaneEndpoint": {"host": "api.example.org"}}
    folded = build_status(obj(spec=own), WHOLE, NOW)
    assert folded.spec == {"controlPlaneEndpoint": {"host": "api.example.org", "port": 6443}}
    whole = {"controlPlaneEndpoint": {"host": "api.example.org", "port": 443}}
    assert build_status(obj(spec=whole), WHOLE, NOW).spec is None


def test_not_ready_without_an_address_of_the_load_balancer() -> None:
    nothing = Ready(Observed("x", "x", State.READY), Category.MANAGED)
    folded = build_status(obj(), report(plan(), classic_load_balancer=nothing), NOW)
    assert (folded.status["ready"], folded.spec) == (False, None)


def test_ready_stays_true_when_something_breaks_later() -> None:
    """docs/reference/capi-contract.md: once true, never false again."""
    first = build_status(obj(), WHOLE, NOW)
    broken = report(plan(), nat_gateway=Blocked(Reason.QUOTA, "no more addresses"))
    later = build_status(obj(first.status, dict(first.spec or {})), broken, LATER)
    assert later.status["ready"] is True
    assert later.status["initialization"] == {"provisioned": True}
    assert conditions(later)["Ready"] == "False"
    assert condition(later, "NatGatewaysReady")["reason"] == Reason.QUOTA.value


def test_the_same_pass_again_changes_nothing() -> None:
    """docs/reference/capi-contract.md C14."""
    first = build_status(obj(), WHOLE, NOW)
    again = build_status(obj(first.status, dict(first.spec or {})), WHOLE, LATER)
    assert (again.changed, again.spec, again.status) == (False, None, first.status)


def test_what_a_look_did_not_see_is_as_it_was_before() -> None:
    spec: Spec = {"bastion": {"enabled": True}}
    first = build_status(obj(spec=spec), report(plan(spec)), NOW)
    blind: dict[str, Outcome] = dict.fromkeys(
        ("elastic_ip", "classic_load_balancer", "instance"), Waiting(Reason.RETRYING, 5.0, "no reply")
    )
    later = build_status(obj(first.status, {**spec, **(first.spec or {})}), report(plan(spec), **blind), LATER)
    assert later.status["networkStatus"] == first.status["networkStatus"]
    assert later.status["bastion"] == first.status["bastion"]
    assert first.status["bastion"]["publicIp"] == "198.51.100.9"


def test_what_is_found_out_by_deleting_is_told_while_deleting() -> None:
    """That STS gives no session which is bound to the owner is known only then."""
    assert isinstance(WHOLE.plan, AWSWanted)
    first = build_status(obj(), WHOLE, NOW)
    note = SpecWarning("spec.identityRef", "AWS does not check", served=True)
    going = PassReport(replace(WHOLE.plan, notes=(note,)), WHOLE.journal, {}, deleting=True)
    told = condition(build_status(obj(first.status, dict(first.spec or {})), going, LATER), "FieldsServed")
    assert (told["status"], told["message"]) == ("True", "spec.identityRef: AWS does not check")


def test_a_taken_name_is_the_reason_of_ready_and_nothing_is_forgotten() -> None:
    first = build_status(obj(), WHOLE, NOW)
    taken = PassReport(plan(namesakes=Answer((Namesake("arn:aws:ec2:x:1:vpc/vpc-1"),))), WHOLE.journal)
    later = build_status(obj(first.status, dict(first.spec or {})), taken, LATER)
    assert condition(later, "Ready")["reason"] == "NameTaken"
    assert "vpc-1" in condition(later, "Ready")["message"]
    assert later.status["networkStatus"] == first.status["networkStatus"]


def test_conditions_count_what_has_the_name_and_say_where_all_of_it_is_named() -> None:
    theirs = tuple(Namesake(f"arn:aws:ec2:x:111122223333:instance/i-{number:017x}") for number in range(25))
    folded = build_status(obj(), PassReport(plan(namesakes=Answer(theirs)), Journal(OWNER)), NOW)
    for type_ in ("Ready", "SpecValid"):
        message = condition(folded, type_)["message"]
        assert message.endswith(" 25 instance. To list all: freehold plan -f FILE")


def test_a_question_that_got_no_answer_is_unknown_and_says_why() -> None:
    unanswered = PassReport(plan(namesakes=NoAnswer(Reason.DENIED, "tag:GetResources is denied")), Journal(OWNER))
    folded = build_status(obj(), unanswered, NOW)
    assert condition(folded, "SpecValid")["status"] == "Unknown"
    assert "tag:GetResources is denied" in condition(folded, "Ready")["message"]


def test_while_deleting_the_parts_that_go_are_not_ready() -> None:
    first = build_status(obj(), WHOLE, NOW)
    going = PassReport(
        WHOLE.plan, WHOLE.journal, {NodeKey("nat-gateway", "x"): Waiting(Reason.DELETING, 5.0)}, deleting=True
    )
    raw = obj(first.status, dict(first.spec or {}))
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T12:05:00Z"
    later = build_status(raw, going, LATER)
    assert (conditions(later)["Deleting"], conditions(later)["Ready"]) == ("True", "False")
    assert conditions(later)["NatGatewaysReady"] == "False"
    assert later.status["networkStatus"] == first.status["networkStatus"]


COLLECTIONS: Mapping[str, tuple[Policy, tuple[str, str, str]]] = {
    "collected": (
        Collect((CollectionTask.LOAD_BALANCER, CollectionTask.VOLUME), Volumes.SNAPSHOT, "default"),
        ("True", "Collected", "collected with it: load-balancer, volume (volumes: snapshot); by default"),
    ),
    "not collected": (SkipCollection("OptedOut", "why"), ("False", "OptedOut", "why")),
    "unreadable": (UnreadablePolicy("how to mend it"), ("False", "InvalidCollectionPolicy", "how to mend it")),
}


@pytest.mark.parametrize("deleting", [False, True], ids=["living", "deleting"])
@pytest.mark.parametrize(("collection", "expected"), COLLECTIONS.values(), ids=COLLECTIONS.keys())
def test_a_condition_beside_ready_says_whether_it_is_collected(
    collection: Policy, expected: tuple[str, str, str], deleting: bool
) -> None:
    folded = build_status(obj(), replace(WHOLE, deleting=deleting), NOW, collection)
    found = condition(folded, "ExternalResourceGC")
    assert (found["status"], found["reason"], found.get("message")) == expected
    assert conditions(folded)["Ready"] == ("False" if deleting else "True")
