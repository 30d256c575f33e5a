"""What must hold when an object's life has come to rest: judged by the cloud's log, not by the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from freehold.lifecycle.journal import Journal, Phase
from freehold.lifecycle.outcomes import Blocked, Outcome, Ready, Surplus, Waiting
from lab import marks
from lab.life import Course
from lab.seam import Thing

BAD = ("orphans", "duplicates", "wrong", "wedged", "unlike", "open_intents", "restless", "unaudited", "marks")
"""The lists of a verdict of which none may hold anything."""


@dataclass
class Verdict:
    """What one run came to; every list names what is wrong."""

    orphans: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    wedged: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)  # actual differs from desired
    open_intents: list[str] = field(default_factory=list)
    restless: list[str] = field(default_factory=list)
    unaudited: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)  # of ours, left on what is somebody else's
    named: list[str] = field(default_factory=list)  # left behind, and a person is told which and why
    calls: int = 0

    @property
    def faults(self) -> list[str]:
        return [f"{name}: {what}" for name in BAD for what in getattr(self, name)]


def after_create(life: Course, outcomes: Mapping[str, Outcome], verdict: Verdict, *, blocked_is_fine: bool) -> None:
    """Desired = actual, nothing twice, nothing lost, no intent open."""
    journal, graph = life.journal, life.graph
    ours = [thing for thing in life.world.living() if thing.ours]
    _counted(ours, journal, outcomes, verdict)
    said = " ".join(o.message for o in outcomes.values() if isinstance(o, Blocked))
    for key, entry in journal.open.items():
        if not (blocked_is_fine and isinstance(outcomes.get(str(key)), Blocked)):
            verdict.open_intents.append(f"{key} {entry.phase.value} {said}")
    for key in graph.nodes:
        outcome = outcomes.get(str(key))
        if isinstance(outcome, Ready):
            held = journal.get(key)
            standing = {id_ for thing in life.world.living() for id_ in (_bare(thing.id), *thing.aliases)}
            if held is None or _bare(held.id) not in standing:
                verdict.unlike.append(f"{key} is said to be ready and is not there")
            elif held.phase is Phase.RECORDED:
                verdict.unlike.append(f"{key} was never read back")
        elif isinstance(outcome, Blocked | Waiting) and blocked_is_fine:
            continue
        else:
            verdict.unlike.append(f"{key}: {outcome}")
    for name, outcome in outcomes.items():
        if isinstance(outcome, Surplus) and not blocked_is_fine:
            verdict.unlike.append(f"{name}: {outcome.message}")


def _counted(ours: list[Thing], journal: Journal, outcomes: Mapping[str, Outcome], verdict: Verdict) -> None:
    recorded = {_bare(entry.id) for entry in journal.entries.values() if entry.id}
    said = " ".join(o.message for o in outcomes.values() if isinstance(o, Blocked))
    _twice(ours, verdict)
    for thing in ours:
        if recorded.isdisjoint({_bare(thing.id), *thing.aliases}) and thing.id not in said:
            verdict.orphans.append(f"{thing.id} of {thing.role}")


def twice(life: Course, verdict: Verdict) -> None:
    """All that can be asked of a controller that keeps no journal: is anything there twice?"""
    _twice([thing for thing in life.world.living() if thing.ours], verdict)


def _twice(ours: list[Thing], verdict: Verdict) -> None:
    for role, count in Counter(thing.role for thing in ours).items():
        if count > 1:
            verdict.duplicates.append(f"{count} of {role}")


def after_delete(life: Course, verdict: Verdict) -> None:
    """Nothing of ours is left, and nothing of anybody else's was touched."""
    done = life.last
    said = life.hear(done) if done else ""
    if done is not None and done.released:
        for thing in life.world.living():
            if thing.ours:
                (verdict.named if thing.id in said else verdict.orphans).append(f"{thing.id} of {thing.role}")
    else:
        if done is None or not any(isinstance(o, Blocked | Waiting) for o in done.outcomes.values()):
            verdict.wedged.append("not released, and nobody says why")  # what is kept is no reason
        known = said + life.record
        for thing in life.world.living():
            if thing.ours and thing.id not in known and not (thing.parent and thing.parent in known):
                verdict.orphans.append(f"{thing.id} of {thing.role}")
    verdict.unaudited += life.world.unaudited(life.port.sent)
    verdict.marks += marks.left(life)
    verdict.wrong += life.world.tampered()
    verdict.wrong += [
        f"{thing.id} was {thing.due}, is {thing.state}"
        for thing in life.world.living()
        if not thing.ours and thing.state != thing.due and (done is None or done.released)
    ]


def _bare(id_: str) -> str:
    """Without what it stands in, which the engine puts before the ids of some kinds."""
    return id_.rpartition("/")[2]
