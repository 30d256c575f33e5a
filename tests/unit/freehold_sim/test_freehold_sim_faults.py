"""Faults: each effect, only on the calls that it names, with the error format of its service."""

from collections.abc import Callable
from typing import Any

import pytest
import requests
from ibm_cloud_sdk_core import ApiException

from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.settings import Lags


def names(account: Any) -> list[str]:
    """Return the VPCs that exist, whatever callers were told."""
    return [row["name"] for row in account.cloud.strangers.resources() if row["kind"] == "vpc"]


def failure(account: Any, fault: Fault) -> Exception:
    """Return how a VPC create fails under `fault`; the one after it must be good again."""
    account.cloud.faults.add(fault)
    with pytest.raises((ApiException, requests.exceptions.RequestException)) as caught:
        account.vpc.create_vpc(name="net")
    assert account.vpc.create_vpc(name="next").get_status_code() == 201
    return caught.value


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Fault(Effect.THROTTLE, "vpc.create_vpc"), 429),
        (Fault(Effect.ERROR_BEFORE, "vpc.create_vpc"), 500),
        (Fault(Effect.ERROR_BEFORE, "vpc.*", status=503), 503),
        (Fault(Effect.DENIED, "vpc.create_*"), 403),
        (Fault(Effect.EXPIRED, "*"), 401),
        (Fault(Effect.QUOTA, "vpc.create_vpc"), 400),
    ],
)
def test_refusals_without_effect(account: Any, fault: Fault, status: int) -> None:
    caught = failure(account, fault)
    assert isinstance(caught, ApiException)
    assert caught.status_code == status
    assert names(account) == ["next"]


def test_retry_after_is_sent_when_asked(account: Any) -> None:
    caught = failure(account, Fault(Effect.THROTTLE, "vpc.create_vpc", retry_after=7))
    assert isinstance(caught, ApiException)
    assert caught.http_response.headers["Retry-After"] == "7"


def test_error_after_the_effect(account: Any) -> None:
    """CAPIBM#1745: the create fails, and the resource exists."""
    assert isinstance(failure(account, Fault(Effect.ERROR_AFTER, "vpc.create_vpc", status=504)), ApiException)
    assert names(account) == ["net", "next"]


def test_lost_reply(account: Any) -> None:
    caught = failure(account, Fault(Effect.REPLY_LOST, "vpc.create_vpc"))
    assert isinstance(caught, requests.exceptions.ReadTimeout)
    assert names(account) == ["net", "next"]


def test_connection_reset_has_no_effect(account: Any) -> None:
    caught = failure(account, Fault(Effect.RESET, "vpc.create_vpc"))
    assert isinstance(caught, requests.exceptions.ConnectionError)
    assert names(account) == ["next"]


def test_late_effect(account: Any) -> None:
    failure(account, Fault(Effect.LATE, "vpc.create_vpc", delay=40))
    assert names(account) == ["next"]
    account.clock.advance(39)
    assert names(account) == ["next"]
    account.clock.advance(1)
    assert sorted(names(account)) == ["net", "next"]


def test_a_late_effect_is_refused_as_any_call_would_be(account: Any) -> None:
    account.cloud.faults.add(Fault(Effect.LATE, "vpc.create_vpc", delay=40))
    with pytest.raises(requests.exceptions.ReadTimeout):
        account.vpc.create_vpc(name="net")
    account.vpc.create_vpc(name="net")
    account.clock.advance(40)
    assert names(account) == ["net"]


def test_partial_batch(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    crns = [account.a_vpc(name)["crn"] for name in ("a", "b", "c")]
    account.cloud.faults.add(Fault(Effect.PARTIAL, "tagging.attach_tag", items=(0, 2)))
    on = [{"resource_id": crn} for crn in crns]
    done = account.tagging.attach_tag(resources=on, tag_names=["a:b"]).get_result()["results"]
    assert [one["is_error"] for one in done] == [True, False, True]
    now = account.clock.now()
    assert [sorted(account.cloud.world.tags_at(crn, now)) for crn in crns] == [[], ["a:b"], []]


def test_slow_provisioning(account: Any) -> None:
    account.cloud.faults.add(Fault(Effect.SLOW, "vpc.create_vpc", factor=4))
    made = account.vpc.create_vpc(name="net").get_result()
    account.clock.advance(59)
    assert account.vpc.get_vpc(made["id"]).get_result()["status"] == "pending"
    account.clock.advance(1)
    assert account.vpc.get_vpc(made["id"]).get_result()["status"] == "available"


def test_failed_provisioning_of_each_kind(account: Any) -> None:
    account.cloud.faults.add(Fault(Effect.FAILED, "rc.create_resource_instance"))
    broken = account.a_workspace("broken")
    assert (broken["state"], broken["last_operation"]["state"]) == ("failed", "failed")
    account.cloud.faults.add(Fault(Effect.FAILED, "transit.create_transit_gateway_connection"))
    vpc, gateway = account.a_vpc(), account.a_gateway()
    made = account.transit.create_transit_gateway_connection(
        gateway["id"], network_type="vpc", network_id=vpc["crn"]
    ).get_result()
    account.clock.advance(120)
    seen = account.transit.get_transit_gateway_connection(gateway["id"], made["id"]).get_result()
    assert seen["status"] == "failed"
    account.cloud.faults.add(Fault(Effect.FAILED, "vpc.create_load_balancer"))
    assert account.a_balancer(account.a_subnet(vpc))["provisioning_status"] == "failed"
    workspace = account.a_workspace()
    account.cloud.faults.add(Fault(Effect.FAILED, "power.create_dhcp"))
    server = account.a_dhcp(workspace)
    path = f"/pcloud/v1/cloud-instances/{workspace['guid']}/services/dhcp/{server['id']}"
    assert account.power("GET", path, crn=workspace["crn"]).json()["status"] == "ERROR"


def test_nth_count_and_contains(account: Any) -> None:
    account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "vpc.list_vpcs", nth=2, count=2))
    account.cloud.faults.add(Fault(Effect.DENIED, "vpc.create_vpc", contains='"secret"', count=None))

    def status() -> int:
        try:
            return int(account.vpc.list_vpcs().get_status_code())
        except ApiException as error:
            return int(error.status_code)

    assert [status() for _ in range(4)] == [200, 500, 500, 200]
    assert account.vpc.create_vpc(name="open").get_status_code() == 201
    for _ in range(2):
        with pytest.raises(ApiException):
            account.vpc.create_vpc(name="secret")
    assert [(rule["seen"], rule["hits"]) for rule in account.cloud.faults.rules()] == [(4, 2), (2, 2)]
    account.cloud.faults.clear()
    assert account.vpc.create_vpc(name="secret").get_status_code() == 201


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/resource-controller/v2/resource_instances", "message"),
        ("/power/dal/v1/workspaces", "error"),
        ("/transit/v1/transit_gateways?version=1", "errors"),
        ("/tagging/v3/tags", "errors"),
    ],
)
def test_faults_have_the_error_format_of_the_service(account: Any, path: str, key: str) -> None:
    account.cloud.faults.add(Fault(Effect.THROTTLE, "*"))
    headers = {"Authorization": f"Bearer {account.token}"}
    answer = account.session.get(f"http://ibm.sim{path}", headers=headers)
    assert answer.status_code == 429
    assert key in answer.json()


def test_the_log_of_calls(account: Any) -> None:
    account.cloud.calls.clear()
    account.a_vpc()
    account.cloud.faults.add(Fault(Effect.RESET, "vpc.list_vpcs"))
    with pytest.raises(requests.exceptions.ConnectionError):
        account.vpc.list_vpcs()
    seen = [(call.sequence, call.operation, call.status, call.mutating) for call in account.cloud.calls]
    assert seen == [(1, "vpc.create_vpc", 201, True), (2, "vpc.get_vpc", 200, False), (3, "vpc.list_vpcs", 0, False)]


def test_rate_limits_throttle_and_answer_how_long_to_wait(make_account: Callable[..., Any]) -> None:
    account = make_account(rate_limits={"tagging.list_*": (2, 10.0)})
    crn = account.a_vpc()["crn"]

    def status() -> int:
        try:
            return int(account.tagging.list_tags(attached_to=crn).get_status_code())
        except ApiException as error:
            assert error.http_response.headers["Retry-After"] == "10"
            return int(error.status_code)

    assert [status() for _ in range(3)] == [200, 200, 429]
    account.clock.advance(10)
    assert status() == 200
