"""The state of one simulated AWS: plain data, and the operations that all services share.

Nothing runs in the background: transitions wait in a heap of timers and are applied by `settle` on the next call.
"""

import hashlib
import heapq
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from freehold_sim.aws.index_order import IndexOrder

Record = dict[str, Any]
"""A resource. `view` is what AWS shows of it, in the shape of the service's output, without tags.

Always present: kind, id, arn ("" for what has none), account, region ("" for what is global), view, tags (a dict),
by ("api" or "stranger"), serial, created_at (epoch seconds), turn (timers with an older value are void).
"""

Effect = Callable[["World", Record, float], None]
"""What else happens when a timer fires, such as the interface that goes with its NAT gateway."""


def scope_of(account: str, region: str) -> str:
    return f"{account}/{region}"


class World:
    """Resources by account and region, kind and id; timers; tag index; client tokens; sessions."""

    def __init__(self, seed: int, effects: Mapping[str, Effect]) -> None:
        self._effects = effects
        self._order = IndexOrder()
        self.touched = False
        self.data: dict[str, Any] = {
            "seed": seed,
            "serial": 0,
            "resources": {},
            "timers": [],
            "late": [],
            "faults": [],
            "index": {},
            "tokens": {},
            "sessions": {},
            "buckets": {},
            "reads": 0,
        }

    def snapshot(self) -> bytes:
        return pickle.dumps(self.data, protocol=pickle.HIGHEST_PROTOCOL)

    def restore(self, taken: bytes) -> None:
        self.data = pickle.loads(taken)  # noqa: S301 (bytes that snapshot() of this process made)

    # -- identity ---------------------------------------------------------------------------------------------

    def serial(self) -> int:
        self.data["serial"] += 1
        return int(self.data["serial"])

    def new_hex(self, digits: int = 17) -> str:
        """Return hex digits, the next of a sequence determined by the seed."""
        text = f"{self.data['seed']}:{self.serial()}"
        return hashlib.sha256(text.encode()).hexdigest()[:digits]

    def new_uuid(self) -> str:
        digits = self.new_hex(32)
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    # -- records ----------------------------------------------------------------------------------------------

    def add(self, kind: str, ident: str, now: float, record: Record) -> Record:
        """Store a record that has account, region and view; add the other common fields, and index its ARN."""
        record.setdefault("arn", "")
        record.setdefault("tags", {})
        record.setdefault("by", "api")
        record.update(kind=kind, id=ident, serial=self.serial(), created_at=now, turn=0)
        scope = scope_of(record["account"], record["region"])
        self.data["resources"].setdefault(scope, {}).setdefault(kind, {})[ident] = record
        if record["arn"]:
            entry = {
                "scope": scope, "kind": kind, "id": ident, "from": now, "to": None, "tags": [[now, record["tags"]]],
                "serial": record["serial"],
            }  # fmt: skip
            self._order.put(self.data["index"], record["arn"], entry)
        return record

    def table(self, scope: str, kind: str) -> dict[str, Record]:
        """Return the records of a kind in one account and region, by id."""
        found: dict[str, Record] = self.data["resources"].get(scope, {}).get(kind, {})
        return found

    def everything(self) -> Iterator[Record]:
        for kinds in self.data["resources"].values():
            for records in kinds.values():
                yield from records.values()

    def by_arn(self, arn: str) -> Record | None:
        entry = self.data["index"].get(arn)
        return None if entry is None else self.table(entry["scope"], entry["kind"]).get(entry["id"])

    def remove(self, record: Record, now: float) -> None:
        """Remove a record. Its index entry stays, so that a lagging tag index can still show it."""
        self.touched = True
        self.table(scope_of(record["account"], record["region"]), record["kind"]).pop(record["id"], None)
        self.unindex(record, now)

    def forget(self, record: Record) -> None:
        """Remove a record as if it had never been there: its call was refused after all."""
        self.table(scope_of(record["account"], record["region"]), record["kind"]).pop(record["id"], None)
        self._order.drop(self.data["index"], record["arn"])

    def unindex(self, record: Record, now: float) -> None:
        entry = self.data["index"].get(record["arn"])
        if entry is not None and entry["to"] is None:
            entry["to"] = now
            self._order.ended(self.data["index"], record["arn"])

    def indexed(self, scope: str, after: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Yield serial, ARN and entry of the tag index after a serial, oldest first."""
        index = self.data["index"]
        for serial, arn in self._order.after(index, scope, after):
            yield serial, arn, index[arn]

    def drop_ghosts(self, before: float) -> None:
        """Drop the entries of what was deleted before a time."""
        self._order.drop_ended(self.data["index"], before)

    # -- tags -------------------------------------------------------------------------------------------------

    def set_tags(self, record: Record, tags: dict[str, str], now: float) -> None:
        """Replace the tags of a record. The tag index keeps what was there, for its lag."""
        self.touched = True
        record["tags"] = tags
        entry = self.data["index"].get(record["arn"])
        if entry is None:
            return
        if entry["tags"][-1][0] == now:
            entry["tags"][-1][1] = tags
        else:
            entry["tags"].append([now, tags])

    # -- time -------------------------------------------------------------------------------------------------

    def schedule(self, when: float, record: Record, change: dict[str, Any] | None, effect: str = "") -> None:
        """At `when`, merge `change` into the view (names may be dotted paths); None removes the record.

        `effect` names what else happens then. Void once the record is redirected.
        """
        scope = scope_of(record["account"], record["region"])
        timer = [when, self.serial(), scope, record["kind"], record["id"], record["turn"], change, effect]
        heapq.heappush(self.data["timers"], timer)

    def redirect(self, record: Record, **change: Any) -> None:
        """Merge `change` into the view now and void the pending timers."""
        self.touched = True
        record["turn"] += 1
        record["view"].update(change)

    def settle(self, now: float) -> None:
        """Apply every transition that was due by `now`."""
        timers = self.data["timers"]
        while timers and timers[0][0] <= now:
            self._fire(heapq.heappop(timers))

    def finish_pending(self, record: Record, now: float) -> None:
        """Apply the pending transitions of a record now, except its removal."""
        scope = scope_of(record["account"], record["region"])
        wanted = [scope, record["kind"], record["id"], record["turn"]]
        mine = sorted(timer for timer in self.data["timers"] if timer[2:6] == wanted and timer[6] is not None)
        for timer in mine:
            self.data["timers"].remove(timer)
            self._fire([now, *timer[1:]])
        heapq.heapify(self.data["timers"])

    def _fire(self, timer: list[Any]) -> None:
        when, _, scope, kind, ident, turn, change, effect = timer
        record = self.table(scope, kind).get(ident)
        if record is None or record["turn"] != turn:
            return
        self.touched = True
        for path, value in (change or {}).items():
            _place(record["view"], path, value)
        if effect:
            self._effects[effect](self, record, when)
        if change is None:
            self.remove(record, when)


def _place(view: Any, path: str, value: Any) -> None:
    *above, last = path.split(".")
    for part in above:
        view = view[int(part)] if isinstance(view, list) else view[part]
    view[last] = value
