"""Checks of a life at rest: they use the cloud's log, not the state of the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from freehold.engine.journal import Journal, RecordState
from freehold.engine.outcomes import Blocked, Outcome, Ready, Reason, Surplus, Waiting
from lab import marks
from lab.life import Course
from lab.seam import Thing

BAD = ("orphans", "duplicates", "wrong", "wedged", "unlike", "open_intents", "restless", "unaudited", "marks")
"""The lists of a verdict that must be empty."""


@dataclass
class Verdict:
    """The result of one run; every list names faults."""

    orphans: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    wedged: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)  # actual differs from desired
    open_intents: list[str] = field(default_factory=list)
    restless: list[str] = field(default_factory=list)  # written after rest
    unaudited: list[str] = field(default_factory=list)  # audit log and cloud disagree
    marks: list[str] = field(default_factory=list)  # of ours, left on a stranger's resource
    named: list[str] = field(default_factory=list)  # left behind, and a message names it and the reason
    calls: int = 0

    @property
    def faults(self) -> list[str]:
        return [f"{name}: {what}" for name in BAD for what in getattr(self, name)]


@dataclass(frozen=True)
class Excuse:
    """What may stay undone because of an act of a stranger or a person, and only if it happened in this run.

    ``reasons``: why a node may be blocked, or held up; its message must name, by id or name, something of the
    affected ``kinds`` (None: of any) or of somebody else, or have one of ``words``: the laboratory's own
    faults name the refused call and its subject, which is a name with a nonce or a part. ``surplus``: something of
    ours may no longer be wanted. ``failed``: kinds of which one may have failed in the cloud.
    """

    reasons: frozenset[Reason] = frozenset()
    kinds: frozenset[str] | None = None
    surplus: bool = False
    words: frozenset[str] = frozenset()
    anything: bool = False
    failed: frozenset[str] = frozenset()

    def covers(self, life: Course, outcome: Blocked | Waiting) -> bool:
        """Whether a node may stay as it is."""
        if self.anything or not life.port.struck:
            return self.anything
        if outcome.reason is Reason.FAILED and self.failed and self._names(life, outcome, self.failed):
            return True
        return outcome.reason in self.reasons and self._names(life, outcome, self.kinds)

    def _names(self, life: Course, outcome: Blocked | Waiting, kinds: frozenset[str] | None) -> bool:
        """Whether its message names something of one of the kinds, or of somebody else."""
        living = life.world.living()
        words = self.words | {_bare(e.id) for e in living if not e.ours or kinds is None or e.kind in kinds}
        entries, nodes = life.journal.entries.items(), life.graph.nodes.items()
        for key, entry in entries:
            if entry.id and (kinds is None or key.kind in kinds):
                words |= {_bare(entry.id), entry.target or entry.id}  # a DHCP server's marks are on its network
        words |= {node.name for key, node in nodes if kinds is None or key.kind in kinds}
        return any(word in outcome.message for word in words)


NO_EXCUSE = Excuse()
ANY_EXCUSE = Excuse(surplus=True, anything=True)
"""For a script that checks only what is lost or changed; no family may use it."""


def after_create(life: Course, outcomes: Mapping[str, Outcome], verdict: Verdict, excuse: Excuse = NO_EXCUSE) -> None:
    """Desired = actual, nothing twice, nothing lost, no intent open."""
    journal, graph = life.journal, life.graph
    ours = [thing for thing in life.world.living() if thing.ours]
    _counted(ours, journal, outcomes, verdict)
    said = " ".join(o.message for o in outcomes.values() if isinstance(o, Blocked))
    excused = _excused(life, outcomes, excuse)
    for key, entry in journal.open.items():
        if str(key) not in excused:
            verdict.open_intents.append(f"{key} {entry.state.value} {said}")
    for key in graph.nodes:
        outcome = outcomes.get(str(key))
        if isinstance(outcome, Ready):
            held = journal.get(key)
            existing = {id_ for thing in life.world.living() for id_ in (_bare(thing.id), *thing.aliases)}
            if held is None or _bare(held.id) not in existing:
                verdict.unlike.append(f"{key} is said to be ready and is not there")
            elif missing := life.world.lacking(held.id):
                verdict.unlike.append(f"{key} lacks {', '.join(sorted(missing))}")
            elif held.state is RecordState.RECORDED:
                verdict.unlike.append(f"{key} was never read back")
        elif str(key) not in excused:
            verdict.unlike.append(f"{key}: {outcome}")
    for name, outcome in outcomes.items():
        if isinstance(outcome, Surplus) and not excuse.surplus:
            verdict.unlike.append(f"{name}: {outcome.message}")
    verdict.marks += marks.stale(life)
    verdict.wrong += foreign(life)


def _excused(life: Course, outcomes: Mapping[str, Outcome], excuse: Excuse) -> set[str]:
    """Nodes that may stay undone: for a reason of their own, or because they wait for such a node."""
    blocked = {n for n, o in outcomes.items() if isinstance(o, Blocked | Waiting) and excuse.covers(life, o)}
    if not blocked:
        return set()
    behind = (Reason.REQUIREMENT, Reason.DEPENDENTS)
    return blocked | {n for n, o in outcomes.items() if isinstance(o, Waiting) and o.reason in behind}


def _counted(ours: list[Thing], journal: Journal, outcomes: Mapping[str, Outcome], verdict: Verdict) -> None:
    recorded = {_bare(entry.id) for entry in journal.entries.values() if entry.id}
    said = " ".join(o.message for o in outcomes.values() if isinstance(o, Blocked))
    _twice(ours, verdict)
    for thing in ours:
        if recorded.isdisjoint({_bare(thing.id), *thing.aliases}) and thing.id not in said:
            verdict.orphans.append(f"{thing.id} of {thing.role}")


def twice(life: Course, verdict: Verdict) -> None:
    """The only check for a controller without a journal: does anything exist twice?"""
    _twice([thing for thing in life.world.living() if thing.ours], verdict)


def _twice(ours: list[Thing], verdict: Verdict) -> None:
    for role, count in Counter(thing.role for thing in ours).items():
        if count > 1:
            verdict.duplicates.append(f"{count} of {role}")


def after_delete(life: Course, verdict: Verdict, excuse: Excuse = NO_EXCUSE) -> None:
    """Nothing of ours is left, and nothing of others was changed."""
    done = life.last
    said = life.hear(done) if done else ""
    if life.released:
        for thing in life.world.living():
            if thing.ours:
                (verdict.named if thing.id in said else verdict.orphans).append(f"{thing.id} of {thing.role}")
    else:
        _held(life, verdict, excuse)
        known = said + life.record
        for thing in life.world.living():
            if thing.ours and thing.id not in known and not (thing.parent and thing.parent in known):
                verdict.orphans.append(f"{thing.id} of {thing.role}")
    verdict.unaudited += life.world.unaudited(life.port.sent)
    verdict.marks += marks.left(life)
    verdict.unaudited += life.world.audit.unlike(life.port.calls, life.world.requests())
    verdict.wrong += life.world.tampered()
    verdict.wrong += [f"{ident} had lost its marks, and the delete attached them" for ident in life.port.remarked]
    verdict.wrong += foreign(life)


def _held(life: Course, verdict: Verdict, excuse: Excuse) -> None:
    """The finalizer stays: a message must tell why, and the reason must be an act in this run."""
    outcomes = {str(key): outcome for key, outcome in (life.last.outcomes if life.last else {}).items()}
    if not any(isinstance(o, Blocked | Waiting) for o in outcomes.values()):
        verdict.wedged.append("not released, and no message tells why")  # a kept resource is no reason
    excused = _excused(life, outcomes, excuse)
    for name, outcome in outcomes.items():
        if isinstance(outcome, Blocked | Waiting) and name not in excused:
            verdict.wedged.append(f"not released: {name}: {outcome.reason} {outcome.message}")


def foreign(life: Course) -> list[str]:
    """Resources of others that are not as their owners left them."""
    things = [thing for thing in life.world.living() if not thing.ours]
    return [f"{thing.id} was {thing.due}, is {thing.state}" for thing in things if thing.state != thing.due]


def _bare(id_: str) -> str:
    """Without the container, which the engine puts before the ids of some kinds."""
    return id_.rpartition("/")[2]
