"""Gone means that the cloud does not find the resource by its id. A refused list proves nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.ownership import Owner
from freehold.engine.resources import Ref
from freehold.providers.ibm.marks import IbmCodec
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


async def test_connections_are_not_gone_if_an_existing_gateway_answers_404_for_them(account: Any) -> None:
    """If created again, they are duplicates; if dropped, they stay in a gateway that may be a stranger's."""
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
    """The gateway is read by its id; otherwise a delete that somebody else finished would never end."""
    gateway, vpc = await _gateway(account)
    request = account.connection(gateway, vpc)
    made = await account.ready("transit-gateway-connection", request)
    account.cloud.strangers.delete(gateway.id)
    two = [Ref(made.id, made.target), Ref(f"{gateway.id}/another")]
    assert await account.kinds["transit-gateway-connection"].driver.observe(two) == {}
    assert await account.find("transit-gateway-connection", request, NONCE) == []


async def test_a_missing_permission_to_list_connections_names_the_gateway(account: Any) -> None:
    gateway, vpc = await _gateway(account)
    account.cloud.faults.add(Fault(Effect.DENIED, "transit.list_transit_gateway_connections", count=None))
    with pytest.raises(errors.Denied, match="list transit gateway connections") as caught:
        await account.find("transit-gateway-connection", account.connection(gateway, vpc), NONCE)
    assert gateway.id in caught.value.message


@pytest.mark.parametrize("with_crn", [True, False])
async def test_a_dhcp_server_is_not_gone_if_powervs_does_not_know_its_workspace(account: Any, with_crn: bool) -> None:
    """Then every id in the workspace answers 404."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    Forgetful(account.cloud)
    with pytest.raises(errors.NotReady, match=f"PowerVS does not know workspace {workspace.id}"):
        await account.kinds["dhcp-server"].driver.observe([Ref(server.id, server.target if with_crn else "")])
    with pytest.raises(errors.NotReady, match="PowerVS does not know"):
        await account.find("dhcp-server", account.dhcp(workspace), NONCE)


async def test_the_contents_of_a_workspace_that_is_gone_are_gone(account: Any) -> None:
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    account.cloud.strangers.delete(workspace.id)
    assert await account.look("dhcp-server", server) is None
    assert await account.find("dhcp-server", account.dhcp(workspace), NONCE) == []
    assert list(await account.kinds["workspace"].deletion.container.children(Ref(workspace.id, workspace.target))) == []


async def test_a_failed_workspace_is_empty_whatever_powervs_answers(account: Any) -> None:
    """It may answer 400 or 404: the delete of the workspace and of the object must not hang."""
    account.cloud.faults.add(Fault(Effect.FAILED, "rc.create_resource_instance"))
    workspace = await account.create("workspace", account.workspace())
    account.clock.advance(150)
    request = {**account.dhcp(workspace), "zone": "dal10"}
    for spoil in (lambda: None, lambda: Forgetful(account.cloud)):
        spoil()
        assert await account.find("dhcp-server", request, NONCE) == []
        assert (
            list(await account.kinds["workspace"].deletion.container.children(Ref(workspace.id, workspace.target)))
            == []
        )


async def test_a_refused_delete_stays_refused_if_the_machines_are_not_found(account: Any) -> None:
    """The machines are read only to name them; a 404 for them must not become the result of the delete."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    account.machine(server)
    account.cloud.faults.add(_missing("power.list_pvm_instances"))
    with pytest.raises(errors.CloudError) as caught:
        await account.kinds["dhcp-server"].driver.delete(Ref(server.id, server.target))
    assert not isinstance(caught.value, errors.NotFound)


@pytest.mark.parametrize("kind", ["vpc", "security-group", "load-balancer"])
async def test_a_404_for_the_list_of_parts_does_not_mean_gone(account: Any, kind: str) -> None:
    """Otherwise the resource would be created again. It is read by its id before that."""
    vpc = await account.ready("vpc", account.vpc())
    subnet = await account.ready("vpc-subnet", account.subnet(vpc))
    requests = {"security-group": account.group(vpc), "load-balancer": account.balancer(subnet)}
    seen = vpc if kind == "vpc" else await account.ready(kind, requests[kind])
    account.cloud.faults.add(_missing("vpc.list_*"))
    account.cloud.faults.add(_missing("vpc.get_vpc_default_security_group"))
    with pytest.raises(errors.Unavailable):
        await account.kinds[kind].parts.driver.parts(Ref(seen.id, seen.target))


@pytest.mark.parametrize("length", [3, 46, 47, 63])
async def test_a_bucket_with_a_long_name_is_found_by_its_mark(account: Any, length: int) -> None:
    """A mark has no room for a long name. If it counted as gone, its mark would be detached and it be forgotten."""
    storage = await account.ready("cos-instance", account.cos())
    name = "b" * length
    made = await account.create("cos-bucket", account.bucket(storage, name))
    other = await account.create("cos-bucket", account.bucket(storage, "b" * (length - 1) + "c"))
    owner = Owner("0a1b2c3d-1111-4222-8333-444455556666", "IBMPowerVSCluster", "default", "demo")
    [mark] = IbmCodec().read({IbmCodec().spell_carrier_mark(owner, "cos-bucket", made.id, "abcd2345")}).carried
    driver = account.kinds["cos-bucket"].driver
    ref = Ref(driver.identify(storage.target, mark.id), storage.target)
    assert [one.id for one in (await driver.observe([ref])).values()] == [made.id]
    await driver.delete(Ref(made.id, made.target))
    assert await driver.observe([ref]) == {}
    assert set(await driver.observe([Ref(other.id, other.target)])) == {other.id}
