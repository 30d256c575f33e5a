"""Security groups with rules, several load balancers, more listeners: parts that have no mark of their own."""

from __future__ import annotations

import re
from typing import Any

from harness.powervs import Harness, example
from harness.resources import REGION, existing, made_by_us, only, record, snapshot
from harness.standing import standing

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


def rules(harness: Harness, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = record(harness, only(harness, "security-group", name)["id"])["rules"]
    return found


def test_groups_with_rules_that_name_each_other() -> None:
    """A rule for each remote; two groups that name each other do not wait for each other in create or delete."""
    harness = Harness(example(vpcSecurityGroups=GROUPS))
    harness.up()
    harness.for_a_while(1300.0)

    assert len(rules(harness, "workers")) == 5
    assert sorted(rule["protocol"] for rule in rules(harness, "bastion")) == ["icmp", "udp"]
    peers = {rule["remote"].get("group") for rule in rules(harness, "workers")} - {None}
    assert peers == {only(harness, "security-group", "bastion")["id"]}
    assert harness.status()["vpcSecurityGroups"]["workers"]["controllerCreated"] is True

    harness.down()
    assert existing(harness) == []


def test_a_removed_rule_of_our_group_is_created_again() -> None:
    """The group allows what the spec lists."""
    harness = Harness(example(vpcSecurityGroups=GROUPS))
    harness.up()
    group = only(harness, "security-group", "bastion")["id"]
    for rule in rules(harness, "bastion"):
        harness.cloud.strangers.send("DELETE", f"/vpc/{REGION}/v1/security_groups/{group}/rules/{rule['id']}")
    harness.for_a_while(1500.0)
    assert sorted(rule["protocol"] for rule in rules(harness, "bastion")) == ["icmp", "udp"]


def test_a_rule_added_to_the_spec_is_added_in_the_cloud() -> None:
    """Parts follow the spec, too."""
    harness = Harness(example(vpcSecurityGroups=[GROUPS[1] | {"rules": GROUPS[1]["rules"][:1]}]))
    harness.up()
    more = {"direction": "inbound", "source": {"protocol": "tcp", "remotes": [{"remoteType": "any"}]}}
    harness.object.patch({"spec": {"vpcSecurityGroups": [{"name": "bastion", "rules": [GROUPS[1]["rules"][0], more]}]}})
    harness.for_a_while(300.0)
    assert sorted(rule["protocol"] for rule in rules(harness, "bastion")) == ["icmp", "tcp"]
    assert harness.ready()


def test_the_rules_of_a_group_are_named_in_status() -> None:
    """Upstream's ``ruleIDs``: complete when the object is Ready, and of today's spec; none of a group of others."""
    harness = Harness(example(vpcSecurityGroups=GROUPS))
    for edited in (GROUPS, [{**GROUPS[0], "rules": GROUPS[0]["rules"][:1]}, GROUPS[1]]):
        harness.object.patch({"spec": {"vpcSecurityGroups": edited}})
        harness.for_a_while(30.0)
        harness.up()
        for group in ("workers", "bastion"):
            wanted = sorted(rule["id"] for rule in rules(harness, group))
            assert sorted(harness.status()["vpcSecurityGroups"][group]["ruleIDs"]) == wanted
    harness.for_a_while(1300.0)
    assert len(harness.status()["vpcSecurityGroups"]["workers"]["ruleIDs"]) == 4


def test_a_given_group_is_attached_to_the_load_balancer_and_never_changed() -> None:
    """By id, in ``loadBalancers[].securityGroups``, in a given VPC; upstream ignored the field (CAPIBM #2537)."""
    harness = Harness()
    vpc = harness.cloud.strangers.make("vpc", region=REGION, name="theirs")
    group = harness.cloud.strangers.make("security-group", region=REGION, vpc=vpc["id"], name="theirs")
    harness.clock.advance(3600.0)
    before = record(harness, group["id"])["rules"][:]
    harness.object.patch(
        {
            "spec": {
                "vpc": {"name": "theirs"},
                "loadBalancers": [{"name": "demo-lb", "securityGroups": [{"id": group["id"]}]}],
            }
        }
    )
    harness.up()
    assert group["id"] in record(harness, only(harness, "load-balancer")["id"])["groups"]
    assert record(harness, group["id"])["rules"] == before
    harness.down()
    assert made_by_us(harness) == []


def test_a_public_and_a_private_load_balancer() -> None:
    """The endpoint is that of the first public one, wherever it is in the list."""
    harness = Harness(example(loadBalancers=[{"name": "inside", "public": False}, {"name": "outside"}, {}]))
    harness.up()

    balancers = {row["name"]: record(harness, row["id"]) for row in existing(harness, "load-balancer")}
    assert set(balancers) == {"inside", "outside", "freehold-demo-loadbalancer-2"}
    assert harness.object.raw["spec"]["controlPlaneEndpoint"]["host"] == balancers["outside"]["hostname"]
    assert balancers["inside"]["public"] is False
    harness.down()
    assert existing(harness) == []


def test_additional_listeners() -> None:
    """Each port has its own pool, with the name from the spec. The nonce is in the name of the API server's pool,
    before its port: upstream's machine controller reads the port from the end of the name."""
    more = [{"port": 22623}, {"port": 443, "protocol": "tcp", "defaultPoolName": "web"}]
    harness = Harness(example(loadBalancers=[{"name": "demo-lb", "additionalListeners": more}]))
    harness.up()

    balancer = record(harness, only(harness, "load-balancer")["id"])
    assert sorted(listener["port"] for listener in balancer["listeners"]) == [443, 6443, 22623]
    pools = sorted(pool["name"] for pool in balancer["pools"])
    assert [pools[0], pools[2]] == ["additional-pool-22623", "web"]
    assert re.fullmatch("demo-lb-pool-f[a-z2-7]{12}-6443", pools[1])


def test_a_listener_added_later() -> None:
    """The load balancer is in use by then: its listeners change in place, and it is not created again."""
    harness = standing(Harness)
    before = only(harness, "load-balancer")["id"]
    balancer = {"name": "freehold-demo-loadbalancer", "additionalListeners": [{"port": 22623}]}
    harness.object.patch({"spec": {"loadBalancers": [balancer]}})
    harness.for_a_while(400.0)

    assert only(harness, "load-balancer")["id"] == before
    assert sorted(listener["port"] for listener in record(harness, before)["listeners"]) == [6443, 22623]
    assert harness.ready()
    harness.down()
    assert existing(harness) == []


def test_several_subnets_with_and_without_zone_are_spread_and_stay() -> None:
    """ADR 13: picked deterministically, spread, stable over a restart."""
    harness = Harness(example(vpcSubnets=[{"name": "a"}, {"name": "b", "zone": "us-south-2"}, {"name": "c"}]))
    harness.up()
    zones = {row["name"]: record(harness, row["id"])["zone"] for row in existing(harness, "subnet")}
    assert zones["b"] == "us-south-2"
    assert set(zones.values()) == {"us-south-1", "us-south-2", "us-south-3"}
    world = snapshot(harness)
    harness.start_process()
    harness.settle(5)
    assert snapshot(harness) == world
