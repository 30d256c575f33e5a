"""Resource Controller answers as IBM's own integration test found it to.

Source: IBM/platform-services-python-sdk, test/integration/test_resource_controller_v2.py.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from ibm_cloud_sdk_core import ApiException

from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.settings import Delays

GROUP = "11111111111111111111111111111111"
OTHER_GROUP = "22222222222222222222222222222222"
COS_PLAN = "1e4e33e4-cfa6-4f12-9016-be594a6d5f87"
COS_ID = "dff97f5c-bc5e-4455-b470-411c3edbe49c"
POWER_PLANS = ("f165dd34-3a40-423b-9d95-e90a23f724dd", "1112d6a9-71d6-4968-956b-eb3edbf0225b")


def status_of(call: Callable[[], Any]) -> int:
    with pytest.raises(ApiException) as caught:
        call()
    return int(caught.value.status_code)


def last(body: dict[str, Any]) -> tuple[str, str | None, str, bool]:
    operation = body["last_operation"]
    return operation["type"], operation.get("sub_type"), operation["state"], operation["async"]


def make_cos(account: Any, name: str = "cos", group: str = GROUP, **fields: Any) -> Any:
    return account.rc.create_resource_instance(name, "Global", group, COS_PLAN, **fields)


# -- plans without provisioning -------------------------------------------------------------------------------


def test_a_plan_without_provisioning_is_active_in_the_reply_to_its_create(account: Any) -> None:
    made = make_cos(account, tags=["owner:a"])
    body = made.get_result()
    assert (made.get_status_code(), body["state"]) == (201, "active")
    assert last(body) == ("create", None, "succeeded", False)
    assert (body["locked"], body["onetime_credentials"]) == (False, False)
    assert account.cloud.world.tags_at(body["crn"], account.clock.now()) == {"owner:a": "owner:a"}


def test_a_plan_without_provisioning_can_be_given_a_time(make_account: Callable[..., Any]) -> None:
    account = make_account(delays=Delays(create_cos=10))
    made = make_cos(account).get_result()
    assert (made["state"], last(made)) == ("provisioning", ("create", None, "in progress", True))
    account.clock.advance(10)
    assert last(account.rc.get_resource_instance(made["guid"]).get_result()) == ("create", None, "succeeded", False)


def test_a_plan_without_provisioning_can_fail(account: Any) -> None:
    account.cloud.faults.add(Fault(Effect.FAILED, "rc.create_resource_instance"))
    assert make_cos(account).get_result()["state"] == "failed"


def test_an_operation_is_async_only_while_it_is_in_progress(account: Any) -> None:
    made = account.rc.create_resource_instance("ws", "dal10", GROUP, POWER_PLANS[0]).get_result()
    assert last(made) == ("create", None, "in progress", True)
    account.clock.advance(150)
    assert last(account.rc.get_resource_instance(made["guid"]).get_result()) == ("create", None, "succeeded", False)
    assert account.rc.delete_resource_instance(made["guid"]).get_status_code() == 202
    assert last(account.rc.get_resource_instance(made["guid"]).get_result()) == ("delete", None, "in progress", True)
    account.clock.advance(90)
    gone = account.rc.get_resource_instance(made["guid"]).get_result()
    assert (gone["state"], last(gone)) == ("removed", ("delete", None, "succeeded", False))


def test_a_delete_without_deprovisioning_is_204_and_a_reclamation(account: Any) -> None:
    cos = make_cos(account).get_result()
    assert account.rc.delete_resource_instance(cos["guid"]).get_status_code() == 204
    waiting = account.rc.get_resource_instance(cos["guid"]).get_result()
    assert (waiting["state"], last(waiting)) == ("pending_reclamation", ("reclamation", "pending", "succeeded", False))
    reclamation = account.rc.list_reclamations(resource_instance_id=cos["guid"]).get_result()["resources"][0]
    done = account.rc.run_reclamation_action(reclamation["id"], "restore", request_by="me", comment="back").get_result()
    assert (done["state"], done["updated_by"], done["custom_properties"]) == ("RESTORING", "me", {"comment": "back"})
    restored = account.rc.get_resource_instance(cos["guid"]).get_result()
    assert (restored["state"], last(restored)) == ("active", ("reclamation", "restore", "succeeded", False))
    account.rc.delete_resource_instance(cos["guid"])
    reclamation = account.rc.list_reclamations(resource_instance_id=cos["guid"]).get_result()["resources"][0]
    assert account.rc.run_reclamation_action(reclamation["id"], "reclaim").get_result()["state"] == "RECLAIMING"
    account.clock.advance(10)
    gone = account.rc.get_resource_instance(cos["guid"]).get_result()
    assert (gone["state"], last(gone)) == ("removed", ("reclamation", "delete", "succeeded", False))


# -- updates and locks ----------------------------------------------------------------------------------------


def test_an_update_is_the_last_operation_and_keeps_every_field(account: Any) -> None:
    workspace = account.a_workspace()
    changed = account.rc.update_resource_instance(
        workspace["guid"], name="other", parameters={"hello": "bye"}, resource_plan_id=POWER_PLANS[1],
        allow_cleanup=True,
    ).get_result()  # fmt: skip
    assert last(changed) == ("update", "config", "succeeded", False)
    assert (changed["name"], changed["parameters"], changed["allow_cleanup"]) == ("other", {"hello": "bye"}, True)
    assert [row["resource_plan_id"] for row in changed["plan_history"]] == list(POWER_PLANS)
    assert status_of(lambda: account.rc.update_resource_instance(workspace["guid"], resource_plan_id=COS_PLAN)) == 400


def test_lock_and_unlock_are_last_operations_and_a_locked_instance_does_not_change(account: Any) -> None:
    guid = make_cos(account).get_result()["guid"]
    locked = account.rc.lock_resource_instance(guid).get_result()
    assert (locked["locked"], last(locked)) == (True, ("lock", None, "succeeded", False))
    assert status_of(lambda: account.rc.update_resource_instance(guid, name="other")) == 400
    assert status_of(lambda: account.rc.delete_resource_instance(guid)) == 400
    unlocked = account.rc.unlock_resource_instance(guid).get_result()
    assert (unlocked["locked"], last(unlocked)) == (False, ("unlock", None, "succeeded", False))
    assert account.rc.update_resource_instance(guid, name="other").get_result()["name"] == "other"


def test_a_create_in_progress_is_cancelled_and_nothing_else(account: Any) -> None:
    made = account.rc.create_resource_instance("ws", "dal10", GROUP, POWER_PLANS[0]).get_result()
    assert made["last_operation"]["cancelable"] is True
    assert account.rc.cancel_lastop_resource_instance(made["guid"]).get_result()["state"] == "removed"
    account.clock.advance(300)
    assert account.rc.get_resource_instance(made["guid"]).get_result()["state"] == "removed"
    ready = account.a_workspace("ready")
    assert ready["last_operation"]["cancelable"] is False
    for done in (made, ready):
        with pytest.raises(ApiException, match="The instance is not cancelable") as refused:
            account.rc.cancel_lastop_resource_instance(done["guid"])
        assert refused.value.status_code == 422


# -- keys -----------------------------------------------------------------------------------------------------


def test_a_deleted_key_stays_readable_as_removed_and_is_in_no_list(account: Any) -> None:
    cos = make_cos(account).get_result()
    key = account.rc.create_resource_key("k", cos["guid"], parameters={"HMAC": True}).get_result()
    assert account.rc.update_resource_key(key["guid"], "renamed").get_result()["name"] == "renamed"
    assert account.rc.delete_resource_key(key["guid"]).get_status_code() == 204
    gone = account.rc.get_resource_key(key["guid"]).get_result()
    assert (gone["id"], gone["state"]) == (key["id"], "removed")
    assert account.rc.list_resource_keys().get_result()["resources"] == []
    assert account.rc.list_resource_keys_for_instance(cos["guid"]).get_result()["resources"] == []
    assert status_of(lambda: account.rc.delete_resource_key(key["guid"])) == 410
    assert status_of(lambda: account.rc.update_resource_key(key["guid"], "again")) == 410


def test_a_recursive_delete_of_the_instance_removes_its_keys(account: Any) -> None:
    cos = make_cos(account).get_result()
    key = account.rc.create_resource_key("k", cos["guid"]).get_result()
    account.rc.delete_resource_instance(cos["guid"], recursive=True)
    assert account.rc.get_resource_key(key["guid"]).get_result()["state"] == "removed"


@pytest.mark.parametrize("onetime", [True, False])
def test_onetime_credentials_are_shown_by_the_create_alone(account: Any, onetime: bool) -> None:
    cos = make_cos(account, parameters={"onetime_credentials": onetime}).get_result()
    key = account.rc.create_resource_key("k", cos["guid"]).get_result()
    assert (cos["onetime_credentials"], key["onetime_credentials"]) == (onetime, onetime)
    assert "apikey" in key["credentials"]
    shown = account.rc.get_resource_key(key["guid"]).get_result()["credentials"]
    assert shown == ({"REDACTED": "REDACTED_EXPLICIT"} if onetime else key["credentials"])


# -- filters --------------------------------------------------------------------------------------------------


def test_every_filter_of_the_instances_filters(account: Any) -> None:
    cos, workspace = make_cos(account, "one", OTHER_GROUP).get_result(), account.a_workspace("two")
    later = datetime.fromtimestamp(account.clock.now() - 1, UTC).isoformat()

    def found(**filters: Any) -> list[str]:
        return [one["name"] for one in account.rc.list_resource_instances(**filters).get_result()["resources"]]

    assert found() == ["one", "two"]
    assert found(guid=workspace["guid"]) == ["two"]
    assert found(name="one") == ["one"]
    assert found(resource_group_id=OTHER_GROUP) == ["one"]
    assert found(resource_id=COS_ID) == ["one"]
    assert found(resource_plan_id=POWER_PLANS[0]) == ["two"]
    assert found(type="composite_instance") == ["two"]
    assert found(sub_type="any") == []
    assert found(updated_from=later) == ["two"]
    assert found(updated_to=later) == ["one"]
    assert cos["resource_group_id"] == OTHER_GROUP


def test_every_filter_of_the_keys_filters_on_every_page(make_account: Callable[..., Any]) -> None:
    account = make_account(page_size=1)
    for group in (GROUP, OTHER_GROUP):
        cos = make_cos(account, group, group).get_result()
        for name in ("a", "b"):
            account.rc.create_resource_key(name, cos["guid"])
        account.clock.advance(60)
    first = account.rc.list_resource_keys(name="a").get_result()
    start = first["next_url"].partition("start=")[2].replace("%3D", "=")
    second = account.rc.list_resource_keys(start=start).get_result()
    assert [key["name"] for page in (first, second) for key in page["resources"]] == ["a", "a"]
    guid = second["resources"][0]["guid"]
    since = datetime.fromtimestamp(account.clock.now() - 61, UTC).isoformat()
    for filters, owner in (
        ({"guid": guid}, OTHER_GROUP), ({"resource_group_id": GROUP}, GROUP), ({"updated_from": since}, OTHER_GROUP),
        ({"resource_id": COS_ID}, GROUP),
    ):  # fmt: skip
        shown = account.rc.list_resource_keys(**filters).get_result()["resources"]
        assert [key["resource_group_id"] for key in shown] == [owner], filters
    assert account.rc.list_resource_keys(resource_id="x").get_result()["resources"] == []


# -- refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "status"), [("/v2/none", 404), ("/v2/resource_aliases", 501)])
def test_errors_under_its_path_have_its_own_form(account: Any, path: str, status: int) -> None:
    headers = {"Authorization": f"Bearer {account.token}"}
    answer = account.session.get(f"http://ibm.sim/resource-controller{path}", headers=headers)
    assert (answer.status_code, answer.json()["status_code"]) == (status, status)
    assert {"message", "transaction_id"} <= answer.json().keys()
