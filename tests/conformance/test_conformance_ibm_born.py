"""The last look of a delete asks every kind for what has a nonce of ours: nothing may be missed, or seem absent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.conftest import HOMES
from freehold.clouds.ibm.names import has_nonce
from freehold.clouds.ibm.registry import ibm_kinds
from freehold.clouds.ibm.session import Credentials, IbmSession
from freehold.lifecycle import errors
from freehold.lifecycle.kinds import Dedupe, Place, Ref, State
from freehold.lifecycle.port import InlinePort
from freehold_sim.faults import Effect, Fault
from harness.account import Recognised

REGISTRY = ibm_kinds(IbmSession(Credentials("")), InlinePort())
KINDS = tuple(REGISTRY)
WITH_NONCE = tuple(kind for kind, entry in REGISTRY.items() if entry.dedupe is Dedupe.NONCE)
NONCE = "fabcdefghijkl"
OTHER = "fzzzzzzzzzzzz"

FOR_LIFE = {"load-balancer", "transit-gateway-connection"}
"""The kinds that keep their nonce; the others lose it when they get their own name."""


@pytest.mark.parametrize("kind", WITH_NONCE)
async def test_it_is_found_by_its_nonce_in_every_state(bench: Any, kind: str) -> None:
    """An orphan may be in any of them when its owner is deleted."""
    entry = bench.kinds[kind]
    made = await bench.create(kind, await bench.request(kind), NONCE)
    assert await _ids(bench, kind) == [made.id]
    seen = await bench.ready(kind, made)
    assert await _ids(bench, kind) == [made.id]
    assert await bench.by_nonce(kind, bench.places(), OTHER) == []

    await entry.driver.delete(Ref(seen.id, seen.target))
    while (now := await bench.look(kind, seen)) is not None:
        found = await bench.by_nonce(kind, bench.places(), NONCE)
        assert [one.state for one in found] == [now.state]
        bench.clock.advance(5.0)
    assert await bench.by_nonce(kind, bench.places(), NONCE) == []


async def _ids(bench: Any, kind: str) -> list[str]:
    return [one.id for one in await bench.by_nonce(kind, bench.places(), NONCE)]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_spec_wants_is_in_the_same_reply(bench: Any, kind: str) -> None:
    """A namesake is named at the end of a delete; another list for it would cost a call."""
    request = await bench.request(kind)
    made = await bench.create(kind, request, OTHER)
    seen = await bench.ready(kind, made)
    if changes := {attribute: request[attribute] for attribute in bench.kinds[kind].mutable}:
        await bench.kinds[kind].driver.update(Ref(seen.id, seen.target), changes)
    want = bench.want(kind, request, NONCE)
    expected = [one.id for one in await bench.find(kind, request, NONCE)]
    before = len(bench.requests())
    without = await bench.by_nonce(kind, bench.places(), NONCE)
    cost = len(bench.requests()) - before
    found = await bench.by_nonce(kind, bench.places(), NONCE, want)
    assert without == []
    assert [one.id for one in found] == expected == [made.id]
    if kind not in ("cos-bucket", "vpc"):  # alone, the nonce asks nothing of the one, and every region of the other
        assert len(bench.requests()) - before == 2 * cost


@pytest.mark.parametrize("kind", HOMES)
async def test_it_is_looked_for_in_the_places_and_nowhere_else(bench: Any, kind: str) -> None:
    """A place may be a stranger's: each is asked for by its own id, none by a guess."""
    made = await bench.create(kind, await bench.request(kind), NONCE)
    there = await bench.elsewhere(kind)
    assert await bench.by_nonce(kind, [there], NONCE) == []
    assert [one.id for one in await bench.by_nonce(kind, [*bench.places(), there], NONCE)] == [made.id]
    before = len(bench.requests())
    assert await bench.by_nonce(kind, [], NONCE) == []
    assert len(bench.requests()) == before


@pytest.mark.parametrize("kind", sorted(set(WITH_NONCE) - set(HOMES)))
async def test_a_kind_that_is_in_nothing_is_looked_for_in_the_whole_account(bench: Any, kind: str) -> None:
    """In every resource group and region: the spec that named them may be gone."""
    group = bench.settings.resource_groups["ibm-hypershift-dev"]
    request = {**await bench.request(kind), "resource_group": group}
    if "region" in request:
        request["region"] = "eu-es"
    made = await bench.create(kind, request, NONCE)
    assert [one.id for one in await bench.by_nonce(kind, [], NONCE)] == [made.id]


@pytest.mark.parametrize("kind", HOMES)
async def test_a_place_that_is_not_there_is_not_an_empty_one(bench: Any, kind: str) -> None:
    """The engine passes places that exist: where one is not found, something is wrong, and nothing is released."""
    await bench.request(kind)
    there = await bench.elsewhere(kind)
    last = there.ref.id[-1]
    missing = Place(there.kind, Ref(there.ref.id[:-1] + ("0" if last != "0" else "1")))
    with pytest.raises(errors.NotFound) as caught:
        await bench.by_nonce(kind, [there, missing], NONCE)
    assert missing.ref.id.rpartition("/")[2] in caught.value.message

    await bench.kinds[there.kind].driver.delete(there.ref)
    bench.clock.advance(bench.kinds[there.kind].delete_time)
    with pytest.raises(errors.NotFound):
        await bench.by_nonce(kind, [there], NONCE)


@pytest.mark.parametrize("kind", WITH_NONCE)
async def test_it_is_found_on_the_last_page(make_bench: Callable[..., Any], kind: str) -> None:
    bench = make_bench(page_size=1)
    request = await bench.request(kind)
    for n in range(2):
        await bench.crowd(kind, f"theirs{n}")
    made = await bench.create(kind, request, NONCE)
    assert [one.id for one in await bench.by_nonce(kind, bench.places(), NONCE)] == [made.id]


BROKEN: dict[str, tuple[Fault, type[errors.CloudError]]] = {
    "403": (Fault(Effect.DENIED, "*"), errors.Denied),
    "404": (Fault(Effect.ERROR_BEFORE, "*", status=404, message="not found"), errors.CloudError),
    "429": (Fault(Effect.THROTTLE, "*"), errors.Throttled),
    "503": (Fault(Effect.ERROR_BEFORE, "*", status=503), errors.Unavailable),
    "lost": (Fault(Effect.REPLY_LOST, "*"), errors.Unavailable),
}


@pytest.mark.parametrize(("fault", "expected"), BROKEN.values(), ids=list(BROKEN))
@pytest.mark.parametrize("kind", WITH_NONCE)
async def test_no_single_failed_read_makes_it_seem_absent(
    make_bench: Callable[..., Any], kind: str, fault: Fault, expected: type[errors.CloudError]
) -> None:
    """Each read in turn, on each page: a list that failed is not an empty one, and the finalizer would go."""
    bench = make_bench(page_size=1)
    made = await bench.create(kind, await bench.request(kind), NONCE)
    await bench.ready(kind, made)
    before = len(bench.requests())
    await bench.by_nonce(kind, bench.places(), NONCE)
    for nth in range(1, len(bench.requests()) - before + 1):
        bench.cloud.faults.clear()
        bench.cloud.faults.add(_nth(fault, nth))
        with pytest.raises(expected) as caught:
            await bench.by_nonce(kind, bench.places(), NONCE)
        assert bench.cloud.faults.rules()[0]["hits"] == 1
        if isinstance(caught.value, errors.NotFound):  # only of the place itself, asked for by its id
            assert "refused to get vpc" in caught.value.message


def _nth(fault: Fault, nth: int) -> Fault:
    return Fault(
        fault.effect, fault.operation, nth=nth, status=fault.status, message=fault.message,
        retry_after=fault.retry_after,
    )  # fmt: skip


@pytest.mark.parametrize("kind", WITH_NONCE)
async def test_who_may_not_read_is_told_what_and_where(bench: Any, kind: str) -> None:
    """A person must grant it before the object can go: the message names the action and the place."""
    await bench.create(kind, await bench.request(kind), NONCE)
    bench.cloud.faults.add(Fault(Effect.DENIED, "[!i]*", count=None))
    with pytest.raises(errors.Denied) as caught:
        await bench.by_nonce(kind, bench.places(), NONCE)
    said = caught.value.message
    assert "refused to list" in said or "refused to get" in said
    places = [seen.id.rpartition("/")[2] for name, seen in bench.stands.items() if name == HOMES.get(kind)]
    assert all(place in said for place in places) or "us-south" in said


@pytest.mark.parametrize("kind", WITH_NONCE)
async def test_which_kinds_keep_their_nonce_for_life(bench: Any, kind: str) -> None:
    """Only where they do can a carrier's mark be proved by the name of what it carries."""
    request = await bench.request(kind)
    seen = await bench.ready(kind, await bench.create(kind, request, NONCE))
    if changes := {attribute: request[attribute] for attribute in bench.kinds[kind].mutable}:
        await bench.kinds[kind].driver.update(Ref(seen.id, seen.target), changes)
    now = await bench.look(kind, seen)
    assert any(has_nonce(text, Recognised(NONCE)) for text in now.nonce_fields) is (kind in FOR_LIFE)


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
    """It is still there by its id, for ever; a delete would be refused."""
    made = await bench.create(kind, await bench.request(kind), NONCE)
    bench.cloud.strangers.change(made.id, state=word)
    assert await bench.by_nonce(kind, [], NONCE) == []


@pytest.mark.parametrize("nth", range(1, 5))
@pytest.mark.parametrize("kind", ["workspace", "cos-instance"])
async def test_an_instance_that_moves_on_between_two_lists_is_found_once(bench: Any, kind: str, nth: int) -> None:
    """There is a list for each state: one that is asked too early and one that is asked too late both miss it."""
    made = await bench.create(kind, await bench.request(kind), NONCE)
    for before, after in (("pre_provisioning", "provisioning"), ("provisioning", "active"), ("provisioning", "failed")):
        bench.cloud.strangers.change(made.id, state=before)
        _after_list(bench, nth, lambda word=after: bench.cloud.strangers.change(made.id, state=word))
        assert [one.id for one in await bench.by_nonce(kind, [], NONCE)] == [made.id]


def _after_list(bench: Any, nth: int, change: Callable[[], None]) -> None:
    """Let ``change`` happen once, after the nth request from now."""
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
async def test_a_vpc_is_looked_for_in_the_regions_that_are_known_of_it(bench: Any, known: str) -> None:
    """A list a region: ten of them only where neither the journal nor the spec names one."""
    request = {**await bench.request("vpc"), "region": "eu-de"}
    made = await bench.create("vpc", request, NONCE)
    places = [Place("vpc-subnet", Ref("eu-de/02b7-x"))] if known == "place" else []
    wants = [bench.want("vpc", request)] if known == "want" else []
    before = len(bench.requests())
    assert [one.id for one in await bench.by_nonce("vpc", places, NONCE, *wants)] == [made.id]
    assert bench.requests()[before:] == ["vpc.list_vpcs"]


async def test_a_gateway_s_region_is_not_taken_for_its_vpc_s(bench: Any) -> None:
    """A global gateway joins VPCs of every region."""
    gateway = await bench.create("transit-gateway", {**await bench.request("transit-gateway"), "global": True}, OTHER)
    made = await bench.create("vpc", {**await bench.request("vpc"), "region": "eu-de"}, NONCE)
    place = Place("transit-gateway", Ref(gateway.id, gateway.target))
    assert [one.id for one in await bench.by_nonce("vpc", [place], NONCE)] == [made.id]


async def test_a_dhcp_server_that_shows_no_network_yet_is_waited_for(bench: Any) -> None:
    """Nothing but the name of its network has the nonce: until that shows, it may be ours."""
    made = await bench.create("dhcp-server", await bench.request("dhcp-server"), NONCE)
    network = made.attributes["network_id"]
    bench.cloud.strangers.change(made.attributes["id"], network="")
    bench.cloud.strangers.delete(network)
    with pytest.raises(errors.NotReady, match=made.attributes["id"]):
        await bench.by_nonce("dhcp-server", bench.places(), NONCE)
    bench.cloud.strangers.change(made.attributes["id"], state="ERROR")
    assert await bench.by_nonce("dhcp-server", bench.places(), NONCE) == []


async def test_a_load_balancer_is_found_in_whatever_vpc_it_is(bench: Any) -> None:
    """Its list is the region's and does not show a VPC: what a nonce of ours is in is ours anyhow."""
    made = await bench.create("load-balancer", await bench.request("load-balancer"), NONCE)
    there = await bench.create("vpc", {**await bench.request("vpc"), "name": "other"}, OTHER)
    place = Place("vpc", Ref(there.id, there.target))
    assert [one.id for one in await bench.by_nonce("load-balancer", [place], NONCE)] == [made.id]
