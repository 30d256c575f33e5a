"""A controller: watch, cache, queue, workers. Level-triggered: a reconcile is given a key and looks for itself.

Promises: one reconcile at a time for an object; a failing one backs off alone; a lost event is
repaired by the next resync; a task that dies is started again and reported. No promise that the
cache shows our own last write: where that matters, write with a resourceVersion or read from the server.
"""

from __future__ import annotations

import asyncio
import logging
import time as wall
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from freehold.controllers import predicates
from freehold.controllers.health import Health
from freehold.controllers.logs import LogContext, log_about
from freehold.controllers.timing import DomainTime
from freehold.controllers.workqueue import Backoff, Priority, WorkQueue
from freehold.engine.errors import CloudError
from freehold.kube.client import KubeClient
from freehold.kube.errors import Conflict, KubeError
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.kube.watch import RESYNC_SECONDS, ObjectChange, Origin, Reflector, Synced, WatchState

_LOG = logging.getLogger(__name__)

RESTART_SECONDS = 1.0
LONGEST_RESTART_SECONDS = 60.0
DEATH_WINDOW_SECONDS = 600.0
MOST_DEATHS_REMEMBERED = 100


@dataclass(frozen=True)
class Done:
    """A result: nothing to do until something changes (or the next resync)."""


@dataclass(frozen=True)
class RequeueAfter:
    """A result: reconcile again after ``seconds`` of domain time, sooner if something changes.

    ``at_rest``: nothing is under way, so this wake has the priority of a backlog.
    """

    seconds: float
    at_rest: bool = False


Result = Done | RequeueAfter
ReconcileEnd = Result | Exception
"""How a reconcile ended."""
Reconcile = Callable[[Key], Awaitable[Result]]


@dataclass(frozen=True)
class WatchedResource:
    """Another watched resource. ``concerns`` maps an object of it to those of our objects that must look again."""

    resource: Resource
    concerns: Callable[[Json], Iterable[Key]]
    predicate: predicates.Predicate = predicates.anything_changed
    namespace: str = ""


def _forget(last: Json) -> None:
    """Do nothing for an object that is gone."""


def _ignore_change(change: ObjectChange) -> None:
    """Do nothing: nobody looks on."""


class Controller:
    """A controller that runs ``reconcile`` for the objects of ``resource``.

    ``time`` is domain time (requeues, backoff). ``resync`` and ``grace`` are wall seconds: how long a
    lost event can last, and how long a running reconcile may go on after ``stop``. ``reads``: controllers in whose
    caches ``reconcile`` looks, so that one process holds an object once; their changes wake nothing here. ``gone`` is
    called with the last state of an object that was deleted, ``on_pass`` with the end of a reconcile and its seconds.
    An object that ``serves`` refuses stays in the cache and is never reconciled; ``unserved`` is called with it.
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
        watches: Sequence[WatchedResource] = (),
        reads: Sequence[Controller] = (),
        wake: predicates.Predicate = predicates.spec_or_metadata_changed,
        backoff: Backoff | None = None,
        resync: float = RESYNC_SECONDS,
        grace: float = 20.0,
        label_selector: str = "",
        gone: Callable[[Json], None] = _forget,
        unserved: Callable[[Json], None] = _forget,
    ) -> None:
        self.resource = resource
        self._on_gone = gone
        self._on_unserved = unserved
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
        self._begun_at: dict[Key, float] = {}
        self._last_logged: dict[Key, str] = {}
        self._last_progress = wall.monotonic()
        self._restarts = 0
        self.cut_off = False
        """True if a reconcile was still running at the end of the grace period."""
        self.on_pass: Callable[[ReconcileEnd, float], None] = lambda end, seconds: None
        self.serves: Callable[[Json], bool] = lambda obj: True
        self.on_change: Callable[[ObjectChange], None] = _ignore_change
        """Called with each change of the cache. It must not raise."""
        self._died_at: deque[float] = deque(maxlen=MOST_DEATHS_REMEMBERED)

    # --- reading -------------------------------------------------------------------------------

    def get(self, key: Key) -> Json | None:
        """Return the latest known object; None when there is none. It must not be modified."""
        return self._primary.objects.get(key)

    def list_objects(self) -> list[Json]:
        """Return every known object. They must not be modified."""
        return list(self._primary.objects.values())

    def list_served(self) -> list[Json]:
        """Return the known objects that are reconciled. They must not be modified."""
        known = list(self._primary.objects.values())  # one step: a scrape reads it from another thread
        return list(filter(self.serves, known))

    def find_reflector(self, resource: Resource) -> Reflector:
        """Find the cache of a watched resource. Raises KeyError for one that is not watched."""
        for reflector in (*self._list_reflectors(), *self._read):
            if reflector.resource == resource:
                return reflector
        raise KeyError(f"{self.resource}'s controller does not watch {resource}")

    def read_health(self) -> Health:
        """Return the health now."""
        now = wall.monotonic()
        return Health(
            ready=self._primary.state is WatchState.SYNCED and self._settled.is_set(),
            followed={str(each.resource): each.state for each in self._list_reflectors()},
            silent=max(now - each.last_contact for each in self._list_reflectors()),
            busy=max((now - begun for begun in list(self._begun_at.values())), default=0.0),
            last_progress=now - self._last_progress,
            queued=len(self.queue),
            scheduled=self.queue.scheduled,
            restarts=self._restarts,
            deaths=sum(now - died < DEATH_WINDOW_SECONDS for died in tuple(self._died_at)),
            state=self._primary.state,
            refused={
                str(each.resource): each.problem for each in self._list_reflectors() if each.state is WatchState.REFUSED
            },
        )

    def requeue_all(self) -> None:
        """Reconcile every known object: something that concerns all of them has changed."""
        for key in self._primary.objects:
            self.queue.add(key, Priority.BACKLOG)

    async def wait_until_synced(self) -> None:
        """Wait until the first lists are in and the workers run."""
        await self._settled.wait()

    # --- running -------------------------------------------------------------------------------

    def stop(self) -> None:
        """Take no new work. ``run`` returns when the running reconciles are finished, or after the grace period."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until ``stop`` or cancellation. The server's failures never end it."""
        followers = [self._start("watch", self._follow_primary)]
        for watched, reflector in self._secondary:
            followers.append(self._start(f"watch of {watched.resource}", self._build_follower(watched, reflector)))
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
                await self.queue.wait_until_drained()
        except TimeoutError:
            self.cut_off = True
            left = ", ".join(sorted(str(key) for key in self.queue.active))
            _LOG.warning("%s: stopping while still in hand: %s (the next start goes on)", self.resource, left)

    def _start(self, what: str, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        return asyncio.create_task(self._supervise(what, run), name=f"{self.resource} {what}")

    async def _supervise(self, what: str, run: Callable[[], Awaitable[None]]) -> None:
        """Start ``run`` again whenever a defect ends it, so that no watch or worker is missing."""
        delay = RESTART_SECONDS
        while not self._stopping.is_set():
            try:
                await run()
                return
            except Exception:  # a defect of ours: logged whole, counted for the probe, and the task begins anew
                self._restarts += 1
                self._died_at.append(wall.monotonic())
                _LOG.exception("%s: the %s died and is started again in %.0f s", self.resource, what, delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2.0, LONGEST_RESTART_SECONDS)

    # --- watching ------------------------------------------------------------------------------

    async def _follow_primary(self) -> None:
        async with aclosing(self._primary.follow_changes()) as changes:
            async for change in changes:
                self._note_progress()
                if isinstance(change, Synced):
                    self._check_settled()
                    continue
                self.on_change(change)
                if change.new is None and change.old is not None:
                    (self._on_gone if self.serves(change.old) else self._on_unserved)(change.old)
                if _matters(change, self._wake):
                    self.queue.add(change.key, choose_priority(change))

    def _tell_readers(self) -> None:
        for each in self._readers:
            each._check_settled()

    def _build_follower(self, watched: WatchedResource, reflector: Reflector) -> Callable[[], Awaitable[None]]:
        async def follow() -> None:
            reflector.on_state = self._check_settled
            async with aclosing(reflector.follow_changes()) as changes:
                async for change in changes:
                    self._note_progress()
                    if isinstance(change, ObjectChange) and _matters(change, watched.predicate):
                        for obj in (change.old, change.new):
                            for key in self._find_concerned(obj, watched.concerns):
                                self.queue.add(key, _choose_priority_of_concerned(change))

        return follow

    def _find_concerned(self, obj: Json | None, concerns: Callable[[Json], Iterable[Key]]) -> tuple[Key, ...]:
        """Map an object to our keys. If the mapping fails, only this object is skipped, and the watch goes on."""
        if obj is None:
            return ()
        try:
            return tuple(concerns(obj))
        except Exception:  # logged whole; only this object waits for the next resync
            _LOG.exception("%s: %s %s cannot be mapped to our objects", self.resource, obj.get("kind"), key_of(obj))
            return ()

    def _check_settled(self) -> None:
        """Let the workers begin once our own objects are listed and every other watch has listed or failed.

        A watch that fails counts as knowing: its state tells the reconcile "unknown", never "absent"
        (docs/reference/capi-contract.md C19), and one that is refused must not hold up everything else.
        """
        others = [*(each for _, each in self._secondary), *self._read]
        if self._primary.state is WatchState.SYNCED and all(each.state is not WatchState.STARTING for each in others):
            self._settled.set()

    def _list_reflectors(self) -> list[Reflector]:
        return [self._primary, *(reflector for _, reflector in self._secondary)]

    # --- working -------------------------------------------------------------------------------

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            begun = self._begun_at[key] = wall.monotonic()
            try:
                with log_about(self._describe(key)):
                    end = await self._serve(key)
            finally:
                del self._begun_at[key]
                self.queue.finish(key)
            self.on_pass(end, wall.monotonic() - begun)
            self._note_progress()

    async def _serve(self, key: Key) -> ReconcileEnd:
        known = self.get(key)
        if known is not None and not self.serves(known):
            self._on_unserved(known)
            self._finish(key, Done())
            return Done()
        try:
            result = await self._reconcile(key)
        except Exception as problem:
            self._back_off(key, problem)
            return problem
        self._finish(key, result)
        return result

    def _describe(self, key: Key) -> LogContext:
        known = self._primary.objects.get(key)
        return LogContext(f"{self.resource.kind} {key}", str(known["metadata"].get("uid", "")) if known else "")

    def _finish(self, key: Key, result: Result) -> None:
        self.queue.forget(key)
        self._last_logged.pop(key, None)
        if isinstance(result, RequeueAfter):
            self.queue.add_after(key, result.seconds, Priority.BACKLOG if result.at_rest else Priority.LIVE)

    def _back_off(self, key: Key, problem: Exception) -> None:
        """Retry the key after its backoff. Log each distinct problem once, a defect with its traceback."""
        if key not in self._primary.objects and isinstance(problem, KubeError):
            self.queue.forget(key)  # it went while we were at it; its deletion has queued it again
            self._last_logged.pop(key, None)
            return
        delay = self.queue.retry(key, _read_retry_after(problem))
        if isinstance(problem, Conflict):
            _LOG.debug("%s %s changed meanwhile; again in %.1f s", self.resource, key, delay)
            return
        text = f"{type(problem).__name__}: {problem}"
        if self._last_logged.get(key) == text:
            return
        self._last_logged[key] = text
        if isinstance(problem, KubeError | CloudError):
            _LOG.warning("%s %s: %s; again in %.1f s", self.resource, key, problem, delay)
        else:
            _LOG.error("%s %s: unexpected failure; again in %.1f s", self.resource, key, delay, exc_info=problem)

    def _note_progress(self) -> None:
        self._last_progress = wall.monotonic()


def _matters(change: ObjectChange, wake: predicates.Predicate) -> bool:
    """Return whether a change wakes a reconcile: each object of a list does, a watch event if ``wake`` says so."""
    return change.origin is Origin.LIST or not change.old or not change.new or wake(change.old, change.new)


def choose_priority(change: ObjectChange) -> Priority:
    """Return BACKLOG for an object of a list that is at rest, and LIVE for everything that somebody waits for.

    After a restart all objects are listed. What is new, edited, or on its way goes first.
    """
    if change.origin is Origin.LIST and change.new and predicates.is_at_rest(change.new):
        return Priority.BACKLOG
    return Priority.LIVE


def _choose_priority_of_concerned(change: ObjectChange) -> Priority:
    """Return BACKLOG where a list brings what surrounds an object: it is no news, unless it is being deleted."""
    if change.origin is Origin.LIST and change.new and "deletionTimestamp" not in change.new["metadata"]:
        return Priority.BACKLOG
    return Priority.LIVE


def _read_retry_after(problem: Exception) -> float:
    """Return the seconds that a server asked us to wait; 0 if it did not."""
    asked = getattr(problem, "retry_after", None)
    return float(asked) if isinstance(asked, int | float) else 0.0
