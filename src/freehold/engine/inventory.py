"""What exists and carries our tags in an account and region: shared by all clusters, with an age.

An index is eventually consistent. What it shows was attached at some time; what it does not show is only a hint, and
the resource itself is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError
from freehold.engine.keys import KeyRing
from freehold.engine.kinds import Registry
from freehold.engine.ownership import Codec, Owner

TagsByTarget = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class TagChange:
    """Tags to attach to, or detach from, one target."""

    target: str
    tags: frozenset[str]


class Tagger(Protocol):
    """Reads and changes tags, in as few calls as the cloud allows. Never replaces other people's."""

    @property
    def api(self) -> str:
        """That of its writes (:class:`port.Call`)."""
        ...

    @property
    def asks_resources(self) -> bool:
        """Whether :meth:`tags_of_each` asks the resources, many in one call: it shows a mark before the index does."""
        ...

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByTarget:
        """Read from the index, now, every target with this owner's uuid mark, and the ``also`` targets."""
        ...

    async def everything(self, without: frozenset[str] = frozenset()) -> TagsByTarget:
        """Read from the index every target with a mark of any owner, carriers included, in few large pages.

        What is of one of the kinds ``without`` may be left out.
        """
        ...

    async def tags_of(self, target: str) -> frozenset[str]:
        """Ask the resource itself what is attached to it; empty when nothing is, or it is not there."""
        ...

    async def tags_of_each(self, targets: Sequence[str]) -> Mapping[str, frozenset[str] | CloudError]:
        """Ask several resources, in as few calls as the cloud allows; an error where one could not be asked."""
        ...

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        """Attach tags, identical sets in one call; the reply holds the targets that failed (empty: all done)."""
        ...

    async def detach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]: ...


async def one_by_one(tagger: Tagger, targets: Sequence[str]) -> Mapping[str, frozenset[str] | CloudError]:
    """Ask for the tags of each target by itself, where the cloud has no call for several."""
    found: dict[str, frozenset[str] | CloudError] = {}
    for target in targets:
        try:
            found[target] = await tagger.tags_of(target)
        except CloudError as error:
            found[target] = error
    return found


class InnerOwners(Protocol):
    """The owners that can be part of an object (the machines of a cluster), and what they have."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of those owners."""
        ...

    @property
    def registry(self) -> Registry:
        """The kinds of resources that they can have."""
        ...

    async def find_inner_targets(self, uuid: str) -> TagsByTarget:
        """Read from the index, now, every target with a mark that its owner is part of ``uuid``. Raises CloudError."""
        ...


class OtherObjects(Protocol):
    """What the other objects of this API server say about resources that objects may share."""

    async def tags_on(self, owner: Owner, target: str, ring: KeyRing | None = None) -> frozenset[str]:
        """Return the user's tags on ``target`` that objects other than ``owner``'s have on record. Raises CloudError.

        Read now; of objects that are not being deleted. With ``ring`` only what its keys prove that the operator put
        there: whoever may edit an object can write such a record.
        """
        ...

    async def owning(
        self, owner: Owner, kind: str, idents: Collection[str], ring: KeyRing | None = None
    ) -> Mapping[str, tuple[str, ...]]:
        """Return which of these resources other objects than ``owner``'s have on record as theirs, and which objects.

        With ``ring`` only records count that are signed with one of its keys: everybody who may edit an object can
        write ids into its journal. Raises CloudError.
        """
        ...

    async def naming(self, owner: Owner, words: Collection[str]) -> tuple[str, ...]:
        """Return the objects with one of ``words`` in their spec, or, other than ``owner``'s, in their journal.

        Raises CloudError.
        """
        ...


class NoOthers:
    """There is one object only (OtherObjects)."""

    async def tags_on(self, owner: Owner, target: str, ring: KeyRing | None = None) -> frozenset[str]:
        return frozenset()

    async def owning(
        self, owner: Owner, kind: str, idents: Collection[str], ring: KeyRing | None = None
    ) -> Mapping[str, tuple[str, ...]]:
        return {}

    async def naming(self, owner: Owner, words: Collection[str]) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Snapshot:
    """One reading of the index; ``taken`` is monotonic domain time, so that no jump of the clock makes it young."""

    targets: TagsByTarget
    taken: float
    _by_uuid: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict, compare=False)

    def find_targets(self, uuid: str, codec: Codec) -> TagsByTarget:
        """Return the targets with a mark of this owner, carriers with one for it included."""
        if not self._by_uuid:
            for target, tags in self.targets.items():
                marks = codec.read(tags)
                for owner in {uuid.casefold() for uuid in (*marks.uuids, *(mark.uuid for mark in marks.carried))}:
                    self._by_uuid.setdefault(owner, {})[target] = tags
        return self._by_uuid.get(uuid.casefold(), {})


class Inventory:
    """One shared reading for many objects, so that an idle pass costs a fraction of a call."""

    def __init__(self, tagger: Tagger, clock: Clock) -> None:
        self._tagger = tagger
        self._clock = clock
        self._shared: dict[frozenset[str], Snapshot] = {}
        self._reading = asyncio.Lock()

    async def read_snapshot(self, max_age: float, without: frozenset[str] = frozenset()) -> Snapshot:
        """Return everything marked, at most ``max_age`` seconds old: enough to notice, never to conclude.

        Of the kinds ``without`` it need not show anything. Whoever finds it too old reads it for all: the others wait
        for that reading.
        """
        async with self._reading:
            for left_out, known in self._shared.items():
                if left_out <= without and self._clock.monotonic() - known.taken <= max_age:
                    return known
            taken = self._clock.monotonic()
            tagger = self._tagger
            snapshot = Snapshot(await (tagger.everything(without) if without else tagger.everything()), taken)
            young = {key: known for key, known in self._shared.items() if taken - known.taken <= max_age}
            self._shared = {**young, without: snapshot}
            return snapshot
