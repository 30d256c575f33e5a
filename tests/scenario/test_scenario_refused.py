"""Errors of the cloud: reported at once and clearly, retried slowly, nothing forgotten, nothing made twice."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.settings import Quotas, Settings
from harness.powervs import Harness, example
from harness.resources import existing, made_by_us, messages
from harness.standing import standing

CREATES = {
    "rc.create_resource_instance": "ServiceInstanceReady",
    "power.create_dhcp": "NetworkReady",
    "vpc.create_vpc": "VPCReady",
    "vpc.create_subnet": "VPCSubnetReady",
    "vpc.create_load_balancer": "LoadBalancerReady",
    "transit.create_transit_gateway": "TransitGatewayReady",
    "transit.create_transit_gateway_connection": "TransitGatewayReady",
}
REFUSALS = {
    "quota": (Fault(Effect.QUOTA, "", count=None), "QuotaReached"),
    "denied": (Fault(Effect.DENIED, "", count=None), "Denied"),
    "invalid": (Fault(Effect.ERROR_BEFORE, "", count=None, status=400, message="this is not valid"), "InvalidRequest"),
}


@pytest.mark.parametrize(("operation", "refusal"), list(zip(CREATES, itertools.cycle(REFUSALS), strict=False)))
def test_a_refused_create_is_reported_and_retried_slowly(operation: str, refusal: str) -> None:
    """CAPIBM #1653: the user wants to know of a quota at once, and not to watch an endless requeue."""
    harness = Harness()
    fault, reason = REFUSALS[refusal]
    harness.cloud.faults.add(replace(fault, operation=operation))
    harness.run(lambda: harness.condition(CREATES[operation]).get("reason") == reason)
    tried = sum(call.operation == operation for call in harness.calls())
    harness.for_a_while(1200.0)

    assert harness.condition(CREATES[operation])["reason"] == reason
    assert harness.condition(CREATES[operation])["status"] == "False"
    assert harness.condition("Ready")["status"] == "False"
    again = sum(call.operation == operation for call in harness.calls()) - tried
    assert 1 <= again <= 10, "retried every few minutes"

    harness.cloud.faults.clear()
    harness.up()
    harness.down()
    assert existing(harness) == []


@pytest.mark.parametrize("operation", ["power.create_dhcp", "vpc.create_load_balancer", "transit.*connection"])
def test_an_object_with_a_refused_create_is_deleted(operation: str) -> None:
    """Resources created before the refusal are not forgotten."""
    harness = Harness()
    harness.cloud.faults.add(Fault(Effect.DENIED, operation, count=None))
    harness.for_a_while(900.0)
    harness.start_process()
    harness.down()
    assert made_by_us(harness) == []


@pytest.mark.parametrize(
    ("quotas", "type_", "words"),
    [
        (Quotas(vpcs_per_region=0), "VPCReady", "quota"),
        (Quotas(gateways_per_region=0), "TransitGatewayReady", "gateways"),
        (Quotas(gateways=0), "TransitGatewayReady", "gateways"),
    ],
    ids=["vpcs", "gateways-in-region", "gateways"],
)
def test_a_real_quota_is_named(quotas: Quotas, type_: str, words: str) -> None:
    """CAPIBM #1653 and openshift/installer#9652, with the text of IBM's error."""
    harness = Harness(settings=replace(Settings(), quotas=quotas))
    harness.pass_once()
    condition = harness.condition(type_)
    assert condition["reason"] == "QuotaReached"
    assert words in condition["message"]


def test_a_wrong_api_key_is_one_sentence_and_nothing_is_created() -> None:
    """In the first reconcile; the key itself is never shown."""
    harness = Harness(api_key="wrong-key-0123456789")
    harness.pass_once()

    assert existing(harness) == []
    text = messages(harness)
    assert "API key" in harness.condition("Ready")["message"]
    assert harness.condition("Ready")["reason"] == "Denied"
    assert "Traceback" not in text
    assert "wrong-key" not in text + str(harness.events.said)


def test_a_wrong_api_key_on_delete_keeps_the_finalizer_and_is_reported() -> None:
    """Nothing was deleted in an account that cannot be reached."""
    harness = standing(Harness)
    harness.cloud.faults.add(Fault(Effect.DENIED, "*", count=None))
    harness.object.delete()
    harness.start_process()
    harness.for_a_while(600.0)
    assert not harness.object.gone
    assert made_by_us(harness) != []
    assert harness.condition("Ready")["status"] == "False"
    harness.cloud.faults.clear()
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_an_expired_token_is_renewed() -> None:
    """A token is valid for an hour; the SDK's own renewal may come late."""
    harness = Harness()
    harness.pass_once()
    harness.cloud.faults.add(Fault(Effect.EXPIRED, "vpc.*", count=2))
    harness.cloud.faults.add(Fault(Effect.EXPIRED, "power.*", count=2))
    harness.up()
    harness.down()
    assert existing(harness) == []


@pytest.mark.parametrize("retry_after", [None, 90])
def test_throttling_slows_down_and_stops_nothing(retry_after: int | None) -> None:
    """429 with and without Retry-After: the cloud's own number is respected."""
    harness = Harness()
    harness.cloud.faults.add(Fault(Effect.THROTTLE, "vpc.create_vpc", retry_after=retry_after))
    harness.pass_once()
    begun = harness.clock.now()
    assert harness.condition("VPCReady")["reason"] == "Throttled"

    harness.run(lambda: bool(existing(harness, "vpc")))

    waited = harness.clock.now() - begun
    assert waited >= (retry_after or 1)
    harness.up()
    harness.down()
    assert existing(harness) == []


@pytest.mark.parametrize("pattern", ["*.list_*", "vpc.*", "tagging.*", "*"])
def test_a_rate_limit_on_any_operation_is_tolerated(pattern: str) -> None:
    """terraform-provider-ibm #4125: tag reads are limited, and the numbers are not published."""
    harness = Harness(settings=replace(Settings(), rate_limits={pattern: (10, 20.0)}))
    harness.run(harness.ready, limit=14_400.0)
    harness.object.delete()
    harness.run(lambda: harness.object.gone, limit=14_400.0)
    assert existing(harness) == []


@pytest.mark.parametrize("operation", ["*", "search.search", "iam.issue_token"])
def test_a_burst_of_503_is_waited_out(operation: str) -> None:
    """CAPIBM #2106: the system is currently unable to fulfill the request; it only needs a retry."""
    harness = Harness()
    harness.cloud.faults.add(Fault(Effect.ERROR_BEFORE, operation, count=25, status=503))
    harness.up()
    harness.cloud.faults.clear()
    harness.cloud.faults.add(Fault(Effect.ERROR_BEFORE, operation, count=25, status=503))
    harness.down()
    assert existing(harness) == []


def test_ready_stays_true_in_status_during_an_outage() -> None:
    """docs/reference/capi-contract.md C7: the flag stays; the Ready condition reports that the cloud is away."""
    harness = standing(Harness)
    harness.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "*", count=None, status=503))
    harness.for_a_while(900.0)

    assert harness.status()["ready"] is True
    assert harness.status()["initialization"] == {"provisioned": True}
    assert harness.condition("Ready")["status"] != "True"

    harness.cloud.faults.clear()
    harness.up()


@pytest.mark.parametrize(
    ("operation", "type_", "kind"),
    [
        ("rc.create_resource_instance", "ServiceInstanceReady", "instance"),
        ("power.create_dhcp", "NetworkReady", "dhcp"),
        ("vpc.create_vpc", "VPCReady", "vpc"),
        ("vpc.create_subnet", "VPCSubnetReady", "subnet"),
        ("vpc.create_load_balancer", "LoadBalancerReady", "load-balancer"),
        ("transit.create_transit_gateway", "TransitGatewayReady", "gateway"),
        ("transit.create_transit_gateway_connection", "TransitGatewayReady", "connection"),
    ],
)
def test_a_resource_that_fails_to_provision_is_named_kept_and_deletable(operation: str, type_: str, kind: str) -> None:
    """CAPIBM #1784: it must not make the delete hang, and no second one is created in its place."""
    harness = Harness(example())
    harness.cloud.faults.add(Fault(Effect.FAILED, operation))
    harness.for_a_while(900.0)

    condition = harness.condition(type_)
    assert (condition["status"], condition["reason"]) == ("False", "ProvisioningFailed")
    broken = existing(harness, kind)
    assert any(row["id"] in condition["message"] for row in broken)
    assert len(broken) == (2 if kind == "connection" else 1)

    harness.down()
    assert existing(harness) == []
