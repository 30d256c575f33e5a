"""Repairs of a pass are counted, and told to who watches, with what they were from and to."""

from __future__ import annotations

from freehold.controllers.observers import NoProcessObserver, Observers
from freehold.controllers.repairs import Repaired
from freehold.engine.outcomes import LONGEST_VALUE, Repair, describe_repair
from freehold.kube.resources import Key


class Counting(NoProcessObserver):
    def __init__(self) -> None:
        self.counted: list[tuple[str, int]] = []

    def count_repairs(self, kind: str, number: int) -> None:
        self.counted.append((kind, number))


def test_repairs_are_counted_by_resource_and_told_whole() -> None:
    process, told = Counting(), list[tuple[str, Key, Repaired]]()
    observers = Observers(process=process, note_repairs=lambda kind, key, repaired: told.append((kind, key, repaired)))
    repaired = {("vpc", "a"): [Repair("name", "x", "y"), Repair("dns", "false", "true")], ("subnet", "b"): []}
    observers.report_repairs("AWSCluster", Key("team", "demo"), repaired)
    assert process.counted == [("AWSCluster", 2)]
    assert told == [("AWSCluster", Key("team", "demo"), repaired)]


def test_values_of_a_repair_are_texts_of_bounded_length() -> None:
    assert describe_repair("f", None, {"b": 1, "a": [True]}) == Repair("f", "null", '{"a": [true], "b": 1}')
    assert describe_repair("f", "as it is", object).before == "as it is"
    assert len(describe_repair("f", "x" * 10_000, "").before) == LONGEST_VALUE
