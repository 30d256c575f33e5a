"""Errors between us and IBM Cloud, and the engine's errors for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.resources import Ref, State
from freehold_sim.faults import Effect, Fault
from freehold_sim.ibm.settings import Assumptions, Quotas

NONCE = "fabcdefg"


@pytest.mark.parametrize(("seconds", "expected"), [(17, 17.0), (None, None)])
async def test_throttling_has_the_time_to_wait(account: Any, seconds: int | None, expected: float | None) -> None:
    account.cloud.faults.add(Fault(Effect.THROTTLE, "vpc.create_vpc", retry_after=seconds))
    with pytest.raises(errors.Throttled) as caught:
        await account.create("vpc", account.vpc())
    assert caught.value.retry_after == expected
    assert await account.find("vpc", account.vpc(), NONCE) == []


async def test_an_expired_token_is_replaced_once(account: Any) -> None:
    """401 once: a new token and the same request; 401 again: a person must act."""
    account.cloud.faults.add(Fault(Effect.EXPIRED, "vpc.create_vpc"))
    made = await account.create("vpc", account.vpc())
    assert made.state is State.PENDING
    assert account.requests().count("iam.issue_token") == 2
    account.cloud.faults.add(Fault(Effect.EXPIRED, "vpc.get_vpc", count=None))
    with pytest.raises(errors.Denied):
        await account.look("vpc", made)
    assert account.requests().count("vpc.get_vpc") == 2


async def test_many_calls_with_a_refused_token_fetch_one_new_token(account: Any) -> None:
    """Each thread of a pool gets a 401 for the old token, some after another has fetched the new one."""
    old = await account.client.account() and account.session.tokens.access_token
    account.session.tokens.forget(old)
    await account.client.account()
    account.session.tokens.forget(old)
    await account.client.account()
    assert account.requests() == ["iam.issue_token"] * 2


async def test_a_wrong_api_key_names_the_variable_and_not_the_key(make_account: Callable[..., Any]) -> None:
    account = make_account(api_key="wrong-secret")
    with pytest.raises(errors.Denied) as caught:
        await account.create("vpc", account.vpc())
    assert "IBMCLOUD_API_KEY" in caught.value.message
    assert "wrong-secret" not in repr(caught.value) + repr(account.port.calls) + repr(account.session)


async def test_a_missing_permission_is_denied(account: Any) -> None:
    account.cloud.faults.add(Fault(Effect.DENIED, "transit.create_transit_gateway"))
    with pytest.raises(errors.Denied, match="permission"):
        await account.create("transit-gateway", account.gateway())


async def test_the_gateway_quota_is_for_a_person(make_account: Callable[..., Any]) -> None:
    """CAPIBM#1653: fail at once with a message, do not retry for ever."""
    account = make_account(quotas=Quotas(gateways_per_region=1))
    await account.create("transit-gateway", account.gateway())
    with pytest.raises(errors.Quota, match="cannot add more than 1 gateways"):
        await account.create("transit-gateway", account.gateway("second"), "fzzzzzzz")


async def test_the_vpc_quota_is_for_a_person(make_account: Callable[..., Any]) -> None:
    account = make_account(quotas=Quotas(vpcs_per_region=0))
    with pytest.raises(errors.Quota, match="over quota"):
        await account.create("vpc", account.vpc())


async def test_a_taken_name_is_distinguished_from_other_bad_input(account: Any) -> None:
    vpc = await account.ready("vpc", account.vpc())
    await account.ready("vpc", account.vpc("taken"), "fzzzzzzz")
    ref = Ref(vpc.id, vpc.target)
    with pytest.raises(errors.NameTaken):
        await account.kinds["vpc"].driver.update(ref, {"name": "taken-fzzzzzzz"})
    with pytest.raises(errors.Invalid):
        await account.kinds["vpc"].driver.update(ref, {"name": "Not.Legal"})


async def test_deletes_that_must_wait_name_what_is_in_the_way(account: Any) -> None:
    vpc = await account.ready("vpc", account.vpc())
    subnet = await account.ready("vpc-subnet", account.subnet(vpc))
    with pytest.raises(errors.InUse) as caught:
        await account.kinds["vpc"].driver.delete(Ref(vpc.id, vpc.target))
    assert subnet.attributes["id"] in caught.value.blocker
    group = await account.ready("security-group", account.group(vpc))
    request = {**account.balancer(subnet), "security_groups": [group.attributes["id"]]}
    balancer = await account.create("load-balancer", request)
    with pytest.raises(errors.InUse) as caught:
        await account.kinds["security-group"].driver.delete(Ref(group.id, group.target))
    assert caught.value.blocker == f"lb ({balancer.attributes['id']})"
    with pytest.raises(errors.InUse):
        await account.kinds["vpc-subnet"].driver.delete(Ref(subnet.id, subnet.target))
    with pytest.raises(errors.NotReady):
        await account.kinds["load-balancer"].driver.delete(Ref(balancer.id, balancer.target))


async def test_a_dhcp_server_with_machines_on_its_network_is_in_use(account: Any) -> None:
    """CAPIBM#1815: PowerVS answers 400 although something must be deleted first."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    account.machine(server)
    with pytest.raises(errors.InUse, match="still attached to pvm-instances"):
        await account.kinds["dhcp-server"].driver.delete(Ref(server.id, server.target))


@pytest.mark.parametrize("status", [400, 409])
async def test_a_gateway_with_connections_is_in_use(make_account: Callable[..., Any], status: int) -> None:
    account = make_account(assumptions=Assumptions(gateway_with_connections_status=status))
    vpc = await account.ready("vpc", account.vpc())
    gateway = await account.ready("transit-gateway", account.gateway())
    await account.ready("transit-gateway-connection", account.connection(gateway, vpc))
    with pytest.raises(errors.InUse):
        await account.kinds["transit-gateway"].driver.delete(Ref(gateway.id, gateway.target))


async def test_deleting_a_missing_resource_is_not_found(account: Any) -> None:
    """Success, for a delete."""
    vpc = await account.ready("vpc", account.vpc())
    ref = Ref(vpc.id, vpc.target)
    await account.kinds["vpc"].driver.delete(ref)
    with pytest.raises(errors.NotReady):
        await account.kinds["vpc"].driver.delete(ref)
    account.clock.advance(15)
    with pytest.raises(errors.NotFound):
        await account.kinds["vpc"].driver.delete(ref)


@pytest.mark.parametrize("status", [400, 422])
async def test_object_storage_in_reclamation_counts_as_gone(make_account: Callable[..., Any], status: int) -> None:
    """It could be restored for days; a second delete is refused with either status.

    Source: docs/reference/ibm-cloud.md#resource-controller.
    """
    account = make_account(assumptions=Assumptions(reclaimed_delete_status=status))
    storage = await account.ready("cos-instance", account.cos())
    ref = Ref(storage.id, storage.target)
    await account.kinds["cos-instance"].driver.delete(ref)
    assert await account.look("cos-instance", storage) is None
    with pytest.raises(errors.NotFound):
        await account.kinds["cos-instance"].driver.delete(ref)


async def test_a_failed_workspace_is_still_found(account: Any) -> None:
    """The default list hides it, and CAPIBM creates a second one (docs/reference/ibm-cloud.md#capibm)."""
    account.cloud.faults.add(Fault(Effect.FAILED, "rc.create_resource_instance"))
    await account.create("workspace", account.workspace())
    account.clock.advance(150)
    assert [one.state for one in await account.find("workspace", account.workspace(), NONCE)] == [State.FAILED]


async def test_a_bucket_of_somebody_else_s_is_a_taken_name(account: Any) -> None:
    storage = await account.ready("cos-instance", account.cos())
    other = await account.ready("cos-instance", account.cos("other"), "fzzzzzzz")
    await account.create("cos-bucket", account.bucket(other))
    assert await account.find("cos-bucket", account.bucket(storage)) == []
    with pytest.raises(errors.NameTaken):
        await account.create("cos-bucket", account.bucket(storage))
