"""Every registered kind keeps the promises that the engine builds on. A new kind is tested by being registered."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.clouds.ibm.registry import ibm_kinds
from freehold.clouds.ibm.session import Credentials, IbmSession
from freehold.lifecycle.errors import NotFound
from freehold.lifecycle.kinds import Dedupe, Ref, State
from freehold.lifecycle.port import InlinePort

KINDS = tuple(ibm_kinds(IbmSession(Credentials("")), InlinePort()))
NONCE = "fabcdefg"
REGISTERED_TIMES = {
    "workspace": ("create_workspace", "delete_workspace"),
    "dhcp-server": ("create_dhcp", "delete_dhcp"),
    "vpc": ("create_vpc", "delete_vpc"),
    "vpc-subnet": ("create_subnet", "delete_subnet"),
    "load-balancer": ("create_load_balancer", "delete_load_balancer"),
    "transit-gateway": ("create_gateway", "delete_gateway"),
    "transit-gateway-connection": ("create_connection", "delete_connection"),
    "cos-instance": ("create_cos", ""),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_life(bench: Any, kind: str) -> None:
    """Born under a nonce, found by it alone, ready in its time, renamed, found by name, deleted, gone."""
    entry, request = bench.kinds[kind], await bench.request(kind)
    made = await bench.create(kind, request, NONCE)
    assert made.id and made.state in (State.PENDING, State.READY)
    if entry.dedupe is Dedupe.NONCE:
        assert [one.id for one in await bench.find(kind, _elsewhere(request), NONCE)] == [made.id]
    seen, took = await bench.until(kind, made, State.READY)
    assert took <= entry.create_time + 1
    assert seen.target and (entry.carrier is not None or not seen.carried)
    if not seen.carried:
        assert entry.driver.identify(seen.target).partition("/")[0] == seen.id.partition("/")[0]

    ref = Ref(seen.id, seen.target)
    changes = {attribute: request[attribute] for attribute in entry.mutable}
    if changes:
        await entry.driver.update(ref, changes)
    now = await bench.look(kind, seen)
    assert now is not None
    assert {attribute: now.attributes[attribute] for attribute in entry.mutable} == changes
    assert [one.id for one in await bench.find(kind, request, NONCE)] == [made.id]

    await entry.driver.delete(ref)
    going = await bench.find(kind, request, NONCE)
    assert {one.state for one in going} <= {State.DELETING, State.READY}
    _, took = await bench.until(kind, seen, None)
    assert took <= entry.delete_time + 1
    assert await bench.find(kind, request, NONCE) == []
    with pytest.raises(NotFound):
        await entry.driver.delete(ref)


def _elsewhere(request: dict[str, Any]) -> dict[str, Any]:
    """The same scope without the names: only the nonce can tell. A connection is also told by its network."""
    changed = {**request, "name": "nobody"}
    for name, value in (("network", "nothing"), ("search", ["nothing"]), ("network_id", "crn:none")):
        if name in request:
            changed[name] = value
    return changed


@pytest.mark.parametrize("kind", KINDS)
async def test_every_request_passes_the_port(bench: Any, kind: str) -> None:
    """Limits, audit, plans and the crash harness rest on it; none is hidden and none is counted twice."""
    request = await bench.request(kind)
    seen = await bench.create(kind, request, NONCE)
    await bench.ready(kind, seen)
    await bench.find(kind, _elsewhere(request), NONCE)
    entry = bench.kinds[kind]
    if entry.container:
        await entry.container.children(Ref(seen.id, seen.target))
    if entry.parts:
        await entry.parts.parts(Ref(seen.id, seen.target))
    await entry.driver.delete(Ref(seen.id, seen.target))
    assert bench.passed() == bench.requests()


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_not_there_is_absent_and_not_an_error(bench: Any, kind: str) -> None:
    """A missing one is missing from the reply, also beside one that is there."""
    request = await bench.request(kind)
    seen = await bench.create(kind, request, NONCE)
    missing = f"{seen.id[:-1]}{'0' if seen.id[-1] != '0' else '1'}"
    driver = bench.kinds[kind].driver
    found = await driver.observe([Ref(missing), Ref(seen.id, seen.target)])
    assert set(found) == {seen.id}


@pytest.mark.parametrize("kind", REGISTERED_TIMES)
def test_declared_times_are_the_published_profile_s(bench: Any, kind: str) -> None:
    """Polls start near the expected end; a wrong time costs calls or minutes."""
    entry, delays = bench.kinds[kind], bench.settings.delays
    create, delete = REGISTERED_TIMES[kind]
    assert entry.create_time == getattr(delays, create)
    if delete:
        network = delays.delete_dhcp_network if kind == "dhcp-server" else 0.0
        assert entry.delete_time == getattr(delays, delete) + network


def test_settle_outlasts_what_may_still_come(bench: Any) -> None:
    """Every guarantee rests on it: lost creates, list lag and tag lag are shorter."""
    lags = bench.settings.lags
    worst = 2 * (lags.new + lags.tags + lags.lists) + 30.0
    assert all(entry.settle >= worst for entry in bench.kinds.values())
