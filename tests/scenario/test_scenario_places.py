"""Given resources that are somewhere else than the spec says: refused before anything is created."""

from __future__ import annotations

from typing import Any

import pytest

from freehold_sim.faults import Effect, Fault
from harness.plans import planned
from harness.powervs import Harness
from harness.resources import REGION, ZONE, Row, existing, infrastructure, made_by_us, snapshot
from harness.standing import standing


def elsewhere(harness: Harness) -> dict[str, Row]:
    """Another VPC of others, with a subnet, a group and a load balancer in it."""
    make = harness.cloud.strangers.make
    vpc = make("vpc", region=REGION, name="elsewhere-vpc")
    subnet = make("subnet", region=REGION, vpc=vpc["id"], zone=ZONE, name="elsewhere-subnet")
    group = make("security-group", region=REGION, vpc=vpc["id"], name="elsewhere-group")
    balancer = make("load-balancer", region=REGION, subnet=subnet["id"], name="elsewhere-lb")
    harness.clock.advance(3600.0)
    return {"vpc": vpc, "vpc-subnet": subnet, "security-group": group, "load-balancer": balancer}


ENTRIES = {
    "a subnet": ("vpc-subnet", "spec.vpcSubnets[0].id", lambda i: {"vpcSubnets": [{"id": i}]}),
    "a security group": (
        "security-group",
        "spec.vpcSecurityGroups[0].id",
        lambda i: {"vpcSecurityGroups": [{"id": i}]},
    ),
    "a load balancer": ("load-balancer", "spec.loadBalancers[0].id", lambda i: {"loadBalancers": [{"id": i}]}),
    "a load balancer's subnet": (
        "vpc-subnet",
        "spec.loadBalancers[0].subnets[0].id",
        lambda i: {"loadBalancers": [{"name": "lb", "subnets": [{"id": i}]}]},
    ),
    "a load balancer's group": (
        "security-group",
        "spec.loadBalancers[0].securityGroups[0].id",
        lambda i: {"loadBalancers": [{"name": "lb", "securityGroups": [{"id": i}]}]},
    ),
}


@pytest.mark.parametrize("how", ["id", "name", "to be created", "left out"])
@pytest.mark.parametrize(("kind", "field", "entry"), ENTRIES.values(), ids=ENTRIES.keys())
def test_what_is_in_another_vpc_is_refused_before_anything_is_created(
    how: str, kind: str, field: str, entry: Any
) -> None:
    """With object, field, both ids and what to do, in condition and plan; the cloud would refuse it halfway."""
    harness = Harness()
    theirs, other = infrastructure(harness), elsewhere(harness)
    wish: dict[str, Any] = {
        "id": {"id": theirs.vpc["id"], "name": None},
        "name": {"name": theirs.vpc["name"]},
        "to be created": {"name": "a-new-vpc"},
        "left out": {"name": None},
    }[how]
    harness.object.patch({"spec": {"vpc": wish, **entry(other[kind]["id"])}})
    before = snapshot(harness)
    harness.for_a_while(900.0)

    said = harness.condition("SpecValid")
    assert (said["status"], said["reason"]) == ("False", "InvalidSpec")
    wanted = theirs.vpc["id"] if how in ("id", "name") else "a VPC that is to be created"
    for word in (f"{field}: {kind} {other[kind]['id']} is in VPC {other['vpc']['id']}", wanted, "spec.vpc.id"):
        assert word in said["message"]
    assert list(planned(harness).problems) == [said["message"]]
    assert snapshot(harness) == before

    harness.object.patch({"spec": {"vpc": {"id": other["vpc"]["id"], "name": None}}})
    harness.pass_once()
    assert harness.condition("SpecValid")["status"] == "True"


def test_what_is_in_the_vpc_is_not_refused_after_the_journal_knows_it() -> None:
    """A VPC by name: its id comes from the cloud first, later from the record; a given subnet costs no read a pass."""
    harness = Harness()
    theirs = infrastructure(harness)
    harness.object.patch(
        {
            "spec": {
                "vpc": {"name": theirs.vpc["name"]},
                "vpcSubnets": [{"id": theirs.subnet["id"]}],
                "loadBalancers": None,
            }
        }
    )
    harness.up()
    begun = len(harness.calls())
    harness.for_a_while(30.0)
    harness.pass_once()
    asked = [call.operation for call in harness.calls()[begun:]]
    assert "vpc.list_vpcs" not in asked
    harness.start_process()
    harness.for_a_while(1800.0)
    assert harness.ready()


def test_a_given_resource_in_our_own_vpc_is_not_refused() -> None:
    """Somebody made a subnet in the VPC that is ours, and the spec names it: that VPC is on record."""
    harness = standing(Harness)
    vpc = existing(harness, "vpc")[0]
    subnet = harness.cloud.strangers.make("subnet", region=REGION, vpc=vpc["id"], zone=ZONE, name="more")
    harness.clock.advance(3600.0)
    harness.object.patch(
        {"spec": {"vpcSubnets": [*harness.object.raw["spec"].get("vpcSubnets", []), {"id": subnet["id"]}]}}
    )
    harness.for_a_while(300.0)
    assert harness.condition("SpecValid")["status"] == "True"


@pytest.mark.parametrize("creating", [True, False], ids=["create-infra", "without"])
@pytest.mark.parametrize("field", ["serviceInstance", "serviceInstanceID"])
def test_a_workspace_in_another_zone_is_refused(creating: bool, field: str) -> None:
    """Everything in PowerVS is asked of the zone: in another one there is no such workspace."""
    harness = Harness()
    make = harness.cloud.strangers.make
    workspace = make("workspace", zone="dal12", name="elsewhere")
    network = make("network", region="dal", workspace=workspace["id"], name="elsewhere-net")
    harness.clock.advance(3600.0)
    if not creating:
        harness.object.patch({"metadata": {"annotations": {"powervs.cluster.x-k8s.io/create-infra": None}}})
    wish = {"serviceInstance": {"id": workspace["id"], "name": None}} if field == "serviceInstance" else {
        "serviceInstance": None, "serviceInstanceID": workspace["id"]
    }  # fmt: skip
    harness.object.patch({"spec": {**wish, "zone": "dal10", "network": {"id": network["id"]}}})
    harness.for_a_while(900.0)
    said = harness.condition("SpecValid")
    where = "spec.serviceInstance.id" if field == "serviceInstance" else "spec.serviceInstanceID"
    assert f"{where}: workspace {workspace['id']} is in zone 'dal12', and spec.zone is 'dal10'" in said["message"]
    assert made_by_us(harness) == []
    assert said["message"] in planned(harness).problems


def test_a_cloud_that_does_not_answer_where_something_is_lets_nothing_be_created() -> None:
    """Unknown is not right: the first create waits until the place is known."""
    harness = Harness()
    other = elsewhere(harness)
    harness.object.patch({"spec": {"vpcSubnets": [{"id": other["vpc-subnet"]["id"]}]}})
    harness.cloud.faults.add(Fault(Effect.THROTTLE, "vpc.get_subnet", count=None))
    harness.pass_once()
    said = harness.condition("SpecValid")
    assert (said["status"], "spec.vpcSubnets[0].id: cannot be checked" in said["message"]) == ("Unknown", True)
    assert made_by_us(harness) == []
