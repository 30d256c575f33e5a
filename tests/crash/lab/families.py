"""Families of faults: which, at which calls, and the result of a run (docs/reference/reliability.md R1 to R8)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from freehold.engine import decisions
from freehold.engine.outcomes import Blocked, Outcome, Reason, Waiting
from freehold.engine.port import Call
from freehold.engine.resources import NodeKey
from lab import faults, oracles
from lab.baselines import Naive
from lab.faults import Fault, Script
from lab.life import Course, Wedged
from lab.oracles import ANY_EXCUSE, NO_EXCUSE, Excuse, Verdict
from lab.seam import Thing, World

LATEST = 60.0
"""Seconds after which no request of a dead process can take effect any more."""

HELD_UP = (Reason.IN_USE, Reason.COLLECTION_HELD)


@dataclass(frozen=True)
class Case:
    """One run: a fresh world, and the script of events in it.

    ``excuse``: a person may have to act in the end (a stranger holds a name), so that a node need not be ready:
    for which reason, and of which kind. Still nothing may be lost or changed. ``blocked_is_fine`` is for
    scripts that check nothing else; the families name their excuse.
    """

    label: str
    world: Callable[[], World]
    script: Callable[[World], Script] = lambda world: Script()
    restart_after: float = 0.0
    excuse: Excuse = NO_EXCUSE
    after_create: Callable[[Any], object] = lambda life: None
    on_crash: Callable[[Any], None] = lambda life: None
    baseline: Callable[[], Naive] | None = None
    blocked_is_fine: bool = False

    def __post_init__(self) -> None:
        if self.blocked_is_fine:
            object.__setattr__(self, "excuse", ANY_EXCUSE)


@dataclass(frozen=True)
class Named:
    """In how many runs of a family something of ours stays and a person is told: measured, and not more are allowed.

    Where the one record of a resource is gone (journal restored, marks stripped before the id was on record) nothing
    distinguishes ours from a stranger's. In other families nothing may stay.
    """

    sampled: int = 0  # of the runs that CI takes
    whole: int = 0


NOTHING_NAMED = Named()
UNMEASURED = 1_000_000
"""Of a family that was not run whole since a delete keeps what has lost its marks (ADR 7)."""


@dataclass
class Tally:
    """A family's row in the table."""

    family: str
    runs: int = 0
    orphans: int = 0
    duplicates: int = 0
    wrong: int = 0
    wedged: int = 0
    named: int = 0
    marks: int = 0
    other: int = 0
    most_calls: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, label: str, verdict: Verdict) -> None:
        self.runs += 1
        self.orphans += bool(verdict.orphans)
        self.duplicates += bool(verdict.duplicates)
        self.wrong += bool(verdict.wrong)
        self.wedged += bool(verdict.wedged)
        self.named += bool(verdict.named)
        self.other += bool(verdict.unlike or verdict.open_intents or verdict.restless or verdict.unaudited)
        self.marks += bool(verdict.marks)
        self.most_calls = max(self.most_calls, verdict.calls)
        self.failures += [f"{label}: {fault}" for fault in verdict.faults]

    @property
    def row(self) -> dict[str, object]:
        return {
            "family": self.family,
            "runs": self.runs,
            "orphans": self.orphans,
            "duplicates": self.duplicates,
            "wrong": self.wrong,
            "wedged": self.wedged,
            "named": self.named,
            "marks": self.marks,
            "other": self.other,
            "most_calls": self.most_calls,
        }


def run(case: Case) -> Verdict:
    """Create, rest, delete, rest; then judge. After the finalizer is gone no code of the engine runs."""
    return Run(case).judge()


@dataclass
class Run:
    """One life and what became of it. ``become`` is for a life that went undisturbed so far (:mod:`lab.branches`)."""

    case: Case

    def __post_init__(self) -> None:
        case, world = self.case, self.case.world()
        script = case.script(world)
        self.life = _begin(
            world, case.baseline, script=script, restart_after=case.restart_after, on_crash=case.on_crash
        )

    def become(self, case: Case) -> None:
        """Go on as the run of another case, nothing of whose script has happened yet."""
        life, self.case = self.life, case
        life.port.script, life.restart_after, life.on_crash = case.script(life.world), case.restart_after, case.on_crash

    def judge(self) -> Verdict:
        life, verdict = self.life, Verdict()
        try:
            if self.case.baseline:
                life.create()
                oracles.twice(life, verdict)
                if not life.released:
                    life.delete()
            else:
                outcomes = _created(life, verdict)
                if not life.deleting:
                    oracles.after_create(life, outcomes, verdict, self.case.excuse)
                    self.case.after_create(life)
                _deleted(life, verdict)
            life.world.clock.advance(LATEST)
            oracles.after_delete(life, verdict, self.case.excuse)
        except Wedged as wedged:
            verdict.wedged.append(str(wedged))
        verdict.calls = len(life.port.calls)
        return verdict


Runs = Callable[[Iterable[Case]], Iterable[tuple[Case, Verdict]]]
"""Runs cases, in any order."""


def one_by_one(cases: Iterable[Case]) -> Iterator[tuple[Case, Verdict]]:
    """Each from the start of its life."""
    for case in cases:
        yield case, run(case)


def _created(life: Course, verdict: Verdict) -> dict[str, Outcome]:
    """Run until rest, and watch it there, unless somebody deleted the object meanwhile."""
    while True:
        outcomes = _with_a_person(life, life.create)
        if life.deleting or _watched(life, verdict) or life.released:
            return outcomes


def _deleted(life: Course, verdict: Verdict) -> None:
    """Run until the finalizer is gone, or nothing more can be done; then watch."""
    while not life.released:
        _with_a_person(life, life.delete)
        _clear_the_way(life, verdict)
        if not life.released and _watched(life, verdict):
            return


def _watched(life: Course, verdict: Verdict) -> bool:
    """Whether it was watched to the end; False if the script interfered, so that it must reach rest again."""
    strikes = life.port.struck
    verdict.restless += life.watch()
    return life.port.struck == strikes


def _with_a_person(life: Course, verb: Callable[[], dict[str, Outcome]]) -> dict[str, Outcome]:
    """Run until rest; if only a person can know whether a presumed resource is ours, let one decide."""
    outcomes = verb()
    for _ in range(4):
        if life.released:
            return outcomes
        presumed = [k for k, o in outcomes.items() if isinstance(o, Blocked) and o.reason is Reason.PRESUMED_ONLY]
        if not presumed:
            return outcomes
        for name in presumed:
            _confirm(life, name, outcomes[name].message)
        outcomes = verb()
    return outcomes


def _clear_the_way(life: Course, verdict: Verdict) -> None:
    """A message names what holds the delete and is not recorded as ours: a person removes it; the delete must go on."""
    for _ in range(12):
        done = life.last
        if done is None or done.released:
            return
        held = [o for o in done.outcomes.values() if isinstance(o, Waiting | Blocked) and o.reason in HELD_UP]
        said = " ".join(o.message for o in held)
        ours = {life.journal.entries[key].id.rpartition("/")[2] for key in life.journal.claimed}
        named = [t for t in life.world.living() if _is_named(t, said) and t.id.rpartition("/")[2] not in ours]
        if not named:
            return
        verdict.named += [f"{thing.id} of {thing.role}" for thing in named if thing.ours]
        for thing in named:
            life.world.remove(thing.id)
        life.invalidate()
        life.delete()


def _is_named(thing: Thing, said: str) -> bool:
    """A message may have a load balancer by what ends its ARN, as its interfaces do."""
    return any(name in said for name in (thing.id, *thing.aliases))


def _confirm(life: Course, name: str, message: str) -> None:
    """The person reads the cloud's audit trail and decides which one is ours, or that none is.

    Raises Wedged where the message does not name it: nobody would look for it.
    """
    ours = [thing for thing in life.world.living() if thing.ours and thing.role == name]
    if ours and ours[0].id.rpartition("/")[2] not in message:
        raise Wedged(f"{name}: {ours[0].id} is not named to the person who is to decide: {message}")
    verdict, ident = (decisions.Verdict.MINE, ours[0].id) if ours else (decisions.Verdict.NOT_MINE, "")
    attempt = life.journal.entries[NodeKey.parse(name)].attempt
    life.decide(decisions.Decision(verdict, name, ident, attempt, "a person", life.world.clock.now()))
    life.invalidate()


def _begin(world: World, baseline: Callable[[], Naive] | None, **how: Any) -> Course:
    life = world.begin(**how)
    if baseline:
        naive = baseline()
        life.ensure, life.release = naive.ensure, naive.release
    return life


def golden(world: Callable[[], World], baseline: Callable[[], Naive] | None = None) -> Course:
    """The undisturbed life, whose calls number the faults of the others."""
    life = _begin(world(), baseline)
    life.create()
    if baseline is None:
        life.watch()
    life.delete()
    return life


@cache
def calls_of(world: Callable[[], World]) -> tuple[tuple[Call, ...], int]:
    """The calls of an undisturbed life, and how many of them there were when the delete began."""
    life = golden(world)
    assert life.opened_at is not None
    return tuple(life.port.calls), life.opened_at


def tally(family: str, cases: Iterable[Case], runs: Runs = one_by_one) -> Tally:
    result = Tally(family)
    for case, verdict in runs(cases):
        result.add(case.label, verdict)
    return result


def at_each_call(
    world: Callable[[], World], kinds: Iterable[Fault], *, calls: Iterable[int] | None = None, **more: object
) -> Iterator[Case]:
    """One fault at each call of create and delete."""
    numbers = list(calls) if calls is not None else list(range(len(calls_of(world)[0])))
    for fault in kinds:
        for number in numbers:
            yield Case(
                f"{fault} at {number}",
                world,
                lambda _, number=number, fault=fault: Script({number: fault}),  # type: ignore[misc]  # mypy infers no lambda defaults
                **more,  # type: ignore[arg-type]  # the fields are Case's own
            )


def crashes(world: Callable[[], World], **more: object) -> Iterator[Case]:
    """Stopped before and after every call."""
    return at_each_call(world, (faults.BEFORE, faults.AFTER), **more)


def sample(cases: Iterable[Case], most: int) -> list[Case]:
    """That many of them, at equal distances, always the same ones; all of a shorter family."""
    every = list(cases)
    return every if len(every) <= most else [every[at * len(every) // most] for at in range(most)]


def any_fails(cases: Iterable[Case]) -> bool:
    """Whether a run has a fault; no further one is run then."""
    return any(run(case).faults for case in cases)


def shuffled(cases: Iterable[Case], most: int | None = None) -> list[Case]:
    """That many of them, or all, in a random but fixed order, so that the first failure is found soon."""
    every = list(cases)
    random.Random(1).shuffle(every)
    return every[:most]


def hold_one(case: Case, *, most_calls: int, most_named: int = 0) -> None:
    """Run it alone: ``make test`` takes no more of a family that another world has, or whose runs are long."""
    verdict = run(case)
    assert not verdict.faults
    assert verdict.calls <= most_calls
    assert bool(verdict.named) <= most_named, f"left to a person: {verdict.named}"


def hold(family: str, cases: Iterable[Case], *, most_calls: int, most_named: int = 0, runs: Runs = one_by_one) -> Tally:
    """Run them, print the row, and fail with what went wrong.

    ``most_named``: in how many runs something of ours may stay that a person is told of.
    """
    result = tally(family, cases, runs)
    print(result.row)
    assert result.runs >= 2, "a family of one case shows little"
    assert not result.failures, "\n".join(result.failures[:20])
    assert result.most_calls <= most_calls
    assert result.named <= most_named, f"{result.named} runs left something to a person, {most_named} did before"
    return result
