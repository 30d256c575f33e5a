"""Follows objects of ours until they are as wanted, across restarts of the server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Protocol

from freehold.cli.errors import CliError
from freehold.cli.local.look_service import LookAnswer, Requester, looks_of_server
from freehold.cli.local.session import Session
from freehold.cli.output.highlights import attention, being_deleted, options_note
from freehold.cli.output.progress import DONE, Display
from freehold.controllers.observation_log import LookOutcome, LookRecord
from freehold.kube.errors import KubeError
from freehold.kube.resources import Json, Key, Resource
from freehold.kube.watch import ObjectChange, Reflector, WatchState
from freehold.view.object_view import View, ViewPhase, view

_TICK_SECONDS = 0.25
_GRACE_DOMAIN_SECONDS = 30.0
_GRACE_WALL_SECONDS = 3.0
_HELD_DOMAIN_SECONDS = 300.0
"""What holds a delete up leaves by itself within minutes, or never."""

_NO_NEWS_SECONDS = 60.0
_NO_STATUS = (
    "no operator has looked at the object: is one running, and does the annotation cluster.x-k8s.io/managed-by, "
    "a paused Cluster or a watch filter keep it away?"
)

_NO_NEWS = (
    "the operator has not finished a reconcile of {} for a minute: it fails, or hangs. Its log says why; run the same "
    "command again to go on waiting"
)
_NOTHING_SERVED = "the operator serves nothing, {} neither: {}"

Followed = tuple[Resource, Key]


@dataclass
class ViewSnapshot:
    """The followed objects, as far as known. ``last`` keeps the final state of those that have gone.

    ``looks``: what the operator has seen of them since it was asked; None where every status counts as news, because
    nobody asked, or because nobody can tell. ``problem``: why the operator serves nothing, ``queued``: how many objects
    wait for their turn there, where it can be asked. ``applied``: the resourceVersions of what this command has
    changed; what was seen of an earlier one counts for nothing. ``connections``: how many there have been.
    """

    wanted: tuple[Followed, ...]
    present: dict[Followed, Json] = field(default_factory=dict)
    last: dict[Followed, Json] = field(default_factory=dict)
    synced: set[Resource] = field(default_factory=set)
    looks: Mapping[Followed, LookRecord] | None = None
    problem: str = ""
    queued: int = 0
    applied: Mapping[Followed, str] = field(default_factory=dict)
    connections: int = 0

    @property
    def complete(self) -> bool:
        return {resource for resource, _ in self.wanted} <= self.synced

    @property
    def views(self) -> list[View]:
        return [view(self.present[each], news=self.is_news(each)) for each in self.wanted if each in self.present]

    def is_news(self, followed: Followed) -> bool:
        """Return whether the operator now running has written the status, or confirmed it, since it was asked."""
        if self.looks is None:
            return True
        look, obj = self.look(followed), self.present.get(followed)
        return look is not None and obj is not None and _is_at_least(_version(obj), look.version)

    def look(self, followed: Followed) -> LookRecord | None:
        """Return what the operator has seen of the object as this command has applied it, or of a later version."""
        look = (self.looks or {}).get(followed)
        return look if look is not None and _is_at_least(look.version, self.applied.get(followed, "0")) else None

    @property
    def silent(self) -> frozenset[Followed]:
        """Return those that no operator has told anything of."""
        return frozenset(
            each
            for each, obj in self.present.items()
            if not (self.is_news(each) and (obj.get("status") or {}).get("conditions"))
        )

    def is_looked_at(self, followed: Followed) -> bool:
        """Return whether that pass has looked at everything in the cloud."""
        return self.is_news(followed) and (self.looks is None or self.looks[followed].outcome is LookOutcome.FULL_LOOK)

    def forget(self, resource: Resource) -> None:
        """Nothing is known of this resource until it has been listed again."""
        self.synced.discard(resource)
        self.present = {key: obj for key, obj in self.present.items() if key[0] != resource}

    def take(self, resource: Resource, change: ObjectChange) -> None:
        key = (resource, change.key)
        if key not in self.wanted:
            return
        if change.new is not None:
            self.present[key] = self.last[key] = change.new
        else:
            self.present.pop(key, None)
            if change.old is not None:
                self.last[key] = change.old


def _version(obj: Json) -> str:
    return str(obj["metadata"]["resourceVersion"])


def _is_at_least(version: str, wanted: str) -> bool:
    """Return whether the first is ``wanted`` or a later one: those of a server that tells looks are numbers."""
    return int(version) >= int(wanted)


Verdict = Callable[[ViewSnapshot, float], bool]
"""Whether to stop looking; given the picture and domain time in epoch seconds. May raise CliError."""


async def follow(
    session: Session,
    followed: Sequence[Followed],
    show: Display,
    verdict: Verdict,
    *,
    patience: float,
    news_only: bool = False,
    applied: Mapping[Followed, str] | None = None,
) -> ViewSnapshot:
    """Look until the verdict is in. ``patience`` is seconds of wall time. Raises CliError.

    ``news_only``: a status counts once the operator has confirmed it, where one can be asked; of what this command has
    changed, with ``applied`` or a later resourceVersion.
    """
    picture = ViewSnapshot(tuple(followed), applied=applied or {})
    deadline = time.monotonic() + patience
    while True:
        async with _Following(session, picture) as following:
            asking = _LookReader(session, picture, show.line) if news_only else None
            while not following.lost:
                if asking is not None:
                    await asking.refresh()
                if picture.complete:
                    show.show(picture.views, session.clock.now())
                    if verdict(picture, session.clock.now()):
                        return picture
                if time.monotonic() > deadline:
                    raise CliError(f"not done after {patience:.0f} s; the same command goes on", _list_left(picture))
                await following.news(_TICK_SECONDS)
                session.refuse_full_disk()
        show.line("the server has gone away; connecting again")
        await session.renew()


def _list_left(picture: ViewSnapshot) -> list[str]:
    return [
        f"{each.title}: {line.kind} {line.name}: {line.state}: {line.note}"
        for each in picture.views
        for line in each.lines
        if line.state not in ("Ready", *DONE) and not each.outdated
    ] + [f"{each.title}: {text}" for each in picture.views for text in attention(each)]


class _Connected(Protocol):
    """The part of a session that is asked: its client, and the operator of this process, if there is one."""

    @property
    def client(self) -> Requester: ...

    @property
    def running(self) -> object | None: ...


class _LookReader:
    """Asks over one connection what the operator has looked at.

    An operator of another process is asked to look at everything again. That of this process has begun with this
    command: all that it sees is news.
    """

    def __init__(self, session: _Connected, picture: ViewSnapshot, tell: Callable[[str], None]) -> None:
        self._session = session
        self._picture = picture
        self._tell = tell
        self._again = session.running is None
        picture.looks = {}

    async def refresh(self) -> None:
        """Ask again until all was looked at. A server that does not answer is noticed by the watches."""
        picture = self._picture
        if all(map(picture.is_looked_at, picture.wanted)):
            return
        with suppress(KubeError):
            told = await looks_of_server(self._session.client, picture.wanted, again=self._again)
            self._again = False
            self._take(told)

    def _take(self, told: LookAnswer | None) -> None:
        picture = self._picture
        picture.looks = told.looks if told else None
        problem, picture.queued = (told.problem, told.queued) if told else ("", 0)
        if problem and problem != picture.problem:
            self._tell(f"the operator serves nothing for now: {problem}")
        picture.problem = problem


class _Following:
    """Watches for one connection; ``lost`` once the server cannot be asked any more."""

    def __init__(self, session: Session, picture: ViewSnapshot) -> None:
        self._session = session
        self._picture = picture
        self._news = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.lost = False

    async def __aenter__(self) -> _Following:
        self._picture.connections += 1
        for resource in dict.fromkeys(resource for resource, _ in self._picture.wanted):
            self._tasks.append(asyncio.create_task(self._watch(resource), name=f"watch of {resource}"))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def news(self, seconds: float) -> None:
        """Wait for a change, ``seconds`` at most. Raises what made a watch, or the operator, end."""
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass  # the clock has moved, which is news enough for a display
        for task in self._tasks:
            if task.done():
                task.result()
        running = self._session.running
        if running is not None and running.failed.done():
            running.failed.result()

    async def _watch(self, resource: Resource) -> None:
        namespaces = {key.namespace for each, key in self._picture.wanted if each == resource}
        namespace = next(iter(namespaces)) if len(namespaces) == 1 else ""
        reflector = Reflector(self._session.client, resource, namespace)
        reflector.on_state = lambda: self._on_watch_state(reflector)
        self._picture.forget(resource)  # what is still there will be listed
        async with aclosing(reflector.follow_changes()) as changes:
            async for change in changes:
                if isinstance(change, ObjectChange):
                    self._picture.take(resource, change)
                else:
                    self._picture.synced.add(resource)
                self._news.set()

    def _on_watch_state(self, reflector: Reflector) -> None:
        if reflector.state in (WatchState.FAILING, WatchState.ABSENT) and self._session.embedded:
            self.lost = True
            self._news.set()


class UntilReady:
    """Done when every object is Ready; gives up once nothing more can become Ready without a person.

    ``log`` is where the operator would say why it does not look at an object. ``alone``: the server ends with this
    command.
    """

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, *, log: Path | None = None, alone: bool = False
    ) -> None:
        self._log = log
        self._standstill = _StallDetector(monotonic, alone=alone)
        self._silence = _SilenceDetector(monotonic)

    def __call__(self, picture: ViewSnapshot, now: float) -> bool:
        views = picture.views
        gone = [str(key) for resource, key in picture.wanted if (resource, key) not in picture.present]
        if gone:
            raise CliError(f"deleted meanwhile: {', '.join(gone)}")
        if going := [being_deleted(each.kind, each.namespace, each.name) for each in views if each.deleting]:
            raise CliError("somebody has asked for a deletion meanwhile", going)
        if all(each.phase is ViewPhase.READY for each in views) and all(map(picture.is_looked_at, picture.wanted)):
            return True
        looks = filter(None, map(picture.look, picture.wanted))
        if any(each.outcome is LookOutcome.LEFT_ALONE for each in looks):
            raise CliError(_NO_STATUS, self._where_it_says_why())
        if self._silence.seconds(picture) > _NO_NEWS_SECONDS:
            raise CliError(_why_silent(picture), self._where_it_says_why())
        self._standstill.refuse(views, now)
        return False

    def _where_it_says_why(self) -> list[str]:
        return [f"the operator's log: {self._log}"] if self._log else []


def _why_silent(picture: ViewSnapshot) -> str:
    if picture.looks is None:
        return _NO_STATUS
    names = ", ".join(f"{resource.kind} {key}" for resource, key in picture.wanted if (resource, key) in picture.silent)
    return _NOTHING_SERVED.format(names, picture.problem) if picture.problem else _NO_NEWS.format(names)


class _SilenceDetector:
    """There are objects that no operator has told anything of, and nothing else gets on either."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._still: tuple[frozenset[Followed], int] | None = None
        self._least_queued = inf
        self._since = monotonic()

    def seconds(self, picture: ViewSnapshot) -> float:
        """Return for how long, since the last connection."""
        silent, now = picture.silent, self._monotonic()
        still = silent, picture.connections
        others = [view(obj) for each, obj in picture.present.items() if each not in silent]
        # All objects are queued when a process starts: as long as the queue becomes shorter than ever, it gets on.
        if self._still != still or picture.queued < self._least_queued or any(each.moving for each in others):
            self._since, self._least_queued = now, min(self._least_queued, picture.queued)
        self._still = still
        return now - self._since if silent else 0.0


class _StallDetector:
    """People must act, and nothing has moved for a while: between two waves nothing moves for a moment either."""

    def __init__(self, monotonic: Callable[[], float], *, alone: bool) -> None:
        self._monotonic = monotonic
        self._alone = alone
        self._still: tuple[object, float, float] | None = None

    def refuse(self, views: Sequence[View], now: float) -> None:
        """Raise CliError with what blocks, once nothing has moved for a while."""
        stuck = [each for each in views if each.blocked or each.held]
        if not stuck or any(each.moving for each in views):
            self._still = None
            return
        state = tuple((each.blocked, each.held) for each in views)
        grace = _GRACE_DOMAIN_SECONDS if any(each.blocked for each in views) else _HELD_DOMAIN_SECONDS
        if self._still is None or self._still[0] != state:
            self._still = (state, now, self._monotonic())
            return
        _, since, wall = self._still
        if now - since >= grace and self._monotonic() - wall >= _GRACE_WALL_SECONDS:
            said = [f"{each.title}: {text}" for each in stuck for text in (*each.blocked, *each.held)]
            said += [f"{each.title}: behind that wait: {each.behind}" for each in stuck if each.blocked and each.behind]
            if self._alone and any(each.phase is ViewPhase.PAUSED for each in stuck):
                said.append("kubectl reaches this state only while freehold serve runs")
            raise CliError(_say_who_acts(stuck), [*said, *options_note(stuck)])


def _say_who_acts(stuck: Sequence[View]) -> str:
    names = ", ".join(each.title for each in stuck)
    return f"somebody must act before {names} can go on (change the manifest or the cloud, then run this again)"


class UntilGone:
    """Done when none of the objects is there any more; gives up once nothing more can go without a person."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, *, alone: bool = False) -> None:
        self._standstill = _StallDetector(monotonic, alone=alone)

    def __call__(self, picture: ViewSnapshot, now: float) -> bool:
        self._standstill.refuse(picture.views, now)
        return not any(each in picture.present for each in picture.wanted)


def last_views(picture: ViewSnapshot) -> Mapping[Followed, View]:
    """Return the last known state of every followed object, the gone ones among them."""
    return {key: view(obj) for key, obj in picture.last.items()}
