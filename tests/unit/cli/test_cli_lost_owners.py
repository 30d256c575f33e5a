"""Of several findings of one lost object that which shows most, and whose kind its marks prove, is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from freehold.cli.commands.lost_owners import LostOwner, _keep_fullest, keep_one_each, keep_proven
from freehold.cli.commands.search_scope import Searched
from freehold.controllers.recovery.orphans import MarkedOwner, MarkedResource
from freehold.engine.resources import NodeKey

UUID = "0a1b2c3d-1111-4222-8333-444455556666"


@dataclass(frozen=True)
class Found(LostOwner):
    """A finding of which is said what its marks would tell."""

    possible: bool = True
    proven: bool = True

    @property
    def is_possible(self) -> bool:
        return self.possible

    @property
    def is_proven(self) -> bool:
        return self.proven


def found(at: str, *targets: str, uuid: str = UUID, **said: bool) -> Found:
    rows = tuple(MarkedResource(NodeKey("vpc", target), target, target, frozenset()) for target in targets)
    return Found(cast(Searched, at), MarkedOwner(uuid, ("default/demo",), rows), **said)


def places(lost: Any) -> list[str]:
    return [cast(str, each.at) for each in lost]


@pytest.mark.parametrize(
    ("same", "kept"),
    [
        ([found("a", "vpc"), found("b", "vpc", "role")], ["b"]),
        ([found("a", "vpc"), found("b", "role")], ["a", "b"]),
        ([found("a", "vpc"), found("b", "vpc")], ["a", "b"]),
        ([found("a", "vpc", "role", possible=False), found("b", "vpc")], ["b"]),
        ([found("a", "vpc", possible=False)], ["a"]),
    ],
    ids=["one shows more", "each shows something", "both show the same", "of no such kind", "of no kind"],
)
def test_what_shows_less_is_left_out(same: list[LostOwner], kept: list[str]) -> None:
    """A role is in every region, and an account is looked through for each kind of object."""
    assert places(_keep_fullest(same)) == kept


def test_the_kind_is_that_whose_marks_are_proven() -> None:
    guess, sure = found("a", "vpc", proven=False), found("b", "vpc")
    assert places(keep_proven([guess, sure])) == ["b"]
    assert places(keep_proven([guess, guess])) == ["a", "a"], "with another key ring nothing is proven: a person says"
    assert places(keep_proven([guess, found("c", "x", uuid="another")])) == ["a", "c"]


def test_a_list_names_each_once() -> None:
    assert places(keep_one_each([found("a", "vpc"), found("b", "vpc"), found("c", "other")])) == ["a", "c"]
