"""Health of what is behind a load balancer: it follows from what an instance has answered, and since when.

https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html,
https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-healthchecks.html
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from freehold_sim.aws.world import Record

Answers = Sequence[Sequence[Any]]
"""Times from which an instance answers health checks (True) or does not, oldest first."""


@dataclass(frozen=True)
class Check:
    """A check every `interval` seconds; so many in a row let a target be new and healthy, healthy again, unhealthy."""

    interval: float
    first: int
    up: int
    down: int


def answers_of(instance: Record) -> Answers:
    found: Answers = instance.get("answers", ())
    return found or [[instance["created_at"], True]]


def answer(instance: Record, now: float, *, answers: bool) -> None:
    """Let an instance answer health checks from a time on, or no longer."""
    instance["answers"] = [*answers_of(instance), [now, answers]]


def health(check: Check, since: float, answers: Answers, now: float) -> str:
    """Return `initial`, `healthy` or `unhealthy` of a target that is checked since a time."""
    state, ends = "initial", [*(start for start, _ in answers[1:]), now]
    for (start, answered), end in zip(answers, ends, strict=True):
        seconds = min(end, now) - max(start, since)
        needed = check.down if not answered else check.first if state == "initial" else check.up
        if seconds >= needed * check.interval:
            state = "healthy" if answered else "unhealthy"
    return state
