"""IBM Cloud: special cases of searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.bench import CloudUnderTest
from freehold.engine import errors
from freehold.engine.resources import ParentResource, Ref, State

NONCE = "fabcdefghijkl"
OTHER = "fzzzzzzzzzzzz"

STATES = {
    "pre_provisioning": State.PENDING,
    "provisioning": State.PENDING,
    "inactive": State.PENDING,
    "active": State.READY,
    "failed": State.FAILED,
}


@pytest.mark.parametrize(("word", "state"), STATES.items(), ids=list(STATES))
@pytest.mark.parametrize("kind", ["workspace", "cos-instance"])
async def test_an_instance_is_found_in_the_states_that_lists_hide(
    bench: Any, kind: str, word: str, state: State
) -> None:
    made = await bench.create(kind, await bench.request(kind), NONCE)
    bench.cloud.strangers.change(made.id, state=word)
    assert [(one.id, one.state) for one in await bench.by_nonce(kind, [], NONCE)] == [(made.id, state)]


@pytest.mark.parametrize("word", ["removed", "pending_reclamation"])
@pytest.mark.parametrize("kind", ["workspace", "cos-instance"])
async def test_an_instance_that_is_deleted_is_not_found(bench: Any, kind: str, word: str) -> None:
    """It can be read by its id for ever; a delete would be refused."""
    made = await bench.create(kind, await bench.request(kind), NONCE)
    bench.cloud.strangers.change(made.id, state=word)
    assert await bench.by_nonce(kind, [], NONCE) == []


@pytest.mark.parametrize("nth", range(1, 5))
@pytest.mark.parametrize("kind", ["workspace", "cos-instance"])
async def test_an_instance_whose_state_changes_between_two_lists_is_found_once(bench: Any, kind: str, nth: int) -> None:
    """There is a list for each state: one that is read too early and one that is read too late both miss it."""
    made = await bench.create(kind, await bench.request(kind), NONCE)
    for before, after in (("pre_provisioning", "provisioning"), ("provisioning", "active"), ("provisioning", "failed")):
        bench.cloud.strangers.change(made.id, state=before)
        _after_list(bench, nth, lambda word=after: bench.cloud.strangers.change(made.id, state=word))
        assert [one.id for one in await bench.by_nonce(kind, [], NONCE)] == [made.id]


def _after_list(bench: Any, nth: int, change: Callable[[], None]) -> None:
    """Call ``change`` once, after the nth request from now."""
    handle, seen = type(bench.cloud).handle.__get__(bench.cloud), 0

    def counting(request: Any, actor: str = "api") -> Any:
        nonlocal seen
        reply = handle(request, actor)
        seen += actor == "api"
        if actor == "api" and seen == nth:
            change()
        return reply

    bench.cloud.handle = counting


@pytest.mark.parametrize("known", ["place", "want"])
async def test_a_vpc_is_searched_in_its_known_regions(bench: Any, known: str) -> None:
    """A list for each region: ten lists only if neither the journal nor the spec names a region."""
    request = {**await bench.request("vpc"), "region": "eu-de"}
    made = await bench.create("vpc", request, NONCE)
    places = [ParentResource("vpc-subnet", Ref("eu-de/02b7-x"))] if known == "place" else []
    wants = [bench.want("vpc", request)] if known == "want" else []
    before = len(bench.requests())
    assert [one.id for one in await bench.by_nonce("vpc", places, NONCE, *wants)] == [made.id]
    assert bench.requests()[before:] == ["vpc.list_vpcs"]


async def test_the_region_of_a_gateway_does_not_count_as_that_of_its_vpc(bench: Any) -> None:
    """A global gateway joins VPCs of every region."""
    gateway = await bench.create("transit-gateway", {**await bench.request("transit-gateway"), "global": True}, OTHER)
    made = await bench.create("vpc", {**await bench.request("vpc"), "region": "eu-de"}, NONCE)
    place = ParentResource("transit-gateway", Ref(gateway.id, gateway.target))
    assert [one.id for one in await bench.by_nonce("vpc", [place], NONCE)] == [made.id]


async def test_a_dhcp_server_without_a_network_yet_is_waited_for(bench: Any) -> None:
    """Only the name of its network contains the nonce: until that shows, it may be ours."""
    made = await bench.create("dhcp-server", await bench.request("dhcp-server"), NONCE)
    network = made.attributes["network_id"]
    bench.cloud.strangers.change(made.attributes["id"], network="")
    bench.cloud.strangers.delete(network)
    with pytest.raises(errors.NotReady, match=made.attributes["id"]):
        await bench.by_nonce("dhcp-server", bench.places(), NONCE)
    bench.cloud.strangers.change(made.attributes["id"], state="ERROR")
    assert await bench.by_nonce("dhcp-server", bench.places(), NONCE) == []


async def test_a_load_balancer_is_found_in_any_vpc(bench: Any) -> None:
    """Its list is regional and does not show the VPC: a nonce of ours is enough."""
    made = await bench.create("load-balancer", await bench.request("load-balancer"), NONCE)
    there = await bench.create("vpc", {**await bench.request("vpc"), "name": "other"}, OTHER)
    place = ParentResource("vpc", Ref(there.id, there.target))
    assert [one.id for one in await bench.by_nonce("load-balancer", [place], NONCE)] == [made.id]


@pytest.mark.parametrize("kind", ["vpc-subnet", "security-group", "transit-gateway-connection"])
async def test_a_resource_missing_in_a_list_is_read_by_id(under_test: CloudUnderTest, kind: str) -> None:
    """Two reads may come from two replicas: the second may not know yet what the first showed."""
    bench = under_test.lagging(20.0)
    request = await bench.request(kind)
    made = [await bench.create(kind, request, NONCE)]
    other = Ref(f"{made[0].id[:-1]}{'0' if made[0].id[-1] != '0' else '1'}")
    if kind != "transit-gateway-connection":  # two of them have one container, whether they exist or not
        made.append(await bench.create(kind, {**request, "name": "second"}, "fzzzzzzz"))
        other = Ref(made[1].id, made[1].target)
    for _ in range(30):
        seen = await bench.kinds[kind].driver.observe([Ref(made[0].id, made[0].target), other])
        assert set(seen) == {one.id for one in made}
        bench.clock.advance(2.0)
