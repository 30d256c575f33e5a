"""Histories: the last create, delete, update or repair of each object, as bars over time, from successive statuses.

They are the memory of this process, and bounded: those that changed least recently are forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Final

from freehold.controllers.repairs import Repaired
from freehold.engine.outcomes import Repair
from freehold.engine.reasons import Reason
from freehold.kube.resources import Json
from freehold.page.edges import read_edges, resource_key
from freehold.page.stored_object import as_mapping, cut_name, read_resources
from freehold.view.object_view import Line, read_line

MOST_KEPT: Final = 200_000
"""Bars and edges of all objects together that are kept: some 40 MB at most."""
MOST_BARS_OF_ONE: Final = 500
MOST_REPAIRS_OF_ONE: Final = 20

_HELD_BACK: Final = frozenset({Reason.REQUIREMENT.value, Reason.DEPENDENTS.value, Reason.COLLECTING.value})
"""Reasons of a resource that waits for others, and is not at work."""
_ENDED: Final = frozenset({"Ready", "Kept", "Gone", "NotCreated", "Unknown", "Surplus"})


class Operation(StrEnum):
    """Kind of change that an object went through."""

    CREATE = "create"
    UPDATE = "update"
    """Its spec changed."""
    REPAIR = "repair"
    """Somebody changed its resources from outside."""
    DELETE = "delete"


@dataclass(slots=True)
class Bar:
    """One resource in an operation. Times are domain time.

    ``waited_until``: until then it waited for others; None while it does. ``ended``: None while it is at work.
    """

    kind: str
    name: str
    begun: float
    waited_until: float | None = None
    ended: float | None = None

    def to_json(self, key: str, *, critical: bool) -> Json:
        return {
            "key": key,
            "kind": self.kind,
            "name": self.name,
            "begun": _round(self.begun),
            "waited_until": _round(self.waited_until),
            "ended": _round(self.ended),
            "critical": critical,
        }


def _round(at: float | None) -> float | None:
    return None if at is None else round(at, 3)


@dataclass(frozen=True)
class RepairNote:
    """A change from outside that was brought back: when, on which resource, and what."""

    at: float
    key: str
    repair: Repair


@dataclass
class History:
    """The last operation of one object. ``complete``: this process saw it from its beginning.

    ``bars`` are by key. ``waits`` are the edges that statuses have shown: which resources each has waited for.
    """

    operation: Operation
    begun: float
    complete: bool
    ended: float | None = None
    bars: dict[str, Bar] = field(default_factory=dict)
    waits: dict[str, set[str]] = field(default_factory=dict)
    edges: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Requirements of each resource; in a delete those that the journal had when it began, as records leave it."""

    def to_json(self, requires: Mapping[str, Collection[str]]) -> Json:
        """Return the operation as the page gets it. ``requires``: the edges that the journal has now."""
        critical = self.find_critical_path({**requires, **self.edges})
        return {
            "operation": self.operation.value,
            "begun": _round(self.begun),
            "ended": _round(self.ended),
            "complete": self.complete,
            "bars": [bar.to_json(key, critical=key in critical) for key, bar in self.bars.items()],
        }

    def find_critical_path(self, requires: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Find the chain that the operation took its time for: back from the last end to what each had to wait for."""
        before = self._find_predecessors(requires)
        at = max(self.bars, key=self._rank, default=None)
        path: set[str] = set()
        while at is not None and at not in path:
            path.add(at)
            needed = before.get(at, ())
            earlier = (key for key in self.bars if key in needed and key not in path)
            at = max(earlier, key=self._rank, default=None)
        return frozenset(path)

    def _rank(self, key: str) -> tuple[float, float]:
        """Rank by the end; what is at work outranks all that has ended, the longest at work first."""
        bar = self.bars[key]
        if bar.ended is not None:
            return (bar.ended, 0.0)
        return (inf, -bar.waited_until if bar.waited_until is not None else -inf)

    def _find_predecessors(self, requires: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
        """Find what must end before each can begin: in a delete what requires it, else what it requires."""
        found = {key: set(those) for key, those in self.waits.items()}
        for key, those in requires.items():
            for each in those:
                first, then = (key, each) if self.operation is Operation.DELETE else (each, key)
                found.setdefault(then, set()).add(first)
        return found


@dataclass
class _Memory:
    """Memory of one object. ``generation``: that of its spec when it was last at rest, None if never."""

    generation: int | None = None
    last: History | None = None
    repairs: list[RepairNote] = field(default_factory=list)

    @property
    def size(self) -> int:
        """One for the object, and one for each bar and edge."""
        if self.last is None:
            return 1
        edges = (len(those) for several in (self.last.waits, self.last.edges) for those in several.values())
        return 1 + len(self.last.bars) + sum(edges)


class Histories:
    """The last operation of each object, by key. ``note`` is called with each change of a cached object."""

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self._most_kept = most_kept
        self._known: OrderedDict[str, _Memory] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._known)

    @property
    def size(self) -> int:
        """The bars and edges that are kept, and one for each object."""
        return self._size

    def find(self, key: str) -> History | None:
        """Return the last operation of the object that this process has seen something of; None without resources."""
        known = self._known.get(key)
        return known.last if known and known.last and known.last.bars else None

    def find_repairs(self, key: str) -> Sequence[RepairNote]:
        """Return what was changed from outside and brought back, oldest first."""
        known = self._known.get(key)
        return tuple(known.repairs) if known else ()

    def note(self, key: str, old: Json | None, new: Json | None, now: float) -> None:
        """Note a change of an object: the last state that was seen of it, and the new one; None for none.

        ``now`` is domain time.
        """
        if new is None:
            self._forget(key)
            return
        if old is not None and _same_resources(old, new):
            return
        known = self._known.get(key) or _Memory()
        size = known.size if key in self._known else 0
        _Step(known, old, new, now).take()
        self._keep(key, known, size)

    def note_repairs(self, key: str, repaired: Repaired, now: float) -> None:
        """Note what was changed from outside and brought back."""
        known = self._known.get(key) or _Memory()
        size = known.size if key in self._known else 0
        if known.last is None or known.last.ended is not None:
            known.last = History(Operation.REPAIR, now, complete=True, ended=now)
        for (kind, name), several in list(repaired.items())[:MOST_BARS_OF_ONE]:
            resource = resource_key(kind, name)
            if known.last.operation is Operation.REPAIR:
                known.last.bars.setdefault(resource, Bar(kind, name, now, now, now))
            known.repairs += [RepairNote(now, resource, each) for each in several]
        del known.repairs[:-MOST_REPAIRS_OF_ONE]
        self._keep(key, known, size)

    def _keep(self, key: str, known: _Memory, size: int) -> None:
        self._known[key] = known
        self._known.move_to_end(key)
        self._size += known.size - size
        while self._size > self._most_kept and len(self._known) > 1:
            _, oldest = self._known.popitem(last=False)
            self._size -= oldest.size

    def _forget(self, key: str) -> None:
        known = self._known.pop(key, None)
        self._size -= known.size if known else 0


def _same_resources(old: Json, new: Json) -> bool:
    """Return whether nothing that a history is made of has changed."""
    if ("deletionTimestamp" in as_mapping(old.get("metadata"))) != (
        "deletionTimestamp" in as_mapping(new.get("metadata"))
    ):
        return False
    before, after = as_mapping(old.get("status")), as_mapping(new.get("status"))
    return bool(before.get("resources") == after.get("resources") and bool(before) == bool(after))


class _Step:
    """One change of an object, put into its memory."""

    def __init__(self, known: _Memory, old: Json | None, new: Json, now: float) -> None:
        self._known, self._now = known, now
        self._old = None if old is None else as_mapping(old.get("status"))
        self._new = new
        status = as_mapping(new.get("status"))
        self._lines = list(map(read_line, read_resources(status)[:MOST_BARS_OF_ONE]))
        self._status = status
        self._titles = {f"{line.kind} {line.name}": resource_key(line.kind, line.name) for line in self._lines}
        metadata = as_mapping(new.get("metadata"))
        generation = metadata.get("generation")
        self._generation = generation if isinstance(generation, int) else 0
        self._deleting = "deletionTimestamp" in metadata
        self._was_deleting = old is not None and "deletionTimestamp" in as_mapping(old.get("metadata"))

    def take(self) -> None:
        """Begin an operation where one begins; bring its bars up to date; end it where it is over."""
        last = self._known.last
        if self._deleting:
            if last is None or last.operation is not Operation.DELETE:
                seen = self._old is not None and not self._was_deleting
                edges = read_edges(self._new, self._lines)
                self._known.last = History(Operation.DELETE, self._now, complete=seen, edges=edges)
        elif self._is_at_rest():
            self._rest()
            return
        elif last is None or last.ended is not None:
            self._begin()
        if self._known.last is not None:
            self._update(self._known.last)

    def _is_at_rest(self) -> bool:
        return bool(self._lines) and all(line.state in _ENDED for line in self._lines)

    def _rest(self) -> None:
        last = self._known.last
        if last is not None and last.ended is None:
            self._update(last)
            last.ended = max((bar.ended for bar in last.bars.values() if bar.ended), default=self._now)
        self._known.generation = self._generation

    def _begin(self) -> None:
        known, initialization = self._known, as_mapping(self._status.get("initialization"))
        was_whole = known.generation is not None or initialization.get("provisioned") is True
        if not was_whole:
            operation = Operation.CREATE
        elif known.generation not in (None, self._generation):
            operation = Operation.UPDATE
        else:
            operation = Operation.REPAIR
        nothing_before = not self._lines or (self._old is not None and not self._old.get("resources"))
        complete = known.generation is not None or nothing_before
        known.last = History(operation, self._now, complete=complete)

    def _update(self, history: History) -> None:
        """Bring the bars to what the rows say. An update and a repair have bars of what was touched."""
        touched_only = history.operation in (Operation.UPDATE, Operation.REPAIR)
        for line in self._lines:
            key, ended, since = resource_key(line.kind, line.name), line.state in _ENDED, line.since or self._now
            if key not in history.bars:
                if (touched_only and ended) or len(history.bars) >= MOST_BARS_OF_ONE:
                    continue
                begun = max(since, history.begun) if touched_only else history.begun
                history.bars[key] = Bar(cut_name(line.kind), cut_name(line.name), begun)
            self._follow(history, key, line, since)

    def _follow(self, history: History, key: str, line: Line, since: float) -> None:
        """Bring one bar to what its row says: it waits for others, is at work, or has ended."""
        bar = history.bars[key]
        not_begun = history.operation is Operation.DELETE and line.state in ("Ready", "Surplus")
        ended = line.state in _ENDED and not not_begun
        if not_begun or (line.state == "Waiting" and line.reason in _HELD_BACK):
            named = [self._titles[each] for each in line.waits_for if each in self._titles]
            if named:
                history.waits.setdefault(key, set()).update(named)
        elif bar.waited_until is None:
            began = self._now if line.state == "Waiting" else since
            bar.waited_until = max(bar.begun, min(began, self._now))
        bar.ended = max(bar.begun, min(since, self._now)) if ended else None
