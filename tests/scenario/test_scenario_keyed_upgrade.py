"""Objects of the first version with a key ring are served: nothing is made twice, and in the end all is
deleted (tests/fixtures/keyed_objects)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.engine import journal as journals
from freehold.engine.port import Call, Effect, InlinePort
from harness.earlier_versions import KEYED, load, moments
from harness.powervs import Harness
from harness.resources import MARK, made_by_others, made_by_us, snapshot
from harness.traits import Trait, traits

LONG = 3 * 3600.0
PRESUMED = "all/after 9"
"""A create of the bucket was interrupted: only its name shows whose it is, so a person must decide."""


class Writes(InlinePort):
    """Lists the calls that change the cloud."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send(self, call: Call) -> Any:
        if call.effect is not Effect.READ:
            self.sent.append(call.operation)
        return await super().send(call)


def others(harness: Harness) -> dict[str, bytes]:
    """Resources that are not ours, without the marks that we attach to and detach from a given gateway."""
    given = {row["id"] for row in made_by_others(harness) if row["kind"] == "gateway"}
    return snapshot(harness, {row["id"] for row in made_by_others(harness)} - given)


def ours(harness: Harness) -> Counter[Trait]:
    """Our resources, without a tag of others that the fixture attached."""
    return Counter({trait: count for trait, count in traits(harness).items() if trait.value != "cost:4711"})


@pytest.mark.parametrize("world", ["plain", "all"])
def test_a_ready_object_gets_no_write_at_all(world: str) -> None:
    """An upgrade of the operator writes nothing to a Ready object, in deep passes neither.

    But the user's tags on what is given, once, and their record: earlier versions did not put them there.
    """
    port = Writes()
    harness = load(KEYED, f"{world}/ready", port=lambda: port)
    before = journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    harness.for_a_while(LONG)
    assert harness.ready()
    assert port.sent == ([] if world == "plain" else ["save_journal", "attach_tag"])
    after = journals.loads(harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    assert replace(after, attached={}) == replace(before, attached={})


@pytest.mark.parametrize("fixture", [name for name in moments(KEYED, deleting=False) if name != PRESUMED])
def test_an_object_that_is_being_created_becomes_ready_and_can_be_deleted(fixture: str) -> None:
    harness = load(KEYED, fixture)
    before, theirs = {row["id"] for row in made_by_us(harness)}, others(harness)
    harness.run(harness.ready, LONG)
    harness.for_a_while(900.0)
    assert before <= {row["id"] for row in made_by_us(harness)}
    assert ours(harness) == ours(load(KEYED, fixture.partition("/")[0] + "/ready"))
    assert others(harness) == theirs
    harness.down()
    assert made_by_us(harness) == []
    assert others(harness) == theirs


@pytest.mark.parametrize("fixture", moments(KEYED, deleting=True))
def test_an_object_that_is_being_deleted_is_released_and_nothing_is_created(fixture: str) -> None:
    port = Writes()
    harness = load(KEYED, fixture, port=lambda: port)
    theirs = others(harness)
    harness.run(lambda: harness.object.gone, LONG)
    assert made_by_us(harness) == []
    assert others(harness) == theirs
    assert [operation for operation in port.sent if "create" in operation or "attach" in operation] == []
    assert [tag for row in made_by_others(harness) for tag in row["tags"] if tag.startswith(MARK)] == []
