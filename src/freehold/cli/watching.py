"""``freehold get --watch``: every change of what is shown, over servers that come and go.

Watching serves nothing: a process that serves a state directory locks others out, and without an operator
nothing would change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

from freehold.cli.session import Session
from freehold.cli.terminal import columns
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.kube.watch import Change, Reflector, State


@dataclass
class Changes:
    """Passes on what looks different from before: every new connection lists everything again.

    ``look`` is what is shown of an object; ``show`` shows it, or that it is gone.
    """

    look: Callable[[Json], object]
    show: Callable[[Json, bool], None]
    name: str | None = None
    _seen: dict[Key, tuple[Json, object]] = field(default_factory=dict)

    def listed(self, objects: Iterable[Json]) -> None:
        """Take everything that there is; what is missing has gone."""
        found = {key_of(each): each for each in objects}
        for key in [key for key in self._seen if key not in found]:
            self.take(key, None)
        for key, obj in found.items():
            self.take(key, obj)

    def take(self, key: Key, obj: Json | None) -> None:
        """Take the newest of one object; None when it has gone."""
        if self.name not in (None, key.name):
            return
        before = self._seen.pop(key, None)
        if obj is not None:
            self._seen[key] = obj, self.look(obj)
            if before is None or before[1] != self._seen[key][1]:
                self.show(obj, False)
        elif before is not None:
            self.show(before[0], True)


class Rows:
    """A table that grows at its end, as kubectl's does: a column may become wider, never narrower."""

    def __init__(self) -> None:
        self._widest: tuple[str, ...] | None = None

    def widen(self, row: tuple[str, ...]) -> None:
        """Leave room for this row."""
        rows = [row, self._widest] if self._widest else [row]
        self._widest = tuple(max(cells, key=len) for cells in zip(*rows, strict=True))

    def line(self, row: tuple[str, ...]) -> str:
        self.widen(row)
        assert self._widest is not None
        return columns([self._widest, row])[-1]


async def follow_changes(session: Session, resource: Resource, namespace: str, changes: Changes) -> None:
    """Until the server of a state directory goes away; a cluster's is asked again for ever."""
    reflector = Reflector(session.client, resource, namespace)
    lost = asyncio.Event()

    def on_state() -> None:
        if session.embedded and reflector.state in (State.FAILING, State.ABSENT):
            lost.set()

    async def read() -> None:
        async with aclosing(reflector.changes()) as found:
            async for each in found:
                if isinstance(each, Change):
                    changes.take(each.key, each.new)

    reflector.on_state = on_state
    tasks = [asyncio.create_task(read()), asyncio.create_task(lost.wait())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
