"""The final check of a delete searches every kind for our nonces: nothing may be missed, or seem absent."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.bench import CloudUnderTest
from conformance.clouds import EVERY_KIND, IN_NOTHING, INSIDE, WITH_NONCE
from freehold.engine import errors
from freehold.engine.resources import ParentResource, Ref
from freehold_sim.faults import Effect, Fault

NONCE = "fabcdefghijkl"
OTHER = "fzzzzzzzzzzzz"


@WITH_NONCE
async def test_a_resource_is_found_by_its_nonce_in_every_state(bench: Any, kind: str) -> None:
    """An orphan may be in any state when its owner is deleted."""
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


@EVERY_KIND
async def test_namesakes_are_in_the_same_reply(bench: Any, kind: str) -> None:
    """A namesake is named at the end of a delete; another list for it would cost a call."""
    request = await bench.request(kind)
    made = await bench.create(kind, request, OTHER)
    seen = await bench.ready(kind, made)
    if changes := {attribute: request[attribute] for attribute in bench.kinds[kind].attributes.mutable}:
        await bench.kinds[kind].driver.update(Ref(seen.id, seen.target), changes)
    want = bench.want(kind, request, NONCE)
    expected = [one.id for one in await bench.find(kind, request, NONCE)]
    before = len(bench.requests())
    without = await bench.by_nonce(kind, bench.places(), NONCE)
    cost = len(bench.requests()) - before
    found = await bench.by_nonce(kind, bench.places(), NONCE, want)
    assert without == []
    named = [] if bench.kinds[kind].naming.has_no_name else [made.id]
    assert [one.id for one in found] == expected == named
    if (
        kind not in bench.other_lists
    ):  # without names, the nonce reads nothing of the one, and every region of the other
        assert len(bench.requests()) - before == 2 * cost


@INSIDE
async def test_only_the_given_places_are_searched(bench: Any, kind: str) -> None:
    """A place may be a stranger's: each is read by its id, none by a guess."""
    made = await bench.create(kind, await bench.request(kind), NONCE)
    there = await bench.elsewhere(kind)
    assert await bench.by_nonce(kind, [there], NONCE) == []
    assert [one.id for one in await bench.by_nonce(kind, [*bench.places(), there], NONCE)] == [made.id]
    before = len(bench.requests())
    assert await bench.by_nonce(kind, [], NONCE) == []
    assert len(bench.requests()) == before


@IN_NOTHING
async def test_a_kind_without_a_container_is_searched_in_the_whole_account(bench: Any, kind: str) -> None:
    """All resource groups and regions are searched: the spec that named them may be gone."""
    made = await bench.create(kind, bench.elsewhere_in_account(await bench.request(kind)), NONCE)
    assert [one.id for one in await bench.by_nonce(kind, [], NONCE)] == [made.id]


@INSIDE
async def test_a_missing_place_does_not_count_as_empty(bench: Any, kind: str) -> None:
    """The engine passes places that exist: if one is not found, something is wrong, and nothing is released."""
    await bench.request(kind)
    there = await bench.elsewhere(kind)
    last = there.ref.id[-1]
    missing = ParentResource(there.kind, Ref(there.ref.id[:-1] + ("0" if last != "0" else "1")))
    with pytest.raises(errors.NotFound) as caught:
        await bench.by_nonce(kind, [there, missing], NONCE)
    assert missing.ref.id.rpartition("/")[2] in caught.value.message

    await bench.kinds[there.kind].driver.delete(there.ref)
    bench.clock.advance(bench.kinds[there.kind].deletion.usual_time)
    with pytest.raises(errors.NotFound):
        await bench.by_nonce(kind, [there], NONCE)


@WITH_NONCE
async def test_a_resource_is_found_on_the_last_page(under_test: CloudUnderTest, kind: str) -> None:
    bench = under_test.small_pages()
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
@WITH_NONCE
async def test_no_single_failed_read_makes_a_resource_seem_absent(
    under_test: CloudUnderTest, kind: str, fault: Fault, expected: type[errors.CloudError]
) -> None:
    """Each read fails in turn, on each page: if a failed list counted as empty, the finalizer would be removed."""
    bench = under_test.small_pages()
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
        if isinstance(caught.value, errors.NotFound):  # only for the place itself, read by its id
            assert "refused to get vpc" in caught.value.message


def _nth(fault: Fault, nth: int) -> Fault:
    return Fault(
        fault.effect, fault.operation, nth=nth, status=fault.status, message=fault.message,
        retry_after=fault.retry_after,
    )  # fmt: skip


@WITH_NONCE
async def test_a_missing_permission_is_reported_with_action_and_place(bench: Any, kind: str) -> None:
    """A person must grant it before the object can be deleted."""
    await bench.create(kind, await bench.request(kind), NONCE)
    bench.cloud.faults.add(Fault(Effect.DENIED, bench.all_but_tokens, count=None))
    with pytest.raises(errors.Denied) as caught:
        await bench.by_nonce(kind, bench.places(), NONCE)
    said = caught.value.message
    assert any(f"refused to {verb}" in said for verb in ("list", "get", "describe"))
    places = [seen.id.rpartition("/")[2] for name, seen in bench.stands.items() if name == bench.homes.get(kind)]
    assert all(place in said for place in places) or bench.region in said


@WITH_NONCE
async def test_the_kinds_that_keep_their_nonce(bench: Any, kind: str) -> None:
    """Only for these can the name of the carried resource prove a carrier's mark."""
    request = await bench.request(kind)
    seen = await bench.ready(kind, await bench.create(kind, request, NONCE))
    if changes := {attribute: request[attribute] for attribute in bench.kinds[kind].attributes.mutable}:
        await bench.kinds[kind].driver.update(Ref(seen.id, seen.target), changes)
    now = await bench.look(kind, seen)
    assert any(NONCE in text for text in now.nonce_fields) is (kind in bench.keeps_nonce)
