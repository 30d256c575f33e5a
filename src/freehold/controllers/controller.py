"""A controller: watch, cache, queue, workers. Level-triggered: a reconcile is given a key and looks for itself.

Promises: one reconcile at a time for an object; a failing one backs off alone; a lost event is
repaired by the next resync; a task that dies is started again and reported. No promise that the
cache shows our own last write: where that matters, write with a resourceVersion or read from the server.
"""

from __future__ import annotations

import asyncio
import logging
import time as wall
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from freehold.controllers import predicates
from freehold.controllers.timing import DomainTime
from freehold.controllers.workqueue import Backoff, Priority, WorkQueue
from freehold.engine.errors import CloudError
from freehold.kube.client import KubeClient
from freehold.kube.errors import Conflict, KubeError
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.kube.watch import RESYNC_SECONDS, Change, Origin, Reflector, State, Synced

_LOG = logging.getLogger(__name__)

RESTART_SECONDS = 1.0
LONGEST_RESTART_SECONDS = 60.0


@dataclass(frozen=True)
class Done:
    """Nothing to do until something changes (or the next resync)."""


@dataclass(frozen=True)
class RequeueAfter:
    """Look again after ``seconds`` of domain time, sooner if something changes.

    ``at_rest``: nothing is under way, so others go first then.
    """

    seconds: float
    at_rest: bool = False


Result = Done | RequeueAfter
Reconcile = Callable[[Key], Awaitable[Result]]


@dataclass(frozen=True)
class Watched:
    """Another resource whose changes concern our objects. ``concerns`` names the ones that an object of it touches."""

    resource: Resource
    concerns: Callable[[Json], Iterable[Key]]
    predicate: predicates.Predicate = predicates.on_any_change
    namespace: str = ""


@dataclass(frozen=True)
class Health:
    """What a probe, or a person, wants to know. Ages are in seconds of wall time.

    ``problem``: why nothing can be served, where that is known. ``followed`` tells for each resource what its
    watch knows; ``silent`` how long the quietest watch has not heard from the server; ``busy`` how long the
    longest reconcile in hand has been running.
    """

    ready: bool
    followed: dict[str, State]
    silent: float
    busy: float
    last_progress: float
    queued: int
    scheduled: int
    restarts: int
    problem: str = ""


def _forget(last: Json) -> None:
    """Nothing is to be done about an object that is gone."""


class Controller:
    """Runs ``reconcile`` for the objects of ``resource``.

    ``time`` is domain time (requeues, backoff). ``resync`` and ``grace`` are wall seconds: how long a
    lost event can last, and how long a reconcile in hand may go on after ``stop``. ``reads``: controllers in whose
    caches ``reconcile`` looks, so that one process holds an object once; their changes wake nothing here. ``gone`` is
    given the last state of an object that is not there any more.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        reconcile: Reconcile,
        *,
        time: DomainTime,
        namespace: str = "",
        workers: int = 8,
        watches: Sequence[Watched] = (),
        reads: Sequence[Controller] = (),
        wake: predicates.Predicate = predicates.on_spec_or_metadata,
        backoff: Backoff | None = None,
        resync: float = RESYNC_SECONDS,
        grace: float = 20.0,
        label_selector: str = "",
        gone: Callable[[Json], None] = _forget,
    ) -> None:
        self.resource = resource
        self._gone = gone
        self.queue: WorkQueue[Key] = WorkQueue(time, backoff, backlog_workers=max(1, workers // 4))
        self._reconcile = reconcile
        self._workers = workers
        self._wake = wake
        self._grace = grace
        self._primary = Reflector(client, resource, namespace, label_selector=label_selector, resync=resync)
        self._primary.on_state = self._tell_readers
        self._secondary = [
            (watched, Reflector(client, watched.resource, watched.namespace, resync=resync)) for watched in watches
        ]
        self._read = [each._primary for each in reads]
        self._readers: list[Controller] = []
        for each in reads:
            each._readers.append(self)
        self._settled = asyncio.Event()
        self._stopping = asyncio.Event()
        self._begun: dict[Key, float] = {}
        self._said: dict[Key, str] = {}
        self._last_progress = wall.monotonic()
        self._restarts = 0

    # --- reading -------------------------------------------------------------------------------

    def get(self, key: Key) -> Json | None:
        """The latest known object; None when there is none. Must not be modified."""
        return self._primary.objects.get(key)

    def all(self) -> list[Json]:
        """Every object that is known. Must not be modified."""
        return list(self._primary.objects.values())

    def follower(self, resource: Resource) -> Reflector:
        """The cache, and what is known of it, of a watched resource. Raises KeyError for one that is not watched."""
        for reflector in (*self._reflectors(), *self._read):
            if reflector.resource == resource:
                return reflector
        raise KeyError(f"{self.resource}'s controller does not watch {resource}")

    def health(self) -> Health:
        """The state of things now."""
        now = wall.monotonic()
        return Health(
            ready=self._primary.state is State.SYNCED and self._settled.is_set(),
            followed={str(each.resource): each.state for each in self._reflectors()},
            silent=max(now - each.last_contact for each in self._reflectors()),
            busy=max((now - begun for begun in self._begun.values()), default=0.0),
            last_progress=now - self._last_progress,
            queued=len(self.queue),
            scheduled=self.queue.scheduled,
            restarts=self._restarts,
        )

    def requeue_all(self) -> None:
        """Reconcile every known object: something that concerns all of them has changed."""
        for key in self._primary.objects:
            self.queue.add(key, Priority.BACKLOG)

    async def synced(self) -> None:
        """Wait until the first lists are in and the workers run."""
        await self._settled.wait()

    # --- running -------------------------------------------------------------------------------

    def stop(self) -> None:
        """Take nothing new; ``run`` returns when what is in hand is finished, or its grace is over."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until ``stop`` or cancellation. The server's failures never end it."""
        followers = [self._start("watch", self._follow_primary)]
        for watched, reflector in self._secondary:
            followers.append(self._start(f"watch of {watched.resource}", self._following(watched, reflector)))
        workers: list[asyncio.Task[None]] = []
        stopping = asyncio.ensure_future(self._stopping.wait())
        settled = asyncio.ensure_future(self._settled.wait())
        try:
            await asyncio.wait((settled, stopping), return_when=asyncio.FIRST_COMPLETED)
            workers = [self._start("worker", self._work) for _ in range(self._workers)]
            await stopping
            self.queue.close()
            await self._finish_in_hand()
        finally:
            self.queue.close()
            tasks = (stopping, settled, *followers, *workers)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _finish_in_hand(self) -> None:
        try:
            async with asyncio.timeout(self._grace):
                await self.queue.drained()
        except TimeoutError:
            left = ", ".join(sorted(str(key) for key in self.queue.active))
            _LOG.warning("%s: stopping while still in hand: %s (the next start goes on)", self.resource, left)

    def _start(self, what: str, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        return asyncio.create_task(self._supervised(what, run), name=f"{self.resource} {what}")

    async def _supervised(self, what: str, run: Callable[[], Awaitable[None]]) -> None:
        """Start ``run`` again whenever it ends by a defect: the operator must not become a zombie."""
        delay = RESTART_SECONDS
        while not self._stopping.is_set():
            try:
                await run()
                return
            except Exception:  # a defect of ours: logged whole, counted for the probe, and the task begins anew
                self._restarts += 1
                _LOG.exception("%s: the %s died and is started again in %.0f s", self.resource, what, delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2.0, LONGEST_RESTART_SECONDS)

    # --- watching ------------------------------------------------------------------------------

    async def _follow_primary(self) -> None:
        async with aclosing(self._primary.changes()) as changes:
            async for change in changes:
                self._progressed()
                if isinstance(change, Synced):
                    self._check_settled()
                    continue
                if change.new is None and change.old is not None:
                    self._gone(change.old)
                if _matters(change, self._wake):
                    self.queue.add(change.key, _priority(change))

    def _tell_readers(self) -> None:
        for each in self._readers:
            each._check_settled()

    def _following(self, watched: Watched, reflector: Reflector) -> Callable[[], Awaitable[None]]:
        async def follow() -> None:
            reflector.on_state = self._check_settled
            async with aclosing(reflector.changes()) as changes:
                async for change in changes:
                    self._progressed()
                    if isinstance(change, Change) and _matters(change, watched.predicate):
                        for obj in (change.old, change.new):
                            for key in self._concerned(obj, watched.concerns):
                                self.queue.add(key, _priority(change))

        return follow

    def _concerned(self, obj: Json | None, concerns: Callable[[Json], Iterable[Key]]) -> tuple[Key, ...]:
        """One object that the mapping cannot digest must not keep the watch from all the others."""
        if obj is None:
            return ()
        try:
            return tuple(concerns(obj))
        except Exception:  # logged whole; only this object waits for the next resync
            _LOG.exception("%s: %s %s cannot be mapped to our objects", self.resource, obj.get("kind"), key_of(obj))
            return ()

    def _check_settled(self) -> None:
        """Workers begin when our own objects are listed and every other watch has listed or failed.

        A watch that fails counts as knowing: its state tells the reconcile "unknown", never "absent"
        (docs/reference/capi-contract.md C19), and one that is refused must not hold up everything else.
        """
        others = [*(each for _, each in self._secondary), *self._read]
        if self._primary.state is State.SYNCED and all(each.state is not State.STARTING for each in others):
            self._settled.set()

    def _reflectors(self) -> list[Reflector]:
        return [self._primary, *(reflector for _, reflector in self._secondary)]

    # --- working -------------------------------------------------------------------------------

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            self._begun[key] = wall.monotonic()
            try:
                result = await self._reconcile(key)
            except Exception as problem:
                self._failed(key, problem)
            else:
                self._succeeded(key, result)
            finally:
                del self._begun[key]
                self.queue.done(key)
            self._progressed()

    def _succeeded(self, key: Key, result: Result) -> None:
        self.queue.forget(key)
        self._said.pop(key, None)
        if isinstance(result, RequeueAfter):
            self.queue.add_after(key, result.seconds, Priority.BACKLOG if result.at_rest else Priority.LIVE)

    def _failed(self, key: Key, problem: Exception) -> None:
        """Back off; say each distinct problem once, a defect of ours with its traceback."""
        if key not in self._primary.objects and isinstance(problem, KubeError):
            self.queue.forget(key)  # it went while we were at it; its deletion has queued it again
            self._said.pop(key, None)
            return
        delay = self.queue.retry(key, _asked(problem))
        if isinstance(problem, Conflict):
            _LOG.debug("%s %s changed meanwhile; again in %.1f s", self.resource, key, delay)
            return
        text = f"{type(problem).__name__}: {problem}"
        if self._said.get(key) == text:
            return
        self._said[key] = text
        if isinstance(problem, KubeError | CloudError):
            _LOG.warning("%s %s: %s; again in %.1f s", self.resource, key, problem, delay)
        else:
            _LOG.error("%s %s: unexpected failure; again in %.1f s", self.resource, key, delay, exc_info=problem)

    def _progressed(self) -> None:
        self._last_progress = wall.monotonic()


def _matters(change: Change, wake: predicates.Predicate) -> bool:
    """Whatever a list shows may have changed unseen; of what a watch tells, our own writes are no news."""
    return change.origin is Origin.LIST or not change.old or not change.new or wake(change.old, change.new)


def _priority(change: Change) -> Priority:
    """What a list shows is a backlog, but for what is to go: somebody waits for that, perhaps before a restart."""
    if change.origin is Origin.LIST and change.new and "deletionTimestamp" not in change.new["metadata"]:
        return Priority.BACKLOG
    return Priority.LIVE


def _asked(problem: Exception) -> float:
    """How long a server asked us to wait, in seconds."""
    asked = getattr(problem, "retry_after", None)
    return float(asked) if isinstance(asked, int | float) else 0.0
