"""The state of one simulated IBM Cloud: plain data, with what every service does to it.

Nothing runs by itself: transitions wait in a heap of timers and happen when the world is next asked (`settle`).
"""

import hashlib
import heapq
import json
import pickle
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from typing import Any

Record = dict[str, Any]


class World:
    """Resources by kind and id, timers, tags and the search index, in one structure of dicts, lists and scalars.

    A record always has kind, id, crn ("" when IBM gives none), name, state, serial, created_at (epoch seconds),
    by ("api" or "stranger") and turn (how often its course was changed; older timers are void).
    """

    def __init__(self, seed: int, remembers: float = 0.0) -> None:
        """`remembers`: for how many seconds resources can be read as they were; 0: only as they are."""
        self._remembers = remembers
        self.data: dict[str, Any] = {
            "seed": seed,
            "serial": 0,
            "resources": {},
            "timers": [],
            "late": [],
            "tags": {},
            "index": {},
            "tokens": 0,
            "reads": 0,
            "faults": [],
            "tag_names": {},
            "access_tags": [],
            "detached": {},
            "recent": {},
            "past": [],
        }
        self.touched = False
        self._bearers: dict[str, set[str]] = {}
        self._names: list[str] = []
        self._counted: dict[str, Any] | None = None

    def snapshot(self) -> bytes:
        return pickle.dumps(self.data, protocol=pickle.HIGHEST_PROTOCOL)

    def restore(self, taken: bytes) -> None:
        self.data = pickle.loads(taken)  # noqa: S301 (bytes that snapshot() of this process made)

    # -- identity ---------------------------------------------------------------------------------------------

    def serial(self) -> int:
        self.data["serial"] += 1
        return int(self.data["serial"])

    def new_hex(self) -> str:
        """Return 32 hex digits: the next of a sequence that the seed fixes."""
        text = f"{self.data['seed']}:{self.serial()}"
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

    def new_uuid(self) -> str:
        digits = self.new_hex()
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    # -- records ----------------------------------------------------------------------------------------------

    def add(self, kind: str, now: float, record: Record) -> Record:
        """Complete `record` with what every record has, keep it, and index its CRN."""
        record.setdefault("crn", "")
        record.setdefault("by", "api")
        record.update(kind=kind, serial=self.serial(), created_at=now, updated_at=now, turn=0)
        self.data["resources"].setdefault(kind, {})[record["id"]] = record
        if record["crn"]:
            self.data["index"][record["crn"]] = {"kind": kind, "id": record["id"], "from": now, "to": None}
        return record

    def get(self, kind: str, ident: str) -> Record | None:
        found: Record | None = self.data["resources"].get(kind, {}).get(ident)
        return found

    def all(self, kind: str, **match: Any) -> list[Record]:
        """Return the records of a kind, oldest first, that have every given value."""
        records = self.data["resources"].get(kind, {}).values()
        return [r for r in records if all(r.get(key) == value for key, value in match.items())]

    def everything(self) -> Iterator[Record]:
        for records in self.data["resources"].values():
            yield from records.values()

    def by_crn(self, crn: str) -> Record | None:
        entry = self.data["index"].get(crn)
        return None if entry is None else self.get(entry["kind"], entry["id"])

    def remove(self, record: Record, now: float) -> None:
        """Take the record away; the index keeps a note, so that a lagging search can still show it."""
        self.data["resources"].get(record["kind"], {}).pop(record["id"], None)
        self.unindex(record, now)

    def unindex(self, record: Record, now: float) -> None:
        entry = self.data["index"].get(record["crn"])
        if entry is not None and entry["to"] is None:
            entry["to"] = now
            entry["last"] = {key: value for key, value in record.items() if isinstance(value, str | int | float)}

    # -- the past ---------------------------------------------------------------------------------------------

    def remember(self, now: float) -> None:
        """Keep all resources as they are from `now` on, for reads that lag; called after every change."""
        if not self._remembers:
            return
        past, text = self.data.setdefault("past", []), json.dumps(self.data["resources"])
        past.append([now, text])
        while len(past) > 1 and past[1][0] <= now - self._remembers:
            past.pop(0)

    def as_of(self, when: float) -> "World":
        """Return the world with its resources as they were at `when`, to read from; at most `remembers` ago."""
        rows = self.data.get("past", ())
        text = next((text for since, text in reversed(rows) if since <= when), "{}")
        earlier = World(self.data["seed"])
        earlier.data = {**self.data, "resources": json.loads(text)}
        return earlier

    # -- time -------------------------------------------------------------------------------------------------

    def schedule(self, when: float, record: Record, change: dict[str, Any] | None) -> None:
        """Let `record` take on `change` at `when`; None removes it. Void once the record is redirected."""
        timer = [when, self.serial(), record["kind"], record["id"], record["turn"], change]
        heapq.heappush(self.data["timers"], timer)

    def redirect(self, record: Record, **change: Any) -> None:
        """Change `record` now and void the timers that were set for it."""
        record["turn"] += 1
        record.update(change)

    def settle(self, now: float) -> None:
        """Let everything happen that was due by `now`."""
        timers = self.data["timers"]
        while timers and timers[0][0] <= now:
            self._fire(heapq.heappop(timers))

    def hasten(self, record: Record, now: float) -> None:
        """Let everything that is under way for `record` happen now."""
        mine = [t for t in self.data["timers"] if t[2:5] == [record["kind"], record["id"], record["turn"]]]
        for timer in sorted(mine):
            self.data["timers"].remove(timer)
            self._fire([now, *timer[1:]])
        heapq.heapify(self.data["timers"])

    def _fire(self, timer: list[Any]) -> None:
        when, _, kind, ident, turn, change = timer
        record = self.get(kind, ident)
        if record is None or record["turn"] != turn:
            return
        self.touched = True
        if change is None:
            self.remove(record, when)
            self.remember(when)
            return
        change = dict(change)
        tags, unindexed = change.pop("+tags", ()), change.pop("-index", False)
        record.update(change, updated_at=when)
        for tag in tags:
            self.tag(record["crn"], tag, when)
        if unindexed:
            self.unindex(record, when)
        self.remember(when)

    # -- tags -------------------------------------------------------------------------------------------------

    def tag(self, crn: str, name: str, now: float) -> None:
        tags = self.tags_at(crn, now)
        tags.setdefault(name.casefold(), name)
        self._remember_tags(crn, tags, now)

    def untag(self, crn: str, name: str, now: float) -> None:
        tags = self.tags_at(crn, now)
        tags.pop(name.casefold(), None)
        self._remember_tags(crn, tags, now)

    def tags_at(self, crn: str, when: float) -> dict[str, str]:
        """Return a copy of the tags of `crn` as they stood at `when`: case-folded name to name as first written."""
        return dict(self.tags_seen(crn, when))

    def tags_seen(self, crn: str, when: float) -> Mapping[str, str]:
        """Return what `tags_at` does without the copy: to look at, before anything changes."""
        for since, tags in reversed(self.data["tags"].get(crn, ())):
            if since <= when:
                seen: Mapping[str, str] = tags
                return seen
        return {}

    def bearers(self, name: str) -> set[str]:
        """Return the CRNs that bear, or ever bore, the tag `name` (case-folded)."""
        self._count_tags()
        return self._bearers.get(name, set())

    def bearers_of_any(self, start: str) -> set[str]:
        """Return the CRNs that bear, or ever bore, a tag whose case-folded name begins with `start`."""
        self._count_tags()
        found: set[str] = set()
        for at in range(bisect_left(self._names, start), len(self._names)):
            if not self._names[at].startswith(start):
                break
            found |= self._bearers[self._names[at]]
        return found

    def _count_tags(self) -> None:
        """Build the table of bearers anew when the data were replaced by a snapshot's or a file's."""
        if self._counted is self.data["tags"]:
            return
        self._counted, self._bearers = self.data["tags"], {}
        for crn, history in self.data["tags"].items():
            for _, tags in history:
                for name in tags:
                    self._bearers.setdefault(name, set()).add(crn)
        self._names = sorted(self._bearers)

    def _remember_tags(self, crn: str, tags: dict[str, str], now: float) -> None:
        self._count_tags()
        for name in tags:
            if name not in self._bearers:
                insort(self._names, name)
            self._bearers.setdefault(name, set()).add(crn)
        history = self.data["tags"].setdefault(crn, [])
        if history and history[-1][0] == now:
            history[-1][1] = tags
        else:
            history.append([now, tags])
        self.touched = True
