"""Security groups with rules, several load balancers, more listeners: parts that have no mark of their own."""

from __future__ import annotations

import re
from typing import Any

from stage.powervs import Stage, example
from stage.scenery import REGION, made_by_us, only, photograph, record, standing

GROUPS: list[dict[str, Any]] = [
    {
        "name": "workers",
        "rules": [
            {
                "direction": "inbound",
                "source": {
                    "protocol": "tcp",
                    "portRange": {"minimumPort": 30000, "maximumPort": 32767},
                    "remotes": [
                        {"remoteType": "any"},
                        {"remoteType": "address", "address": "192.0.2.7"},
                        {"remoteType": "sg", "securityGroupName": "bastion"},
                        {"remoteType": "cidr", "cidrSubnetName": "freehold-demo-vpcsubnet"},
                    ],
                },
            },
            {"direction": "outbound", "destination": {"protocol": "all", "remotes": [{"remoteType": "any"}]}},
        ],
    },
    {
        "name": "bastion",
        "rules": [
            {
                "direction": "inbound",
                "source": {"protocol": "icmp", "icmpType": 8, "remotes": [{"remoteType": "any"}]},
            },
            {
                "direction": "inbound",
                "source": {"protocol": "udp", "remotes": [{"remoteType": "sg", "securityGroupName": "workers"}]},
            },
        ],
    },
]


def rules(stage: Stage, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = record(stage, only(stage, "security-group", name)["id"])["rules"]
    return found


def test_groups_with_rules_that_name_each_other() -> None:
    """A rule for each remote; two groups that name each other do not wait for each other, up or down."""
    stage = Stage(example(vpcSecurityGroups=GROUPS))
    stage.up()
    stage.for_a_while(1300.0)

    assert len(rules(stage, "workers")) == 5
    assert sorted(rule["protocol"] for rule in rules(stage, "bastion")) == ["icmp", "udp"]
    peers = {rule["remote"].get("group") for rule in rules(stage, "workers")} - {None}
    assert peers == {only(stage, "security-group", "bastion")["id"]}
    assert stage.status()["vpcSecurityGroups"]["workers"]["controllerCreated"] is True

    stage.down()
    assert standing(stage) == []


def test_a_rule_that_someone_removed_from_our_group_is_made_again() -> None:
    """The spec says what the group allows."""
    stage = Stage(example(vpcSecurityGroups=GROUPS))
    stage.up()
    group = only(stage, "security-group", "bastion")["id"]
    for rule in rules(stage, "bastion"):
        stage.cloud.strangers.send("DELETE", f"/vpc/{REGION}/v1/security_groups/{group}/rules/{rule['id']}")
    stage.for_a_while(1500.0)
    assert sorted(rule["protocol"] for rule in rules(stage, "bastion")) == ["icmp", "udp"]


def test_a_rule_added_to_the_spec_is_added_in_the_cloud() -> None:
    """Level-triggered, also for parts."""
    stage = Stage(example(vpcSecurityGroups=[GROUPS[1] | {"rules": GROUPS[1]["rules"][:1]}]))
    stage.up()
    more = {"direction": "inbound", "source": {"protocol": "tcp", "remotes": [{"remoteType": "any"}]}}
    stage.object.patch({"spec": {"vpcSecurityGroups": [{"name": "bastion", "rules": [GROUPS[1]["rules"][0], more]}]}})
    stage.for_a_while(300.0)
    assert sorted(rule["protocol"] for rule in rules(stage, "bastion")) == ["icmp", "tcp"]
    assert stage.ready()


def test_the_rules_of_a_group_are_named_in_status() -> None:
    """Upstream's ``ruleIDs``: complete when the object is Ready, and of today's spec; none of a group of others."""
    stage = Stage(example(vpcSecurityGroups=GROUPS))
    for edited in (GROUPS, [{**GROUPS[0], "rules": GROUPS[0]["rules"][:1]}, GROUPS[1]]):
        stage.object.patch({"spec": {"vpcSecurityGroups": edited}})
        stage.for_a_while(30.0)
        stage.up()
        for group in ("workers", "bastion"):
            wanted = sorted(rule["id"] for rule in rules(stage, group))
            assert sorted(stage.status()["vpcSecurityGroups"][group]["ruleIDs"]) == wanted
    stage.for_a_while(1300.0)
    assert len(stage.status()["vpcSecurityGroups"]["workers"]["ruleIDs"]) == 4


def test_a_given_group_is_put_on_the_load_balancer_and_never_changed() -> None:
    """By id, in ``loadBalancers[].securityGroups``, in a given VPC; upstream ignored the field (CAPIBM #2537)."""
    stage = Stage()
    vpc = stage.cloud.strangers.make("vpc", region=REGION, name="theirs")
    group = stage.cloud.strangers.make("security-group", region=REGION, vpc=vpc["id"], name="theirs")
    stage.clock.advance(3600.0)
    before = record(stage, group["id"])["rules"][:]
    stage.object.patch(
        {
            "spec": {
                "vpc": {"name": "theirs"},
                "loadBalancers": [{"name": "demo-lb", "securityGroups": [{"id": group["id"]}]}],
            }
        }
    )
    stage.up()
    assert group["id"] in record(stage, only(stage, "load-balancer")["id"])["groups"]
    assert record(stage, group["id"])["rules"] == before
    stage.down()
    assert made_by_us(stage) == []


def test_a_public_and_a_private_load_balancer() -> None:
    """The endpoint is the first public one's, wherever it stands in the list."""
    stage = Stage(example(loadBalancers=[{"name": "inside", "public": False}, {"name": "outside"}, {}]))
    stage.up()

    balancers = {row["name"]: record(stage, row["id"]) for row in standing(stage, "load-balancer")}
    assert set(balancers) == {"inside", "outside", "freehold-demo-loadbalancer-0"}
    assert stage.object.raw["spec"]["controlPlaneEndpoint"]["host"] == balancers["outside"]["hostname"]
    assert balancers["inside"]["public"] is False
    stage.down()
    assert standing(stage) == []


def test_additional_listeners() -> None:
    """A pool of its own for each port, under the name that the spec gives. The API server's pool holds the birth mark,
    before its port: upstream's machine controller reads the port from the end of the name."""
    more = [{"port": 22623}, {"port": 443, "protocol": "tcp", "defaultPoolName": "web"}]
    stage = Stage(example(loadBalancers=[{"name": "demo-lb", "additionalListeners": more}]))
    stage.up()

    balancer = record(stage, only(stage, "load-balancer")["id"])
    assert sorted(listener["port"] for listener in balancer["listeners"]) == [443, 6443, 22623]
    pools = sorted(pool["name"] for pool in balancer["pools"])
    assert [pools[0], pools[2]] == ["additional-pool-22623", "web"]
    assert re.fullmatch("demo-lb-pool-f[a-z2-7]{12}-6443", pools[1])


def test_a_listener_added_later() -> None:
    """The load balancer is in use by then: its listeners change in place, it is not made anew."""
    stage = Stage()
    stage.up()
    before = only(stage, "load-balancer")["id"]
    balancer = {"name": "freehold-demo-loadbalancer", "additionalListeners": [{"port": 22623}]}
    stage.object.patch({"spec": {"loadBalancers": [balancer]}})
    stage.for_a_while(400.0)

    assert only(stage, "load-balancer")["id"] == before
    assert sorted(listener["port"] for listener in record(stage, before)["listeners"]) == [6443, 22623]
    assert stage.ready()
    stage.down()
    assert standing(stage) == []


def test_several_subnets_with_and_without_zone_are_spread_and_stay() -> None:
    """ADR 8: picked deterministically, spread, stable over a restart."""
    stage = Stage(example(vpcSubnets=[{"name": "a"}, {"name": "b", "zone": "us-south-2"}, {"name": "c"}]))
    stage.up()
    zones = {row["name"]: record(stage, row["id"])["zone"] for row in standing(stage, "subnet")}
    assert zones["b"] == "us-south-2"
    assert set(zones.values()) == {"us-south-1", "us-south-2", "us-south-3"}
    world = photograph(stage)
    stage.start_process()
    stage.settle(5)
    assert photograph(stage) == world
