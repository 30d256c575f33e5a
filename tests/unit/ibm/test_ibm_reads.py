"""Reads: few, complete, and not taken as proof of absence too early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from freehold.engine.errors import InUse, NotReady
from freehold.engine.port import Effect
from freehold.engine.resources import Part, Ref, State
from freehold.providers.ibm.facts import IbmFacts, NoSuchValue
from freehold.providers.ibm.rules import natural_key
from freehold_sim.faults import Effect as Spoil
from freehold_sim.faults import Fault
from freehold_sim.ibm.settings import Assumptions

NONCE = "fabcdefg"


async def test_subnets_of_one_vpc_are_observed_by_one_list(account: Any) -> None:
    vpc = await account.ready("vpc", account.vpc())
    made = [await account.create("vpc-subnet", account.subnet(vpc, f"s{n}", f"us-south-{n}")) for n in (1, 2, 3)]
    account.clock.advance(10)
    before = len(account.requests())
    seen = await account.kinds["vpc-subnet"].driver.observe([Ref(one.id, one.target) for one in made])
    assert account.requests()[before:] == ["vpc.list_subnets"]
    assert {one.state for one in seen.values()} == {State.READY}


async def test_buckets_are_read_to_the_last_page(make_account: Callable[..., Any]) -> None:
    account = make_account(page_size=1)
    storage = await account.ready("cos-instance", account.cos())
    for name in ("aaa", "bbb", "ccc"):
        await account.create("cos-bucket", account.bucket(storage, name))
    children = await account.kinds["cos-instance"].deletion.container.children(Ref(storage.id, storage.target))
    assert sorted(child.name for child in children) == ["aaa", "bbb", "ccc"]


async def test_every_request_goes_through_the_port_once(account: Any) -> None:
    """Limits, audit and the crash harness see only the calls of the port."""
    workspace = await account.ready("workspace", account.workspace())
    await account.ready("dhcp-server", account.dhcp(workspace))
    await account.find("workspace", account.workspace(), NONCE)
    assert account.passed() == account.requests()
    writes = [call.operation for call in account.cloud.calls if call.mutating]
    marked = [f"{call.api}.{call.operation}" for call in account.port.calls if call.effect is Effect.WRITE]
    assert marked == writes


async def test_a_dhcp_server_is_deleting_while_its_network_is_left(account: Any) -> None:
    """openshift/installer#9458: the next DHCP server's network would clash."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    await account.kinds["dhcp-server"].driver.delete(Ref(server.id, server.target))
    account.clock.advance(181)
    seen = await account.look("dhcp-server", server)
    assert seen is not None and seen.state is State.DELETING
    assert [one.state for one in await account.find("dhcp-server", account.dhcp(workspace), NONCE)] == [State.DELETING]
    account.clock.advance(30)
    assert await account.look("dhcp-server", server) is None


async def test_a_network_without_a_crn_is_carried_by_its_workspace(make_account: Callable[..., Any]) -> None:
    hidden = Assumptions(dhcp_network_has_crn=False, dhcp_post_shows_network=False)
    account = make_account(assumptions=hidden)
    workspace = await account.ready("workspace", account.workspace())
    made = await account.create("dhcp-server", account.dhcp(workspace))
    assert (made.target, made.carried) == ("", False)
    seen = await account.look("dhcp-server", made)
    assert seen is not None and (seen.target, seen.carried) == (workspace.target, True)
    driver = account.kinds["dhcp-server"].driver
    assert driver.identify(workspace.target, seen.id.rpartition("/")[2]) == seen.id
    await driver.delete(Ref(seen.id, seen.target))
    account.clock.advance(181)
    left = await account.look("dhcp-server", seen)
    assert left is not None and left.state is State.DELETING
    account.clock.advance(30)
    assert await account.look("dhcp-server", seen) is None


async def test_names_are_searched_in_order(account: Any) -> None:
    """Upstream #2159: a plain network with the name comes before the one that a DHCP server would create."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    await account.kinds["dhcp-server"].driver.update(
        Ref(server.id, server.target), {"network": "DHCPSERVERnet_Private"}
    )
    assert [one.id for one in await account.find("dhcp-server", account.dhcp(workspace))] == [server.id]
    account.cloud.strangers.make("network", region="dal", workspace=workspace.id, name="net")
    found = await account.find("dhcp-server", account.dhcp(workspace))
    assert [one.name for one in found] == ["net"]
    assert found[0].attributes["id"] == ""


async def test_a_resource_given_by_id_needs_no_zone(account: Any) -> None:
    """A spec may give only the id of a network or a DHCP server: the zone is that of the workspace."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    driver = account.kinds["dhcp-server"].driver
    network = f"{workspace.id}/network/{server.attributes['network_id']}"
    seen = await driver.observe([Ref(network), Ref(server.id), Ref(f"{workspace.id}/dhcp/nowhere")])
    assert set(seen) == {network, server.id}


async def test_children_are_named_as_their_own_drivers_name_them(account: Any) -> None:
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    vpc = await account.ready("vpc", account.vpc())
    subnet = await account.ready("vpc-subnet", account.subnet(vpc))
    group = await account.ready("security-group", account.group(vpc))
    account.machine(server)
    inside = await account.kinds["workspace"].deletion.container.children(Ref(workspace.id, workspace.target))
    assert [child.name for child in inside] == [server.name, "theirs"]
    assert inside[0].id == server.id
    inside = await account.kinds["vpc"].deletion.container.children(Ref(vpc.id, vpc.target))
    assert {child.id for child in inside} == {subnet.id, group.id}


async def test_a_failed_workspace_has_nothing_in_it(account: Any) -> None:
    """PowerVS does not answer for it, and its delete must not hang because of that."""
    account.cloud.faults.add(Fault(Spoil.FAILED, "rc.create_resource_instance"))
    made = await account.create("workspace", account.workspace())
    account.clock.advance(150)
    assert list(await account.kinds["workspace"].deletion.container.children(Ref(made.id, made.target))) == []


async def test_rules_are_parts_that_compare_by_what_they_do(account: Any) -> None:
    request = {
        "direction": "inbound", "protocol": "tcp", "port_min": 6443, "port_max": 6443,
        "remote": {"cidr_block": "0.0.0.0/0"},
    }  # fmt: skip
    wanted = Part("rule", natural_key(request), request)
    vpc = await account.ready("vpc", account.vpc())
    group = await account.ready("security-group", account.group(vpc))
    for kind, owner in (("vpc", vpc), ("security-group", group)):
        parts, ref = account.kinds[kind].parts.driver, Ref(owner.id, owner.target)
        before = await parts.parts(ref)
        await parts.add_part(ref, wanted)
        after = await parts.parts(ref)
        assert after - before == {wanted}
        await parts.remove_part(ref, next(iter(after - before)))
        assert await parts.parts(ref) == before


def test_all_ports_are_the_same_as_no_ports() -> None:
    """IBM Cloud shows 1-65535 if a rule names no ports."""
    plain = {"direction": "inbound", "protocol": "tcp", "remote": {"cidr_block": "0.0.0.0/0"}}
    assert natural_key({**plain, "port_min": 1, "port_max": 65535}) == natural_key(plain)
    assert natural_key({**plain, "local": {"cidr_block": "10.0.0.0/8"}}) != natural_key(plain)


async def test_a_listener_comes_with_its_pool_in_two_passes(account: Any) -> None:
    """The new pool puts the load balancer into update_pending; the listener follows, without a second pool."""

    vpc = await account.ready("vpc", account.vpc())
    subnet = await account.ready("vpc-subnet", account.subnet(vpc))
    balancer = await account.ready("load-balancer", account.balancer(subnet))
    parts, ref = account.kinds["load-balancer"].parts.driver, Ref(balancer.id, balancer.target)
    pool = {**account.balancer(subnet)["pools"][0], "name": "extra"}
    part = Part("listener", "443", {"port": 443, "protocol": "tcp", "pool": pool})
    with pytest.raises(NotReady):
        await parts.add_part(ref, part)
    account.clock.advance(10)
    await parts.add_part(ref, part)
    account.clock.advance(10)
    assert {one.natural_key for one in await parts.parts(ref)} == {"6443", "443"}
    seen = await account.look("load-balancer", balancer)
    assert seen is not None and seen.nonce_fields == {"lb", f"lb-pool-{NONCE}-6443", "extra"}


async def test_a_namesake_in_another_vpc_is_not_used(account: Any) -> None:
    """Load balancer names are unique in a VPC, the list is regional (docs/reference/ibm-cloud.md#vpc)."""
    here, there = [await account.ready("vpc", account.vpc(name), f"faaaaa{name}") for name in ("aa", "bb")]
    near = await account.ready("vpc-subnet", account.subnet(here))
    far = await account.ready("vpc-subnet", account.subnet(there))
    sibling = await account.ready("vpc-subnet", account.subnet(here, "sibling"), "fzzzzzzz")
    await account.ready("load-balancer", account.balancer(far))
    assert await account.find("load-balancer", account.balancer(near)) == []
    mine = await account.ready("load-balancer", account.balancer(sibling))
    assert [one.id for one in await account.find("load-balancer", account.balancer(near))] == [mine.id]


async def test_a_network_is_connected_to_a_gateway_once_whatever_the_name(account: Any) -> None:
    """So a stranger's connection of the same VPC is found, and no second one is created."""
    vpc = await account.ready("vpc", account.vpc())
    gateway = await account.ready("transit-gateway", account.gateway())
    theirs = {**account.connection(gateway, vpc), "name": "theirs"}
    made = await account.ready("transit-gateway-connection", theirs, "fzzzzzzz")
    found = await account.find("transit-gateway-connection", account.connection(gateway, vpc))
    assert [one.id for one in found] == [made.id]


async def test_ids_are_read_from_tag_targets(account: Any) -> None:
    """When the journal is lost, only the marks on CRNs are left."""
    vpc = await account.ready("vpc", account.vpc())
    subnet = await account.ready("vpc-subnet", account.subnet(vpc))
    gateway = await account.ready("transit-gateway", account.gateway())
    workspace = await account.ready("workspace", account.workspace())
    storage = await account.ready("cos-instance", account.cos())
    for kind, seen in (
        ("vpc", vpc), ("vpc-subnet", subnet), ("transit-gateway", gateway), ("workspace", workspace),
        ("cos-instance", storage),
    ):  # fmt: skip
        assert account.kinds[kind].driver.identify(seen.target) == seen.id
        assert account.kinds[kind].driver.identify("crn:v1:bluemix:public:x:y:a/z:::") == ""
        assert account.kinds[kind].driver.identify("nonsense") == ""
    connection = account.kinds["transit-gateway-connection"].driver
    assert connection.identify(gateway.target, "c1") == f"{gateway.id}/c1"


async def test_facts_are_read_once_and_errors_list_the_right_values(account: Any) -> None:
    facts = IbmFacts(account.client, account.clock)
    assert await facts.resource_group_id("ibm-hypershift-dev") == "2" * 32
    assert (await facts.power_zone("dal10")).edge_router
    assert (await facts.power_zone("eu-de-1")).region == "eu-de"
    assert await facts.vpc_zones("us-south") == ("us-south-1", "us-south-2", "us-south-3")
    before = len(account.requests())
    await facts.power_zone("dal12")
    await facts.vpc_zones("us-south")
    assert len(account.requests()) == before
    with pytest.raises(NoSuchValue, match="ibm-hypershift-dev"):
        await facts.resource_group_id("missing")
    with pytest.raises(NoSuchValue, match="dal10, dal12"):
        await facts.power_zone("mars10")
    with pytest.raises(NoSuchValue, match="us-east, us-south"):
        await facts.vpc_zones("mars")
    assert not (await facts.power_zone("wdc04")).edge_router


async def test_a_connection_of_ours_is_found_by_its_nonce_and_no_other_by_its_name(account: Any) -> None:
    """On a gateway that many share, another cluster has connections of the same names, to its own networks."""
    gateway = await account.ready("transit-gateway", account.gateway())
    one, other, third = [await account.ready("vpc", account.vpc(name)) for name in ("one", "other", "third")]
    ours = await account.ready("transit-gateway-connection", account.connection(gateway, one))
    theirs = account.connection(gateway, other)
    account.cloud.strangers.make(
        "connection", gateway=theirs["gateway"], network=theirs["network_id"], name=theirs["name"]
    )
    wanted = account.connection(gateway, third)
    assert await account.find("transit-gateway-connection", wanted) == []
    assert [one.id for one in await account.find("transit-gateway-connection", wanted, NONCE)] == [ours.id]


async def test_a_network_is_deleted_with_its_dhcp_server(account: Any) -> None:
    """IBM Cloud refuses to delete it alone."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    network = f"{workspace.id}/network/{server.attributes['network_id']}"
    await account.kinds["dhcp-server"].driver.delete(Ref(network, workspace.target))
    account.clock.advance(account.kinds["dhcp-server"].deletion.usual_time + 60.0)
    assert await account.look("dhcp-server", server) is None


async def test_a_gateway_of_the_name_in_another_region_is_not_the_wanted_one(account: Any) -> None:
    account.cloud.strangers.make("gateway", location="eu-de", name="gw")
    assert await account.find("transit-gateway", account.gateway()) == []


async def test_a_bucket_with_the_name_in_another_region_is_another_bucket(account: Any) -> None:
    """Names are global: ours was deleted, and somebody created one with its name."""
    storage = await account.ready("cos-instance", account.cos())
    made = await account.create("cos-bucket", account.bucket(storage))
    elsewhere = made.id.replace("us-south.", "eu-de.")
    seen = await account.kinds["cos-bucket"].driver.observe([Ref(made.id, made.target), Ref(elsewhere, made.target)])
    assert list(seen) == [made.id]


async def test_two_groups_that_name_each_other_can_be_deleted_and_keep_their_other_rules_until_then(
    account: Any,
) -> None:
    """Neither can be deleted first; and a refused delete must not remove the rule that clients need."""
    driver = account.kinds["security-group"].driver
    vpc = await account.ready("vpc", account.vpc())
    groups = [await account.create("security-group", account.group(vpc, name), f"f{name * 7}") for name in ("a", "b")]
    refs = [Ref(group.id, group.target) for group in groups]
    anybody = {"direction": "inbound", "protocol": "tcp", "port_min": 6443, "port_max": 6443}
    await driver.add_part(refs[0], Part("rule", "anybody", {**anybody, "remote": {"cidr_block": "0.0.0.0/0"}}))
    for ref, other in zip(refs, reversed(groups), strict=True):
        remote = {"id": other.attributes["id"]}
        rule = {"direction": "inbound", "protocol": "tcp", "remote": remote}
        await driver.add_part(ref, Part("rule", "other", rule))
    with pytest.raises(InUse):
        await driver.delete(refs[0])
    assert [part.natural_key for part in await driver.parts(refs[0])] == ["inbound tcp 6443-6443 0.0.0.0/0"]
    with pytest.raises(InUse):
        await driver.delete(refs[0])  # the other one still names it
    await driver.delete(refs[1])
    await driver.delete(refs[0])
    assert await driver.observe(refs) == {}


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
