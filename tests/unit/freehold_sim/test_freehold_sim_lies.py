"""The simulation reproduces IBM's unreliable reads: lags, deleted resources, hidden states, small pages."""

from collections.abc import Callable
from typing import Any

import pytest
from ibm_cloud_networking_services.transit_gateway_apis_v1 import TransitGatewaysPager
from ibm_cloud_sdk_core import ApiException
from ibm_platform_services.resource_controller_v2 import ResourceInstancesPager
from ibm_vpc.vpc_v1 import VpcsPager

from freehold_sim.ibm.settings import Assumptions, Delays, Lags, Settings

GROUP = "11111111111111111111111111111111"
POWER_PLAN = "f165dd34-3a40-423b-9d95-e90a23f724dd"


def found(account: Any, query: str = "family:is AND type:vpc", **parameters: Any) -> list[str]:
    return [item["crn"] for item in account.search.search(query=query, limit=100, **parameters).get_result()["items"]]


def attached(account: Any, crn: str) -> list[str]:
    return [item["name"] for item in account.tagging.list_tags(attached_to=crn).get_result()["items"]]


# -- search and tags ------------------------------------------------------------------------------------------


def test_search_misses_new_resources_and_shows_deleted_ones(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags(new=20, ghost=30))
    crn = account.a_vpc()["crn"]
    assert found(account) == []
    account.clock.advance(5)
    assert found(account) == [crn]
    account.cloud.strangers.delete(crn)
    account.clock.advance(29)
    assert found(account) == [crn], "a ghost"
    account.clock.advance(1)
    assert found(account) == []


def test_search_shows_attached_and_detached_tags_late(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags(new=0, ghost=0, tags=20))
    crn = account.a_vpc()["crn"]
    account.tagging.attach_tag(resources=[{"resource_id": crn}], tag_names=["owner:a"])
    assert found(account, 'tags:"owner:a"') == []
    account.clock.advance(20)
    assert found(account, 'tags:"owner:a"') == [crn]
    account.tagging.detach_tag(resources=[{"resource_id": crn}], tag_names=["owner:a"])
    assert found(account, 'tags:"owner:a"') == [crn]
    account.clock.advance(20)
    assert found(account, 'tags:"owner:a"') == []


def test_attached_to_has_its_own_lag(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags(attached_to=7))
    crn = account.a_vpc()["crn"]
    account.tagging.attach_tag(resources=[{"resource_id": crn}], tag_names=["owner:a"])
    assert attached(account, crn) == []
    account.clock.advance(7)
    assert attached(account, crn) == ["owner:a"]


def test_reads_may_go_back_in_time(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags(attached_to=10, non_monotonic=True))
    crn = account.a_vpc()["crn"]
    account.tagging.attach_tag(resources=[{"resource_id": crn}], tag_names=["owner:a"])
    account.clock.advance(15)
    assert [attached(account, crn) for _ in range(4)] == [["owner:a"], [], ["owner:a"], []]


def test_one_search_goes_to_one_replica(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags(new=10, ghost=10, tags=10, non_monotonic=True))
    crn = account.a_vpc()["crn"]
    account.cloud.strangers.attach(crn, "owner:a")
    seen = []
    for _ in range(2):
        items = account.search.search(query="type:vpc", fields=["tags"]).get_result()["items"]
        seen.append([item["tags"] for item in items])
    assert seen == [[[]], []], "15 s old: the near replica shows it without its tags, the far one not at all"


def test_lists_may_miss_new_resources(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags(lists=3))
    made = account.vpc.create_vpc(name="net").get_result()
    assert account.vpc.list_vpcs().get_result()["vpcs"] == []
    assert account.vpc.get_vpc(made["id"]).get_result()["name"] == "net", "a read by id is not behind"
    account.clock.advance(3)
    assert len(account.vpc.list_vpcs().get_result()["vpcs"]) == 1


def test_no_lag_at_all(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    crn = account.a_vpc()["crn"]
    account.tagging.attach_tag(resources=[{"resource_id": crn}], tag_names=["owner:a"])
    assert attached(account, crn) == ["owner:a"]
    assert found(account, "tags:owner\\:a") == [crn]


def test_a_fresh_resource_may_refuse_its_first_tag(make_account: Callable[..., Any]) -> None:
    """terraform-provider-ibm#3874; inside a 200."""
    account = make_account(assumptions=Assumptions(attach_needs_index=True))
    crn = account.vpc.create_vpc(name="net").get_result()["crn"]

    def error() -> Any:
        done = account.tagging.attach_tag(resources=[{"resource_id": crn}], tag_names=["a"]).get_result()
        return done["results"][0]["is_error"]

    assert error() is True
    account.clock.advance(20)
    assert error() is False


def test_tags_are_compared_without_case_and_kept_as_first_written(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    crn = account.a_vpc()["crn"]
    for name in ("Owner:A", "owner:a"):
        account.tagging.attach_tag(resources=[{"resource_id": crn}], tag_names=[name])
    assert attached(account, crn) == ["Owner:A"]


def test_update_changes_values_of_one_key_and_replace_removes_all(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    crn = account.a_vpc()["crn"]
    on = [{"resource_id": crn}]
    account.tagging.attach_tag(resources=on, tag_names=["owner:a", "plain"])
    account.tagging.attach_tag(resources=on, tag_names=["owner:b"], update=True)
    assert attached(account, crn) == ["owner:b", "plain"]
    account.tagging.attach_tag(resources=on, tag_names=["only"], replace=True)
    assert attached(account, crn) == ["only"]


def test_every_list_lags(make_account: Callable[..., Any]) -> None:
    """A list without lag would hide a client that relies on it."""
    account = make_account(lags=Lags(lists=60.0))
    cos, workspace = account.a_cos(), account.a_workspace()
    account.clock.advance(60)
    network = account.cloud.strangers.make("network", region="dal", workspace=workspace["guid"], name="n")
    account.cloud.strangers.make("vm", region="dal", workspace=workspace["guid"], network=network["id"], name="vm")
    headers = {"Authorization": f"Bearer {account.token}", "ibm-service-instance-id": cos["guid"]}
    buckets = "http://ibm.sim/cos/us-south"
    assert account.session.put(f"{buckets}/ours", headers=headers).status_code == 200
    machines = f"/power/dal/pcloud/v1/cloud-instances/{workspace['guid']}/pvm-instances"
    for _ in range(2):
        shown = (
            "<Name>ours" in account.session.get(buckets, headers=headers).text,
            bool(account.cloud.strangers.send("GET", machines)["pvmInstances"]),
        )
        assert set(shown) == {account.clock.now() - network["created_at"] >= 60}
        account.clock.advance(60)


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("name:one", ["one"]),
        ("name:o*", ["one"]),
        ("name:one OR name:two", ["one", "two"]),
        ("NOT name:one AND type:vpc", ["two"]),
        ('(name:"one" OR name:"two") AND type:gateway', []),
        ("service_name:is type:vpc", ["one", "two"]),
        ('tags:"owner\\:a"', ["one"]),
        ('tags:"owner\\:*"', []),  # Lucene: wildcards work in single terms, not within phrases
        ("tags:owner\\:\\*", []),
        ("tags:owner\\:*", ["one"]),
        ("tags:owner\\:a", ["one"]),
        ("name:one\\ OR\\ name\\:two", []),
    ],
)
def test_queries(make_account: Callable[..., Any], query: str, hits: list[str]) -> None:
    account = make_account(lags=Lags.none())
    crns = {account.a_vpc(name)["crn"]: name for name in ("one", "two")}
    account.cloud.strangers.attach(next(iter(crns)), "owner:a")
    assert sorted(crns[crn] for crn in found(account, query)) == hits


def test_a_bad_query_is_refused(account: Any) -> None:
    with pytest.raises(ApiException) as caught:
        found(account, "(name:one")
    assert caught.value.status_code == 400


# -- Resource Controller --------------------------------------------------------------------------------------


def test_the_default_list_hides_what_is_not_active(make_account: Callable[..., Any]) -> None:
    account = make_account()
    workspace, cos = account.a_workspace(), account.a_cos()
    account.cloud.strangers.change(workspace["guid"], state="failed")
    account.rc.delete_resource_instance(cos["guid"])
    assert account.rc.list_resource_instances().get_result()["resources"] == []
    for state, guid in (("failed", workspace["guid"]), ("pending_reclamation", cos["guid"])):
        listed = account.rc.list_resource_instances(state=state).get_result()["resources"]
        assert [one["guid"] for one in listed] == [guid]


def test_search_hides_what_is_in_reclamation_unless_asked(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags.none())
    cos = account.a_cos()
    account.rc.delete_resource_instance(cos["guid"])
    query = "service_name:cloud-object-storage"
    assert found(account, query) == []
    assert found(account, query, is_reclaimed="any") == [cos["crn"]]


def test_tags_of_the_create_call_are_attached_when_the_instance_is_ready(make_account: Callable[..., Any]) -> None:
    account = make_account(lags=Lags(new=0, tags=20, attached_to=0))
    made = account.rc.create_resource_instance("ws", "dal10", GROUP, POWER_PLAN, tags=["owner:a"]).get_result()
    account.clock.advance(149)
    assert attached(account, made["crn"]) == []
    account.clock.advance(1)
    assert attached(account, made["crn"]) == ["owner:a"]
    assert found(account, 'tags:"owner:a"') == []
    account.clock.advance(20)
    assert found(account, 'tags:"owner:a"') == [made["crn"]]


# -- pages ----------------------------------------------------------------------------------------------------


def test_pages_of_one(make_account: Callable[..., Any]) -> None:
    """Every pager must read to the end, whatever page size it requested."""
    account = make_account(page_size=1, lags=Lags.none())
    names = ["a", "b", "c"]
    for name in names:
        account.a_vpc(name)
        account.a_gateway(name)
        account.a_workspace(name)
    assert [vpc["name"] for vpc in VpcsPager(client=account.vpc).get_all()] == names
    assert [one["name"] for one in TransitGatewaysPager(client=account.transit).get_all()] == names
    assert [one["name"] for one in ResourceInstancesPager(client=account.rc).get_all()] == names
    cursor, seen = None, []
    while True:
        page = account.search.search(query="type:vpc", search_cursor=cursor, limit=50).get_result()
        seen += page["items"]
        cursor = page.get("search_cursor")
        if cursor is None:
            break
    assert [item["name"] for item in seen] == names


def test_an_instance_page_token_contains_its_filters(make_account: Callable[..., Any]) -> None:
    """Resource Controller ignores the other parameters when `start` is given."""
    account = make_account(page_size=1)
    for name in ("same", "other", "same"):
        account.a_workspace(name)
    pager = ResourceInstancesPager(client=account.rc, name="same")
    assert [one["name"] for one in pager.get_all()] == ["same", "same"]


# -- time -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_the_delay_profile_scales(make_account: Callable[..., Any], factor: float) -> None:
    account = make_account(delays=Delays().scaled(factor))
    made = account.vpc.create_vpc(name="net").get_result()
    account.clock.advance(15 * factor - 0.1)
    assert account.vpc.get_vpc(made["id"]).get_result()["status"] == "pending"
    account.clock.advance(0.1)
    assert account.vpc.get_vpc(made["id"]).get_result()["status"] == "available"


def test_settings_from_a_file() -> None:
    settings = Settings.from_dict({"delays": {"scale": 2, "create_vpc": 1}, "lags": {"tags": 3}, "page_size": 1})
    assert (settings.delays.create_vpc, settings.delays.create_dhcp) == (1, 600)
    assert (settings.lags.tags, settings.page_size) == (3, 1)
    with pytest.raises(TypeError):
        Settings.from_dict({"lags": {"no-such-lag": 1}})
