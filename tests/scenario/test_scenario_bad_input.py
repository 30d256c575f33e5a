"""Bad input: one clear sentence with the path of the field, in one reconcile, and nothing is created."""

from __future__ import annotations

from typing import Any

import pytest

from harness.powervs import Harness, example
from harness.resources import existing, made_by_us, messages

LONG = "n" * 200
VPC = {"name": "freehold-demo-vpc", "region": "us-south"}

CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "zone missing": ({"zone": None}, "spec.zone", "missing"),
    "region missing": ({"vpc": {"name": "v"}}, "spec.vpc.region", "missing"),
    "vpc missing": ({"vpc": None}, "spec.vpc.region", "missing"),
    "unknown zone": ({"zone": "nowhere-1"}, "spec.zone", "dal10"),
    "unknown region": ({"vpc": {**VPC, "region": "atlantis"}}, "spec.vpc.region", "us-south"),
    "zone without PER": ({"zone": "wdc04", "vpc": {**VPC, "region": "us-east"}}, "spec.zone", "Power Edge Router"),
    "two load balancers of one name": ({"loadBalancers": [{"name": "a"}] * 2}, "spec.loadBalancers[1].name", "'a'"),
    "no public load balancer": ({"loadBalancers": [{"name": "a", "public": False}]}, "spec.loadBalancers", "public"),
    "workspace name": ({"serviceInstance": {"name": LONG}}, "spec.serviceInstance.name", "200"),
    "vpc name": ({"vpc": {**VPC, "name": LONG}}, "spec.vpc.name", "63"),
    "subnet name": ({"vpcSubnets": [{"name": LONG}]}, "spec.vpcSubnets[0].name", "63"),
    "gateway name": ({"transitGateway": {"name": LONG}}, "spec.transitGateway.name", "6"),
    "load balancer name": ({"loadBalancers": [{"name": LONG}]}, "spec.loadBalancers[0].name", "63"),
    "dhcp name": ({"dhcpServer": {"name": LONG}}, "spec.dhcpServer.name", "100"),
    "network name": ({"network": {"name": LONG}}, "spec.network.name", "128"),
    "invalid CIDR": ({"dhcpServer": {"cidr": "192.168.0.0/99"}}, "spec.dhcpServer.cidr", "192.168.0.0/99"),
    "CIDR of words": ({"dhcpServer": {"cidr": "my network"}}, "spec.dhcpServer.cidr", "my network"),
    "resource group missing": ({"resourceGroup": None}, "spec.resourceGroup.name", "missing"),
    "unknown resource group": ({"resourceGroup": {"name": "none"}}, "spec.resourceGroup.name", "Default"),
    "unknown subnet zone": ({"vpcSubnets": [{"zone": "eu-de-1"}]}, "spec.vpcSubnets[0].zone", "us-south-1"),
    "local gateway between regions": (
        {"zone": "lon06", "transitGateway": {"name": "t", "globalRouting": False}},
        "spec.transitGateway.globalRouting",
        "different region",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_sentence_and_nothing_is_created(case: str) -> None:
    """It tells what is wrong, where, and what to do. The object is rechecked slowly and can be deleted at once."""
    spec, field, word = CASES[case]
    harness = Harness(example(**spec))
    result = harness.pass_once()

    ready = harness.condition("Ready")
    assert ready["status"] == "False"
    assert field in ready["message"]
    assert word in ready["message"]
    assert ready["message"].startswith(f"{field}: ")
    assert "; spec." not in ready["message"], "more than one sentence"
    assert "Traceback" not in messages(harness)
    assert existing(harness) == []
    assert harness.calls(mutating=True) == []
    assert getattr(result, "seconds", 0.0) >= 60.0

    harness.down()
    assert existing(harness) == []


@pytest.mark.parametrize("value", ["maybe", "", "yes please"])
def test_an_annotation_that_is_not_a_boolean(value: str) -> None:
    """Upstream's webhook refuses it; here it is reported, and neither way is taken."""
    manifest = example()
    manifest["metadata"]["annotations"]["powervs.cluster.x-k8s.io/create-infra"] = value
    harness = Harness(manifest)
    harness.pass_once()
    message = harness.condition("Ready")["message"]
    assert "metadata.annotations[powervs.cluster.x-k8s.io/create-infra]" in message
    assert repr(value) in message
    assert existing(harness) == []


def test_a_correction_takes_effect_at_once() -> None:
    """A new generation does not wait for the slow recheck."""
    harness = Harness(example(zone="nowhere-1"))
    harness.pass_once()
    harness.object.patch({"spec": {"zone": "dal10"}})
    harness.pass_once()
    assert made_by_us(harness) != []
    harness.up()


def test_several_mistakes_are_all_reported_at_once() -> None:
    """A user should not find them one apply at a time."""
    harness = Harness(example(zone=None, resourceGroup=None, dhcpServer={"cidr": "x"}))
    harness.pass_once()
    for field in ("spec.zone", "spec.resourceGroup.name", "spec.dhcpServer.cidr"):
        assert field in harness.condition("Ready")["message"]
