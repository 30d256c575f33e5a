"""Lists that show tags stand in for the tag index, of kinds whose tags they show: a page for many clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.drivers import Listed
from freehold.engine.kinds import Registry
from freehold.engine.ownership import Owner
from freehold.engine.port import InlinePort
from freehold.engine.resources import Observed, Ref, State
from freehold.engine.shared_lists import SharedLists
from harness.stepping import run_blocking
from lab.cloud import Cloud, ReadLags
from lab.spelling import PlainCodec
from lab.world import TRAITS, kinds

AGE = 60.0
CODEC = PlainCodec()
OURS = Owner("0f1e2d3c-aaaa-4bbb-8ccc-1234567890ab", "TestCluster", "prod", "c1")
THEIRS = replace(OURS, uuid="99999999-aaaa-4bbb-8ccc-1234567890ab", name="c2")


class Rows:
    """One list."""

    page = 100

    def __init__(self, *rows: Observed) -> None:
        self.rows = rows

    def list_of(self, ref: Ref) -> str:
        return ""

    async def read_rows(self, name: str) -> Sequence[Listed]:
        return [Listed(row) for row in self.rows]


def _row(ident: str, tags: frozenset[str] | None) -> Observed:
    return Observed(ident, ident, State.READY, target=f"crn:net:{ident}", tags=tags)


def _read(clock: ManualClock, *rows: Observed) -> SharedLists:
    net = kinds(Cloud(TRAITS, ReadLags(), clock), InlinePort())[0]
    lists = SharedLists(Registry([replace(net, reads=replace(net.reads, listing=Rows(*rows)))]), clock)
    for asker in ("one", "two"):
        run_blocking(lists.show("net", [Ref("net-1")], asker, AGE))
    return lists


def test_what_has_our_marks_is_told_with_the_kind_that_it_covers() -> None:
    """Also what no object has asked for: it may be ours and on no record."""
    lists = _read(ManualClock(), _row("net-1", CODEC.owner(OURS)), _row("net-2", CODEC.owner(THEIRS)))
    shown = lists.recall_marked(OURS.uuid, CODEC, AGE)
    assert shown.tags == {"crn:net:net-1": CODEC.owner(OURS)}
    assert shown.kinds == {"net"}


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([_row("net-1", CODEC.owner(OURS)), _row("net-2", None)], id="of one row the tags are not shown"),
        pytest.param([], id="it has no row"),
    ],
)
def test_a_list_that_may_lack_marks_covers_nothing(rows: list[Observed]) -> None:
    shown = _read(ManualClock(), *rows).recall_marked(OURS.uuid, CODEC, AGE)
    assert (shown.tags, shown.kinds) == ({}, frozenset())


def test_an_old_reading_covers_nothing() -> None:
    clock = ManualClock()
    lists = _read(clock, _row("net-1", CODEC.owner(OURS)))
    clock.advance(AGE + 1)
    assert lists.recall_marked(OURS.uuid, CODEC, AGE).kinds == frozenset()
