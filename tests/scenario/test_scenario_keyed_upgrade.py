"""Objects of the first version with a key ring go on: nothing is made twice, nothing is deleted, everything goes in
the end (tests/fixtures/keyed_objects)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from freehold.lifecycle.port import Call, Effect, InlinePort
from stage.earlier_versions import KEYED, load, moments
from stage.likeness import Trait, traits
from stage.powervs import Stage
from stage.scenery import MARK, made_by_others, made_by_us, photograph

LONG = 3 * 3600.0
PRESUMED = "all/after 9"
"""A create of the bucket was cut off: nothing but its name tells whose it is, so a person must say."""


class Writes(InlinePort):
    """Lists what changes the cloud."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send(self, call: Call) -> Any:
        if call.effect is not Effect.READ:
            self.sent.append(call.operation)
        return await super().send(call)


def others(stage: Stage) -> dict[str, bytes]:
    """What is not ours, without the marks of ours that come and go on a given gateway."""
    given = {row["id"] for row in made_by_others(stage) if row["kind"] == "gateway"}
    return photograph(stage, {row["id"] for row in made_by_others(stage)} - given)


def ours(stage: Stage) -> Counter[Trait]:
    """All that is so of what we made, but for a tag of others, which the fixture put on what was there."""
    return Counter({trait: count for trait, count in traits(stage).items() if trait.value != "cost:4711"})


@pytest.mark.parametrize("world", ["plain", "all"])
def test_a_ready_object_gets_no_write_at_all(world: str) -> None:
    """An upgrade of the operator is no event for what is Ready, deep passes included."""
    port = Writes()
    stage = load(KEYED, f"{world}/ready", port=lambda: port)
    before = stage.object.raw
    stage.for_a_while(LONG)
    assert stage.ready()
    assert port.sent == []
    assert stage.object.raw["metadata"]["annotations"] == before["metadata"]["annotations"]


@pytest.mark.parametrize("fixture", [name for name in moments(KEYED, deleting=False) if name != PRESUMED])
def test_an_object_in_mid_creation_comes_up_and_goes(fixture: str) -> None:
    stage = load(KEYED, fixture)
    before, theirs = {row["id"] for row in made_by_us(stage)}, others(stage)
    stage.run(stage.ready, LONG)
    stage.for_a_while(900.0)
    assert before <= {row["id"] for row in made_by_us(stage)}
    assert ours(stage) == ours(load(KEYED, fixture.partition("/")[0] + "/ready"))
    assert others(stage) == theirs
    stage.down()
    assert made_by_us(stage) == []
    assert others(stage) == theirs


@pytest.mark.parametrize("fixture", moments(KEYED, deleting=True))
def test_an_object_in_mid_delete_goes_and_nothing_is_made(fixture: str) -> None:
    port = Writes()
    stage = load(KEYED, fixture, port=lambda: port)
    theirs = others(stage)
    stage.run(lambda: stage.object.gone, LONG)
    assert made_by_us(stage) == []
    assert others(stage) == theirs
    assert [operation for operation in port.sent if "create" in operation or "attach" in operation] == []
    assert [tag for row in made_by_others(stage) for tag in row["tags"] if tag.startswith(MARK)] == []
