"""Resource Manager answers as IBM's own integration test found it to.

Source: IBM/platform-services-python-sdk, test/integration/test_resource_manager_v2.py.
"""

from collections.abc import Callable
from typing import Any

import pytest
from ibm_cloud_sdk_core import ApiException

DEFAULT = "11111111111111111111111111111111"
COS_PLAN = "1e4e33e4-cfa6-4f12-9016-be594a6d5f87"


def status_of(call: Callable[[], Any]) -> int:
    with pytest.raises(ApiException) as caught:
        call()
    return int(caught.value.status_code)


def names(account: Any, **filters: Any) -> list[str]:
    return [group["name"] for group in account.rm.list_resource_groups(**filters).get_result()["resources"]]


def test_quota_definitions(account: Any) -> None:
    quotas = account.rm.list_quota_definitions().get_result()["resources"]
    assert account.rm.get_quota_definition(quotas[0]["id"]).get_result() == quotas[0]
    group = account.rm.get_resource_group(DEFAULT).get_result()
    assert group["quota_id"] in {quota["id"] for quota in quotas}
    assert status_of(lambda: account.rm.get_quota_definition("none")) == 404


def test_a_group_is_created_renamed_used_and_deleted(account: Any) -> None:
    created = account.rm.create_resource_group(name="mine", account_id=account.cloud.settings.account_id)
    ident = created.get_result()["id"]
    assert created.get_status_code() == 201
    changed = account.rm.update_resource_group(ident, name="yours", state="ACTIVE").get_result()
    assert (changed["name"], account.rm.get_resource_group(ident).get_result()) == ("yours", changed)
    vpc = account.vpc.create_vpc(name="net", resource_group={"id": ident}).get_result()
    assert vpc["resource_group"]["name"] == "yours"
    cos = account.rc.create_resource_instance("cos", "Global", ident, COS_PLAN).get_result()
    assert account.a_gateway(resource_group={"id": ident})["resource_group"]["id"] == ident
    assert status_of(lambda: account.rm.delete_resource_group(ident)) == 400
    for row in account.cloud.strangers.resources():
        if row["kind"] in {"vpc", "gateway", "instance"}:
            account.cloud.strangers.delete(row["id"])
    assert account.rc.get_resource_instance(cos["guid"]).get_result()["state"] == "removed"
    assert account.rm.delete_resource_group(ident).get_status_code() == 204
    assert status_of(lambda: account.rm.get_resource_group(ident)) == 404
    assert status_of(lambda: account.vpc.create_vpc(name="b", resource_group={"id": ident})) == 400
    assert "yours" not in names(account)
    assert "yours" in names(account, include_deleted=True)


def test_groups_of_the_settings_change_too(account: Any) -> None:
    [other] = [g for g in account.rm.list_resource_groups().get_result()["resources"] if not g["default"]]
    account.rm.update_resource_group(other["id"], name="renamed")
    assert names(account) == ["Default", "renamed"]
    assert account.rm.delete_resource_group(other["id"]).get_status_code() == 204
    assert names(account, default=True) == names(account) == ["Default"]


def test_refusals(account: Any) -> None:
    account.rm.create_resource_group(name="mine")
    assert status_of(lambda: account.rm.create_resource_group(name="mine")) == 409
    assert status_of(lambda: account.rm.create_resource_group(name="x", account_id="another")) == 403
    assert status_of(account.rm.create_resource_group) == 400
    assert status_of(lambda: account.rm.delete_resource_group(DEFAULT)) == 400
    assert status_of(lambda: account.rm.update_resource_group(DEFAULT, name="mine")) == 409
    assert status_of(lambda: account.rm.update_resource_group(DEFAULT, state="NONE")) == 400
    assert status_of(lambda: account.rm.list_resource_groups(date="2026-01")) == 501
