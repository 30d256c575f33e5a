"""The checks of the act about tags: pure, on what the simulated cloud and the audit log say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from freehold.cli.commands.tags_audit import Change
from freehold.demo.checks import NotSo
from freehold.demo.world import CloudResource, SentCall


@dataclass(frozen=True)
class Spoiled:
    """A tag that somebody changed or stripped. ``found`` is None where it was gone."""

    resource: str
    key: str
    found: str | None
    wanted: str


def differing(
    resources: Iterable[CloudResource], foreign: Mapping[str, frozenset[str]], wanted: Mapping[str, str]
) -> list[CloudResource]:
    """Of the fleet, what has not exactly the tags of others and ours."""
    ours = frozenset(map("=".join, wanted.items()))
    return [each for each in resources if each.address in foreign and each.tags != foreign[each.address] | ours]


def as_asked(
    resources: Sequence[CloudResource], foreign: Mapping[str, frozenset[str]], wanted: Mapping[str, str]
) -> str:
    """Each resource of the fleet has what is asked for, and all that others put on it, byte for byte."""
    there = {each.address for each in resources}
    if missing := sorted(set(foreign) - there):
        raise NotSo(f"{missing[0]} is gone")
    if wrong := differing(resources, foreign, wanted):
        raise NotSo(f"{len(wrong)} resources have other tags, {wrong[0].address} has {sorted(wrong[0].tags)}")
    shown = ", ".join(f"{key}={value}" for key, value in sorted(wanted.items()))
    others = sum(map(len, foreign.values()))
    return f"{len(foreign)} resources have {shown}; their {others} tags of others are as they were, byte for byte"


def check_writes(calls: Sequence[SentCall]) -> str:
    """How many calls it took; raises NotSo where anything but tags was written."""
    writes = Counter(call.operation.partition(".")[2] for call in calls if call.effective)
    if others := [name for name in writes if name not in ("CreateTags", "TagResources")]:
        raise NotSo(f"more than tags was written: {', '.join(sorted(others))}")
    told = ", ".join(f"{number} {name}" for name, number in sorted(writes.items()))
    return f"calls that write: {told or 'none'}"


def check_repair_audit(changes: Sequence[Change], expected: Sequence[Spoiled]) -> str:
    """Each repair is in the audit log once, from what to what."""
    told = Counter((each.resource, each.key, each.before, each.after) for each in changes if each.outcome == "done")
    for each in expected:
        times = told[each.resource, each.key, each.found, each.wanted]
        if times != 1:
            raise NotSo(f"the audit log tells the repair of {each.key} on {each.resource} {times} times")
    return f"{len(expected)} repairs are in the audit log, each once, from which value to which"
