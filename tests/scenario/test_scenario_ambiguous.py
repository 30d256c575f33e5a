"""A create whose outcome is unknown: exactly one resource is made, and none is left behind."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.settings import Assumptions, Settings
from harness.powervs import IGNITION, Harness, example
from harness.resources import REGION, existing, made_by_us
from harness.standing import standing

CREATES = [
    "rc.create_resource_instance",
    "power.create_dhcp",
    "vpc.create_vpc",
    "vpc.create_subnet",
    "vpc.create_security_group",
    "vpc.create_load_balancer",
    "transit.create_transit_gateway",
    "transit.create_transit_gateway_connection",
]
STORAGE = {"name": "demo-cos", "bucketName": "demo-bucket", "bucketRegion": REGION}
GROUPS = [{"name": "demo-group"}]

EFFECTS = {
    "reply-lost": Fault(Effect.REPLY_LOST, ""),
    "500-after": Fault(Effect.ERROR_AFTER, "", status=500),
    "504-after": Fault(Effect.ERROR_AFTER, "", status=504),
    "500-before": Fault(Effect.ERROR_BEFORE, "", status=500),
    "reset": Fault(Effect.RESET, ""),
    "late": Fault(Effect.LATE, "", delay=45.0),
}


def counted(harness: Harness) -> Counter[str]:
    return Counter(row["kind"] for row in made_by_us(harness))


WHOLE = Counter(
    {
        "instance": 2, "network": 1, "dhcp": 1, "vpc": 1, "security-group": 2, "subnet": 1, "load-balancer": 1,
        "gateway": 1, "connection": 2, "bucket": 1, "resource-key": 0,
    }
)  # fmt: skip


@pytest.mark.parametrize("effect", EFFECTS)
def test_every_create_of_the_whole_cluster_is_ambiguous(effect: str) -> None:
    """A whole wave at once, for each way in which replies can be lost: still one of each, and a delete leaves nothing.

    CAPIBM #1745: the DHCP create failed, but the server was created.
    """
    harness = Harness(example(cosInstance=STORAGE, vpcSecurityGroups=GROUPS), gates=IGNITION)
    for operation in CREATES:
        harness.cloud.faults.add(replace(EFFECTS[effect], operation=operation))
    harness.up()
    assert all(rule["hits"] for rule in harness.cloud.faults.rules())
    assert counted(harness) == WHOLE
    harness.down()
    harness.clock.advance(600.0)
    assert made_by_us(harness) == []


@pytest.mark.parametrize("operation", CREATES)
def test_a_kill_at_an_ambiguous_create_and_a_delete_at_once(operation: str) -> None:
    """The process is killed and the object deleted at the worst moment: the intent still finds the resource."""
    harness = Harness(example(cosInstance=STORAGE, vpcSecurityGroups=GROUPS), gates=IGNITION)
    harness.cloud.faults.add(Fault(Effect.REPLY_LOST, operation))
    harness.run(lambda: any(rule["hits"] for rule in harness.cloud.faults.rules()))
    harness.start_process()
    harness.down()

    harness.clock.advance(600.0)
    assert made_by_us(harness) == []


@pytest.mark.parametrize("operation", ["vpc.create_vpc", "transit.create_transit_gateway"])
def test_a_strangers_resource_of_the_same_name_and_moment_does_not_count_as_ours(operation: str) -> None:
    """While our reply is lost, someone creates a resource of the wanted name: the nonce distinguishes them."""
    settings = replace(Settings(), assumptions=Assumptions(gateway_names_unique=False))
    harness = Harness(settings=settings)
    harness.cloud.faults.add(Fault(Effect.REPLY_LOST, operation))
    harness.pass_once()
    make = harness.cloud.strangers.make
    theirs = [
        make("vpc", region=REGION, name="freehold-demo-vpc"),
        make("gateway", location=REGION, name="freehold-demo-transitgateway"),
    ]
    harness.for_a_while(700.0)
    harness.down()

    assert {row["id"] for row in existing(harness) if row["kind"] in ("vpc", "gateway")} == {
        row["id"] for row in theirs
    }
    assert all(row["tags"] == [] for row in existing(harness))


DELETES = [
    "rc.delete_resource_instance",
    "power.delete_dhcp",
    "vpc.delete_vpc",
    "vpc.delete_subnet",
    "vpc.delete_load_balancer",
    "transit.delete_transit_gateway",
    "transit.delete_transit_gateway_connection",
]


@pytest.mark.parametrize("effect", EFFECTS)
def test_ambiguous_deletes_are_observed_until_all_is_gone(effect: str) -> None:
    """A delete is requested, then observed: a lost reply neither loses the resource nor ends the delete early."""
    harness = standing(Harness)
    for operation in DELETES:
        harness.cloud.faults.add(replace(EFFECTS[effect], operation=operation))
    harness.down()
    assert existing(harness) == []


@pytest.mark.parametrize("operation", ["tagging.attach_tag", "tagging.list_tags", "search.search"])
def test_an_ambiguous_mark_is_read_back(operation: str) -> None:
    """terraform-provider-ibm #5635: the answer of a tag call proves nothing, only reading the tags back does."""
    harness = Harness()
    harness.cloud.faults.add(Fault(Effect.REPLY_LOST, operation, count=2))
    harness.up()
    for row in existing(harness):
        if row["kind"] in {"instance", "network", "vpc", "subnet", "load-balancer", "gateway"}:
            assert len(row["tags"]) >= 3, row["name"]
    harness.down()
    assert existing(harness) == []


def test_half_of_a_tag_batch_fails() -> None:
    """The call answers 200, and some of its targets did not get the tags.

    Source: docs/reference/ibm-cloud.md#global-tagging.
    """
    harness = Harness()
    harness.cloud.faults.add(Fault(Effect.PARTIAL, "tagging.attach_tag", count=2))
    harness.up()
    assert all(len(row["tags"]) >= 3 for row in existing(harness, "subnet") + existing(harness, "vpc"))
    harness.down()
    assert existing(harness) == []
