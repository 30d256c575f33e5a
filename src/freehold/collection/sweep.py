"""One object's collection, step by step: look, judge, delete what is proven, wait until it is seen gone.

What a :class:`Sweep` remembers is lost with the process, and costs looks only: every proof is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from math import inf

from freehold.collection.found import Step, Thing, Workloads
from freehold.collection.policy import Collect, Policy, Skip, Unreadable
from freehold.collection.rules import Delete, Keep, Verdict, verdicts
from freehold.collection.survey import Survey
from freehold.collection.things import Task
from freehold.engine.clock import Clock
from freehold.engine.collection import ALL, MACHINES, Collected, Prove, Site
from freehold.engine.errors import CloudError, InUse, NotFound
from freehold.engine.outcomes import Blocked, Kept, Outcome, Reason, Waiting, outcome_of_error

PACE = 15.0
"""Seconds until something that was refused is tried again."""
REMAINS_PACE = 10.0
"""Seconds between looks at what the cloud takes away by itself, once it usually has gone."""
QUIET = 30.0
"""Seconds between the two looks that must find nothing where machines of the cluster may have run until now."""
EXPECTED = 0.75
"""Of the usual time, after which it is looked for the first time whether something has gone."""
AGAIN = 60.0
"""Seconds between looks where the network cannot go although nothing is left."""
MOST_SWEEPS = 5
LONGEST = 3600.0
"""After so many sweeps, or seconds, a person is told what comes back."""
RECHECK = 300.0
_SEARCH, _REMAINS, _NETWORK = "search", "remains", "network"
_FIRST = (Task.LOAD_BALANCER, Task.TARGET_GROUP)


Ask = Callable[[], Awaitable[Policy]]
"""Reads anew whether the object wants its collection."""
Rivals = Callable[[Site], Awaitable[Sequence[str]]]
"""Names the other objects whose cluster has the same name in the same network."""


class Sweep:
    """The collection of one object, over its passes; ``name`` is the cluster's in tags."""

    def __init__(self, name: str, survey: Survey, clock: Clock) -> None:
        self.name = name
        self._survey = survey
        self._clock = clock
        self._asked: dict[str, Thing] = {}
        """Whose delete the cloud has taken, by id."""
        self._network = ""
        self._lingering: set[str] = set()
        """What remains of them, by its own id: another one of the same name leaves the same traces."""
        self._kept: tuple[Keep, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._seen: set[str] = set()
        """What was ever found, and what of it has gone: a later one may have the same id, where ids are names."""
        self._gone: set[str] = set()
        self._returned: set[str] = set()
        """What of it has come back, and is there."""
        self._returns = 0
        self._began = inf
        self._machines_seen = False
        self._empty_since: float | None = None
        self._refused_since: dict[str, float] = {}
        self._next_at = -inf
        self._pause = 0.0
        self._policy: Policy | None = None
        self._last = Collected(done=False)

    async def step(self, prove: Prove, ask: Ask, rivals: Rivals, *, refused: bool) -> Collected:
        """One step (engine.collection.Collection)."""
        policy = await ask()
        if isinstance(policy, Skip):
            return Collected(done=True)
        if isinstance(policy, Unreadable):
            return Collected(False, {"policy": Blocked(Reason.COLLECTION_UNREADABLE, policy.message)})
        if policy == self._policy and self._stands(refused):
            return replace(self._until_next(), is_news=False)
        self._policy = policy
        try:
            self._last = await self._remaining() or await self._prove_and_look(prove, policy, ask, rivals)
            self._refused_since.pop(_SEARCH, None)
        except CloudError as error:
            self._last = Collected(False, {_SEARCH: self._refused(_SEARCH, "they cannot be looked for", error)})
        waits = [o.after for o in self._last.outcomes.values() if isinstance(o, Waiting | Blocked)]
        after = min(waits) if waits else max(AGAIN, self._lasting(_NETWORK)[1])
        self._next_at = self._clock.monotonic() + max(after, self._pause)
        self._pause = 0.0
        return self._until_next()

    def _stands(self, refused: bool) -> bool:
        """Whether the last answer still holds. That nothing is left does, unless something holds the network."""
        if self._last.done and not refused:
            return True
        return self._clock.monotonic() < self._next_at

    def _until_next(self) -> Collected:
        """Return the last answer; no pass is needed before the next look."""
        left = max(self._next_at - self._clock.monotonic(), 0.0)
        outcomes = self._last.outcomes.items()
        told = {name: replace(o, after=left) if isinstance(o, Waiting | Blocked) else o for name, o in outcomes}
        return replace(self._last, outcomes=told)

    async def _remaining(self) -> Collected | None:
        """Ask only for what the cloud takes away by itself, as long as that is there."""
        if not self._lingering:
            return None
        traces = await self._survey.traces(self._network)
        self._lingering &= {ident for idents in traces.values() for ident in idents}
        if self._lingering:
            return Collected(False, {_REMAINS: self._remains()})
        self._refused_since.pop(_REMAINS, None)
        return None

    async def _prove_and_look(self, prove: Prove, policy: Collect, ask: Ask, rivals: Rivals) -> Collected:
        site = await prove()
        if not isinstance(site, Site):
            return Collected(False, {_NETWORK: site})
        if not site.network:
            return Collected(done=True)
        self._network = site.network
        if others := await rivals(site):
            return _held_by(namesakes(self.name, site, others))
        return await self._look_and_delete(site, policy, ask)

    async def _look_and_delete(self, site: Site, policy: Collect, ask: Ask) -> Collected:
        workloads = Workloads(self.name, site.network, site.owner.uuid)
        look = await self._survey.look(workloads, policy.tasks)
        if look.namesakes:
            return _held_by(namesakes(self.name, site, look.namesakes))
        said = verdicts(look, workloads, self._survey.rules, policy.tasks, policy.volumes)
        self._kept = tuple(each for each in said if isinstance(each, Keep))
        self._notes = look.notes
        if look.running:
            self._machines_seen, self._empty_since = True, None
            return Collected(False, {MACHINES: self._machines_run(look.running, workloads)})
        self._refused_since.pop(MACHINES, None)
        self._machines_seen = self._machines_seen or look.lately
        doomed = [each.thing for each in said if isinstance(each, Delete)]
        if not doomed:
            return self._nothing_left()
        self._empty_since = None
        self._count(doomed, said)
        outcomes = await self._delete(doomed, look.traces, policy, ask) | self._comes_back(doomed)
        return Collected(False, outcomes or {ALL: Waiting(Reason.COLLECTING, 1.0, "are looked for once more")})

    def _machines_run(self, running: Sequence[str], workloads: Workloads) -> Outcome:
        since, after = self._lasting(MACHINES)
        return Waiting(Reason.COLLECTING, max(after, QUIET), f"{machines_run(workloads, running)}{since}")

    def _nothing_left(self) -> Collected:
        """One look is enough, unless machines of the cluster may have run until a moment ago."""
        if self._machines_seen and self._empty_since is None:
            self._empty_since = self._clock.monotonic()
            message = "nothing is found; looked for once more, since machines of the cluster have run until now"
            return Collected(False, {ALL: Waiting(Reason.COLLECTING, QUIET, message)})
        kept = {str(each.thing): Kept(Reason.NOT_OWNED, each.why) for each in self._kept}
        summary = self._summary()
        return Collected(True, kept, summary, is_news=bool(summary))

    def _summary(self) -> str:
        """Say what was collected and what stays; empty where that is nothing."""
        if not self._asked and not self._kept:
            return ""
        counts = Counter(thing.task for thing in self._asked.values())
        gone = ", ".join(f"{task} {counts[task]}" for task in Task if counts[task]) or "nothing"
        kept = "".join(f"; kept: {each.thing}: {each.why}" for each in self._kept)
        notes = "".join(f"; {note}" for note in self._notes)
        return f"collected of cluster {self.name}: {gone}{kept}{notes}"

    async def _delete(
        self, doomed: Sequence[Thing], traces: Mapping[str, tuple[str, ...]], policy: Collect, ask: Ask
    ) -> dict[str, Outcome]:
        """Delete as far as goes now. Nothing else begins before load balancers and target groups are seen gone."""
        outcomes: dict[str, Outcome] = {}
        for task in policy.tasks:
            things = [thing for thing in doomed if thing.task is task]
            free = [thing for thing in things if not (thing.waits_for or thing.held_by)]
            outcomes |= {str(thing): self._waiting(thing) for thing in things if thing.waits_for or thing.held_by}
            refused = await self._send(self._survey.steps(free, policy.volumes), ask)
            outcomes |= refused
            taken = [thing for thing in free if str(thing) not in refused]
            still = await self._survey.find_remaining(taken) if taken else ()
            for thing in taken:
                self._asked[thing.id] = thing
                self._lingering |= set(traces.get(thing.leaves, ()))
                self._pause = 0.0 if refused or still else max(self._pause, thing.lingers * EXPECTED)
            self._gone |= {thing.id for thing in taken} - {thing.id for thing in still}
            outcomes |= {str(thing): Waiting(Reason.COLLECTING, 5.0, "its delete was requested") for thing in still}
            if outcomes and task in _FIRST:
                return outcomes
        return outcomes

    async def _send(self, waves: Sequence[Sequence[Step]], ask: Ask) -> dict[str, Outcome]:
        """Send wave after wave, each step only while the object still wants it. Return what was refused."""
        refused: dict[str, Outcome] = {}
        for wave in waves:
            steps = [step for step in wave if str(step.thing) not in refused]
            results = await self._survey.all([partial(_send_if_wanted, step, ask) for step in steps])
            for step, error in zip(steps, results, strict=True):
                if error is None or isinstance(error, NotFound):
                    self._refused_since.pop(step.thing.id, None)
                elif isinstance(error, _Stopped):
                    message = "the object's annotation has stopped the collection"
                    refused[str(step.thing)] = Waiting(Reason.COLLECTING, 0.0, message)
                elif isinstance(error, CloudError):
                    refused[str(step.thing)] = self._refused(step.thing.id, f"could not {step.what} it", error)
                else:
                    raise error
        return refused

    def _refused(self, ident: str, what: str, error: CloudError) -> Outcome:
        """Say what was refused, and since when. It is tried more seldom the longer it lasts."""
        outcome, (since, after) = outcome_of_error(error), self._lasting(ident)
        blocker = f" (held by {error.blocker})" if isinstance(error, InUse) and error.blocker else ""
        message = f"{what}: {error.message}{blocker}{since}"
        if isinstance(outcome, Waiting):
            return Waiting(Reason.COLLECTING, max(after, outcome.after), message)
        return Blocked(Reason.COLLECTION_HELD, message, max(after, outcome.after))

    def _waiting(self, thing: Thing) -> Outcome:
        since, after = self._lasting(thing.id)
        if thing.held_by:
            return Blocked(Reason.COLLECTION_HELD, f"{thing.held_by}{since}", after)
        return Waiting(Reason.COLLECTING, after, f"it waits for {thing.waits_for}{since}")

    def _lasting(self, ident: str, pace: float = PACE) -> tuple[str, float]:
        """Return since when something cannot go, in words, and the seconds until it is tried again."""
        now = self._clock.now()
        since = self._refused_since.setdefault(ident, now)
        after = min(max(pace, (now - since) / 4), RECHECK)
        return (f" (since {datetime.fromtimestamp(since, UTC):%H:%M} UTC)" if now - since > PACE else ""), after

    def _remains(self) -> Outcome:
        names, (since, after) = sorted(self._lingering), self._lasting(_REMAINS, REMAINS_PACE)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        message = f"the cloud still takes away what remains of load balancers: {', '.join(names[:5])}{more}{since}"
        return Waiting(Reason.COLLECTING, after, message)

    def _count(self, doomed: Sequence[Thing], said: Sequence[Verdict]) -> None:
        """Count the looks that show something new. What was kept, and can go now, is not new."""
        self._began = min(self._began, self._clock.monotonic())
        ids = {thing.id for thing in doomed}
        again = (ids & self._gone) | (ids - self._seen if self._asked else set())
        self._returned = (self._returned & ids) | again
        self._returns += bool(again)
        self._gone -= ids
        self._seen |= {each.thing.id for each in said}

    def _comes_back(self, doomed: Sequence[Thing]) -> dict[str, Outcome]:
        """Something makes them again, and only a person can stop that. What is only held has another message."""
        back = [str(thing) for thing in doomed if thing.id in self._returned]
        lasted = self._clock.monotonic() - self._began
        if not back or (self._returns < MOST_SWEEPS and lasted <= LONGEST):
            return {}
        message = (
            f"{', '.join(back[:5])}: made again {self._returns} times. Stop what makes them (a cloud controller of "
            f"cluster {self.name} that still runs, or GitOps), and the delete goes on"
        )
        return {"again": Blocked(Reason.COLLECTION_HELD, message, RECHECK)}


def namesakes(name: str, site: Site, others: Sequence[str]) -> str:
    """Say that other clusters have the name in the same network."""
    return (
        f"{', '.join(others)} has the name {name} in {site.network} too, so nothing tells whose the "
        "leftovers are: nothing is collected. Delete them by hand, or opt out: freehold gc disable --cluster-name "
        f"{name} -n {site.owner.namespace}"
    )


def machines_run(workloads: Workloads, running: Sequence[str]) -> str:
    """Say that the collection waits for machines."""
    shown = ", ".join(running[:5]) + (f" and {len(running) - 5} more" if len(running) > 5 else "")
    return (
        f"{shown} of cluster {workloads.name} runs in {workloads.network}, so its controllers may make again what is "
        "collected: the collection begins when it has stopped. Delete it"
    )


def _held_by(message: str) -> Collected:
    return Collected(False, {"namesakes": Blocked(Reason.COLLECTION_HELD, message)})


async def _send_if_wanted(step: Step, ask: Ask) -> None:
    if not isinstance(await ask(), Collect):
        raise _Stopped
    await step.run()


class _Stopped(Exception):
    """The object does not want the collection any more."""
