"""Global Tagging answers as IBM's own integration tests found it to.

Sources: IBM/platform-services-python-sdk, test/integration/test_global_tagging_v1.py, and
IBM/platform-services-go-sdk, globaltaggingv1/global_tagging_v1_integration_test.go.
"""

from collections.abc import Callable
from typing import Any

import pytest
from ibm_cloud_sdk_core import ApiException

from freehold_sim.ibm.settings import Lags, Quotas


def attach(account: Any, crn: str, *names: str, kind: str = "user", **flags: bool) -> list[bool]:
    done = account.tagging.attach_tag(
        resources=[{"resource_id": crn}], tag_names=list(names), tag_type=kind, **flags
    ).get_result()
    return [one["is_error"] for one in done["results"]]


def detach(account: Any, crn: str, *names: str, kind: str = "user") -> None:
    account.tagging.detach_tag(resources=[{"resource_id": crn}], tag_names=list(names), tag_type=kind)


def attached(account: Any, crn: str, kind: str = "user") -> list[str]:
    items = account.tagging.list_tags(attached_to=crn, tag_type=kind).get_result()["items"]
    return [item["name"] for item in items]


def names_of(account: Any, kind: str, **filters: Any) -> list[str]:
    return [item["name"] for item in account.tagging.list_tags(tag_type=kind, **filters).get_result()["items"]]


def delete_fails(account: Any, name: str, kind: str) -> bool:
    return bool(account.tagging.delete_tag(name, tag_type=kind).get_result()["results"][0]["is_error"])


def test_a_tag_is_read_right_after_its_attach_and_not_after_its_detach(account: Any) -> None:
    """The lag belongs to the search index; `Lags.attached_to` gives this read one too."""
    crn = account.a_vpc()["crn"]
    attach(account, crn, "owner:a")
    assert attached(account, crn) == ["owner:a"]
    account.clock.advance(1)
    assert account.search.search(query='tags:"owner:a"').get_result()["items"] == []
    detach(account, crn, "owner:a")
    assert attached(account, crn) == []


def test_access_tags_are_kept_for_each_resource_apart_from_its_user_tags(account: Any) -> None:
    one, other = account.a_vpc("one")["crn"], account.a_vpc("other")["crn"]
    account.tagging.create_tag(["env:a", "env:b"], tag_type="access")
    assert attach(account, one, "env:a", "env:b", kind="access") == [False]
    attach(account, one, "mine")
    assert (attached(account, one, "access"), attached(account, one)) == (["env:a", "env:b"], ["mine"])
    assert attached(account, other, "access") == []
    detach(account, one, "env:a", kind="access")
    assert attached(account, one, "access") == ["env:b"]
    assert names_of(account, "access") == ["env:a", "env:b"], "an access tag stays in the account"
    assert names_of(account, "access", attached_only=True) == ["env:b"]
    attach(account, one, "env:a", kind="access", update=True)
    assert attached(account, one, "access") == ["env:a"]
    attach(account, one, "env:b", kind="access", replace=True)
    assert attached(account, one, "access") == ["env:b"]
    assert attached(account, one) == ["mine"]


def test_a_user_tag_is_gone_with_its_last_detach(account: Any) -> None:
    one, other = account.a_vpc("one")["crn"], account.a_vpc("other")["crn"]
    for crn in (one, other):
        attach(account, crn, "owner:a")
    detach(account, one, "owner:a")
    assert names_of(account, "user") == ["owner:a"]
    detach(account, other, "owner:a")
    assert names_of(account, "user") == []
    assert delete_fails(account, "owner:a", "user") is True
    attach(account, one, "x:1")
    attach(account, one, "x:2", update=True)
    assert names_of(account, "user") == ["x:2"]


def test_a_delete_honours_the_type_and_spares_what_is_attached(account: Any) -> None:
    crn = account.a_vpc()["crn"]
    account.tagging.create_tag(["env:a", "env:b"], tag_type="access")
    attach(account, crn, "env:a")
    attach(account, crn, "env:b", kind="access")
    assert delete_fails(account, "env:b", "access") is True, "attached"
    assert delete_fails(account, "env:a", "user") is True, "the user tag of this name is attached"
    assert delete_fails(account, "env:a", "access") is False
    assert delete_fails(account, "env:a", "access") is True, "gone"
    assert attached(account, crn) == ["env:a"]
    detach(account, crn, "env:b", kind="access")
    assert account.tagging.delete_tag_all(tag_type="user").get_result()["items"] == []
    done = account.tagging.delete_tag_all(tag_type="access").get_result()["items"]
    assert done == [{"tag_name": "env:b", "is_error": False}]


def test_tags_of_a_deleted_resource_are_attached_nowhere(account: Any) -> None:
    crn = account.a_vpc()["crn"]
    attach(account, crn, "owner:a")
    assert delete_fails(account, "owner:a", "user") is True
    account.cloud.strangers.delete(crn)
    assert delete_fails(account, "owner:a", "user") is False


def test_lists_are_ordered(account: Any) -> None:
    crn = account.a_vpc()["crn"]
    attach(account, crn, "b", "a")
    assert names_of(account, "user", order_by_name="desc") == ["b", "a"]


def test_access_tags_have_a_quota(make_account: Callable[..., Any]) -> None:
    account = make_account(quotas=Quotas(access_tags=1), lags=Lags.none())
    done = account.tagging.create_tag(["env:a", "env:b"], tag_type="access").get_result()["results"]
    assert [one["is_error"] for one in done] == [False, True]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [({"tag_type": "service"}, 403), ({"account_id": "another"}, 403), ({"providers": ["ims"]}, 501),
     ({"full_data": True}, 501), ({"tag_type": "none"}, 400)],
)  # fmt: skip
def test_what_is_not_served_is_refused(account: Any, arguments: dict[str, Any], status: int) -> None:
    with pytest.raises(ApiException) as caught:
        account.tagging.list_tags(**arguments)
    assert caught.value.status_code == status
