"""Sweep: one object's collection, step by step. It looks, judges, deletes what is proven, and waits until it is gone.

The memory of a :class:`Sweep` is lost with the process, which costs looks only: every proof is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from math import inf

from freehold.collection.found import Step, Thing, Workloads
from freehold.collection.policy import Collect, Policy, SkipCollection, UnreadablePolicy
from freehold.collection.rules import Delete, Keep, Verdict, judge_all
from freehold.collection.survey import Survey
from freehold.collection.things import CollectionTask
from freehold.engine.clock import Clock
from freehold.engine.collection import ALL, MACHINES, Collected, Prove, Site
from freehold.engine.errors import CloudError, InUse, NotFound
from freehold.engine.outcomes import Blocked, Kept, Outcome, Reason, Waiting, outcome_of_error

PACE = 15.0
"""Seconds until a refused change is tried again."""
REMAINS_PACE = 10.0
"""Seconds between looks at what the cloud removes by itself, after the usual time for it."""
QUIET = 30.0
"""Seconds between the two looks that must find nothing, if machines of the cluster ran a short time ago."""
EXPECTED = 0.75
"""The share of the usual time after which the first look checks whether something has gone."""
AGAIN = 60.0
"""Seconds between looks while the network cannot be deleted although nothing is left."""
MOST_SWEEPS = 5
LONGEST = 3600.0
"""The number of returns, or the seconds, after which a person is told what comes back."""
RECHECK = 300.0
_SEARCH, _REMAINS, _NETWORK = "search", "remains", "network"
_FIRST = (CollectionTask.LOAD_BALANCER, CollectionTask.TARGET_GROUP)


Ask = Callable[[], Awaitable[Policy]]
"""Reads again whether the object wants its collection."""
Rivals = Callable[[Site], Awaitable[Sequence[str]]]
"""Finds the other objects whose cluster has the same name in the same network."""


class Sweep:
    """The collection of one object, over its passes; ``name`` is the cluster's in tags."""

    def __init__(self, name: str, survey: Survey, clock: Clock) -> None:
        self.name = name
        self._survey = survey
        self._clock = clock
        self._deleted: dict[str, Thing] = {}
        """Things whose delete the cloud has accepted, by id."""
        self._network = ""
        self._lingering: set[str] = set()
        """Traces of deleted things, by their own ids: another thing of the same name has the same key."""
        self._kept: tuple[Keep, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._seen: set[str] = set()
        """Ids that were ever found, and below those that have gone. A later thing may have the same name as id."""
        self._gone: set[str] = set()
        self._returned: set[str] = set()
        """Ids that have come back and exist now."""
        self._returns = 0
        self._first_delete_at = inf
        self._machines_seen = False
        self._empty_since: float | None = None
        self._refused_since: dict[str, float] = {}
        self._next_at = -inf
        self._pause = 0.0
        self._policy: Policy | None = None
        self._last = Collected(done=False)

    async def step(self, prove: Prove, ask: Ask, rivals: Rivals, *, refused: bool) -> Collected:
        """Do one step (engine.collection.Collection)."""
        policy = await ask()
        if isinstance(policy, SkipCollection):
            return Collected(done=True)
        if isinstance(policy, UnreadablePolicy):
            return Collected(False, {"policy": Blocked(Reason.COLLECTION_UNREADABLE, policy.message)})
        if policy == self._policy and self._is_current(refused):
            return replace(self._repeat_last(), is_news=False)
        self._policy = policy
        try:
            self._last = await self._check_lingering() or await self._prove_and_look(prove, policy, ask, rivals)
            self._refused_since.pop(_SEARCH, None)
        except CloudError as error:
            self._last = Collected(False, {_SEARCH: self._report_refusal(_SEARCH, "they cannot be looked for", error)})
        waits = [o.after for o in self._last.outcomes.values() if isinstance(o, Waiting | Blocked)]
        after = min(waits) if waits else max(AGAIN, self._measure_lasting(_NETWORK)[1])
        self._next_at = self._clock.monotonic() + max(after, self._pause)
        self._pause = 0.0
        return self._repeat_last()

    def _is_current(self, refused: bool) -> bool:
        """Return whether the last answer still holds. *Nothing left* does unless something holds the network."""
        if self._last.done and not refused:
            return True
        return self._clock.monotonic() < self._next_at

    def _repeat_last(self) -> Collected:
        """Repeat the last answer, with the time until the next look."""
        left = max(self._next_at - self._clock.monotonic(), 0.0)
        outcomes = self._last.outcomes.items()
        told = {name: replace(o, after=left) if isinstance(o, Waiting | Blocked) else o for name, o in outcomes}
        return replace(self._last, outcomes=told)

    async def _check_lingering(self) -> Collected | None:
        """Check only the traces that the cloud removes by itself; None once they have gone."""
        if not self._lingering:
            return None
        traces = await self._survey.find_traces(self._network)
        self._lingering &= {ident for idents in traces.values() for ident in idents}
        if self._lingering:
            return Collected(False, {_REMAINS: self._report_remains()})
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
            return _hold(describe_namesakes(self.name, site, others))
        return await self._look_and_delete(site, policy, ask)

    async def _look_and_delete(self, site: Site, policy: Collect, ask: Ask) -> Collected:
        workloads = Workloads(self.name, site.network, site.owner.uuid)
        look = await self._survey.look(workloads, policy.tasks)
        if look.namesakes:
            return _hold(describe_namesakes(self.name, site, look.namesakes))
        said = judge_all(look, workloads, self._survey.rules, policy.tasks, policy.volumes)
        self._kept = tuple(each for each in said if isinstance(each, Keep))
        self._notes = look.notes
        if look.running:
            self._machines_seen, self._empty_since = True, None
            return Collected(False, {MACHINES: self._wait_for_machines(look.running, workloads)})
        self._refused_since.pop(MACHINES, None)
        self._machines_seen = self._machines_seen or look.ran_lately
        doomed = [each.thing for each in said if isinstance(each, Delete)]
        if not doomed:
            return self._report_nothing_left()
        self._empty_since = None
        self._count_returns(doomed, said)
        outcomes = await self._delete(doomed, look.traces, policy, ask) | self._report_returns(doomed)
        return Collected(False, outcomes or {ALL: Waiting(Reason.COLLECTING, 1.0, "are looked for once more")})

    def _wait_for_machines(self, running: Sequence[str], workloads: Workloads) -> Outcome:
        since, after = self._measure_lasting(MACHINES)
        return Waiting(Reason.COLLECTING, max(after, QUIET), f"{describe_running_machines(workloads, running)}{since}")

    def _report_nothing_left(self) -> Collected:
        """Report that nothing is left; a second look confirms it if machines of the cluster ran a short time ago."""
        if self._machines_seen and self._empty_since is None:
            self._empty_since = self._clock.monotonic()
            message = "nothing is found; looked for once more, since machines of the cluster have run until now"
            return Collected(False, {ALL: Waiting(Reason.COLLECTING, QUIET, message)})
        kept = {str(each.thing): Kept(Reason.NOT_OWNED, each.why) for each in self._kept}
        summary = self._summarize()
        return Collected(True, kept, summary, is_news=bool(summary))

    def _summarize(self) -> str:
        """Summarize what was collected and what stays; empty if there was nothing."""
        if not self._deleted and not self._kept:
            return ""
        counts = Counter(thing.task for thing in self._deleted.values())
        gone = ", ".join(f"{task} {counts[task]}" for task in CollectionTask if counts[task]) or "nothing"
        kept = "".join(f"; kept: {each.thing}: {each.why}" for each in self._kept)
        notes = "".join(f"; {note}" for note in self._notes)
        return f"collected of cluster {self.name}: {gone}{kept}{notes}"

    async def _delete(
        self, doomed: Sequence[Thing], traces: Mapping[str, tuple[str, ...]], policy: Collect, ask: Ask
    ) -> dict[str, Outcome]:
        """Delete what can be deleted now. Other tasks wait until load balancers and target groups are gone."""
        outcomes: dict[str, Outcome] = {}
        for task in policy.tasks:
            things = [thing for thing in doomed if thing.task is task]
            free = [thing for thing in things if not (thing.waits_for or thing.held_by)]
            outcomes |= {
                str(thing): self._report_waiting(thing) for thing in things if thing.waits_for or thing.held_by
            }
            refused = await self._send(self._survey.plan_steps(free, policy.volumes), ask)
            outcomes |= refused
            taken = [thing for thing in free if str(thing) not in refused]
            still = await self._survey.find_remaining(taken) if taken else ()
            for thing in taken:
                self._deleted[thing.id] = thing
                self._lingering |= set(traces.get(thing.trace_key, ()))
                self._pause = 0.0 if refused or still else max(self._pause, thing.trace_seconds * EXPECTED)
            self._gone |= {thing.id for thing in taken} - {thing.id for thing in still}
            outcomes |= {str(thing): Waiting(Reason.COLLECTING, 5.0, "its delete was requested") for thing in still}
            if outcomes and task in _FIRST:
                return outcomes
        return outcomes

    async def _send(self, waves: Sequence[Sequence[Step]], ask: Ask) -> dict[str, Outcome]:
        """Send wave after wave, each step only if the object still wants it. Return the refused ones."""
        refused: dict[str, Outcome] = {}
        for wave in waves:
            steps = [step for step in wave if str(step.thing) not in refused]
            results = await self._survey.run_all([partial(_send_if_wanted, step, ask) for step in steps])
            for step, error in zip(steps, results, strict=True):
                if error is None or isinstance(error, NotFound):
                    self._refused_since.pop(step.thing.id, None)
                elif isinstance(error, _Stopped):
                    message = "the object's annotation has stopped the collection"
                    refused[str(step.thing)] = Waiting(Reason.COLLECTING, 0.0, message)
                elif isinstance(error, CloudError):
                    refused[str(step.thing)] = self._report_refusal(step.thing.id, f"could not {step.what} it", error)
                else:
                    raise error
        return refused

    def _report_refusal(self, ident: str, what: str, error: CloudError) -> Outcome:
        """Report a refused step, and since when it is refused. The longer that lasts, the less often it is tried."""
        outcome, (since, after) = outcome_of_error(error), self._measure_lasting(ident)
        blocker = f" (held by {error.blocker})" if isinstance(error, InUse) and error.blocker else ""
        message = f"{what}: {error.message}{blocker}{since}"
        if isinstance(outcome, Waiting):
            return Waiting(Reason.COLLECTING, max(after, outcome.after), message)
        return Blocked(Reason.COLLECTION_HELD, message, max(after, outcome.after))

    def _report_waiting(self, thing: Thing) -> Outcome:
        since, after = self._measure_lasting(thing.id)
        if thing.held_by:
            return Blocked(Reason.COLLECTION_HELD, f"{thing.held_by}{since}", after)
        return Waiting(Reason.COLLECTING, after, f"it waits for {thing.waits_for}{since}")

    def _measure_lasting(self, ident: str, pace: float = PACE) -> tuple[str, float]:
        """Measure since when something cannot be deleted, in words, and the seconds until it is tried again."""
        now = self._clock.now()
        since = self._refused_since.setdefault(ident, now)
        after = min(max(pace, (now - since) / 4), RECHECK)
        return (f" (since {datetime.fromtimestamp(since, UTC):%H:%M} UTC)" if now - since > PACE else ""), after

    def _report_remains(self) -> Outcome:
        names, (since, after) = sorted(self._lingering), self._measure_lasting(_REMAINS, REMAINS_PACE)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        message = f"the cloud still takes away what remains of load balancers: {', '.join(names[:5])}{more}{since}"
        return Waiting(Reason.COLLECTING, after, message)

    def _count_returns(self, doomed: Sequence[Thing], said: Sequence[Verdict]) -> None:
        """Count the looks in which things came back. A kept thing that can be deleted now is not one."""
        self._first_delete_at = min(self._first_delete_at, self._clock.monotonic())
        ids = {thing.id for thing in doomed}
        again = (ids & self._gone) | (ids - self._seen if self._deleted else set())
        self._returned = (self._returned & ids) | again
        self._returns += bool(again)
        self._gone -= ids
        self._seen |= {each.thing.id for each in said}

    def _report_returns(self, doomed: Sequence[Thing]) -> dict[str, Outcome]:
        """Report things that come back again and again: something makes them, and only a person can stop that."""
        back = [str(thing) for thing in doomed if thing.id in self._returned]
        lasted = self._clock.monotonic() - self._first_delete_at
        if not back or (self._returns < MOST_SWEEPS and lasted <= LONGEST):
            return {}
        message = (
            f"{', '.join(back[:5])}: made again {self._returns} times. Stop what makes them (a cloud controller of "
            f"cluster {self.name} that still runs, or GitOps), and the delete goes on"
        )
        return {"again": Blocked(Reason.COLLECTION_HELD, message, RECHECK)}


def describe_namesakes(name: str, site: Site, others: Sequence[str]) -> str:
    """Describe that other clusters have the name in the same network."""
    return (
        f"{', '.join(others)} has the name {name} in {site.network} too, so nothing tells whose the "
        "leftovers are: nothing is collected. Delete them by hand, or opt out: freehold gc disable --cluster-name "
        f"{name} -n {site.owner.namespace}"
    )


def describe_running_machines(workloads: Workloads, running: Sequence[str]) -> str:
    """Describe that the collection waits for machines."""
    shown = ", ".join(running[:5]) + (f" and {len(running) - 5} more" if len(running) > 5 else "")
    return (
        f"{shown} of cluster {workloads.name} runs in {workloads.network}, so its controllers may make again what is "
        "collected: the collection begins when it has stopped. Delete it"
    )


def _hold(message: str) -> Collected:
    return Collected(False, {"namesakes": Blocked(Reason.COLLECTION_HELD, message)})


async def _send_if_wanted(step: Step, ask: Ask) -> None:
    if not isinstance(await ask(), Collect):
        raise _Stopped
    await step.run()


class _Stopped(Exception):
    """The object does not want the collection any more."""
