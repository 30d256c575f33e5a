"""The state of one simulated IBM Cloud: plain data, and the operations that all services share.

Nothing runs in the background: transitions wait in a heap of timers and are applied by `settle` on the next call.
"""

import hashlib
import heapq
import json
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from typing import Any

Record = dict[str, Any]


class World:
    """Resources by kind and id, timers, tags and the search index, in one structure of dicts, lists and scalars.

    A record always has kind, id, crn ("" when IBM gives none), name, state, serial, created_at (epoch seconds),
    by ("api" or "stranger") and turn (a counter of redirects; timers with an older value are void).
    """

    def __init__(self, seed: int, history_seconds: float = 0.0) -> None:
        """`history_seconds`: how far back `as_of` can go; 0 keeps no history."""
        self._history_seconds = history_seconds
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
        self._crns_by_tag: dict[str, set[str]] = {}
        self._names: list[str] = []
        self._tabled: dict[str, Any] | None = None

    # -- identity ---------------------------------------------------------------------------------------------

    def serial(self) -> int:
        self.data["serial"] += 1
        return int(self.data["serial"])

    def new_hex(self) -> str:
        """Return 32 hex digits, the next of a sequence determined by the seed."""
        text = f"{self.data['seed']}:{self.serial()}"
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

    def new_uuid(self) -> str:
        digits = self.new_hex()
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    # -- records ----------------------------------------------------------------------------------------------

    def add(self, kind: str, now: float, record: Record) -> Record:
        """Add the common fields to `record`, store it, and index its CRN."""
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
        """Return the records of a kind whose fields equal all values in `match`, oldest first."""
        records = self.data["resources"].get(kind, {}).values()
        return [r for r in records if all(r.get(key) == value for key, value in match.items())]

    def everything(self) -> Iterator[Record]:
        for records in self.data["resources"].values():
            yield from records.values()

    def by_crn(self, crn: str) -> Record | None:
        entry = self.data["index"].get(crn)
        return None if entry is None else self.get(entry["kind"], entry["id"])

    def remove(self, record: Record, now: float) -> None:
        """Remove the record. Its index entry stays, so that a lagging search can still show it."""
        self.data["resources"].get(record["kind"], {}).pop(record["id"], None)
        self.unindex(record, now)

    def unindex(self, record: Record, now: float) -> None:
        entry = self.data["index"].get(record["crn"])
        if entry is not None and entry["to"] is None:
            entry["to"] = now
            entry["last"] = {key: value for key, value in record.items() if isinstance(value, str | int | float)}

    # -- history ----------------------------------------------------------------------------------------------

    def record_history(self, now: float) -> None:
        """Save the state of all resources from `now` on, for lagging reads; called after every change."""
        if not self._history_seconds:
            return
        past, text = self.data.setdefault("past", []), json.dumps(self.data["resources"])
        past.append([now, text])
        while len(past) > 1 and past[1][0] <= now - self._history_seconds:
            past.pop(0)

    def as_of(self, when: float) -> "World":
        """Return a read-only world with the resources as they were at `when`, at most `history_seconds` ago."""
        rows = self.data.get("past", ())
        text = next((text for since, text in reversed(rows) if since <= when), "{}")
        earlier = World(self.data["seed"])
        earlier.data = {**self.data, "resources": json.loads(text)}
        return earlier

    # -- time -------------------------------------------------------------------------------------------------

    def schedule(self, when: float, record: Record, change: dict[str, Any] | None) -> None:
        """Apply `change` to `record` at `when`; None removes the record. Void once the record is redirected."""
        timer = [when, self.serial(), record["kind"], record["id"], record["turn"], change]
        heapq.heappush(self.data["timers"], timer)

    def redirect(self, record: Record, **change: Any) -> None:
        """Change `record` now and void its pending timers."""
        record["turn"] += 1
        record.update(change)

    def settle(self, now: float) -> None:
        """Apply every transition that was due by `now`."""
        timers = self.data["timers"]
        while timers and timers[0][0] <= now:
            self._fire(heapq.heappop(timers))

    def finish_pending(self, record: Record, now: float) -> None:
        """Apply all pending transitions of `record` now."""
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
            self.record_history(when)
            return
        change = dict(change)
        tags, unindexed = change.pop("+tags", ()), change.pop("-index", False)
        record.update(change, updated_at=when)
        for tag in tags:
            self.tag(record["crn"], tag, when)
        if unindexed:
            self.unindex(record, when)
        self.record_history(when)

    # -- tags -------------------------------------------------------------------------------------------------

    def tag(self, crn: str, name: str, now: float) -> None:
        tags = self.tags_at(crn, now)
        tags.setdefault(name.casefold(), name)
        self._store_tags(crn, tags, now)

    def untag(self, crn: str, name: str, now: float) -> None:
        tags = self.tags_at(crn, now)
        tags.pop(name.casefold(), None)
        self._store_tags(crn, tags, now)

    def is_attached(self, name: str, now: float, prefix: str = "") -> bool:
        """Return whether a resource that exists has the tag; `prefix` precedes the CRNs of another type of tags."""
        index = self.data["index"]
        return any(
            place.startswith(prefix)
            and (entry := index.get(place.removeprefix(prefix))) is not None
            and entry["to"] is None
            and name.casefold() in self.tags_seen(place, now)
            for place in self.crns_with_tag(name.casefold())
        )

    def forget_unused_tag(self, name: str, now: float) -> None:
        """Remove a user tag from the account if it is attached to nothing."""
        if not self.is_attached(name, now):
            self.data["tag_names"].pop(name.casefold(), None)

    def tags_at(self, crn: str, when: float) -> dict[str, str]:
        """Return a copy of the tags of `crn` at `when`: case-folded name to name as first written."""
        return dict(self.tags_seen(crn, when))

    def tags_seen(self, crn: str, when: float) -> Mapping[str, str]:
        """Return the same as `tags_at` without copying; read-only, valid until the next change."""
        for since, tags in reversed(self.data["tags"].get(crn, ())):
            if since <= when:
                seen: Mapping[str, str] = tags
                return seen
        return {}

    def crns_with_tag(self, name: str) -> set[str]:
        """Return the CRNs that have, or ever had, the tag `name` (case-folded)."""
        self._build_tag_table()
        return self._crns_by_tag.get(name, set())

    def crns_with_tag_prefix(self, start: str) -> set[str]:
        """Return the CRNs that have, or ever had, a tag whose case-folded name begins with `start`."""
        self._build_tag_table()
        found: set[str] = set()
        for at in range(bisect_left(self._names, start), len(self._names)):
            if not self._names[at].startswith(start):
                break
            found |= self._crns_by_tag[self._names[at]]
        return found

    def _build_tag_table(self) -> None:
        """Rebuild the table of tagged CRNs after the data were replaced from a snapshot or a file."""
        if self._tabled is self.data["tags"]:
            return
        self._tabled, self._crns_by_tag = self.data["tags"], {}
        for crn, history in self.data["tags"].items():
            for _, tags in history:
                for name in tags:
                    self._crns_by_tag.setdefault(name, set()).add(crn)
        self._names = sorted(self._crns_by_tag)

    def _store_tags(self, crn: str, tags: dict[str, str], now: float) -> None:
        self._build_tag_table()
        for name in tags:
            if name not in self._crns_by_tag:
                insort(self._names, name)
            self._crns_by_tag.setdefault(name, set()).add(crn)
        history = self.data["tags"].setdefault(crn, [])
        if history and history[-1][0] == now:
            history[-1][1] = tags
        else:
            history.append([now, tags])
        self.touched = True
