"""A stranger's VPC that the spec names: used as it is, tagged as CAPA tags what it does not manage, never deleted."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.ownership import Owner
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import GivenVpc, own, planned
from harness.standing import standing
from lab.aws import QUICK, ROOMY, QuickHarness
from lab.aws_neighbours import existing

SETTINGS = Settings(delays=QUICK, quotas=ROOMY, limits={})
SHARED = {"kubernetes.io/cluster/demo": "shared"}


class Given:
    """A network of somebody else's, and a cluster that is to be made in it."""

    def __init__(self, **spec: Any) -> None:
        self.harness = QuickHarness(aws_cluster(), SETTINGS)
        vpc = self.made("CreateVpc", CidrBlock="10.7.0.0/16")
        gateway = self.made("CreateInternetGateway")
        self.call("AttachInternetGateway", InternetGatewayId=gateway["id"], VpcId=vpc["id"])
        self.vpc, self.subnets = vpc["id"], []
        for number, zone in enumerate("ab"):
            subnet = self.made(
                "CreateSubnet", VpcId=self.vpc, CidrBlock=f"10.7.{number}.0/24", AvailabilityZone=f"{REGION}{zone}"
            )
            self.subnets.append(subnet["id"])
        table = self.made("CreateRouteTable", VpcId=self.vpc)["id"]
        self.call("AssociateRouteTable", RouteTableId=table, SubnetId=self.subnets[0])
        self.call("CreateRoute", RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway["id"])
        self.harness.clock.advance(3600.0)
        network = {"vpc": {"id": self.vpc}, "subnets": [{"id": each} for each in self.subnets]}
        self.harness.object.patch({"spec": {"network": network, **spec}})

    def made(self, operation: str, **params: Any) -> Any:
        return self.harness.cloud.strangers.create("ec2", operation, params)

    def call(self, operation: str, **params: Any) -> None:
        self.harness.cloud.strangers.call("ec2", operation, params)

    def theirs(self) -> dict[str, dict[str, str]]:
        """The tags of what is not ours, by id."""
        return {str(row["id"]): dict(row["tags"]) for row in existing(self.harness) if row["by"] != "api"}

    def rules(self, group: str) -> list[Any]:
        params = {"GroupIds": [group]}
        (found,) = self.harness.cloud.strangers.call("ec2", "DescribeSecurityGroups", params)["SecurityGroups"]
        return [found["IpPermissions"], found["IpPermissionsEgress"]]

    def sources(self, name: str, port: int) -> set[str]:
        """The IPv4 ranges from which the group of this name lets traffic to a port in."""
        rows = self.harness.cloud.strangers.call("ec2", "DescribeSecurityGroups", {})["SecurityGroups"]
        (found,) = [row["IpPermissions"] for row in rows if row["GroupName"] == name]
        return {each["CidrIp"] for rule in found if rule.get("FromPort") == port for each in rule.get("IpRanges", ())}

    def ours(self) -> set[str]:
        return {str(row["kind"]) for row in existing(self.harness) if row["by"] == "api"}


def test_it_is_used_and_left_as_it_was() -> None:
    given = Given(additionalTags={"team": "red"})
    before = given.theirs()
    given.harness.up()
    given.harness.settle()
    public, private = given.subnets
    now = given.theirs()
    changed = {ident for ident in before if before[ident] != now[ident]}
    assert changed == {public, private}, "upstream tags no VPC that it does not manage"
    role = {public: "kubernetes.io/role/elb", private: "kubernetes.io/role/internal-elb"}
    assert all(now[each] == {**SHARED, role[each]: "1", "team": "red"} for each in changed)
    assert given.ours() == {"security-group", "classic-balancer"}
    rows = {row["id"]: row for row in given.harness.status()["resources"]}
    assert {rows[each]["ownership"] for each in (given.vpc, public, private)} == {"unmanaged"}
    given.harness.down()
    assert given.theirs() == before
    assert given.ours() == set()


def test_tags_of_others_on_it_stay_and_a_full_subnet_is_told() -> None:
    """AWS takes 50 tags a resource, and two clusters of one network may have used them up (CAPA#4133)."""
    given = Given(additionalTags={"team": "red"})
    full = {f"theirs-{number}": "x" for number in range(49)}
    given.harness.cloud.strangers.tag(given.subnets[0], full)
    before = given.theirs()
    given.harness.for_a_while(1800.0)
    row = next(row for row in given.harness.status()["resources"] if row["id"] == given.subnets[0])
    assert (row["state"], row["reason"]) == ("Ready", "QuotaReached")
    assert "too many tags" in row["message"] and "Take tags off it" in row["message"]
    assert full.items() <= given.theirs()[given.subnets[0]].items()
    given.harness.down()
    assert given.theirs() == before


def test_machines_are_reached_from_every_range_of_the_vpc() -> None:
    """A load balancer may be in a subnet of a secondary range, from which its health checks come and what it passes."""
    given = Given(controlPlaneLoadBalancer={"loadBalancerType": "nlb"})
    given.call("AssociateVpcCidrBlock", VpcId=given.vpc, CidrBlock="100.64.0.0/16")
    given.harness.up()
    assert {"10.7.0.0/16", "100.64.0.0/16"} <= given.sources("demo-controlplane", 6443)
    given.call("AssociateVpcCidrBlock", VpcId=given.vpc, CidrBlock="100.65.0.0/16")
    given.harness.for_a_while(1800)
    assert "100.65.0.0/16" in given.sources("demo-controlplane", 6443)


def test_groups_that_the_spec_overrides_are_left_as_they_are() -> None:
    """Upstream touches neither their rules nor their tags."""
    given = Given(additionalTags={"team": "red"})
    group = given.made("CreateSecurityGroup", GroupName="theirs", Description="d", VpcId=given.vpc)["id"]
    roles = ("bastion", "controlplane", "apiserver-lb", "node", "lb")
    network = {**given.harness.object.raw["spec"]["network"], "securityGroupOverrides": dict.fromkeys(roles, group)}
    given.harness.object.patch({"spec": {"network": network}})
    given.harness.clock.advance(3600.0)
    rules = given.rules(group)
    given.harness.up()
    given.harness.settle()
    assert given.ours() == {"classic-balancer"}
    assert (given.theirs()[group], given.rules(group)) == ({}, rules)
    given.harness.down()
    assert (given.theirs()[group], given.rules(group)) == ({}, rules)


def test_a_network_load_balancer_reaches_machines_whose_group_is_given_through_another() -> None:
    """Upstream puts the rules into ``lb``, in which each of these machines is, before it hands that group over."""
    balancer = {"loadBalancerType": "nlb", "additionalListeners": [{"port": 8132}]}
    given = Given(controlPlaneLoadBalancer=balancer)
    theirs = given.made("CreateSecurityGroup", GroupName="theirs", Description="d", VpcId=given.vpc)["id"]
    network = {**given.harness.object.raw["spec"]["network"], "securityGroupOverrides": {"controlplane": theirs}}
    given.harness.object.patch({"spec": {"network": network}})
    before = given.rules(theirs)
    given.harness.up()
    assert [given.sources("demo-lb", port) for port in (6443, 8132)] == [{"10.7.0.0/16"}, {"10.7.0.0/16"}]
    assert given.rules(theirs) == before
    (group,) = [row["id"] for row in given.harness.status()["resources"] if row["name"] == "demo-lb"]
    service = {"IpProtocol": "tcp", "FromPort": 31000, "ToPort": 31000, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    given.call("AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=[service])
    more = {**balancer, "additionalListeners": [{"port": 8132}, {"port": 9345}]}
    given.harness.object.patch({"spec": {"controlPlaneLoadBalancer": more}})
    given.harness.for_a_while(900.0)
    assert given.harness.ready() and given.sources("demo-lb", 9345) == {"10.7.0.0/16"}
    assert given.sources("demo-lb", 31000) == {"0.0.0.0/0"}, "the cloud controller's"
    given.harness.down()
    assert given.ours() == set() and given.rules(theirs) == before


def _all_given() -> Given:
    """A cluster of which everything is somebody else's."""
    given = Given(
        controlPlaneLoadBalancer={"loadBalancerType": "disabled"},
        controlPlaneEndpoint={"host": "api.example.com", "port": 6443},
    )
    theirs = given.made("CreateSecurityGroup", GroupName="theirs", Description="d", VpcId=given.vpc)["id"]
    roles = ("bastion", "controlplane", "apiserver-lb", "node", "lb")
    network = {**given.harness.object.raw["spec"]["network"], "securityGroupOverrides": dict.fromkeys(roles, theirs)}
    given.harness.object.patch({"spec": {"network": network}})
    return given


def _make_service(given: Given) -> None:
    """As the cloud controller of a cluster of the name does."""
    service = {
        "LoadBalancerName": "of-a-service",
        "Listeners": [{"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 30080}],
        "Subnets": [given.subnets[0]],
        "Tags": [{"Key": "kubernetes.io/cluster/demo", "Value": "owned"}],
    }
    given.harness.cloud.strangers.create("elb", "CreateLoadBalancer", service)
    given.harness.clock.advance(60.0)


def test_a_cluster_that_makes_nothing_is_not_stopped_by_what_its_own_cloud_controller_makes() -> None:
    """Nothing of ours ever comes on record, so the tags alone would look like those of another cluster of its name."""
    given = _all_given()
    given.harness.up()
    assert given.ours() == set()
    _make_service(given)
    given.harness.for_a_while(1200.0)
    assert given.harness.ready(), given.harness.conditions()
    given.harness.cloud.faults.add(Fault(Effect.DENIED, "resourcegroupstaggingapi.GetResources", count=None))
    given.harness.for_a_while(3600.0)
    assert given.harness.ready(), given.harness.conditions()


def test_a_living_cluster_of_which_everything_was_given_can_make_something_of_its_own() -> None:
    given = _all_given()
    given.harness.up()
    _make_service(given)
    given.harness.object.patch({"spec": {"bastion": {"enabled": True}, "sshKeyName": ""}})
    given.harness.for_a_while(900.0)
    assert given.harness.ready() and "instance" in given.ours(), given.harness.condition(names.READY)["message"]


def test_a_new_cluster_that_makes_nothing_hears_of_another_one_of_its_name() -> None:
    """Each cloud controller would take what the other has."""
    given = _all_given()
    _make_service(given)
    given.harness.for_a_while(900.0)
    assert given.harness.condition(names.SPEC_VALID)["reason"] == "NameTaken"


def test_a_cluster_that_makes_nothing_goes_on_although_an_older_one_has_its_name() -> None:
    """An earlier version let both begin."""
    given = _all_given()
    given.harness.object.raw["metadata"]["creationTimestamp"] = "2026-01-01T10:00:01Z"
    given.harness.up()
    twin = copy.deepcopy(given.harness.object.history[0])
    twin["metadata"] |= {"namespace": "team-b", "creationTimestamp": "2026-01-01T10:00:00Z"}
    older = QuickHarness(twin, SETTINGS, beside=given.harness)
    mine = journals.loads(given.harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    theirs = replace(mine, owner=Owner("0f1e2d3c-aaaa-4bbb-8ccc-1234567890ab", mine.owner.kind, "team-b", "demo"))
    annotations = {names.PAUSED_ANNOTATION: "", names.JOURNAL_ANNOTATION: journals.dumps(theirs)}
    older.object.patch({"metadata": {"annotations": annotations}})
    given.harness.start_process()
    given.harness.for_a_while(900.0)
    assert given.harness.ready(), given.harness.conditions()


@pytest.mark.parametrize("restarted", (False, True))
def test_a_delete_in_a_given_vpc_needs_no_list_of_zones(restarted: bool) -> None:
    given = Given()
    given.harness.up()
    given.harness.cloud.faults.add(Fault(Effect.DENIED, "ec2.DescribeAvailabilityZones", count=None))
    if restarted:
        given.harness.start_process()
    given.harness.down()
    assert given.ours() == set()


@pytest.mark.parametrize("taken", ["vpc", "subnet"])
def test_what_is_gone_when_the_spec_names_it_is_told_with_its_field(taken: str) -> None:
    given = Given()
    ident = "vpc-0123456789abcdef0" if taken == "vpc" else "subnet-0123456789abcdef0"
    network = (
        {"vpc": {"id": ident}, "subnets": [{"id": each} for each in given.subnets]}
        if taken == "vpc"
        else {"vpc": {"id": given.vpc}, "subnets": [{"id": ident}]}
    )
    given.harness.object.patch({"spec": {"network": network}})
    given.harness.for_a_while(600.0)
    message = given.harness.condition(names.READY)["message"]
    assert ident in message and "spec.network" in message
    assert given.ours() == set()


def test_a_cluster_with_a_vpc_of_its_own_does_not_move_into_another_one() -> None:
    """Its groups and load balancers could not follow. Taking the id back mends it, and nothing was touched."""
    harness = standing(AwsHarness)
    (vpc,) = [each["id"] for each in own(harness, "vpc")]
    given = GivenVpc.create(harness)
    before, writes = harness.object.raw["spec"], len(harness.calls(mutating=True))
    harness.object.patch({"spec": {"network": given.network()}})
    (said,) = planned(harness).problems
    assert said == (
        f"spec.network.vpc.id: the cluster is in {vpc}, which was made for it, and cannot move to {given.id}; take the "
        f"id and the subnets of that VPC out"
    )
    harness.for_a_while(1500)
    assert said in harness.condition(names.READY)["message"]
    assert len(harness.calls(mutating=True)) == writes
    harness.object.patch({"spec": {"network": None}})
    harness.object.patch({"spec": before})
    harness.for_a_while(1500)
    assert harness.ready() and len(harness.calls(mutating=True)) == writes


@pytest.mark.parametrize("new", ("another VPC", "one of its own"))
def test_a_cluster_in_a_given_vpc_stays_there(new: str) -> None:
    harness = AwsHarness()
    given = GivenVpc.create(harness)
    harness.object.patch({"spec": {"network": given.network()}})
    harness.up()
    writes = len(harness.calls(mutating=True))
    other = GivenVpc.create(harness).network() if new == "another VPC" else None
    harness.object.patch({"spec": {"network": None}})
    harness.object.patch({"spec": {"network": other}})
    problems = planned(harness).problems
    told = f"spec.network.vpc.id: the cluster is in {given.id}, and cannot leave it; write {given.id}"
    assert told in problems
    harness.for_a_while(1500)
    assert told in harness.condition(names.READY)["message"]
    assert len(harness.calls(mutating=True)) == writes


def test_an_object_with_a_vpc_that_does_not_exist_goes_at_once() -> None:
    """The API server lets neither the id nor the region be corrected, so the message says to delete it."""
    harness = AwsHarness()
    subnets = [{"id": "subnet-0123456789abcdef0"}]
    harness.object.patch({"spec": {"network": {"vpc": {"id": "vpc-0123456789abcdef0"}, "subnets": subnets}}})
    harness.for_a_while(600)
    told = harness.condition(names.READY)["message"]
    assert "there is no VPC vpc-0123456789abcdef0" in told and "delete it, and apply it" in told
    assert harness.down() < 300


def test_a_strangers_subnet_is_never_given_to_another_cluster() -> None:
    """What the spec says of its own cluster is ``shared`` there; of another one nothing is made."""
    own, others = {"kubernetes.io/cluster/demo": "owned"}, {"elbv2.k8s.aws/cluster": "victim"}
    given = Given(additionalTags=own)
    before = given.theirs()
    given.harness.up()
    assert all(given.theirs()[each]["kubernetes.io/cluster/demo"] == "shared" for each in given.subnets)
    given.harness.object.patch({"spec": {"additionalTags": others}})
    given.harness.for_a_while(600.0)
    assert "spec.additionalTags[elbv2.k8s.aws/cluster]" in given.harness.condition(names.SPEC_VALID)["message"]
    assert not any(others.keys() & tags.keys() for tags in given.theirs().values())
    given.harness.down()
    assert given.theirs() == before
