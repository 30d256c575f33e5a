"""Each kind in the simulated account: created with a nonce, found by it, renamed, deleted, gone."""

from __future__ import annotations

from typing import Any

from freehold.engine.resources import Observed, Ref, State

NONCE = "fabcdefg"


async def _life(account: Any, kind: str, request: dict[str, Any], *, renames: dict[str, str] | None) -> None:
    """Create, find, wait, rename, delete, observe until gone."""
    entry = account.kinds[kind]
    made: Observed = await account.create(kind, request)
    assert made.state in (State.PENDING, State.READY)
    assert any(NONCE in text for text in made.nonce_fields)
    assert [one.id for one in await account.find(kind, {**request, "name": "other"}, NONCE)] == [made.id]
    account.clock.advance(entry.create_time)
    seen = await account.look(kind, made)
    assert seen is not None and seen.state is State.READY
    ref = Ref(seen.id, seen.target)
    if renames:
        await entry.driver.update(ref, renames)
        renamed = await account.look(kind, seen)
        assert renamed is not None
        assert {name: renamed.attributes[name] for name in renames} == renames
        assert [one.id for one in await account.find(kind, request)] == [made.id]
    await entry.driver.delete(ref)
    account.clock.advance(entry.delete_time + 60)
    assert await account.look(kind, seen) is None
    assert await account.find(kind, request, NONCE) == []


async def test_a_workspace_lives(account: Any) -> None:
    await _life(account, "workspace", account.workspace(), renames={"name": "ws"})


async def test_a_dhcp_server_lives(account: Any) -> None:
    workspace = await account.ready("workspace", account.workspace())
    await _life(account, "dhcp-server", account.dhcp(workspace), renames={"network": "DHCPSERVERnet_Private"})


async def test_a_vpc_lives(account: Any) -> None:
    await _life(account, "vpc", account.vpc(), renames={"name": "net"})


async def test_a_subnet_lives(account: Any) -> None:
    vpc = await account.ready("vpc", account.vpc())
    await _life(account, "vpc-subnet", account.subnet(vpc), renames={"name": "sub"})


async def test_a_security_group_lives(account: Any) -> None:
    vpc = await account.ready("vpc", account.vpc())
    await _life(account, "security-group", account.group(vpc), renames={"name": "sg"})


async def test_a_load_balancer_lives(account: Any) -> None:
    vpc = await account.ready("vpc", account.vpc())
    subnet = await account.ready("vpc-subnet", account.subnet(vpc))
    await _life(account, "load-balancer", account.balancer(subnet), renames=None)


async def test_a_transit_gateway_lives(account: Any) -> None:
    await _life(account, "transit-gateway", account.gateway(), renames={"name": "gw"})


async def test_a_connection_lives(account: Any) -> None:
    vpc = await account.ready("vpc", account.vpc())
    gateway = await account.ready("transit-gateway", account.gateway())
    await _life(account, "transit-gateway-connection", account.connection(gateway, vpc), renames=None)


async def test_a_storage_instance_lives(account: Any) -> None:
    await _life(account, "cos-instance", account.cos(), renames={"name": "cos"})


async def test_a_bucket_lives(account: Any) -> None:
    """Its name has no room for a nonce: it is found by its name in our instance."""
    instance = await account.ready("cos-instance", account.cos())
    request = account.bucket(instance)
    made = await account.create("cos-bucket", request)
    assert (made.carried, made.target) == (True, instance.attributes["crn"])
    assert [one.id for one in await account.find("cos-bucket", request)] == [made.id]
    driver = account.kinds["cos-bucket"].driver
    assert driver.identify(made.target, made.id.rpartition("/")[2]) == made.id
    await driver.delete(Ref(made.id, made.target))
    assert await account.look("cos-bucket", made) is None
