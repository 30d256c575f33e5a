"""Health of controllers, for probes and people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from freehold.kube.watch import WatchState


@dataclass(frozen=True)
class Health:
    """The health of a controller, for probes and people. Ages are in seconds of wall time.

    ``problem`` says why nothing can be served, where that is known. ``followed`` is the state of the watch of each
    resource, ``silent`` the longest time since a watch heard from the server, ``busy`` how long the
    longest reconcile in hand has been running. ``restarts`` counts tasks that died, ``deaths`` those of the last ten
    minutes. ``state`` is that of the watch of its own objects. ``refused`` has the watches that we have no right to,
    and why.
    """

    ready: bool
    followed: dict[str, WatchState]
    silent: float
    busy: float
    last_progress: float
    queued: int
    scheduled: int
    restarts: int
    problem: str = ""
    deaths: int = 0
    state: WatchState = WatchState.STARTING
    refused: Mapping[str, str] = field(default_factory=dict)


def merge_health(healths: Sequence[Health]) -> Health:
    """Merge the health of several controllers: ready when all are, with the oldest of all ages."""
    return Health(
        ready=all(each.ready for each in healths),
        followed={name: state for each in healths for name, state in each.followed.items()},
        silent=max(each.silent for each in healths),
        busy=max(each.busy for each in healths),
        last_progress=min(each.last_progress for each in healths),
        queued=sum(each.queued for each in healths),
        scheduled=sum(each.scheduled for each in healths),
        restarts=sum(each.restarts for each in healths),
        deaths=sum(each.deaths for each in healths),
        refused={name: why for each in healths for name, why in each.refused.items()},
    )
