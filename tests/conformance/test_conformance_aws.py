"""AWS: each kind is what the table of its API says (docs/reference/aws.md#kinds)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.clouds import CLOUDS, each
from freehold.engine import errors
from freehold.engine.keyed_codec import BIRTH
from freehold.engine.kinds import Dedupe, Kind, Tagging
from freehold.engine.port import Effect
from freehold.engine.resources import Ref
from freehold.engine.tag_text import text
from freehold.providers.aws.kind_facts import FACTS, operations_of

NONCE = "fabcdefg"
EVERY_KIND = each(lambda cloud, kind: cloud is CLOUDS["aws"])


def _entry(kind: str) -> Kind:
    return CLOUDS["aws"].kinds[kind]


@EVERY_KIND
def test_the_table_says_how_a_kind_is_made(cloud: str, kind: str) -> None:
    """Which comes from the service models: tests/unit/aws/test_aws_kind_facts.py."""
    entry, facts = _entry(kind), FACTS[kind]
    assert (entry.tagging is Tagging.ON_CREATE) is bool(facts.tags_in)
    assert (entry.dedupe is Dedupe.TOKEN) is bool(facts.token_in)
    assert (entry.api, entry.creation.usual_time, entry.deletion.usual_time) == (
        facts.service,
        facts.create_time,
        facts.delete_time,
    )


@EVERY_KIND
def test_the_table_has_the_parts_of_a_kind(cloud: str, kind: str) -> None:
    entry, facts = _entry(kind), FACTS[kind]
    sorts = entry.parts.exclusive | entry.parts.essential | entry.parts.holding
    assert sorts <= {part.name for part in facts.parts}
    assert (entry.parts.driver is not None) is bool(facts.parts)
    assert entry.parts.changer is not None or not any(part.change for part in facts.parts)


@EVERY_KIND
async def test_a_create_is_fenced_and_carries_all_marks(bench: Any, kind: str) -> None:
    """What makes something is not sent by a process that may have lost its object, and is never without marks."""
    request = await bench.request(kind)
    seen = await bench.create(kind, request, NONCE)
    writes = [call for call in bench.port.calls if call.effect is Effect.WRITE and call.subject == request["name"]]
    assert [call.fenced for call in writes] == [True]
    (found,) = await bench.find(kind, request, NONCE)
    assert found.id == seen.id and text(BIRTH, NONCE) in found.tags


@EVERY_KIND
async def test_only_operations_of_the_table_are_used(bench: Any, kind: str) -> None:
    """The policies for IAM are made from the table."""
    entry, request = bench.kinds[kind], await bench.request(kind)
    seen = await bench.ready(kind, await bench.create(kind, request, NONCE))
    ref = Ref(seen.id, seen.target)
    await bench.by_nonce(kind, [*bench.places(), await bench.elsewhere(kind)] if kind in bench.homes else [], NONCE)
    if entry.attributes.mutable:
        await entry.driver.update(ref, {name: request[name] for name in entry.attributes.mutable})
    await entry.driver.delete(ref)
    for call in bench.passed():
        service, _, operation = call.partition(".")
        assert operation in operations_of(service)


@each(lambda cloud, kind: cloud is CLOUDS["aws"] and kind.reads.listing is not None)
async def test_a_row_of_the_shared_list_is_what_its_own_read_shows(bench: Any, kind: str) -> None:
    """Else an object at rest would be looked at twice."""
    entry = bench.kinds[kind]
    seen = await bench.ready(kind, await bench.create(kind, await bench.request(kind), NONCE))
    listing = entry.reads.listing
    rows = await listing.read_rows(listing.list_of(Ref(seen.id, seen.target)))
    (row,) = [row for row in rows if row.observed.id == seen.id]
    assert row.observed == seen
    assert row.parts == seen.parts


@each(lambda cloud, kind: kind.dedupe is Dedupe.TOKEN)
async def test_the_same_request_under_the_same_token_answers_with_the_same_resource(bench: Any, kind: str) -> None:
    """A process that died after the create repeats it; with other tags the cloud refuses, and nothing is made."""
    request = await bench.request(kind)
    made = await bench.create(kind, request, NONCE)
    again = await bench.create(kind, request, NONCE)
    assert again.id == made.id
    if kind in bench.loose_tokens:
        return
    with pytest.raises(errors.TokenReused):
        await bench.create(kind, request, "fother")
    assert [one.id for one in await bench.find(kind, request, NONCE, "fother")] == [made.id]


@each(lambda cloud, kind: kind.dedupe is Dedupe.TOKEN)
async def test_a_token_outlives_what_it_made(bench: Any, kind: str) -> None:
    """The reply then is a resource that has gone: it goes on record, is seen gone, and the next attempt has another."""
    request, entry = await bench.request(kind), bench.kinds[kind]
    if kind in bench.loose_tokens:
        return
    made = await bench.ready(kind, await bench.create(kind, request, NONCE))
    await entry.driver.delete(Ref(made.id, made.target))
    await bench.until(kind, made, None)
    assert (await bench.create(kind, request, NONCE)).id == made.id
    assert await bench.look(kind, made) is None
