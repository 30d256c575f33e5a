"""Every family again in a cloud that lags: lists and reads by 0, 1, 3 and 10 seconds, the tag index by twice that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial

from lab.catalogue import Families, Fresh, Ground
from lab.families import Case

LAGS = (0.0, 1.0, 3.0, 10.0)
CLOUDS = tuple((lag, restless) for lag in LAGS for restless in ((False, True) if lag else (False,)))
"""How far each cloud lags, and whether its reads step back, too."""

Table = Callable[[Ground], Families]

WITHOUT = frozenset(
    {
        "our resource handed to another owner",
        "stranger's resource in ours",
        "lags and reads that step back",
        "delete in a lagging cloud",
    }
)
"""A change of owner or contents within the lag before a delete cannot be seen; the others have lags of their own."""
LATEST = 30.0
"""Seconds after which a late effect and the longest lag together exceed the settle time of the in-memory kinds."""


def lagging(on: Ground, lag: float, restless: bool) -> Ground:
    """The same ground in a cloud that lags; its calls are numbered again."""
    world = on.read_lags(lag, 2 * lag, restless)

    def slow(fresh: Fresh) -> Fresh:
        """Another world of the ground, in the same cloud."""
        if not isinstance(fresh, partial):
            return world
        assert isinstance(world, partial)
        return partial(fresh.func, *world.args, **{**world.keywords, **fresh.keywords})

    named, branded = (slow(on.named[0]), on.named[1]), (slow(on.branded[0]), on.branded[1])
    return replace(on, world=world, named=named, branded=branded)


def every_family(on: Ground, table: Table, most: int, clouds: Collection[tuple[float, bool]]) -> Iterator[Case]:
    """At most ``most`` cases of each family in each cloud, always the same ones."""
    for lag, restless in clouds:
        ground = lagging(on, lag, restless)
        for name, cases in table(ground).items():
            if name in WITHOUT:
                continue
            every = list(cases())
            for case in every[:: max(1, len(every) // most)][:most]:
                if lag == LAGS[-1] and any(f"{kind}{LATEST:g} " in case.label for kind in ("late", "late-crash")):
                    continue
                label = f"{lag:g} s{', restless' if restless else ''}, {name}: {case.label}"
                yield replace(case, label=label)


def lagging_families(on: Ground, table: Table, most: int, clouds: Collection[tuple[float, bool]] = CLOUDS) -> Families:
    return {"every family in a lagging cloud": lambda: every_family(on, table, most, clouds)}
