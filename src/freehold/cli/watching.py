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
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.kube.watch import Change, Reflector, State


@dataclass
class Changes:
    """Passes on what looks different from before: every new connection lists everything again.

    ``look`` is what is shown of an object; ``show`` shows it, or that it is gone. ``names``: only these; empty for all.
    """

    look: Callable[[Json], object]
    show: Callable[[Json, bool], None]
    names: frozenset[str] = frozenset()
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
        if self.names and key.name not in self.names:
            return
        before = self._seen.pop(key, None)
        if obj is not None:
            self._seen[key] = obj, self.look(obj)
            if before is None or before[1] != self._seen[key][1]:
                self.show(obj, False)
        elif before is not None:
            self.show(before[0], True)


async def follow_changes(
    session: Session, resource: Resource, namespace: str, changes: Changes, *, selector: str = ""
) -> None:
    """Until the server of a state directory goes away; a cluster's is asked again for ever."""
    reflector = Reflector(session.client, resource, namespace, label_selector=selector)
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
