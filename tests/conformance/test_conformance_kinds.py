"""Every registered kind of every cloud behaves as the engine expects."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.clouds import EVERY_KIND
from freehold.engine.errors import NotFound
from freehold.engine.kinds import Dedupe, Tagging
from freehold.engine.resources import Observed, Ref, State

NONCE = "fabcdefg"


@EVERY_KIND
async def test_create_rename_delete(bench: Any, kind: str) -> None:
    """Created with a nonce, found by it alone, ready in time, renamed, found by name, deleted, gone."""
    entry, request = bench.kinds[kind], await bench.request(kind)
    made = await bench.create(kind, request, NONCE)
    assert made.id and made.state in (State.PENDING, State.READY)
    if entry.dedupe is Dedupe.NONCE:
        assert [one.id for one in await bench.find(kind, _elsewhere(request), NONCE)] == [made.id]
    seen, late = await bench.until(kind, made, State.READY)
    assert late <= 1
    assert seen.target and (entry.carrier is not None or not seen.carried)
    if entry.dedupe is Dedupe.NONCE and entry.tagging is not Tagging.ON_CREATE:  # the birth mark is in a name
        assert _names_it(entry.naming.rename_command.format_map(seen.attributes), seen), (
            "nobody could take a copied one off"
        )
    if not seen.carried:
        assert entry.driver.identify(seen.target).partition("/")[0] == seen.id.partition("/")[0]

    ref = Ref(seen.id, seen.target)
    changes = {attribute: request[attribute] for attribute in entry.attributes.mutable}
    if changes:
        await entry.driver.update(ref, changes)
    now = await bench.look(kind, seen)
    assert now is not None
    assert {attribute: now.attributes[attribute] for attribute in entry.attributes.mutable} == changes
    assert [one.id for one in await bench.find(kind, request, NONCE)] == [made.id]

    await entry.driver.delete(ref)
    going = await bench.find(kind, request, NONCE)
    assert {one.state for one in going} <= {State.DELETING, State.READY}
    _, late = await bench.until(kind, seen, None)
    assert late <= 1
    assert await bench.find(kind, request, NONCE) == []
    if kind in bench.goes_twice:
        await entry.driver.delete(ref)
        return
    with pytest.raises(NotFound):
        await entry.driver.delete(ref)


def _names_it(command: str, seen: Observed) -> bool:
    """Whether it is for this resource: with its own id, or that of its network."""
    ids = {seen.attributes["id"], seen.attributes.get("network_id")} - {None, ""}
    return command.startswith("ibmcloud ") and not ids.isdisjoint(command.split())


def _elsewhere(request: dict[str, Any]) -> dict[str, Any]:
    """The same scope without the names: only the nonce identifies it; a connection is also known by its network."""
    changed = {**request, "name": "nobody"}
    for name, value in (("network", "nothing"), ("search", ["nothing"]), ("network_id", "crn:none")):
        if name in request:
            changed[name] = value
    return changed


@EVERY_KIND
async def test_every_request_goes_through_the_port(bench: Any, kind: str) -> None:
    """Limits, audit, plans and the crash harness depend on it; no request is hidden or counted twice."""
    request = await bench.request(kind)
    seen = await bench.create(kind, request, NONCE)
    await bench.ready(kind, seen)
    await bench.find(kind, _elsewhere(request), NONCE)
    entry = bench.kinds[kind]
    if entry.deletion.container:
        await entry.deletion.container.children(Ref(seen.id, seen.target))
    if entry.parts.driver:
        await entry.parts.driver.parts(Ref(seen.id, seen.target))
    await entry.driver.delete(Ref(seen.id, seen.target))
    assert bench.passed() == bench.requests()


@EVERY_KIND
async def test_a_missing_resource_is_absent_and_not_an_error(bench: Any, kind: str) -> None:
    """It is missing in the reply, also beside one that exists."""
    request = await bench.request(kind)
    seen = await bench.create(kind, request, NONCE)
    missing = f"{seen.id[:-1]}{'0' if seen.id[-1] != '0' else '1'}"
    driver = bench.kinds[kind].driver
    found = await driver.observe([Ref(missing), Ref(seen.id, seen.target)])
    assert set(found) == {seen.id}


@EVERY_KIND
def test_declared_times_are_those_of_the_published_profile(bench: Any, kind: str) -> None:
    """Polling starts near the expected end; a wrong time costs calls or minutes."""
    entry, declared = bench.kinds[kind], bench.declared_times(kind)
    assert declared in (None, (entry.creation.usual_time, entry.deletion.usual_time))


@EVERY_KIND
def test_the_settle_time_is_longer_than_every_lag(bench: Any, kind: str) -> None:
    """Every guarantee depends on it: late creates, list lag and tag lag are shorter."""
    assert bench.kinds[kind].settle >= bench.longest_doubt()
