"""An endpoint that leads somewhere: what is given and closed is refused with what to add, and never changed."""

from __future__ import annotations

from typing import Any

import pytest

from freehold_sim.faults import Effect, Fault
from harness.plans import planned
from harness.powervs import Harness, example
from harness.resources import (
    REGION,
    ZONE,
    Row,
    everything_by_id,
    everything_by_name,
    infrastructure,
    let_in,
    listen,
    made_by_us,
    only,
    row_of,
    snapshot,
)

PORT = 6443


def endpoint(harness: Harness) -> Any:
    return (harness.object.raw["spec"].get("controlPlaneEndpoint") or {}).get("host")


def closed_vpc(harness: Harness) -> Row:
    """A VPC of others as IBM Cloud makes it: its default group lets only its own members in."""
    vpc = harness.cloud.strangers.make("vpc", region=REGION, name="theirs-vpc")
    harness.clock.advance(3600.0)
    return vpc


def balancer_of_others(harness: Harness, name: str = "theirs-lb", **fields: Any) -> tuple[Row, Row]:
    """Their VPC, and a load balancer in it without a listener."""
    make = harness.cloud.strangers.make
    vpc = closed_vpc(harness)
    subnet = make("subnet", region=REGION, vpc=vpc["id"], zone=ZONE, name="theirs-subnet")
    balancer = make("load-balancer", region=REGION, subnet=subnet["id"], name=name)
    if fields:
        harness.cloud.strangers.change(balancer["id"], **fields)
    harness.clock.advance(3600.0)
    return vpc, balancer


def given(how: str, vpc: Row, balancer: Row) -> dict[str, Any]:
    """A spec that names their VPC and load balancer."""
    return {
        "vpc": {"name": vpc["name"], "region": REGION},
        "vpcSubnets": [{"name": "theirs-subnet"}],
        "loadBalancers": [{"id": balancer["id"]} if how == "id" else {"name": balancer["name"]}],
    }


def refuses(harness: Harness, type_: str, *words: str) -> None:
    """Unfit, in condition and plan, with all ``words``; no endpoint is set."""
    said = harness.condition(type_)
    assert (said["status"], said["reason"]) == ("False", "Unfit"), said
    refused = " ".join(row.reason for row in planned(harness).rows if row.action.value == "refuse")
    for word in words:
        assert word in said["message"]
        assert word in refused
    assert endpoint(harness) is None
    assert not harness.ready()


@pytest.mark.parametrize("how", ["id", "name"])
def test_a_given_private_load_balancer_does_not_become_the_endpoint(how: str) -> None:
    """Its hostname leads to private addresses. It is not changed; another public entry mends it."""
    harness = Harness()
    vpc, balancer = balancer_of_others(harness, is_public=False, public=False)
    listen(harness, balancer)
    before = snapshot(harness, {vpc["id"], balancer["id"]})
    harness.object.patch({"spec": example(**given(how, vpc, balancer))["spec"]})
    harness.for_a_while(900.0)
    refuses(harness, "LoadBalancerReady", "spec.loadBalancers[0]", balancer["id"], "is private", "public: false")

    let_in(harness, vpc)
    entry = {**given(how, vpc, balancer)["loadBalancers"][0], "public": False}
    harness.object.patch({"spec": {"loadBalancers": [entry, {"name": "ours"}]}})
    harness.up()
    assert endpoint(harness) == harness.cloud.strangers.find(only(harness, "load-balancer", "ours")["id"])["hostname"]
    after = snapshot(harness, {balancer["id"]})
    assert after[balancer["id"]] == before[balancer["id"]]


@pytest.mark.parametrize("how", ["id", "name"])
def test_a_given_load_balancer_without_a_listener_on_the_api_port_is_unfit(how: str) -> None:
    """The message says which listener to add; once somebody did, the cluster becomes Ready."""
    harness = Harness()
    vpc, balancer = balancer_of_others(harness)
    harness.object.patch({"spec": example(**given(how, vpc, balancer))["spec"]})
    listen(harness, balancer, 80)
    before = snapshot(harness, {vpc["id"], balancer["id"]})
    harness.for_a_while(900.0)
    refuses(harness, "LoadBalancerReady", balancer["id"], f"no TCP listener on port {PORT}", "add one there")
    assert snapshot(harness, {vpc["id"], balancer["id"]}) == before

    listen(harness, balancer)
    harness.up()
    assert endpoint(harness)


@pytest.mark.parametrize("how", ["id", "name"])
def test_our_load_balancer_is_not_created_behind_a_closed_default_group(how: str) -> None:
    """In a given VPC the group is not ours: the message has the exact rule, and nothing of theirs is changed."""
    harness = Harness()
    vpc = closed_vpc(harness)
    wish = {"id": vpc["id"], "name": None} if how == "id" else {"name": "theirs-vpc", "id": None}
    harness.object.patch({"spec": {"vpc": {**wish, "region": REGION}}})
    before = snapshot(harness, {vpc["id"]})
    harness.for_a_while(1200.0)
    refuses(
        harness, "LoadBalancerReady", vpc["id"], "default security group", "inbound, protocol tcp",
        f"port_min {PORT}, port_max {PORT}", "spec.loadBalancers[0].securityGroups",
    )  # fmt: skip
    assert [row for row in made_by_us(harness) if row["kind"] == "load-balancer"] == []
    assert snapshot(harness, {vpc["id"]}) == before

    let_in(harness, vpc)
    harness.up()
    assert endpoint(harness)
    harness.down()
    assert made_by_us(harness) == []


def test_the_rule_is_missed_after_the_cluster_was_ready() -> None:
    """Somebody closes the port later: the next own look tells, the shared lists too."""
    harness = Harness()
    vpc = closed_vpc(harness)
    let_in(harness, vpc)
    harness.object.patch({"spec": {"vpc": {"id": vpc["id"], "name": None, "region": REGION}}})
    harness.up()
    harness.for_a_while(1800.0)
    group = harness.cloud.strangers.find(harness.cloud.strangers.find(vpc["id"])["default_group"])
    group["rules"][:] = [rule for rule in group["rules"] if rule.get("port_min") != PORT]
    harness.for_a_while(1800.0)
    said = harness.condition("LoadBalancerReady")
    assert (said["status"], said["reason"]) == ("False", "Unfit")
    assert f"port_min {PORT}" in said["message"]


def test_a_listener_is_missed_after_the_cluster_was_ready() -> None:
    """No list shows listeners, so each look asks for those of a given load balancer."""
    harness = Harness(example(**everything_by_name()))
    theirs = infrastructure(harness)
    harness.up()
    harness.for_a_while(1800.0)
    for listener in list(harness.cloud.strangers.find(theirs.balancer["id"])["listeners"]):
        path = f"/vpc/{REGION}/v1/load_balancers/{theirs.balancer['id']}/listeners/{listener['id']}"
        harness.cloud.strangers.send("DELETE", path)
    harness.for_a_while(1800.0)
    assert harness.condition("LoadBalancerReady")["reason"] == "Unfit"


GROUP = {
    "name": "api",
    "rules": [
        {
            "action": "allow",
            "direction": "inbound",
            "source": {
                "protocol": "tcp",
                "portRange": {"minimumPort": PORT, "maximumPort": PORT},
                "remotes": [{"remoteType": "any"}],
            },
        }
    ],
}


def test_a_group_of_the_spec_lets_clients_in_to_a_given_vpc() -> None:
    """Ours, with a rule of ours: the closed default group is not used, so it needs no rule."""
    harness = Harness()
    vpc = closed_vpc(harness)
    harness.object.patch(
        {
            "spec": {
                "vpc": {"id": vpc["id"], "name": None, "region": REGION},
                "vpcSecurityGroups": [GROUP],
                "loadBalancers": [{"name": "ours", "securityGroups": [{"name": "api"}]}],
            }
        }
    )
    harness.up()
    assert endpoint(harness)
    assert "nobody reaches" not in harness.condition("FieldsServed").get("message", "")


def test_groups_of_the_spec_without_a_rule_for_the_port_are_reported() -> None:
    """They are ours, and which clients may come in is the user's to say: a note, and nothing is opened."""
    closed = {"name": "api", "rules": []}
    harness = Harness(
        example(vpcSecurityGroups=[closed], loadBalancers=[{"name": "ours", "securityGroups": [{"name": "api"}]}])
    )
    harness.up()
    said = harness.condition("FieldsServed")["message"]
    assert f"spec.loadBalancers[0].securityGroups: no rule of these groups lets TCP port {PORT} in" in said
    assert said in " ".join(planned(harness).notes)


def test_a_given_group_that_is_closed_is_unfit_for_our_load_balancer() -> None:
    """The only group of our load balancer is somebody's, given by id: it is named with the rule to add."""
    harness = Harness()
    vpc = closed_vpc(harness)
    group = harness.cloud.strangers.make("security-group", region=REGION, vpc=vpc["id"], name="theirs-group")
    harness.clock.advance(3600.0)
    harness.object.patch(
        {
            "spec": {
                "vpc": {"id": vpc["id"], "name": None, "region": REGION},
                "vpcSecurityGroups": [{"id": group["id"], "name": "theirs-group"}],
                "loadBalancers": [{"name": "ours", "securityGroups": [{"name": "theirs-group"}]}],
            }
        }
    )
    harness.for_a_while(1200.0)
    refuses(harness, "LoadBalancerReady", "spec.vpcSecurityGroups[0].id", group["id"], f"port_min {PORT}")


def test_an_open_infrastructure_of_others_is_used_as_it_is() -> None:
    """A listener on the port, a public load balancer: nothing is missing, whatever the groups of theirs are."""
    harness = Harness()
    theirs = infrastructure(harness)
    harness.object.patch({"spec": example(**everything_by_id(theirs))["spec"]})
    harness.up()
    assert row_of(harness, "load-balancer")["state"] == "Ready"


@pytest.mark.parametrize("effect", [Effect.DENIED, Effect.ERROR_BEFORE], ids=["denied", "server error"])
def test_a_ready_cluster_stays_ready_while_nobody_may_look_whether_it_is_reached(effect: Effect) -> None:
    """Nothing is known to be wrong; it is said, and looked at again in the next round."""
    harness = Harness()
    vpc = harness.cloud.strangers.make("vpc", region=REGION, name="theirs-vpc")
    harness.clock.advance(3600.0)
    let_in(harness, vpc)
    harness.object.patch({"spec": {"vpc": {"id": vpc["id"], "name": None, "region": REGION}}})
    harness.up()
    harness.for_a_while(1800.0)
    harness.cloud.faults.add(Fault(effect, "vpc.*security_group*", count=None))
    harness.for_a_while(1800.0)
    since = len(harness.cloud.calls)
    harness.for_a_while(3600.0)
    assert harness.ready()
    assert len(harness.cloud.calls) - since < 200
    assert any(
        "whether it can be reached is not known" in str(row.get("message")) for row in harness.status()["resources"]
    )
