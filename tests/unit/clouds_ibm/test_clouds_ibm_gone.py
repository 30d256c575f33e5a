"""What counts as gone: only what the cloud does not find by its own id. A refused list proves nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.clouds.ibm.tags import IbmCodec
from freehold.lifecycle import errors
from freehold.lifecycle.kinds import Ref
from freehold.lifecycle.ownership import Owner
from freehold_sim.faults import Effect, Fault
from freehold_sim.http import Request, Response

NONCE = "fabcdefg"


def _missing(operation: str, count: int | None = None) -> Fault:
    return Fault(Effect.ERROR_BEFORE, operation, status=404, message="not found", count=count)


class Forgetful:
    """A PowerVS that answers 404 for everything in its workspaces."""

    def __init__(self, cloud: Any) -> None:
        self._handle = cloud.handle
        cloud.handle = self.handle

    def handle(self, request: Request, actor: str = "api") -> Response:
        if "/cloud-instances/" not in request.path:
            answer: Response = self._handle(request, actor)
            return answer
        body = json.dumps({"description": "cloud instance does not exist", "error": "not found"})
        return Response(404, body.encode(), {"Content-Type": "application/json"})


async def _gateway(account: Any) -> tuple[Any, Any]:
    vpc = await account.ready("vpc", account.vpc())
    return await account.ready("transit-gateway", account.gateway()), vpc


async def test_connections_that_are_not_found_at_a_gateway_that_is_are_not_gone(account: Any) -> None:
    """Created again, they are doubled; dropped, they stay in a gateway that may be a stranger's."""
    gateway, vpc = await _gateway(account)
    request = account.connection(gateway, vpc)
    made = await account.ready("transit-gateway-connection", request)
    account.cloud.faults.add(_missing("transit.list_transit_gateway_connections"))
    two = [Ref(made.id, made.target), Ref(f"{gateway.id}/another")]
    with pytest.raises(errors.NotReady, match=gateway.id):
        await account.kinds["transit-gateway-connection"].driver.observe(two)
    with pytest.raises(errors.NotReady, match=gateway.id):
        await account.find("transit-gateway-connection", request, NONCE)


async def test_the_connections_of_a_gateway_that_is_gone_are_gone(account: Any) -> None:
    """Asked for by its own id; otherwise a delete that somebody else finished would never end."""
    gateway, vpc = await _gateway(account)
    request = account.connection(gateway, vpc)
    made = await account.ready("transit-gateway-connection", request)
    account.cloud.strangers.delete(gateway.id)
    two = [Ref(made.id, made.target), Ref(f"{gateway.id}/another")]
    assert await account.kinds["transit-gateway-connection"].driver.observe(two) == {}
    assert await account.find("transit-gateway-connection", request, NONCE) == []


async def test_who_may_not_list_connections_is_told_of_which_gateway(account: Any) -> None:
    gateway, vpc = await _gateway(account)
    account.cloud.faults.add(Fault(Effect.DENIED, "transit.list_transit_gateway_connections", count=None))
    with pytest.raises(errors.Denied, match="list transit gateway connections") as caught:
        await account.find("transit-gateway-connection", account.connection(gateway, vpc), NONCE)
    assert gateway.id in caught.value.message


@pytest.mark.parametrize("with_crn", [True, False])
async def test_a_dhcp_server_is_not_gone_where_powervs_does_not_know_its_workspace(
    account: Any, with_crn: bool
) -> None:
    """Then 404 is said of everything inside, by whatever id it is asked for."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    Forgetful(account.cloud)
    with pytest.raises(errors.NotReady, match=f"PowerVS does not know workspace {workspace.id}"):
        await account.kinds["dhcp-server"].driver.observe([Ref(server.id, server.target if with_crn else "")])
    with pytest.raises(errors.NotReady, match="PowerVS does not know"):
        await account.find("dhcp-server", account.dhcp(workspace), NONCE)


async def test_what_was_in_a_workspace_that_is_gone_is_gone(account: Any) -> None:
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    account.cloud.strangers.delete(workspace.id)
    assert await account.look("dhcp-server", server) is None
    assert await account.find("dhcp-server", account.dhcp(workspace), NONCE) == []
    assert list(await account.kinds["workspace"].container.children(Ref(workspace.id, workspace.target))) == []


async def test_a_workspace_that_never_came_up_is_empty_whatever_powervs_answers(account: Any) -> None:
    """400 or 404: its delete, and that of the object beside it, must not hang on that."""
    account.cloud.faults.add(Fault(Effect.FAILED, "rc.create_resource_instance"))
    workspace = await account.create("workspace", account.workspace())
    account.clock.advance(150)
    request = {**account.dhcp(workspace), "zone": "dal10"}
    for spoil in (lambda: None, lambda: Forgetful(account.cloud)):
        spoil()
        assert await account.find("dhcp-server", request, NONCE) == []
        assert list(await account.kinds["workspace"].container.children(Ref(workspace.id, workspace.target))) == []


async def test_a_refused_delete_is_not_done_because_the_machines_are_not_found(account: Any) -> None:
    """The machines are asked for only to be named; their 404 must not become the delete's."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    account.machine(server)
    account.cloud.faults.add(_missing("power.list_pvm_instances"))
    with pytest.raises(errors.CloudError) as caught:
        await account.kinds["dhcp-server"].driver.delete(Ref(server.id, server.target))
    assert not isinstance(caught.value, errors.NotFound)


@pytest.mark.parametrize("kind", ["vpc", "security-group", "load-balancer"])
async def test_parts_whose_list_is_not_found_are_not_gone(account: Any, kind: str) -> None:
    """Taken for gone, the resource would be created again. It is asked for by its id before that."""
    vpc = await account.ready("vpc", account.vpc())
    subnet = await account.ready("vpc-subnet", account.subnet(vpc))
    requests = {"security-group": account.group(vpc), "load-balancer": account.balancer(subnet)}
    seen = vpc if kind == "vpc" else await account.ready(kind, requests[kind])
    account.cloud.faults.add(_missing("vpc.list_*"))
    account.cloud.faults.add(_missing("vpc.get_vpc_default_security_group"))
    with pytest.raises(errors.Unavailable):
        await account.kinds[kind].parts.parts(Ref(seen.id, seen.target))


@pytest.mark.parametrize("length", [3, 46, 47, 63])
async def test_a_bucket_that_its_mark_names_is_there_however_long_its_name_is(account: Any, length: int) -> None:
    """A mark has no room for a long name. Taken for gone, the mark would come off, and the bucket be forgotten."""
    storage = await account.ready("cos-instance", account.cos())
    name = "b" * length
    made = await account.create("cos-bucket", account.bucket(storage, name))
    other = await account.create("cos-bucket", account.bucket(storage, "b" * (length - 1) + "c"))
    owner = Owner("0a1b2c3d-1111-4222-8333-444455556666", "IBMPowerVSCluster", "default", "demo")
    [mark] = IbmCodec().read({IbmCodec().carried(owner, "cos-bucket", made.id, "abcd2345")}).carried
    driver = account.kinds["cos-bucket"].driver
    ref = Ref(driver.identify(storage.target, mark.id), storage.target)
    assert [one.id for one in (await driver.observe([ref])).values()] == [made.id]
    await driver.delete(Ref(made.id, made.target))
    assert await driver.observe([ref]) == {}
    assert set(await driver.observe([Ref(other.id, other.target)])) == {other.id}
