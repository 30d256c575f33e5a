"""Families about what the controllers of a cluster left behind (:mod:`lab.leftovers`): all at the calls of its delete.

The end of each run: nothing is left of what the tasks name, nothing of others was touched, and the object has gone, if
need be after a person has removed what a message names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

from freehold.engine.outcomes import Reason
from freehold.engine.port import Call
from freehold_sim.aws.settings import Lags, Settings
from lab import faults
from lab.catalogue import Families, Fresh
from lab.families import Case, at_each_call, calls_of
from lab.faults import Fault, Script, Spell
from lab.leftovers import LitteredWorld
from lab.oracles import Excuse
from lab.seam import World

LITTERED = LitteredWorld
TEMPTED = partial(LitteredWorld, others=("tempters", "user_of_a_group", "auditor"))
"""Others have in the VPC what looks like leftovers, and it stays there until its owners take it away."""
SHARED = partial(LitteredWorld, others=("owner_of_the_name",))
RUNNING = partial(LitteredWorld, others=("machine",))
CRASHES = (faults.BEFORE, faults.AFTER)
LATE = (faults.late(20), faults.late_crash(20))
TOLD = (faults.THROTTLED, faults.UNAVAILABLE, faults.LOST, faults.DENIED)
NAMESAKE = Excuse(frozenset({Reason.COLLECTION_HELD}), words=frozenset({"prod/c2"}))
"""Whose the leftovers are only a person can tell."""
LAGS = {
    "nothing lags": Lags.none(),
    "all reads lag": Lags.uniform(10.0),
    "the index steps back": Lags(0.0, 60.0, 60.0, 60.0, non_monotonic=True),
}


def calls_of_the_delete(world: Fresh = LITTERED) -> range:
    """Their numbers. The worlds without lags have the same create."""
    calls, begun = calls_of(world)
    return range(begun, len(calls))


def faulted(world: Fresh, kinds: Iterable[Fault], calls: Callable[[], range], **more: Any) -> Iterator[Case]:
    return at_each_call(world, kinds, calls=calls(), **more)


def acted(world: Fresh, name: str) -> Iterator[Case]:
    """Somebody does the act of that name at each call, or the process dies at the next one of every second one."""
    calls = calls_of_the_delete()
    for number in calls:
        yield Case(f"{name} at {number}", world, _act(name, number, None))
    for fault in CRASHES:
        for number in calls[::2]:
            yield Case(f"{name} at {number}, {fault}", world, _act(name, number, fault))


def _act(name: str, number: int, fault: Fault | None) -> Callable[[World], Script]:
    """Once a call was answered, so that nothing is under way. Then perhaps the process dies."""
    return lambda world: Script({number + 1: fault} if fault else {}, later_acts={number: getattr(world, name)})


def _is_of_the_index(call: Call) -> bool:
    return call.operation == "get_resources"


def index_denied(world: Fresh) -> Iterator[Case]:
    """All the time of the delete, as for users of Rancher (rancher/rancher#56228); and the process dies at a call."""
    calls = calls_of_the_delete()
    spells = (Spell(calls.start, inf, faults.DENIED, _is_of_the_index),)
    for fault in CRASHES:
        for number in calls[::2]:
            yield Case(f"denied, {fault} at {number}", world, partial(_script, {number: fault}, spells))


def _script(at: Mapping[int, Fault], spells: Sequence[Spell], world: World) -> Script:
    return Script(at, spells=spells)


def _lagging(lags: Lags) -> Callable[[], Iterable[Case]]:
    on = partial(LitteredWorld, settings=Settings(lags=lags))
    return partial(faulted, on, CRASHES, lambda: calls_of_the_delete(on)[::2])


FAMILIES: Families = {
    "crash before and after each call": partial(faulted, LITTERED, CRASHES, calls_of_the_delete),
    "single faults": partial(faulted, LITTERED, TOLD, calls_of_the_delete),
    "late effects": partial(faulted, LITTERED, LATE, lambda: calls_of_the_delete()[::2]),
    "opted out at each call": partial(acted, LITTERED, "opt_out"),
    "made again at each call": partial(acted, LITTERED, "make_balancers"),
    "the tag index is denied": partial(index_denied, LITTERED),
    "a machine runs until a call": partial(acted, RUNNING, "stop_the_machine"),
    "others in the VPC": partial(faulted, TEMPTED, CRASHES, lambda: calls_of_the_delete()[::3]),
    "another owner of the name in the VPC": partial(
        faulted, SHARED, CRASHES, lambda: calls_of_the_delete()[:60], excuse=NAMESAKE
    ),
    **{f"crash before and after a call, {what}": _lagging(lags) for what, lags in LAGS.items()},
}
