"""Reads of one resource by its id may lag: a new one is not found, an old one is shown as it was."""

from collections.abc import Callable
from typing import Any

import pytest
from ibm_cloud_sdk_core import ApiException

from freehold_sim.ibm.settings import Delays, Lags, Settings

GROUP = "11111111111111111111111111111111"
POWER_PLAN = "f165dd34-3a40-423b-9d95-e90a23f724dd"
LAG = 10.0
AT_ONCE = Delays().scaled(0)


def _vpc(account: Any) -> tuple[str, Callable[[], Any]]:
    ident = account.vpc.create_vpc(name="first").get_result()["id"]
    return ident, lambda: account.vpc.get_vpc(ident).get_result()


def _workspace(account: Any) -> tuple[str, Callable[[], Any]]:
    made = account.rc.create_resource_instance(
        name="first", target="dal10", resource_group=GROUP, resource_plan_id=POWER_PLAN
    ).get_result()
    return made["guid"], lambda: account.rc.get_resource_instance(made["guid"]).get_result()


def _gateway(account: Any) -> tuple[str, Callable[[], Any]]:
    ident = account.transit.create_transit_gateway(location="us-south", name="first").get_result()["id"]
    return ident, lambda: account.transit.get_transit_gateway(ident).get_result()


def _network(account: Any) -> tuple[str, Callable[[], Any]]:
    workspace = account.cloud.strangers.make("workspace", zone="dal10", name="place")
    account.clock.advance(3 * LAG)
    base, crn = f"/pcloud/v1/cloud-instances/{workspace['id']}/networks", workspace["crn"]
    ident = account.power("POST", base, {"name": "first", "type": "vlan"}, crn).json()["networkID"]

    def read() -> Any:
        answer = account.power("GET", f"{base}/{ident}", crn=crn)
        if answer.status_code == 404:
            raise LookupError(ident)
        return answer.json()

    return ident, read


KINDS = pytest.mark.parametrize("kind", [_vpc, _workspace, _gateway, _network], ids=lambda f: f.__name__[1:])
Kind = Callable[[Any], tuple[str, Callable[[], Any]]]


@pytest.fixture
def account(make_account: Callable[..., Any]) -> Any:
    return make_account(lags=Lags(by_id=LAG), delays=AT_ONCE)


@KINDS
def test_a_new_resource_is_not_found_until_the_lag_is_over(account: Any, kind: Kind) -> None:
    _, read = kind(account)
    account.clock.advance(LAG - 1)
    with pytest.raises((ApiException, LookupError)):
        read()
    account.clock.advance(1)
    assert read()


@KINDS
def test_a_changed_resource_is_shown_as_it_was(account: Any, kind: Kind) -> None:
    ident, read = kind(account)
    account.clock.advance(LAG)
    before = read()["name"]
    account.cloud.strangers.rename(ident, "second")
    account.clock.advance(LAG - 1)
    assert read()["name"] == before
    account.clock.advance(1)
    assert read()["name"] == "second"


@KINDS
def test_a_deleted_resource_is_still_shown(account: Any, kind: Kind) -> None:
    ident, read = kind(account)
    account.clock.advance(LAG)
    account.cloud.strangers.delete(ident)
    account.clock.advance(LAG - 1)
    state = read().get("state")
    assert state != "removed", "Resource Controller goes on showing what is gone, but as removed"
    account.clock.advance(1)
    if kind is _workspace:
        assert read()["state"] == "removed"
    else:
        with pytest.raises((ApiException, LookupError)):
            read()


def test_a_state_change_by_itself_is_also_shown_late_but_not_later_than_the_lag(
    make_account: Callable[..., Any],
) -> None:
    """There was no read between the end of provisioning and this read: the lag counts from the change."""
    account = make_account(lags=Lags(by_id=LAG), delays=Delays(create_gateway=100.0))
    _, read = _gateway(account)
    account.clock.advance(100 + LAG - 1)
    assert read()["status"] == "pending"
    account.clock.advance(1)
    assert read()["status"] == "available"


def test_replicas_differ(make_account: Callable[..., Any]) -> None:
    """Every second read lags twice as far, like all lagging reads that are not monotonic."""
    account = make_account(lags=Lags(by_id=LAG, non_monotonic=True), delays=AT_ONCE)
    ident, read = _vpc(account)
    account.clock.advance(2 * LAG)
    account.cloud.strangers.rename(ident, "second")
    account.clock.advance(LAG)
    assert {read()["name"] == "second" for _ in range(2)} == {True, False}
    account.clock.advance(LAG)
    assert {read()["name"] for _ in range(2)} == {"second"}


def test_writes_lists_and_strangers_see_the_present_state(account: Any) -> None:
    """Only the read lags: an update finds what a read does not find yet."""
    ident, read = _vpc(account)
    assert account.vpc.update_vpc(ident, {"name": "second"}).get_result()["name"] == "second"
    assert [vpc["name"] for vpc in account.vpc.list_vpcs().get_result()["vpcs"]] == ["second"]
    with pytest.raises(ApiException):
        read()


def test_a_snapshot_keeps_the_past(account: Any) -> None:
    """Otherwise a restored world would lag differently from the saved one."""
    ident, read = _vpc(account)
    account.clock.advance(LAG)
    account.cloud.strangers.rename(ident, "second")
    taken = account.cloud.snapshot()
    account.cloud.strangers.delete(ident)
    account.cloud.restore(taken)
    account.clock.advance(LAG)
    assert read()["name"] == "second"


def test_no_history_is_kept_if_nothing_lags(make_account: Callable[..., Any]) -> None:
    """It costs time and memory."""
    account = make_account()
    account.a_vpc()
    assert Settings().lags.by_id == 0
    assert not account.cloud.world.data["past"]
