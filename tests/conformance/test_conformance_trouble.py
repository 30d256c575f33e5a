"""Errors of every sort, for every kind of every cloud: what the engine may conclude from them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from conformance.bench import CloudUnderTest, has_birth_mark
from conformance.clouds import EVERY_KIND, each
from freehold.engine import errors
from freehold.engine.kinds import Dedupe
from freehold.engine.port import Call
from freehold.engine.port import Effect as CallEffect
from freehold.engine.resources import Ref
from freehold_sim.faults import Effect, Fault

NONCE = "fabcdefg"

CREATES, ALL_BUT_TOKENS = "<creates>", "<all but tokens>"
"""Operations for which each cloud has its own pattern."""


def _at(bench: Any, kind: str, fault: Fault) -> Fault:
    patterns = {CREATES: bench.creates(kind), ALL_BUT_TOKENS: bench.all_but_tokens}
    return replace(fault, operation=patterns.get(fault.operation, fault.operation))


UNKNOWN: dict[str, Fault] = {
    "the reply is lost": Fault(Effect.REPLY_LOST, CREATES),
    "a 500 after the effect": Fault(Effect.ERROR_AFTER, CREATES, status=500),
    "a 504 before it": Fault(Effect.ERROR_BEFORE, CREATES, status=504),
    "the connection breaks": Fault(Effect.RESET, CREATES),
    "it happens later": Fault(Effect.LATE, CREATES, delay=20.0),
}


@pytest.mark.parametrize("fault", UNKNOWN.values(), ids=list(UNKNOWN))
@EVERY_KIND
async def test_a_create_without_an_answer_is_sent_once_and_found_if_it_took_effect(
    bench: Any, kind: str, fault: Fault
) -> None:
    """The outcome is unknown; no SDK sends it again; and the nonce shows whether it took effect."""
    request = await bench.request(kind)
    before = len(bench.writes())
    bench.cloud.faults.add(_at(bench, kind, fault))
    with pytest.raises(errors.Unknown):
        await bench.create(kind, request, NONCE)
    assert len(bench.writes()) == before + 1
    bench.clock.advance(30)
    found = await bench.find(kind, request, NONCE)
    assert len(found) == (fault.effect in (Effect.REPLY_LOST, Effect.ERROR_AFTER, Effect.LATE))
    if bench.kinds[kind].dedupe is Dedupe.NONCE:
        assert all(has_birth_mark(one, NONCE) for one in found)


REFUSALS: dict[Effect, type[errors.CloudError]] = {
    Effect.THROTTLE: errors.Throttled,
    Effect.DENIED: errors.Denied,
    Effect.QUOTA: errors.Quota,
}


@EVERY_KIND
async def test_a_refused_create_made_nothing(bench: Any, kind: str) -> None:
    request = await bench.request(kind)
    for effect, expected in REFUSALS.items():
        bench.cloud.faults.add(Fault(effect, bench.creates(kind), retry_after=7 if effect is Effect.THROTTLE else None))
        with pytest.raises(expected):
            await bench.create(kind, request, NONCE)
        assert await bench.find(kind, request, NONCE) == [], effect


FAILING_READS: tuple[tuple[Fault, type[errors.CloudError]], ...] = (
    (Fault(Effect.DENIED, "*", count=None), errors.Denied),
    (Fault(Effect.THROTTLE, "*", count=None), errors.Throttled),
    (Fault(Effect.ERROR_BEFORE, "*", count=None, status=503), errors.Unavailable),
    (Fault(Effect.REPLY_LOST, "*", count=None), errors.Unavailable),
    (Fault(Effect.EXPIRED, ALL_BUT_TOKENS, count=None), errors.Denied),
)


@EVERY_KIND
async def test_a_read_that_fails_is_never_an_absence(bench: Any, kind: str) -> None:
    """Otherwise an existing resource would be created again, or dropped from the journal."""
    request = await bench.request(kind)
    seen = await bench.create(kind, request, NONCE)
    await bench.ready(kind, seen)
    for fault, expected in FAILING_READS:
        bench.cloud.faults.clear()
        bench.cloud.faults.add(_at(bench, kind, fault))
        with pytest.raises(expected):
            await bench.look(kind, seen)
        with pytest.raises(expected):
            await bench.find(kind, request, NONCE)
        if bench.kinds[kind].deletion.container:
            with pytest.raises(expected):
                await bench.kinds[kind].deletion.container.children(Ref(seen.id, seen.target))
        rules = bench.kinds[kind].parts
        if rules.driver and not rules.finder:  # what is looked for one by one: tests of the kind itself
            with pytest.raises(expected):
                await rules.driver.parts(Ref(seen.id, seen.target))


@EVERY_KIND
async def test_lists_are_read_to_the_last_page(under_test: CloudUnderTest, kind: str) -> None:
    """Pages have one item, and resources of others come first: a client that reads one page finds nothing."""
    bench = under_test.small_pages()
    request = await bench.request(kind)
    for n in range(2):
        await bench.crowd(kind, f"theirs{n}")
    made = await bench.create(kind, request, NONCE)
    assert [one.id for one in await bench.find(kind, request, NONCE)] == [made.id]


@EVERY_KIND
async def test_a_resource_that_lists_do_not_show_yet_is_found_after_the_settle_time(
    under_test: CloudUnderTest, kind: str
) -> None:
    """Only then may an open intent be closed; a recorded resource is read by its id."""
    bench = under_test.lagging(60.0)
    request = await bench.request(kind)
    made = await bench.create(kind, request, NONCE)
    bench.clock.advance(bench.kinds[kind].settle)
    for _ in range(2):
        assert [one.id for one in await bench.find(kind, request, NONCE)] == [made.id]
        assert await bench.look(kind, made) is not None


@each(lambda cloud, kind: bool(kind.attributes.mutable))
async def test_a_change_of_which_a_write_is_refused_is_not_taken_as_made(bench: Any, kind: str) -> None:
    """What ``update`` returns from counts as done: each write of it in turn is refused."""
    entry, request = bench.kinds[kind], await bench.request(kind)
    seen = await bench.ready(kind, await bench.create(kind, request, NONCE))
    ref, changes = Ref(seen.id, seen.target), {attribute: request[attribute] for attribute in entry.attributes.mutable}
    before = len(bench.writes())
    await entry.driver.update(ref, changes)
    for nth in range(len(bench.writes()) - before):
        with _refused_write(bench.port, nth), pytest.raises(errors.CloudError):
            await entry.driver.update(ref, changes)


@contextmanager
def _refused_write(port: Any, nth: int) -> Iterator[None]:
    """One write is refused as a request that the cloud does not take as it is."""
    written, send = count(), port.send

    async def refuse(call: Call) -> Any:
        if call.effect is CallEffect.WRITE and next(written) == nth:
            raise errors.Invalid("it does not fit the state of the resource", code="InvalidParameterValue")
        return await send(call)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(port, "send", refuse)
        yield


@EVERY_KIND
async def test_messages_name_the_resource_and_no_secret(bench: Any, kind: str) -> None:
    """The message tells what failed, for which resource, and what to do: people read it in a condition."""
    request = await bench.request(kind)
    bench.cloud.faults.add(Fault(Effect.DENIED, bench.creates(kind), message=f"no {bench.secret()} for you"))
    with pytest.raises(errors.Denied) as caught:
        await bench.create(kind, request, NONCE)
    assert str(request["name"]) in caught.value.message
    assert bench.credentials in caught.value.message
    assert bench.secret() not in caught.value.message + repr(caught.value)


@EVERY_KIND
async def test_a_404_of_a_list_is_never_an_absence(under_test: CloudUnderTest, kind: str) -> None:
    """Each read in turn answers 404, as an ingress or a replica that does not know the place yet does.

    Only a read by the id of the resource, or of its place, can show that it is gone.
    """
    bench = under_test.small_pages()
    request = await bench.request(kind)
    seen = await bench.ready(kind, await bench.create(kind, request, NONCE))
    ref, entry = Ref(seen.id, seen.target), bench.kinds[kind]

    async def find() -> bool:
        return seen.id in {one.id for one in await bench.find(kind, request, NONCE)}

    async def children() -> bool:
        return bool(await entry.deletion.container.children(ref))

    async def parts() -> bool:
        return bool(await entry.parts.driver.parts(ref))

    looks = [find]
    if entry.deletion.container and await children():
        looks.append(children)
    if entry.parts.driver and await parts():
        looks.append(parts)
    for look in looks:
        before = len(bench.requests())
        assert await look()
        for nth in range(1, len(bench.requests()) - before + 1):
            bench.cloud.faults.clear()
            bench.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "*", nth=nth, status=404, message="not found"))
            try:
                assert await look()
            except errors.CloudError as error:
                assert not isinstance(error, errors.NotFound) or "get " in error.message
        bench.cloud.faults.clear()
